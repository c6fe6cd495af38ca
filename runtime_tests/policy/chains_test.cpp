// The demonstration: a program that knows nothing of the policy, with more data than
// memory (chains_example.c).

#include <gtest/gtest.h>

#include <csignal>
#include <string>

#include "policy/loaded_program.h"

namespace espalier::policy {
namespace TEST_SOURCE {

TEST(Chains, FinishInsideTheBoundWithThePolicy) {
  const std::string path = testing::TempDir() + "chains.json";
  const Ended ended = run_program(
      kTwoWorkers + kLoaded + "ESPALIER_MEMORY=256MiB ESPALIER_REPORT=" + path,
      CHAINS_PROGRAM);
  EXPECT_EQ(ended.status, 0) << ended.output;
  EXPECT_NE(ended.output.find("data right"), std::string::npos) << ended.output;
  const std::size_t at = ended.output.find("resident peak ");
  ASSERT_NE(at, std::string::npos) << ended.output;
  // With 2 MiB for stacks and for what the first tasks of a program touch.
  EXPECT_LE(std::stod(ended.output.substr(at + 14)), 256 + 2) << ended.output;
  const nlohmann::json json = read_report(path);
  EXPECT_EQ(json["bound_kept"], true) << json;
  EXPECT_EQ(json["least_bytes"], 64 << 20);
  EXPECT_EQ(json["booked_peak_bytes"], 256 << 20);
  EXPECT_LE(json["allocated_peak_bytes"], 256 << 20);
  EXPECT_EQ(json["tasks"], 32);
  EXPECT_EQ(json["unsafe_admissions"], 0);
  EXPECT_TRUE(json["outside"].empty()) << json;
}

TEST(Chains, FinishInTheLeastBound) {
  const Ended ended =
      run_program(kTwoWorkers + kLoaded + "ESPALIER_MEMORY=64MiB", CHAINS_PROGRAM);
  EXPECT_EQ(ended.status, 0) << ended.output;
  EXPECT_NE(ended.output.find("data right"), std::string::npos) << ended.output;
}

// No task has ended for two seconds when StarPU's watchdog aborts the program: it hangs.
TEST(Chains, HangUnderStarPUsOwnPoliciesWithItsOwnLimit) {
  for (const std::string policy : {"eager", "lws", "prio"}) {
    const Ended ended =
        run_program(kTwoWorkers + "STARPU_SCHED=" + policy +
                        " STARPU_LIMIT_CPU_MEM=256 STARPU_WATCHDOG_TIMEOUT=2000000"
                        " STARPU_WATCHDOG_CRASH=1",
                    CHAINS_PROGRAM);
    EXPECT_EQ(ended.status, 128 + SIGABRT) << policy << ": " << ended.output;
    EXPECT_EQ(ended.output.find("data right"), std::string::npos) << policy;
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::policy
