#include "cli/cluster_processes.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "cli/program.h"
#include "cli/solving.h"

namespace espalier::cli_test {

std::vector<std::string> on(int processes, const std::vector<std::string>& arguments,
                            const std::vector<std::string>& more) {
  std::vector<std::string> all = {"-n", std::to_string(processes), ESPALIER};
  all.insert(all.end(), arguments.begin(), arguments.end());
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

int process_of(int mpirun, int rank) {
  std::error_code ignored;
  for (const auto& each : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string status = text_of(each.path() / "status");
    if (status.find("PPid:\t" + std::to_string(mpirun) + "\n") == std::string::npos)
      continue;
    const std::string variable = "OMPI_COMM_WORLD_RANK=" + std::to_string(rank);
    if (text_of(each.path() / "environ").find(variable) != std::string::npos)
      return std::stoi(each.path().filename());
  }
  return 0;
}

long long resident_kib(int process) {
  const std::string status = text_of("/proc/" + std::to_string(process) + "/status");
  const std::size_t at = status.find("VmRSS:");
  return at == std::string::npos ? 0 : std::stoll(status.substr(at + 6));
}

bool ends(int process) {
  const std::string status = "/proc/" + std::to_string(process) + "/status";
  for (int look = 0; look < 100; ++look) {
    const std::string text = text_of(status);
    if (text.empty() || text.find("State:\tZ") != std::string::npos) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return false;
}

void expect_ended_by_kill(const Outcome& outcome, int other) {
  EXPECT_NE(outcome.status, 0);
  EXPECT_EQ(outcome.signal, 0);
  const std::string sign = "espalier: ";
  const std::size_t first = outcome.err.find(sign);
  if (first != std::string::npos) {
    EXPECT_EQ(outcome.err.find(sign, first + 1), std::string::npos) << outcome.err;
  }
  expect_says(outcome, "signal 9 (Killed)");
  EXPECT_TRUE(ends(other)) << "process " << other << " is left";
}

}  // namespace espalier::cli_test
