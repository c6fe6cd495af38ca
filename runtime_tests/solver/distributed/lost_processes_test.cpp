#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <vector>

#include "solver/distributed/job.h"

namespace espalier::cluster_test {
namespace TEST_SOURCE {

TEST(LostProcess, KilledEndsTheJob) {
  const Job job = run_job(4, {"kill"});
  EXPECT_TRUE(ended(job, 128 + SIGKILL));
}

TEST(LostProcess, CrashedEndsTheJob) {
  const Job job = run_job(3, {"crash", "first"});
  EXPECT_TRUE(ended(job, 128 + SIGSEGV));
}

// The launcher does not notice; the other processes do.
TEST(LostProcess, SilentEndsTheJobAfterTheTimeLimit) {
  for (const std::string who : {"last", "first"}) {
    const Job job = run_job(3, {"stop", who}, {"ESPALIER_CLUSTER_TIMEOUT=3"});
    EXPECT_TRUE(ended(job, 3));
    const std::string lost =
        who == "last" ? "no word from rank 2" : "no word from rank 0";
    EXPECT_GE(job.count(lost), 1) << job.err;
    EXPECT_EQ(job.count("for 3 seconds"), job.count(lost));
  }
}

// Before and after there is a watch: the launcher does not notice these either.
TEST(LostProcess, SilentBeforeMpiStartsEndsTheJob) {
  const Job job = run_job(3, {"stop before MPI"}, {"ESPALIER_CLUSTER_TIMEOUT=1"});
  EXPECT_TRUE(ended(job, 3));
  EXPECT_GE(job.count("not all processes of the job have started"), 1) << job.err;
}

TEST(LostProcess, SilentBeforeTheWatchBeginsEndsTheJob) {
  const Job job =
      run_job(3, {"stop after MPI has started", "first"}, {"ESPALIER_CLUSTER_TIMEOUT=1"});
  EXPECT_TRUE(ended(job, 3));
  EXPECT_GE(job.count("not all processes of the job have started"), 1) << job.err;
}

// The mpirun of Open MPI 4.1 may crash itself when processes leave while MPI ends.
TEST(LostProcess, SilentAfterTheWatchHasEndedEndsTheJob) {
  const Job job = run_job(3, {"stop before MPI ends"}, {"ESPALIER_CLUSTER_TIMEOUT=2"});
  EXPECT_NE(job.status, 0);
  EXPECT_NE(job.status, 128 + SIGALRM);
  EXPECT_EQ(job.processes_left, std::vector<std::string>());
  EXPECT_GE(job.count("not all processes of the job have ended"), 1) << job.err;
}

TEST(Launcher, TerminatedOrInterruptedEndsTheJob) {
  for (const int signal : {SIGTERM, SIGINT}) {
    const Job job =
        run_job(4, {"wait"}, {}, [signal](int mpirun) { kill(mpirun, signal); });
    EXPECT_NE(job.status, 0);
    EXPECT_TRUE(ended(job, job.status));
  }
}

// Nothing cleans up after a killed launcher but the processes themselves.
TEST(Launcher, KilledEndsTheJob) {
  const Job job = run_job(3, {"wait"}, {}, [](int mpirun) { kill(mpirun, SIGKILL); });
  EXPECT_EQ(job.status, 128 + SIGKILL);
  EXPECT_EQ(job.processes_left, std::vector<std::string>());
}

}  // namespace TEST_SOURCE
}  // namespace espalier::cluster_test
