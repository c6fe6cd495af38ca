#pragma once

#include <filesystem>
#include <string>

namespace espalier::cli {

/// @throws FileError "path: problem: why" unless files can be made in the folder
void check_writable(const std::string& path, const std::filesystem::path& folder,
                    const char* problem);

/// Of an option that names a directory to put files in. @throws FileError
void check_directory(const std::string& option, const std::string& directory);

}  // namespace espalier::cli
