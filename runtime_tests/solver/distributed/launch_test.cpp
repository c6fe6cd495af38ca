// What a process knows of its job before and beside MPI.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cli/job/cores.h"
#include "cli/job/exit_status.h"
#include "cli/job/identity.h"
#include "cli/job/launch.h"
#include "cli/job/patience.h"
#include "espalier/model/error.h"

namespace espalier::solver {

using namespace cli;
namespace TEST_SOURCE {

// Without the variables that a launcher may have set for the test itself.
class Launched : public testing::Test {
 protected:
  Launched() {
    for (const char* const name :
         {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK",
          "PMI_SIZE", "PMI_RANK", "MPI_LOCALRANKID", "PMIX_RANK", "SLURM_STEP_NUM_TASKS",
          "SLURM_NTASKS", "SLURM_LOCALID", "ESPALIER_CLUSTER_TIMEOUT"})
      unsetenv(name);
  }
};

TEST_F(Launched, ByNobody) { EXPECT_EQ(launch().processes, 0); }

TEST_F(Launched, ByOpenMpi) {
  setenv("OMPI_COMM_WORLD_SIZE", "12", 1);
  setenv("OMPI_COMM_WORLD_LOCAL_RANK", "3", 1);
  EXPECT_EQ(launch().processes, 12);
  EXPECT_EQ(launch().local_rank, 3);
}

// MPI changes the environment while it starts, and a thread that reads it then may end
// the process: of patience that ends, the rank is that of before.
TEST_F(Launched, IsReadBeforePatienceBegins) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto wait = [] {
    setenv("OMPI_COMM_WORLD_SIZE", "12", 1);
    setenv("OMPI_COMM_WORLD_RANK", "0", 1);
    setenv("OMPI_COMM_WORLD_LOCAL_RANK", "3", 1);
    const Patience patience("started MPI", 0.5);
    setenv("OMPI_COMM_WORLD_RANK", "7", 1);
    std::this_thread::sleep_for(std::chrono::seconds(60));
  };
  EXPECT_EXIT(wait(), testing::ExitedWithCode(kInternal), "rank 0: not all processes");
}

TEST_F(Launched, BySrun) {
  setenv("PMIX_RANK", "5", 1);
  setenv("SLURM_STEP_NUM_TASKS", "8", 1);
  setenv("SLURM_LOCALID", "1", 1);
  EXPECT_EQ(launch().processes, 8);
  EXPECT_EQ(launch().local_rank, 1);
}

TEST_F(Launched, NotByABatchScript) {
  setenv("SLURM_NTASKS", "8", 1);
  EXPECT_EQ(launch().processes, 0);
}

TEST_F(Launched, NotByAVariableThatIsNoNumber) {
  setenv("OMPI_COMM_WORLD_SIZE", "many", 1);
  EXPECT_EQ(launch().processes, 0);
}

TEST_F(Launched, TimeLimitIsANumberOfSeconds) {
  EXPECT_EQ(cluster_timeout(), 10);
  setenv("ESPALIER_CLUSTER_TIMEOUT", "2.5", 1);
  EXPECT_EQ(cluster_timeout(), 2.5);
  for (const char* const bad : {"0", "-1", "nan", "inf", "1e9", "10s", " 10", "ten"}) {
    setenv("ESPALIER_CLUSTER_TIMEOUT", bad, 1);
    EXPECT_THROW((void)cluster_timeout(), InvalidInput) << bad;
  }
}

TEST(Identity, OfEqualProcessesHasNoDifference) {
  const std::vector<std::string> same(3, "version=1\nkind=2\n"), hosts = {"a", "b", "c"};
  EXPECT_EQ(first_difference(same, hosts), std::nullopt);
  EXPECT_EQ(
      first_difference(std::vector<std::string>{"x=1"}, std::vector<std::string>{"a"}),
      std::nullopt);
}

TEST(Identity, NamesRanksHostsAndBothValuesOfTheFirstDifference) {
  const std::vector<std::string> hosts = {"a", "b", "c"};
  const std::vector<std::string> identities = {
      "version=1\nkind=2\n", "version=1\nkind=2\n", "version=1\nkind=3\nmore=4"};
  EXPECT_EQ(first_difference(identities, hosts),
            "the processes of this job differ: rank 0 on a has 'kind=2', rank 2 on c has "
            "'kind=3'");
}

TEST(Identity, OfDifferentLengthDiffers) {
  const std::vector<std::string> hosts = {"a", "b"};
  for (const bool first : {true, false}) {
    std::vector<std::string> identities = {"version=1\n", "version=1\nkind=2\n"};
    if (first) std::swap(identities[0], identities[1]);
    const std::optional<std::string> difference = first_difference(identities, hosts);
    ASSERT_TRUE(difference);
    EXPECT_NE(difference->find("'nothing more'"), std::string::npos) << *difference;
    EXPECT_NE(difference->find("'kind=2'"), std::string::npos) << *difference;
  }
}

TEST(Identity, OfTheBuildIsLinesOfNamesAndValues) {
  const std::string identity = identity_of_build(10);
  EXPECT_NE(identity.find("StarPU=1."), std::string::npos) << identity;
  EXPECT_NE(identity.find("ESPALIER_CLUSTER_TIMEOUT=10\n"), std::string::npos)
      << identity;
}

TEST(PartOfCores, CoversAllCoresOnceAndEvenly) {
  for (std::int32_t cores = 1; cores <= 130; ++cores) {
    for (std::int32_t n = 1; n <= cores; ++n) {
      std::int32_t next = 0;
      for (std::int32_t i = 0; i < n; ++i) {
        const CorePart part = part_of_cores(cores, i, n);
        ASSERT_EQ(part.first, next);
        ASSERT_GE(part.count, cores / n);
        ASSERT_LE(part.count, (cores + n - 1) / n);
        next += part.count;
      }
      ASSERT_EQ(next, cores);
    }
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
