#pragma once

#include <string>

namespace espalier::cli {

/// Of an option that names a directory to put files in. @throws FileError
void check_directory(const std::string& option, const std::string& directory);

}  // namespace espalier::cli
