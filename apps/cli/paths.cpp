#include "cli/paths.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "cli/options.h"
#include "cli/remedy.h"
#include "espalier/io/output_file.h"
#include "espalier/model/error.h"
#include "solver/memory/spill_file.h"

namespace espalier::cli {

void check_directory(const std::string& option, const std::string& directory) {
  std::error_code ignored;
  if (std::filesystem::exists(directory, ignored) &&
      !std::filesystem::is_directory(directory, ignored))
    throw Refused(fmt::format("{} {}: is not a directory", option, directory),
                  drop_option(option));
  if (access(directory.c_str(), W_OK | X_OK) == 0) {
    try {  // where no files can be, as in /proc
      return solver::SpillFile::check_directory(directory);
    } catch (const FileError& error) {
      throw Refused(fmt::format("{} {}", option, error.what()), drop_option(option));
    }
  }
  const int error = errno;
  Remedy remedy = error == ENOENT ? Remedy{.edits = {}, .make_directory = directory}
                                  : drop_option(option);
  throw Refused(fmt::format("{} {}: cannot be written to: {}", option, directory,
                            std::strerror(error)),
                std::move(remedy));
}

void check_file(const std::string& option, const std::string& path) {
  try {
    check_output(path);
  } catch (const FileError& error) {
    throw Refused(fmt::format("{} {}", option, error.what()), drop_option(option));
  }
}

void check_result(const std::string& option, const std::string& path) {
  if (is_first_process()) check_file(option, path);
}

void check_runtime(const solver::RuntimeOptions& options) {
  const bool workers = options.workers > solver::default_workers();
  refusing(drop_option(workers ? "--workers" : "--scheduler"),
           [&] { solver::check(options); });
}

}  // namespace espalier::cli
