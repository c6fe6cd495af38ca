// The system's Ipopt, as it is, with libhsl.so: optima and iterations as with MUMPS.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "nlp.h"

namespace espalier::adapters {
namespace TEST_SOURCE {

constexpr int kSolved = 0, kAcceptable = 1;

/// The report that the library leaves, and how much it says of it.
class Report {
 public:
  Report() {
    std::string name = testing::TempDir() + "ipopt.XXXXXX";
    if (mkdtemp(name.data()) == nullptr) return;
    folder_ = name;
    path_ = name + "/report";
    setenv("ESPALIER_SOLVER_REPORT", path_.c_str(), 1);
  }
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;
  ~Report() {
    unsetenv("ESPALIER_SOLVER_REPORT");
    std::filesystem::remove_all(folder_);
  }
  [[nodiscard]] bool says(const std::string& word) const {
    std::ifstream in(path_);
    for (std::string line; std::getline(in, line);)
      if (line.find(word) != std::string::npos) return true;
    return false;
  }

 private:
  std::string folder_, path_;
};

void expect_as_mumps(const Nlp& nlp, const std::string& solver) {
  const IpoptRun peer = run_ipopt(nlp, "mumps");
  ASSERT_TRUE(peer.status == kSolved || peer.status == kAcceptable) << peer.status;
  const Report report;
  const IpoptRun ours = run_ipopt(nlp, solver);
  // What ma57 reports comes with the end of the process: ipopt_with_ma57.
  EXPECT_TRUE(solver == "ma57" || report.says("\"adapter\": \"" + solver + "\""));
  EXPECT_EQ(ours.status, peer.status);
  EXPECT_LE(std::abs(ours.iterations - peer.iterations), 2)
      << ours.iterations << " and " << peer.iterations;
  const double size = 1 + std::abs(peer.objective);
  EXPECT_NEAR(ours.objective, peer.objective, 1e-7 * size);
  if (!std::isnan(nlp.optimum)) {
    EXPECT_NEAR(ours.objective, nlp.optimum, 1e-6 * size);
  }
}

class HockSchittkowski : public testing::TestWithParam<Nlp> {};

TEST_P(HockSchittkowski, HasTheOptimumAndTheIterationsOfMumps) {
  expect_as_mumps(GetParam(), "ma97");
}

INSTANTIATE_TEST_SUITE_P(Ipopt, HockSchittkowski, testing::ValuesIn(hock_schittkowski()),
                         [](const auto& each) { return each.param.name; });

TEST_P(HockSchittkowski, HasTheSameWithMa57) { expect_as_mumps(GetParam(), "ma57"); }

void expect_both_as_mumps(const Nlp& problem) {
  for (const char* solver : {"ma97", "ma57"}) expect_as_mumps(problem, solver);
}

TEST(Ipopt, SolvesAChain) { expect_both_as_mumps(chained_rosenbrock(1000)); }

TEST(Ipopt, SolvesAControlProblem) { expect_both_as_mumps(elliptic_control(30)); }

TEST(Ipopt, SolvesAControlProblemInSpace) {
  expect_both_as_mumps(elliptic_control_3d(8));
}

TEST(Ipopt, SolvesASurfaceAboveAnObstacle) { expect_both_as_mumps(minimal_surface(25)); }

// Larger: there is more to do than is done without StarPU.
TEST(Ipopt, SolvesAControlProblemOnStarPU) {
  expect_as_mumps(elliptic_control(100), "ma97");
}

TEST(Ipopt, EndsWithAMessageWhereTheBoundIsTooSmall) {
  for (const char* solver : {"ma97", "ma57"}) {
    setenv("ESPALIER_SOLVER_MEMORY", "1MiB", 1);
    testing::internal::CaptureStderr();
    const IpoptRun run = run_ipopt(elliptic_control(30), solver);
    const std::string text = testing::internal::GetCapturedStderr();
    unsetenv("ESPALIER_SOLVER_MEMORY");
    EXPECT_LT(run.status, 0);
    EXPECT_NE(text.find("suffices"), std::string::npos) << text;
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::adapters
