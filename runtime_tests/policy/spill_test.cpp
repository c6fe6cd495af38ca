// A program that needs twice the bound, whatever the order (spill_program.c).

#include <gtest/gtest.h>

#include <csignal>
#include <string>

#include "policy/loaded_program.h"

namespace espalier::policy {
namespace TEST_SOURCE {

TEST(Spill, IsRefusedWithoutADisk) {
  const std::string path = testing::TempDir() + "spill_refused.json";
  const Ended ended = run_program(
      kTwoWorkers + kLoaded + "ESPALIER_MEMORY=256MiB ESPALIER_REPORT=" + path,
      SPILL_PROGRAM);
  EXPECT_EQ(ended.status, 128 + SIGABRT) << ended.output;
  EXPECT_NE(ended.output.find("the memory bound of 256.0 MiB (ESPALIER_MEMORY) cannot be "
                              "kept: task \"write\" needs 64.0 MiB more"),
            std::string::npos)
      << ended.output;
  EXPECT_EQ(read_report(path)["least_bytes"], 512 << 20);
}

TEST(Spill, FinishesWithADisk) {
  const std::string path = testing::TempDir() + "spill.json";
  std::string variables = kTwoWorkers + kLoaded +
                          "ESPALIER_MEMORY=256MiB ESPALIER_ON_OVERFLOW=disk "
                          "ESPALIER_SPILL_DIR=" +
                          testing::TempDir() + " ESPALIER_REPORT=" + path + " ";
#if STARPU_MAJOR_VERSION != 1 || STARPU_MINOR_VERSION != 3
  // StarPU has read its limit before it loads the policy.
  variables += "STARPU_LIMIT_CPU_MEM=256 ";
#endif
  const Ended ended = run_program(variables, SPILL_PROGRAM);
  EXPECT_EQ(ended.status, 0) << ended.output;
  EXPECT_NE(ended.output.find("data right"), std::string::npos) << ended.output;
  const nlohmann::json json = read_report(path);
  EXPECT_EQ(json["bound_kept"], true) << json;
  EXPECT_LE(json["booked_peak_bytes"], 256 << 20);
  EXPECT_EQ(json["tasks"], 16);
}

TEST(Spill, FinishesOverTheBoundWithAWarning) {
  const std::string path = testing::TempDir() + "spill_warned.json";
  const Ended ended = run_program(kTwoWorkers + kLoaded +
                                      "ESPALIER_MEMORY=256MiB ESPALIER_ON_OVERFLOW=warn "
                                      "ESPALIER_REPORT=" +
                                      path,
                                  SPILL_PROGRAM);
  EXPECT_EQ(ended.status, 0) << ended.output;
  EXPECT_NE(ended.output.find("data right"), std::string::npos) << ended.output;
  const std::size_t first = ended.output.find("going on over the bound");
  EXPECT_NE(first, std::string::npos) << ended.output;
  EXPECT_EQ(ended.output.find("going on over the bound", first + 1), std::string::npos)
      << ended.output;
  const nlohmann::json json = read_report(path);
  EXPECT_EQ(json["bound_kept"], false) << json;
  EXPECT_EQ(json["over_bound_bytes"], 256 << 20);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::policy
