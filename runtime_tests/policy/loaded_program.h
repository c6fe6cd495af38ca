#pragma once

#include <starpu_config.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace espalier::policy {

/// How a program ended: what it wrote to standard output and error, and its status as a
/// shell gives it (128 + the signal that ended it).
struct Ended {
  std::string output;
  int status;
};

/// Runs a program that does not know of the policy, with these environment variables.
inline Ended run_program(const std::string& variables, const std::string& program) {
  // Sanitizers want to be loaded first; that is not what is tested here.
  const std::string command =
      "exec env ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 " + variables + " " +
      program + " 2>&1";
  Ended ended{"", -1};
  std::FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return ended;
  std::array<char, 4096> buffer;
  while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr)
    ended.output += buffer.data();
  const int status = pclose(pipe);
  ended.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return ended;
}

/// The variable that lets it find the policy, and with the name that it is to use it.
#if STARPU_MAJOR_VERSION == 1 && STARPU_MINOR_VERSION == 3
inline const std::string kFound = "LD_PRELOAD=" ESPALIER_LIBRARY " ";
#else
inline const std::string kFound = "STARPU_SCHED_LIB=" ESPALIER_LIBRARY " ";
#endif
inline const std::string kLoaded = kFound + "STARPU_SCHED=espalier ";

/// Preloaded besides, for what takes the place of functions.
#if STARPU_MAJOR_VERSION == 1 && STARPU_MINOR_VERSION == 3
inline const std::string kBothLoaded = kFound;
#else
inline const std::string kBothLoaded = kFound + "LD_PRELOAD=" ESPALIER_LIBRARY " ";
#endif

inline const std::string kTwoWorkers = "STARPU_NCPU=2 ";

/// The report that it wrote.
inline nlohmann::json read_report(const std::string& path) {
  std::ifstream file(path);
  return nlohmann::json::parse(file, nullptr, false);
}

}  // namespace espalier::policy
