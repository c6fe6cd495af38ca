#pragma once

// Refusals that end with the command that works: each is run, and so is that command.

#include <ostream>
#include <string>
#include <vector>

namespace espalier::cli_test {

/// A command that is refused. Words in braces stand for files that the fixture makes:
/// {tree}, {graph}, {buffers}, {chain}, {times}, {stages}, {sharding}, {spd},
/// {indefinite}, {unsymmetric}, {record} (of a run), {three} (right-hand sides of order
/// 3), {seven} (the number of a variable), {new} (a name that is not there yet) and
/// {directory}.
struct Refusal {
  std::string name;  ///< of the case
  std::vector<std::string> command;
  int status = 2;
  int processes = 0;  ///< of a job
};
inline void PrintTo(const Refusal& refusal, std::ostream* out) {
  for (const std::string& word : refusal.command) *out << word << ' ';
}

/// Runs it, takes the last line of standard error, runs that in a shell: status 0. The
/// command that works keeps every word of the refused one in which nothing was wrong.
void expect_remedy(const Refusal& refusal);

/// The same of the processes of a job, for tests on a cluster: mpirun says more behind.
void expect_remedy_of_job(const Refusal& refusal);

}  // namespace espalier::cli_test
