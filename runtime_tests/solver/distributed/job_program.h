#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <span>
#include <string>

#include "cli/job/cluster.h"

namespace espalier::solver {

/// Calls work(folder) with an empty folder that all processes of the job share, and which
/// goes when all have done with it.
/// @param work  void(const std::string&)
void in_folder_of_job(cli::Cluster& cluster, const auto& work) {
  std::string folder(64, '\0');
  if (cluster.rank() == 0) {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "espalier-XXXXXX").string();
    folder = mkdtemp(pattern.data());
    folder.resize(64, '\0');
  }
  cluster.broadcast(std::as_writable_bytes(std::span(folder)), 0);
  folder.resize(std::strlen(folder.c_str()));
  work(folder);
  cluster.barrier();
  if (cluster.rank() == 0) std::filesystem::remove_all(folder);
}

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
