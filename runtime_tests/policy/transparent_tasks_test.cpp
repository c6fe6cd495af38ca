// Programs that declare nothing, under a bound: how tasks may depend on each other, be
// submitted and be placed. That which the bound does not cover says so in its name.

#include <gtest/gtest.h>

#include <array>
#include <thread>
#include <vector>

#include "policy/bounded_run.h"

namespace espalier::policy {
namespace TEST_SOURCE {

const std::string kBound = "8MiB";

// The predecessor by tag is submitted later, and memory does not suffice for both in the
// order of submission: it does the other way round.
TEST(HandleGate, LetsTasksInUnprovedWhereTagsContradictTheOrderOfSubmission) {
  const auto report = run_bounded(kBound, [&] {
    static starpu_codelet write = writing_codelet();
    const starpu_data_handle_t a = temporary(5 * kMiB), b = temporary(5 * kMiB);
    starpu_task* const second = make_task(write, nullptr);
    second->handles[0] = a;
    second->use_tag = 1;
    second->tag_id = 2;
    starpu_tag_declare_deps(2, 1, 1);
    ASSERT_EQ(starpu_task_submit(second), 0);
    starpu_task* const first = make_task(write, nullptr);
    first->handles[0] = b;
    first->use_tag = 1;
    first->tag_id = 1;
    ASSERT_EQ(starpu_task_submit(first), 0);
    starpu_data_unregister_submit(b);
    ASSERT_EQ(starpu_task_wait_for_all(), 0);
    starpu_data_unregister(a);
  });
  EXPECT_EQ(report["bound_kept"], true) << report;
  EXPECT_EQ(report["unsafe_admissions"], 1);
  EXPECT_EQ(report["booked_peak_bytes"], 5 * kMiB);
  EXPECT_EQ(report["overruns"], 0);
}

// All are declared before the first is submitted: StarPU 1.4.7 aborts, under any policy,
// when it is told of a predecessor that is just ending.
TEST(HandleGate, FollowsDeclaredDependencies) {
  const auto report = run_bounded(kBound, [&] {
    static starpu_codelet write = writing_codelet(), read = reading_codelet();
    std::atomic<int> sum = 0;
    std::vector<starpu_task*> readers;
    for (int i = 0; i < 20; ++i) {
      readers.push_back(make_task(read, &sum));
      readers.back()->detach = readers.back()->destroy = 0;
      if (i > 0) starpu_task_declare_deps_array(readers[i], 1, &readers[i - 1]);
    }
    for (starpu_task* const reader : readers) {
      const starpu_data_handle_t handle = temporary(3 * kMiB);
      ASSERT_EQ(submit(write, nullptr, {handle}), 0);
      reader->handles[0] = handle;
      ASSERT_EQ(starpu_task_submit(reader), 0);
      starpu_data_unregister_submit(handle);
    }
    for (starpu_task* const reader : readers) {
      ASSERT_EQ(starpu_task_wait(reader), 0);
      starpu_task_destroy(reader);
    }
    EXPECT_EQ(sum, 20);
  });
  expect_kept(report);
}

TEST(HandleGate, TasksThatRunNowhereNeedNoMemory) {
  Pressure chains;
  const auto report = run_bounded(kBound, [&] {
    static starpu_codelet nowhere = writing_codelet();
    nowhere.where = STARPU_NOWHERE;
    static starpu_codelet write = writing_codelet();
    const starpu_data_handle_t handle = temporary(7 * kMiB);
    ASSERT_EQ(submit(write, nullptr, {handle}), 0);
    static starpu_codelet nowhere_read = nowhere;
    nowhere_read.modes[0] = STARPU_R;
    for (int i = 0; i < 10; ++i) ASSERT_EQ(submit(nowhere_read, nullptr, {handle}), 0);
    starpu_data_unregister_submit(handle);
    starpu_task* const empty = starpu_task_create();
    empty->cl = nullptr;
    ASSERT_EQ(starpu_task_submit(empty), 0);
    chains.submit_all();
  });
  expect_kept(report);
  EXPECT_EQ(chains.sum(), Pressure::kChains);
  EXPECT_EQ(report["gated_tasks"], 1 + 2 * Pressure::kChains);
}

TEST(HandleGate, SeesEachTurnOfARegeneratedTask) {
  constexpr int kTurns = 20;
  static std::atomic<int> turns;
  turns = 0;
  Pressure chains;
  const auto report = run_bounded(kBound, [&] {
    static starpu_codelet write = writing_codelet(), increment = incrementing_codelet();
    const starpu_data_handle_t handle = temporary(2 * kMiB);
    ASSERT_EQ(submit(write, nullptr, {handle}), 0);
    ASSERT_EQ(starpu_task_wait_for_all(), 0);
    starpu_task* const task = make_task(increment, nullptr);
    task->handles[0] = handle;
    task->sequential_consistency = 0;  // else it waits for itself, under any policy
    task->regenerate = 1;
    task->destroy = 0;
    task->callback_func = [](void* argument) {
      if (++turns == kTurns) static_cast<starpu_task*>(argument)->regenerate = 0;
    };
    task->callback_arg = task;
    ASSERT_EQ(starpu_task_submit(task), 0);
    chains.submit_all();
    ASSERT_EQ(starpu_task_wait_for_all(), 0);
    EXPECT_EQ(int_in(handle), 1 + kTurns);
    starpu_task_destroy(task);
    starpu_data_unregister(handle);
  });
  expect_kept(report);
  EXPECT_EQ(report["gated_tasks"], 1 + kTurns + 2 * Pressure::kChains);
}

TEST(HandleGate, SeesATaskThatIsSubmittedAgain) {
  Pressure chains;
  const auto report = run_bounded(kBound, [&] {
    static starpu_codelet increment = incrementing_codelet(), write = writing_codelet();
    const starpu_data_handle_t handle = temporary(2 * kMiB);
    ASSERT_EQ(submit(write, nullptr, {handle}), 0);
    starpu_task* const task = make_task(increment, nullptr);
    task->handles[0] = handle;
    task->sequential_consistency = 0;  // as above
    task->destroy = task->detach = 0;
    ASSERT_EQ(starpu_task_wait_for_all(), 0);
    chains.submit_all();
    for (int i = 0; i < 20; ++i) {
      ASSERT_EQ(starpu_task_submit(task), 0);
      ASSERT_EQ(starpu_task_wait(task), 0);
    }
    starpu_task_destroy(task);
    EXPECT_EQ(int_in(handle), 21);
    ASSERT_EQ(starpu_task_wait_for_all(), 0);
    starpu_data_unregister(handle);
  });
  expect_kept(report);
  EXPECT_EQ(report["gated_tasks"], 1 + 20 + 2 * Pressure::kChains);
}

TEST(HandleGate, ServesSeveralSubmittingThreads) {
  constexpr int kThreads = 4, kChains = 100;
  std::atomic<int> sum = 0;
  const auto report = run_bounded(kBound, [&] {
    static starpu_codelet write = writing_codelet(), read = reading_codelet();
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < kChains; ++i) {
          const starpu_data_handle_t handle = temporary(3 * kMiB);
          EXPECT_EQ(submit(write, nullptr, {handle}), 0);
          EXPECT_EQ(submit(read, &sum, {handle}), 0);
          starpu_data_unregister_submit(handle);
        }
      });
    for (std::thread& thread : threads) thread.join();
  });
  expect_kept(report);
  EXPECT_EQ(sum, kThreads * kChains);
}

// Explicit dependencies alone, the last task submitted first.
TEST(HandleGate, TasksMayGiveUpSequentialConsistency) {
  const auto report = run_bounded(kBound, [&] {
    static starpu_codelet write = writing_codelet(), increment = incrementing_codelet();
    static starpu_codelet read = reading_codelet();
    std::atomic<int> sum = 0;
    for (int i = 0; i < 20; ++i) {
      const starpu_data_handle_t handle = temporary(3 * kMiB);
      starpu_data_set_sequential_consistency_flag(handle, 0);
      run_as_chain({make_task(write, nullptr), make_task(increment, nullptr),
                    make_task(read, &sum)},
                   handle);
    }
    EXPECT_EQ(sum, 40);
  });
  expect_kept(report);
}

TEST(HandleGate, BoundsSeveralContextsTogether) {
  std::array<Pressure, 2> chains;
  const auto report = run_bounded(kBound, [&] {
    int workers[] = {0, 1};
    std::array<unsigned, 2> contexts;
    for (std::size_t i = 0; i < 2; ++i)
      contexts[i] =
          starpu_sched_ctx_create(&workers[i], 1, "half", STARPU_SCHED_CTX_POLICY_STRUCT,
                                  espalier_sched_policy(), 0);
    starpu_pause();
    for (std::size_t i = 0; i < 2; ++i) chains[i].submit_all(contexts[i]);
    starpu_resume();
    ASSERT_EQ(starpu_task_wait_for_all(), 0);
    for (const unsigned context : contexts) starpu_sched_ctx_delete(context);
  });
  expect_kept(report);
  EXPECT_EQ(chains[0].sum() + chains[1].sum(), 2 * Pressure::kChains);
  EXPECT_EQ(report["booked_peak_bytes"], 6 * kMiB);
  EXPECT_EQ(report["least_bytes"], 3 * kMiB);
}

// Chains of a write, contributions, a read. StarPU submits the tasks that reduce the
// copies when the read would start, after all that the program has submitted.
TEST(HandleGate, ReductionsThatStarPUSubmitsLateNeedNothingMore) {
  static starpu_codelet zero = zeroing_codelet(), add = adding_codelet();
  static starpu_codelet read = reading_codelet(), contribute = incrementing_codelet();
  contribute.modes[0] = STARPU_REDUX;
  constexpr int kChains = 16, kContributions = 4;
  for (const bool written : {true, false}) {
    std::atomic<int> sum = 0;
    const auto report = run_bounded("3MiB", [&] {
      starpu_pause();
      for (int chain = 0; chain < kChains; ++chain) {
        const starpu_data_handle_t handle = temporary(kMiB);
        starpu_data_set_reduction_methods(handle, &add, &zero);
        if (written) {
          ASSERT_EQ(submit(zero, nullptr, {handle}), 0);
        }
        for (int i = 0; i < kContributions; ++i)
          ASSERT_EQ(submit(contribute, nullptr, {handle}), 0);
        ASSERT_EQ(submit(read, &sum, {handle}), 0);
        starpu_data_unregister_submit(handle);
      }
      starpu_resume();
    });
    EXPECT_EQ(sum, kChains * kContributions);
    expect_kept(report);
    EXPECT_EQ(report["least_bytes"], 3 * kMiB);
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::policy
