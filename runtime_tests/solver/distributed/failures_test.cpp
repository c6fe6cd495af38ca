#include <gtest/gtest.h>

#include <string>

#include "solver/distributed/job.h"

namespace espalier::cluster_test {
namespace {

TEST(ClusterJob, EndsWithoutFailure) {
  for (const int processes : {1, 4}) {
    const Job job = run_job(processes, {"nothing"});
    EXPECT_TRUE(ended(job, 0));
    EXPECT_EQ(job.count("espalier:"), 0);
  }
}

TEST(ClusterJob, EndsWithOneMessageAndTheStatusWhenOneFails) {
  const Job job = run_job(4, {"fail"});
  EXPECT_TRUE(ended(job, 1));
  EXPECT_EQ(job.count("espalier: "), 1);
  EXPECT_EQ(job.count("espalier: rank 3 on "), 1);
  EXPECT_EQ(job.count(": the answer is no\n"), 1);
}

TEST(ClusterJob, EndsWhenRank0Fails) {
  const Job job = run_job(3, {"fail", "first"});
  EXPECT_TRUE(ended(job, 1));
  EXPECT_EQ(job.count("espalier: rank 0 on "), 1);
}

TEST(ClusterJob, EndsWhenTheOnlyProcessFails) {
  const Job job = run_job(1, {"fail"});
  EXPECT_TRUE(ended(job, 1));
  EXPECT_EQ(job.count("espalier: rank 0 on "), 1);
}

TEST(ClusterJob, PrintsOneMessageWhenAllFailAtOnce) {
  const Job job = run_job(4, {"fail", "all"});
  EXPECT_TRUE(ended(job, 1));
  EXPECT_EQ(job.count("espalier: "), 1);
}

TEST(ClusterJob, EndsWhenAThreadFailsWhileTheMainThreadComputes) {
  const Job job = run_job(2, {"fail in a thread"});
  EXPECT_TRUE(ended(job, 1));
  EXPECT_EQ(job.count("espalier: "), 1);
}

TEST(ClusterJob, CutsAMessageThatIsTooLong) {
  const Job job = run_job(2, {"long"});
  EXPECT_TRUE(ended(job, 2));
  EXPECT_EQ(job.count("espalier: rank 1 on "), 1);
  EXPECT_EQ(job.count(std::string(2900, 'x')) > 0, true);
  EXPECT_EQ(job.count(std::string(3000, 'x')), 0);
}

TEST(ClusterJob, EndsWhenAnExceptionLeavesInOneProcess) {
  const Job job = run_job(3, {"throw"});
  EXPECT_TRUE(ended(job, 3));
  EXPECT_EQ(job.count("espalier: rank 2 on "), 1);
  EXPECT_EQ(job.count("by an exception"), 1);
}

TEST(ClusterJob, EndsWhenAProcessExitsBeforeTheEnd) {
  const Job job = run_job(3, {"exit"});
  EXPECT_TRUE(ended(job, 3));
  EXPECT_EQ(job.count("espalier: rank 2 on "), 1);
  EXPECT_EQ(job.count("before its end"), 1);
}

TEST(ClusterJob, EndsWhenItsProcessesAreNotTheSame) {
  const Job job = run_job(3, {"differ"});
  EXPECT_TRUE(ended(job, 2));
  EXPECT_EQ(job.count("espalier: "), 1);
  EXPECT_EQ(job.count("'colour=0', rank 1 on "), 1);
  EXPECT_EQ(job.count("'colour=1'"), 1);
}

TEST(ClusterJob, RefusesABadTimeLimit) {
  const Job job = run_job(2, {"nothing"}, {"ESPALIER_CLUSTER_TIMEOUT=soon"});
  EXPECT_NE(job.status, 0);
  EXPECT_GE(job.count("ESPALIER_CLUSTER_TIMEOUT='soon'"), 1);
}

}  // namespace
}  // namespace espalier::cluster_test
