#pragma once

// What the main() of programs that measure have in common. After <CLI/CLI.hpp>.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace espalier::bench {

inline CLI::Option* add_repeat(CLI::App& app, int& repeat) {
  return app.add_option("--repeat", repeat, "Runs of each")->check(CLI::Range(1, 99));
}

inline CLI::Option* add_timeout(CLI::App& app, int& timeout,
                                const std::string& words = "Seconds of one run") {
  return app.add_option("--timeout", timeout, words)->check(CLI::Range(1, 1'000'000));
}

inline CLI::Option* add_workers(CLI::App& app, int& workers,
                                const std::string& words = "Workers or BLAS threads") {
  return app.add_option("--workers", workers, words)->check(CLI::Range(1, 1024));
}

inline CLI::Option* add_json(CLI::App& app, std::string& file) {
  return app.add_option("--json", file, "Also write every run to this file");
}

/// For matrices of several kinds.
inline CLI::Option* add_kinds(CLI::App& app, std::vector<std::string>& kinds) {
  return app.add_option("--kinds", kinds, "Kinds to factor as; auto: the most special")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"auto", "spd", "symmetric", "general"}));
}

/// @param all  their names
inline CLI::Option* add_peers(CLI::App& app, std::vector<std::string>& peers,
                              const std::vector<std::string>& all) {
  return app.add_option("--peers", peers, "Peers, where they are built")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember(all));
}

/// Parses and runs. @return what main() returns: what `run` does, 3 where it throws
template <class Run>
int parse_and_run(CLI::App& app, int argc, char** argv, Run&& run) {
  CLI11_PARSE(app, argc, argv);
  try {
    return std::forward<Run>(run)();
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", std::filesystem::path(argv[0]).filename().string(),
               error.what());
    return 3;
  }
}

}  // namespace espalier::bench
