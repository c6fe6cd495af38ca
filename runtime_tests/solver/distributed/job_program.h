#pragma once

#include <cstdio>
#include <exception>
#include <string>

#include "cli/job/cluster.h"

namespace espalier::solver {

/// The main() of a program that is run as a job: whoever fails ends it; at the end rank 0
/// prints `done`.
/// @param run  void(cli::Cluster&)
/// @param done  null: nothing is printed
int run_job_program(int argc, char** argv, const std::string& job, const auto& run,
                    const char* done) {
  cli::Cluster cluster(argc, argv, job);
  try {
    run(cluster);
  } catch (const std::exception& error) {
    cluster.fail(3, error.what());
  }
  if (done != nullptr && cluster.rank() == 0) std::puts(done);
  return 0;
}

}  // namespace espalier::solver
