// Programs that declare nothing, under a bound: what nothing can hold back.

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <string>

#include "policy/bounded_run.h"

namespace espalier::policy {
namespace TEST_SOURCE {

const std::string kBound = "8MiB";

unsigned make_context(int (&workers)[2], const std::string& policy) {
  if (policy == "espalier")
    return starpu_sched_ctx_create(workers, 2, "second", STARPU_SCHED_CTX_POLICY_STRUCT,
                                   espalier_sched_policy(), 0);
  return starpu_sched_ctx_create(workers, 2, "second", STARPU_SCHED_CTX_POLICY_NAME,
                                 policy.c_str(), 0);
}

TEST(HandleGate, CannotHoldTasksOnAWorkerOfTheirOwnChoice) {
  constexpr int kTasks = 6;
  const auto report = run_bounded(kBound, [&] {
    static starpu_codelet write = writing_codelet();
    std::array<starpu_data_handle_t, kTasks> handles;
    starpu_pause();
    for (int i = 0; i < kTasks; ++i) {
      handles[i] = temporary(3 * kMiB);
      starpu_task* const task = make_task(write, nullptr);
      task->handles[0] = handles[i];
      task->execute_on_a_specific_worker = 1;
      task->workerid = static_cast<unsigned>(i % 2);
      ASSERT_EQ(starpu_task_submit(task), 0);
    }
    starpu_resume();
    ASSERT_EQ(starpu_task_wait_for_all(), 0);
    for (const auto handle : handles) starpu_data_unregister(handle);
  });
  EXPECT_EQ(outside(report, "tasks on a worker of their own choice"), kTasks);
  EXPECT_EQ(report["bound_kept"], false);
  EXPECT_EQ(report["booked_peak_bytes"], kTasks * 3 * kMiB);
  EXPECT_EQ(report["over_bound_bytes"], kTasks * 3 * kMiB - 8 * kMiB);
  EXPECT_EQ(report["held_tasks"], 0);
}

// StarPU tells all contexts of the worker of such a task. Each of them counted it, and
// one that was never seen to end kept the gate from noticing that nothing went on.
TEST(HandleGate, CountsATaskOnAWorkerOfSeveralContextsOnce) {
  for (const char* const policy : {"espalier", "eager"}) {
    SCOPED_TRACE(policy);
    static starpu_codelet write = writing_codelet();
    const auto report = run_bounded(
        kBound,
        [&] {
          int workers[] = {0, 1};
          const unsigned second = make_context(workers, policy);
          starpu_data_handle_t first = temporary(kMiB);
          for (const unsigned context : {0U, second}) {
            starpu_task* const task = make_task(write, nullptr);
            task->handles[0] = first;
            task->execute_on_a_specific_worker = 1;
            task->workerid = 1;
            ASSERT_EQ(starpu_task_submit_to_ctx(task, context), 0);
          }
          ASSERT_EQ(starpu_task_wait_for_all(), 0);
          std::array<starpu_data_handle_t, 3> handles;
          for (auto& handle : handles) {
            handle = temporary(3 * kMiB);
            ASSERT_EQ(submit(write, nullptr, {handle}), 0);
          }
          ASSERT_EQ(starpu_task_wait_for_all(), 0);
          for (const auto handle : handles) starpu_data_unregister(handle);
          starpu_data_unregister(first);
          starpu_sched_ctx_delete(second);
        },
        2, "warn");
    const bool seen = policy == std::string("espalier");
    EXPECT_EQ(outside(report, "tasks on a worker of their own choice"), seen ? 2 : 1);
    EXPECT_EQ(report["over_bound_bytes"], 2 * kMiB) << report;
  }
}

// Eight data of 3 MiB, written in a context with another policy and read in the first.
nlohmann::json run_beside_eager(const std::string& bound) {
  constexpr int kData = 8;
  std::atomic<int> sum = 0;
  auto report = run_bounded(bound, [&] {
    static starpu_codelet write = writing_codelet(), read = reading_codelet();
    int workers[] = {0, 1};
    const unsigned other = make_context(workers, "eager");
    starpu_pause();
    std::array<starpu_data_handle_t, kData> handles;
    for (auto& handle : handles) {
      handle = temporary(3 * kMiB);
      ASSERT_EQ(submit(write, nullptr, {handle}, other), 0);
    }
    starpu_resume();
    for (const auto handle : handles) {
      ASSERT_EQ(submit(read, &sum, {handle}), 0);
      starpu_data_unregister_submit(handle);
    }
    ASSERT_EQ(starpu_task_wait_for_all(), 0);
    starpu_sched_ctx_delete(other);
  });
  EXPECT_EQ(sum, kData);
  return report;
}

// StarPU asks this policy nothing about their tasks: they cannot be held back.
TEST(HandleGate, CountsWhatContextsWithOtherPoliciesAllocate) {
  const auto report = run_beside_eager(kBound);
  EXPECT_EQ(report["bound_kept"], false) << report;
  EXPECT_GE(report["allocated_peak_bytes"], 9 * kMiB) << report;
  EXPECT_LE(report["allocated_peak_bytes"], report["booked_peak_bytes"]) << report;
  EXPECT_TRUE(report["least_bytes"].is_null()) << report;
  EXPECT_EQ(
      outside(report, "blocks that nothing held back: a context has the policy eager"), 8)
      << report;
}

TEST(HandleGate, KnowsNoLeastBesideContextsWithOtherPolicies) {
  const auto report = run_beside_eager("");
  EXPECT_TRUE(report["bound_kept"].is_null()) << report;
  EXPECT_TRUE(report["least_bytes"].is_null()) << report;
}

}  // namespace TEST_SOURCE
}  // namespace espalier::policy
