// Programs that declare nothing and use what StarPU offers: how tasks are submitted,
// waited for, repeated and ordered.

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "policy/living.h"

namespace espalier::policy {
namespace TEST_SOURCE {

INSTANTIATE_TEST_SUITE_P(Policy, Living, bounds(), bound_name);

TEST_P(Living, StarPUStartsTwentyTimes) {
  for (int round = 0; round < 20; ++round) {
    const StarPuRun starpu(1 + round % 3);
    ASSERT_TRUE(starpu.ok());
    ASSERT_STREQ(starpu_sched_ctx_get_sched_policy(0)->policy_name, "espalier");
    starpu_codelet write = writing_codelet(), read = reading_codelet();
    std::atomic<int> sum = 0;
    for (int i = 0; i < 20; ++i) {
      const starpu_data_handle_t handle = temporary(kMiB);
      ASSERT_EQ(submit(write, nullptr, {handle}), 0);
      ASSERT_EQ(submit(read, &sum, {handle}), 0);
      starpu_data_unregister_submit(handle);
    }
    ASSERT_EQ(starpu_task_wait_for_all(), 0);
    EXPECT_EQ(sum, 20);
  }
}

TEST_P(Living, PausesWhileTasksRun) {
  const StarPuRun starpu(2);
  starpu_codelet codelet = counting_codelet(), increment = incrementing_codelet();
  starpu_codelet write = writing_codelet();
  std::atomic<int> ran = 0;
  for (int round = 0; round < 20; ++round) {
    starpu_pause();
    const starpu_data_handle_t handle = temporary(kMiB);
    ASSERT_EQ(submit(write, nullptr, {handle}), 0);
    for (int i = 0; i < 50; ++i) {
      ASSERT_EQ(submit(codelet, &ran), 0);
      ASSERT_EQ(submit(increment, nullptr, {handle}), 0);
    }
    starpu_resume();
    starpu_data_unregister_submit(handle);
  }
  ASSERT_EQ(starpu_task_wait_for_all(), 0);
  EXPECT_EQ(ran, 1000);
}

TEST_P(Living, CallbacksSubmitTasks) {
  const StarPuRun starpu(2);
  static starpu_codelet codelet;
  codelet = writing_codelet();
  static std::atomic<int> left, wrong;
  left = 400;
  wrong = 0;
  struct Next {
    static void submit(void*) {
      if (--left < 0) return;
      starpu_data_handle_t handle = temporary(kMiB);
      starpu_task* const task = make_task(codelet, nullptr);
      task->handles[0] = handle;
      task->callback_func = submit;
      if (starpu_task_submit(task) != 0) ++wrong;
      starpu_data_unregister_submit(handle);
    }
  };
  for (int i = 0; i < 4; ++i) Next::submit(nullptr);
  ASSERT_EQ(starpu_task_wait_for_all(), 0);
  EXPECT_LT(left, 0);
  EXPECT_EQ(wrong, 0);
}

TEST_P(Living, TasksSubmitTasks) {
  const StarPuRun starpu(2);
  static starpu_codelet codelet;
  static std::atomic<int> ran;
  ran = 0;
  codelet = cpu_codelet([](void**, void* argument) {
    ++ran;
    const auto depth = reinterpret_cast<std::intptr_t>(argument);
    for (int child = 0; child < 2 && depth > 0; ++child)
      submit(codelet, reinterpret_cast<void*>(depth - 1));
  });
  ASSERT_EQ(submit(codelet, reinterpret_cast<void*>(10)), 0);
  ASSERT_EQ(starpu_task_wait_for_all(), 0);
  EXPECT_EQ(ran, 2047);
}

TEST_P(Living, SeveralThreadsSubmit) {
  const StarPuRun starpu(3);
  std::atomic<int> sum = 0, wrong = 0;
  starpu_codelet write = writing_codelet(), increment = incrementing_codelet();
  starpu_codelet read = reading_codelet();
  const auto chains = [&] {
    for (int chain = 0; chain < 40; ++chain) {
      const starpu_data_handle_t handle = temporary(512 * kKiB);
      wrong += submit(write, nullptr, {handle}) != 0;
      for (int i = 0; i < 9; ++i) wrong += submit(increment, nullptr, {handle}) != 0;
      wrong += submit(read, &sum, {handle}) != 0;
      starpu_data_unregister_submit(handle);
    }
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) threads.emplace_back(chains);
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(starpu_task_wait_for_all(), 0);
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(sum, 4 * 40 * 10);
}

TEST_P(Living, TasksWithAWorkerOfTheirOwnMixWithOthers) {
  const StarPuRun starpu(2);
  static std::atomic<int> wrong;
  wrong = 0;
  starpu_codelet codelet = on_variable(
      [](void** buffers, void* argument) {
        const int worker = static_cast<int>(reinterpret_cast<std::intptr_t>(argument));
        wrong += worker >= 0 && starpu_worker_get_id() != worker;
        first_int(buffers[0]) = 1;
      },
      STARPU_W);
  for (int i = 0; i < 300; ++i) {
    const starpu_data_handle_t handle = temporary(kMiB);
    const int worker = i % 3 - 1;  // -1: any
    starpu_task* const task =
        make_task(codelet, reinterpret_cast<void*>(std::intptr_t{worker}));
    task->handles[0] = handle;
    if (worker >= 0) {
      task->execute_on_a_specific_worker = 1;
      task->workerid = static_cast<unsigned>(worker);
    }
    ASSERT_EQ(starpu_task_submit(task), 0);
    starpu_data_unregister_submit(handle);
  }
  ASSERT_EQ(starpu_task_wait_for_all(), 0);
  EXPECT_EQ(wrong, 0);
}

TEST_P(Living, TasksThatRunNowhereStandBetweenOthers) {
  const StarPuRun starpu(2);
  starpu_codelet write = writing_codelet(), read = reading_codelet();
  starpu_codelet nowhere{};
  nowhere.where = STARPU_NOWHERE;
  nowhere.nbuffers = 1;
  nowhere.modes[0] = STARPU_RW;
  std::atomic<int> sum = 0;
  for (int i = 0; i < 100; ++i) {
    const starpu_data_handle_t handle = temporary(kMiB);
    ASSERT_EQ(submit(write, nullptr, {handle}), 0);
    ASSERT_EQ(submit(nowhere, nullptr, {handle}), 0);
    starpu_task* const empty = starpu_task_create();  // no codelet at all
    empty->destroy = 1;
    starpu_task* const last = make_task(read, &sum);
    last->handles[0] = handle;
    starpu_task_declare_deps_array(last, 1, const_cast<starpu_task**>(&empty));
    ASSERT_EQ(starpu_task_submit(last), 0);
    starpu_data_unregister_submit(handle);
    ASSERT_EQ(starpu_task_submit(empty), 0);
  }
  ASSERT_EQ(starpu_task_wait_for_all(), 0);
  EXPECT_EQ(sum, 100);
}

// The order of submission is not one in which the tasks can run.
TEST_P(Living, TagsMayWaitForTasksThatComeLater) {
  const StarPuRun starpu(2);
  starpu_codelet write = writing_codelet();
  constexpr starpu_tag_t kPairs = 32;
  const auto submit_tagged = [&](starpu_tag_t tag) {
    const starpu_data_handle_t handle = temporary(4 * kMiB);
    starpu_task* const task = make_task(write, nullptr);
    task->handles[0] = handle;
    task->use_tag = 1;
    task->tag_id = tag;
    EXPECT_EQ(starpu_task_submit(task), 0);
    starpu_data_unregister_submit(handle);
  };
  for (starpu_tag_t i = 0; i < kPairs; ++i) {
    starpu_tag_declare_deps(i, 1, kPairs + i);
    submit_tagged(i);
  }
  for (starpu_tag_t i = kPairs; i-- > 0;) submit_tagged(kPairs + i);
  ASSERT_EQ(starpu_task_wait_for_all(), 0);
  for (starpu_tag_t i = 0; i < 2 * kPairs; ++i) starpu_tag_remove(i);
}

// For tasks that run several times: each time they wait for all tasks that preceded them
// at first.
starpu_data_handle_t temporary_written_by_the_application() {
  const starpu_data_handle_t handle = temporary(kMiB);
  EXPECT_EQ(starpu_data_acquire(handle, STARPU_W), 0);
  *static_cast<int*>(starpu_data_get_local_ptr(handle)) = 0;
  starpu_data_release(handle);
  return handle;
}

TEST_P(Living, ARegeneratedTaskRunsUntilItIsTold) {
  const StarPuRun starpu(2);
  starpu_codelet increment = incrementing_codelet();
  const starpu_data_handle_t handle = temporary_written_by_the_application();
  starpu_task task;
  starpu_task_init(&task);
  task.cl = &increment;
  task.handles[0] = handle;
  task.regenerate = 1;
  std::atomic<int> left = 100;
  task.callback_func = [](void* argument) {
    if (--*static_cast<std::atomic<int>*>(argument) == 0)
      starpu_task_get_current()->regenerate = 0;
  };
  task.callback_arg = &left;
  ASSERT_EQ(starpu_task_submit(&task), 0);
  while (left > 0) std::this_thread::yield();
  ASSERT_EQ(starpu_task_wait_for_all(), 0);
  EXPECT_EQ(int_in(handle), 100);
  starpu_data_unregister(handle);
  starpu_task_clean(&task);
}

TEST_P(Living, ATaskIsSubmittedAgainAfterItEnded) {
  const StarPuRun starpu(2);
  starpu_codelet increment = incrementing_codelet();
  const starpu_data_handle_t handle = temporary_written_by_the_application();
  starpu_task task;
  starpu_task_init(&task);
  task.cl = &increment;
  task.handles[0] = handle;
  task.detach = 0;
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(starpu_task_submit(&task), 0);
    ASSERT_EQ(starpu_task_wait(&task), 0);
  }
  EXPECT_EQ(int_in(handle), 100);
  starpu_data_unregister(handle);
  starpu_task_clean(&task);
}

TEST_P(Living, TasksAreWaitedForOneByOneAndTogether) {
  const StarPuRun starpu(2);
  starpu_codelet codelet = counting_codelet();
  std::atomic<int> ran = 0;
  for (int round = 0; round < 20; ++round) {
    std::vector<starpu_task*> tasks;
    for (int i = 0; i < 20; ++i) {
      tasks.push_back(make_task(codelet, &ran, i));
      tasks.back()->detach = 0;
      tasks.back()->destroy = 0;
      tasks.back()->synchronous = i == 19;
      ASSERT_EQ(starpu_task_submit(tasks.back()), 0);
    }
    for (int i = 0; i < 10; ++i)
      ASSERT_EQ(starpu_task_wait(tasks[static_cast<std::size_t>(i)]), 0);
    ASSERT_EQ(starpu_task_wait_array(tasks.data() + 10, 9), 0);
    ASSERT_EQ(ran, 20 * (round + 1));
    for (starpu_task* const task : tasks) starpu_task_destroy(task);
  }
  ASSERT_EQ(starpu_task_wait_for_no_ready(), 0);
  ASSERT_EQ(starpu_task_wait_for_n_submitted(0), 0);
}

TEST_P(Living, BundlesAreAHintThatChangesNoResult) {
  const StarPuRun starpu(2);
  starpu_codelet codelet = counting_codelet();
  std::atomic<int> ran = 0;
  for (int round = 0; round < 50; ++round) {
    starpu_task_bundle_t bundle;
    starpu_task_bundle_create(&bundle);
    for (int i = 0; i < 4; ++i) {
      starpu_task* const task = make_task(codelet, &ran);
      ASSERT_EQ(starpu_task_bundle_insert(bundle, task), 0);
      ASSERT_EQ(starpu_task_submit(task), 0);
    }
    starpu_task_bundle_close(bundle);
  }
  ASSERT_EQ(starpu_task_wait_for_all(), 0);
  EXPECT_EQ(ran, 200);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::policy
