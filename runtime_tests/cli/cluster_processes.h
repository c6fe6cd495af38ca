#pragma once

#include <string>
#include <vector>

#include "cli/program.h"

namespace espalier::cli_test {

/// The arguments of mpirun for `espalier arguments more` on so many processes. The
/// program of tests on a cluster is mpirun (CMakeLists.txt).
[[nodiscard]] std::vector<std::string> on(int processes,
                                          const std::vector<std::string>& arguments,
                                          const std::vector<std::string>& more = {});

/// The process of this rank that mpirun started; 0: there is none.
[[nodiscard]] int process_of(int mpirun, int rank);

/// VmRSS in KiB; 0: the process is gone.
[[nodiscard]] long long resident_kib(int process);

/// Whether the process is gone, or waits to be collected, within ten seconds.
[[nodiscard]] bool ends(int process);

/// After a process of a job was killed: the job failed, of itself, with one message that
/// names the signal, and the process `other` is gone, too.
void expect_ended_by_kill(const Outcome& outcome, int other);

}  // namespace espalier::cli_test
