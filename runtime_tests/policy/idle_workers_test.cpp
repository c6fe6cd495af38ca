// Workers that sleep between looks for tasks.

#include <cstdlib>

#include "policy/starpu_run.h"

namespace espalier::policy {
namespace TEST_SOURCE {

constexpr int kSleeper = 0, kTries = 200;

// From a worker's task, as StarPU allows it only there: how often another worker lets
// others at what is its own at once.
void try_sleeper(void**, void* count) {
  for (int i = 0; i < kTries; ++i) {
    if (starpu_worker_trylock(kSleeper) == 0) {
      ++*static_cast<int*>(count);
      starpu_worker_unlock(kSleeper);
    }
    starpu_sleep(0.001F);
  }
}

// Otherwise whoever gives a worker a task that only it may take waits for the instant
// between two sleeps, and on busy cores misses it for seconds.
TEST(IdleWorkers, LetOthersAtThemWhileTheySleep) {
  setenv("ESPALIER_IDLE_SLEEP", "20000", 1);
  int let = 0;
  {
    const StarPuRun starpu(2);
    if (!starpu.ok() || starpu_worker_get_count() < 2) GTEST_SKIP() << "one worker only";
    starpu_codelet codelet = cpu_codelet(try_sleeper);
    starpu_task* const task = make_task(codelet, &let);
    task->execute_on_a_specific_worker = 1;
    task->workerid = 1 - kSleeper;
    ASSERT_EQ(starpu_task_submit(task), 0);
    starpu_task_wait_for_all();
  }
  unsetenv("ESPALIER_IDLE_SLEEP");
  EXPECT_GT(let, kTries / 2);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::policy
