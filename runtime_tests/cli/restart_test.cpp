// The program starts itself again where BLAS runs kernels for an older processor.

#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/program.h"

namespace espalier::cli_test {
namespace TEST_SOURCE {

using nlohmann::json;

// Programs that are run find these in their environment while it lives.
class Environment {
 public:
  explicit Environment(const char* mode, const char* coretype = nullptr) {
    setenv("LD_PRELOAD", ESPALIER_OLD_BLAS, 1);
    setenv("OLD_BLAS", mode, 1);
    if (coretype != nullptr)
      setenv("OPENBLAS_CORETYPE", coretype, 1);
    else
      unsetenv("OPENBLAS_CORETYPE");
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() {
    for (const char* name : {"LD_PRELOAD", "OLD_BLAS", "OPENBLAS_CORETYPE"})
      unsetenv(name);
  }
};

// As the program says when it is not started again; empty: a processor without AVX.
const std::string& suitable_kernel() {
  static const std::string name = [] {
    const Environment old("single");
    const json machine = json::parse(run({"info", "--json"}).out, nullptr, false);
    EXPECT_EQ(machine.value("blas_kernel", ""), "Prescott") << machine;
    return machine.value("blas_kernel_suitable", "");
  }();
  return name;
}

class Restart : public testing::Test {
 protected:
  void SetUp() override {
    if (suitable_.empty()) GTEST_SKIP() << "a processor without AVX";
  }

  static json info() {
    const Outcome outcome = run({"info", "--json"});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    return json::parse(outcome.out, nullptr, false);
  }

  const std::string& suitable_ = suitable_kernel();
};

TEST_F(Restart, TakesTheKernelOfTheProcessor) {
  const Environment old("");
  const json report = info();
  EXPECT_EQ(report["blas_kernel"], suitable_);
  EXPECT_EQ(report["blas_kernel_chosen_by"], "OPENBLAS_CORETYPE=" + suitable_);
  EXPECT_GT(report["dgemm_flops_per_second"], 1e6);
}

TEST_F(Restart, LeavesTheUsersChoiceAlone) {
  const Environment old("", "Prescott");
  EXPECT_EQ(info()["blas_kernel"], "Prescott");
  const Environment empty("stubborn", "");
  EXPECT_EQ(info()["blas_kernel_chosen_by"], "OPENBLAS_CORETYPE=");
}

TEST_F(Restart, HappensOnceWhereItDoesNotHelp) {
  const Environment old("stubborn");
  const json report = info();
  EXPECT_EQ(report["blas_kernel"], "Prescott");
  EXPECT_EQ(report["blas_kernel_chosen_by"], "OPENBLAS_CORETYPE=" + suitable_);
}

TEST_F(Restart, DoesNotHappenWhereThereIsOneKernel) {
  const Environment old("single");
  EXPECT_EQ(info()["blas_kernel_chosen_by"], "OpenBLAS");
}

TEST_F(Restart, ThatFailsIsSaidAndTheProgramGoesOn) {
  const Environment old("confined");
  const Outcome outcome = run({"info", "--json"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(json::parse(outcome.out)["blas_kernel"], "Prescott");
  EXPECT_NE(outcome.err.find("Operation not permitted"), std::string::npos)
      << outcome.err;
  EXPECT_NE(outcome.err.find("OPENBLAS_CORETYPE=" + suitable_), std::string::npos)
      << outcome.err;
}

TEST_F(Restart, KeepsTheArguments) {
  const Environment old("");
  const Outcome outcome = run({"solve", "no such file.mtx", "--kind", "spd"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("no such file.mtx"), std::string::npos) << outcome.err;
}

}  // namespace TEST_SOURCE
}  // namespace espalier::cli_test
