#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>

namespace espalier::cli_test {

/// Whether the process has computed for so long, half a second, that it can only be
/// searching.
inline bool searches(int process) {
  std::ifstream status(fmt::format("/proc/{}/stat", process));
  std::string line;
  std::getline(status, line);
  // Behind the name in brackets, the 12th and 13th value are ticks of processor time.
  std::istringstream fields(line.substr(std::min(line.rfind(')') + 1, line.size())));
  std::string skipped;
  for (int field = 0; field < 11; ++field) fields >> skipped;
  std::int64_t user = 0, system = 0;
  return (fields >> user >> system) && 2 * (user + system) >= sysconf(_SC_CLK_TCK);
}

/// For run_disturbed(): SIGINT, once it searches.
inline bool interrupt_search(int process) {
  return searches(process) && kill(process, SIGINT) == 0;
}

}  // namespace espalier::cli_test
