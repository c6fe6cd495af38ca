// That what a command writes takes no place of what it reads or writes besides.

#include "cli/results_apart.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/options.h"

namespace espalier::cli {
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

void check_results_apart(CLI::App& command) {
  if (!is_first_process()) return;
  std::vector<NamedFile> inputs, results;
  std::vector<CLI::App*> apps = {&command};
  for (std::size_t k = 0; k < apps.size(); ++k) {
    for (CLI::Option* option : apps[k]->get_options()) {
      const bool positional = option->get_positional();
      if (option->count() == 0 || !(positional || option->get_type_name() == "FILE"))
        continue;
      const std::string name = option->get_name(positional);
      for (const std::string& path : option->results())
        (is_output(*option) ? results : inputs)
            .push_back({name, path, drop_option(name)});
    }
    const auto inner = apps[k]->get_subcommands();  // that were parsed
    apps.insert(apps.end(), inner.begin(), inner.end());
  }
  check_results_apart(inputs, results);
}

}  // namespace espalier::cli
