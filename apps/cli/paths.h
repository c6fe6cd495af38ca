#pragma once

#include <string>

#include "solver/runtime/runtime.h"

namespace espalier::cli {

/// Of an option that names a directory to put files in. @throws Refused
void check_directory(const std::string& option, const std::string& directory);

/// Of an option that names a file to write. @throws Refused
void check_file(const std::string& option, const std::string& path);

/// The same where this process is the one that writes results. @throws Refused
void check_result(const std::string& option, const std::string& path);

/// What --scheduler and --workers ask for can be. @throws InvalidInput, MemoryLimit
void check_runtime(const solver::RuntimeOptions& options);

}  // namespace espalier::cli
