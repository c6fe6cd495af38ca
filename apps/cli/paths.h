#pragma once

#include <span>
#include <string>

#include "cli/remedy.h"
#include "solver/runtime/runtime.h"

namespace espalier::cli {

/// Of an option that names a directory to put files in. @throws Refused
void check_directory(const std::string& option, const std::string& directory);

/// Of an option that names a file to write. @throws Refused
void check_file(const std::string& option, const std::string& path);

/// The same where this process is the one that writes results. @throws Refused
void check_result(const std::string& option, const std::string& path);

/// A file of a command line.
struct NamedFile {
  std::string option;   ///< that names it
  std::string path;     ///< empty: it was not given
  Remedy without = {};  ///< what makes the command one without it
};

/// No result takes the place of an input or of another result: names are compared as they
/// are when links have been followed. Devices and pipes may be named twice.
/// @throws Refused naming the later one of two results
void check_results_apart(std::span<const NamedFile> inputs,
                         std::span<const NamedFile> results);

/// What --scheduler and --workers ask for can be. @throws InvalidInput, MemoryLimit
void check_runtime(const solver::RuntimeOptions& options);

}  // namespace espalier::cli
