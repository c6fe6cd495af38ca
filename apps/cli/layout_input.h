#pragma once

#include <string>

#include "espalier/io/layout_csv.h"

namespace espalier::cli {

/// Reads buffers from a CSV file, plain or gzip (told apart by its first bytes).
/// @throws FileError as read_layout_csv(), and for gzip data that is damaged
/// @param alignment  that their sizes will be rounded up to
[[nodiscard]] LayoutFile read_layout_input(const std::string& path, Bytes alignment);

}  // namespace espalier::cli
