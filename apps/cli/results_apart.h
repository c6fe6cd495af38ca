#pragma once

#include <span>
#include <string>

#include "cli/cli_types.h"
#include "cli/remedy.h"

namespace espalier::cli {

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

/// The same of the command that was parsed: results are what add_output() made options
/// for, inputs are positional or other options that take a FILE. Of several processes the
/// first one looks, since it writes.
void check_results_apart(CLI::App& command);

}  // namespace espalier::cli
