#include <gtest/gtest.h>

#include <string>

#include "solver/distributed/job.h"

namespace espalier::cluster_test {
namespace TEST_SOURCE {

// One process speaks, and says this; the job ends with the status.
void expect_one_message(const Job& job, int status, const std::string& words) {
  EXPECT_TRUE(ended(job, status));
  EXPECT_EQ(job.count(words), 1);
}

TEST(ClusterJob, EndsWithoutFailure) {
  for (const int processes : {1, 4}) {
    const Job job = run_job(processes, {"nothing"});
    EXPECT_TRUE(ended(job, 0));
    EXPECT_EQ(job.count("espalier:"), 0);
  }
}

TEST(ClusterJob, EndsWithOneMessageAndTheStatusWhenOneFails) {
  const Job job = run_job(4, {"fail"});
  expect_one_message(job, 1, "espalier: ");
  EXPECT_EQ(job.count("espalier: rank 3 on "), 1);
  EXPECT_EQ(job.count(": the answer is no\n"), 1);
}

TEST(ClusterJob, EndsWhenRank0Fails) {
  expect_one_message(run_job(3, {"fail", "first"}), 1, "espalier: rank 0 on ");
}

TEST(ClusterJob, EndsWhenTheOnlyProcessFails) {
  expect_one_message(run_job(1, {"fail"}), 1, "espalier: rank 0 on ");
}

TEST(ClusterJob, PrintsOneMessageWhenAllFailAtOnce) {
  expect_one_message(run_job(4, {"fail", "all"}), 1, "espalier: ");
}

TEST(ClusterJob, EndsWhenAThreadFailsWhileTheMainThreadComputes) {
  expect_one_message(run_job(2, {"fail in a thread"}), 1, "espalier: ");
}

TEST(ClusterJob, CutsAMessageThatIsTooLong) {
  const Job job = run_job(2, {"long"});
  expect_one_message(job, 2, "espalier: rank 1 on ");
  EXPECT_EQ(job.count(std::string(2900, 'x')) > 0, true);
  EXPECT_EQ(job.count(std::string(3000, 'x')), 0);
}

TEST(ClusterJob, EndsWhenAnExceptionLeavesInOneProcess) {
  const Job job = run_job(3, {"throw"});
  expect_one_message(job, 3, "espalier: rank 2 on ");
  EXPECT_EQ(job.count("by an exception"), 1);
}

TEST(ClusterJob, EndsWhenAProcessExitsBeforeTheEnd) {
  const Job job = run_job(3, {"exit"});
  expect_one_message(job, 3, "espalier: rank 2 on ");
  EXPECT_EQ(job.count("before its end"), 1);
}

TEST(ClusterJob, EndsWhenItsProcessesAreNotTheSame) {
  const Job job = run_job(3, {"differ"});
  expect_one_message(job, 2, "espalier: ");
  EXPECT_EQ(job.count("'colour=0', rank 1 on "), 1);
  EXPECT_EQ(job.count("'colour=1'"), 1);
}

TEST(ClusterJob, RefusesABadTimeLimit) {
  const Job job = run_job(2, {"nothing"}, {"ESPALIER_CLUSTER_TIMEOUT=soon"});
  EXPECT_NE(job.status, 0);
  EXPECT_GE(job.count("ESPALIER_CLUSTER_TIMEOUT='soon'"), 1);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::cluster_test
