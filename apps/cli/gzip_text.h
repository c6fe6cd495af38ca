#pragma once

#include <string>

namespace espalier::cli {

/// The whole text of a file, plain or gzip (told apart by its first bytes).
/// @throws FileError when the file cannot be opened or read, or gzip data are damaged or
///         cut off
[[nodiscard]] std::string read_gzip_text(const std::string& path);

}  // namespace espalier::cli
