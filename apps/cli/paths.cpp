#include "cli/paths.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/options.h"
#include "cli/remedy.h"
#include "espalier/io/output_file.h"
#include "espalier/model/error.h"

namespace espalier::cli {

void check_directory(const std::string& option, const std::string& directory) {
  std::error_code ignored;
  if (std::filesystem::exists(directory, ignored) &&
      !std::filesystem::is_directory(directory, ignored))
    throw Refused(fmt::format("{} {}: is not a directory", option, directory),
                  drop_option(option));
  if (access(directory.c_str(), W_OK | X_OK) == 0) return;
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

namespace {

constexpr int kMostLinks = 40;  // of one name, as the system has it

// Where a file is or would be, links followed; of what is no plain file, nothing.
std::filesystem::path place_of(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (path.empty() || (fs::exists(path, error) && !fs::is_regular_file(path, error)))
    return {};
  fs::path place = fs::absolute(path, error);
  for (int links = 0; links < kMostLinks && fs::is_symlink(place, error); ++links)
    place = place.parent_path() / fs::read_symlink(place, error);
  return fs::weakly_canonical(place, error);
}

}  // namespace

void check_results_apart(std::span<const NamedFile> inputs,
                         std::span<const NamedFile> results) {
  std::vector<std::pair<std::filesystem::path, const NamedFile*>> taken;
  for (const NamedFile& each : inputs) taken.emplace_back(place_of(each.path), &each);
  for (const NamedFile& each : results) {
    const std::filesystem::path place = place_of(each.path);
    if (place.empty()) continue;
    for (const auto& [other, file] : taken)
      if (other == place)
        throw Refused(
            fmt::format("{} {}: is the file of {}", each.option, each.path, file->option),
            each.without);
    taken.emplace_back(place, &each);
  }
}

void check_runtime(const solver::RuntimeOptions& options) {
  const bool workers = options.workers > solver::default_workers();
  refusing(drop_option(workers ? "--workers" : "--scheduler"),
           [&] { solver::check(options); });
}

}  // namespace espalier::cli
