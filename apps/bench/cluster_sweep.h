#pragma once

#include <string>
#include <vector>

namespace espalier::bench {

/// Which runs a sweep makes: all combinations.
struct Sweep {
  std::vector<std::string> inputs;
  std::vector<std::string> kinds;  ///< as espalier's --kind takes it
  std::vector<int> processes, workers;
  std::vector<std::string> memory;  ///< as espalier's --memory takes it
  int timeout = 100;                ///< seconds of a run
  std::string program;              ///< espalier; empty: the one beside this program
};

/// Solves every system on every number of processes and says of each run whether it is
/// right: exit status 0, a small componentwise backward error, every process within its
/// bound. A system that one process does not trust either must get the same verdict. A
/// line a run, with the command and what it said where it is wrong, and a summary.
///
/// @return how many runs are wrong
[[nodiscard]] int run_sweep(const Sweep& sweep);

}  // namespace espalier::bench
