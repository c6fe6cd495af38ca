#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

namespace espalier::cluster_test {

/// One run of mpirun with `failing_program`, and what was left of it.
struct Job {
  int status = -1;  ///< of mpirun; 128 + signal where that ended it
  double seconds = 0;
  std::string out, err;
  std::vector<std::string> processes_left;  ///< half a minute after mpirun
  std::vector<std::string> files_left;      ///< in the job's directory for such files

  [[nodiscard]] int count(const std::string& text) const;  ///< how often in `err`
};

/// @param arguments of the program
/// @param environment "NAME=value", added
/// @param once_started called with the process id of mpirun when the job says that it
/// runs
[[nodiscard]] Job run_job(int processes, const std::vector<std::string>& arguments,
                          const std::vector<std::string>& environment = {},
                          const std::function<void(int)>& once_started = {});

void PrintTo(const Job& job, std::ostream* out);

/// With the status, with no process and no file left. A job that does not end is ended by
/// SIGALRM after minutes.
[[nodiscard]] testing::AssertionResult ended(const Job& job, int status);

}  // namespace espalier::cluster_test
