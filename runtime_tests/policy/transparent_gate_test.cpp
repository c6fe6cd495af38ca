// Programs that declare nothing, under a bound: how data are used and freed, and what the
// report says of it. That which the bound does not cover says so in its name.

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <thread>

#include "policy/bounded_run.h"

namespace espalier::policy {
namespace TEST_SOURCE {

const std::string kBound = "8MiB";

TEST(HandleGate, HoldsWritersUntilReadersHaveMadeRoom) {
  Pressure chains;
  const auto report = run_bounded(kBound, [&] { chains.submit_paused(); });
  expect_kept(report);
  EXPECT_EQ(chains.sum(), Pressure::kChains);
  EXPECT_EQ(report["least_bytes"], 3 * kMiB);
  EXPECT_EQ(report["booked_peak_bytes"], 6 * kMiB);
  EXPECT_EQ(report["gated_tasks"], 2 * Pressure::kChains);
  EXPECT_EQ(report["held_tasks"], Pressure::kChains - 2);
}

TEST(HandleGate, DataOfTheApplicationsOwnMemoryCostNothing) {
  std::vector<int> memory(3 * kMiB / sizeof(int));
  const auto report = run_bounded("1MiB", [&] {
    static starpu_codelet increment = incrementing_codelet();
    starpu_data_handle_t handle;
    starpu_variable_data_register(&handle, STARPU_MAIN_RAM,
                                  reinterpret_cast<std::uintptr_t>(memory.data()),
                                  3 * kMiB);
    for (int i = 0; i < 20; ++i) ASSERT_EQ(submit(increment, nullptr, {handle}), 0);
    starpu_data_unregister(handle);
  });
  expect_kept(report);
  EXPECT_EQ(memory[0], 20);
  EXPECT_EQ(report["gated_tasks"], 0);
  EXPECT_EQ(report["booked_peak_bytes"], 0);
}

TEST(HandleGate, ScratchCountsOnceForEachWorkerUntilItIsUnregistered) {
  Pressure chains;
  const auto report = run_bounded(kBound, [&] {
    static starpu_codelet work = on_variable(
        [](void** buffers, void*) { first_int(buffers[0]) = 1; }, STARPU_SCRATCH);
    const starpu_data_handle_t scratch = temporary(2 * kMiB);
    for (int i = 0; i < 50; ++i) ASSERT_EQ(submit(work, nullptr, {scratch}), 0);
    ASSERT_EQ(starpu_task_wait_for_all(), 0);
    chains.submit_paused();  // one at a time beside 4 MiB
    ASSERT_EQ(starpu_task_wait_for_all(), 0);
    starpu_data_unregister(scratch);
    chains.submit_paused();  // two
  });
  expect_kept(report);
  EXPECT_EQ(chains.sum(), 2 * Pressure::kChains);
  EXPECT_EQ(report["booked_peak_bytes"], 7 * kMiB);
  EXPECT_GE(report["held_tasks"], 2 * Pressure::kChains - 1 - 2);
}

TEST(HandleGate, AReductionCountsOnceForEachWorkerAndOnceForItself) {
  const auto report = run_bounded(kBound, [&] {
    static starpu_codelet zero = zeroing_codelet(), add = adding_codelet();
    static starpu_codelet contribute = incrementing_codelet();
    contribute.modes[0] = STARPU_REDUX;
    for (int round = 0; round < 10; ++round) {
      const starpu_data_handle_t handle = temporary(2 * kMiB);
      starpu_data_set_reduction_methods(handle, &add, &zero);
      ASSERT_EQ(submit(zero, nullptr, {handle}), 0);
      for (int i = 0; i < 50; ++i) ASSERT_EQ(submit(contribute, nullptr, {handle}), 0);
      EXPECT_EQ(int_in(handle), 50);
      starpu_data_unregister(handle);
    }
  });
  expect_kept(report);
  EXPECT_EQ(report["booked_peak_bytes"], 6 * kMiB);
  EXPECT_GT(report["tasks"], 10 * 51) << "with StarPU's own";
}

// StarPU copies with a task of its own, of whose end it tells nobody.
TEST(HandleGate, CopiesByStarPUEndToo) {
  Pressure chains;
  const auto report = run_bounded(kBound, [&] {
    static starpu_codelet write = writing_codelet();
    for (int i = 0; i < 20; ++i) {
      const starpu_data_handle_t from = temporary(2 * kMiB), to = temporary(2 * kMiB);
      ASSERT_EQ(submit(write, nullptr, {from}), 0);
      ASSERT_EQ(starpu_data_cpy(to, from, 1, nullptr, nullptr), 0);
      EXPECT_EQ(int_in(to), 1);
      starpu_data_unregister_submit(from);
      starpu_data_unregister(to);
    }
    chains.submit_paused();
  });
  expect_kept(report);
  EXPECT_EQ(report["tasks"], 20 * 2 + 2 * Pressure::kChains);
  EXPECT_EQ(report["gated_tasks"], report["tasks"]);
  EXPECT_EQ(report["booked_peak_bytes"], 6 * kMiB);
}

// StarPU's copies and the tasks that follow them come to have the same addresses: whoever
// waits for a copy has its memory at once.
TEST(HandleGate, TasksInThePlaceOfStarPUsCopiesEndOnce) {
  std::atomic<int> sum = 0;
  const auto report = run_bounded(kBound, [&] {
    static starpu_codelet write = writing_codelet(), read = reading_codelet();
    for (int i = 0; i < 60; ++i) {
      const starpu_data_handle_t from = temporary(kMiB), to = temporary(kMiB);
      ASSERT_EQ(submit(write, nullptr, {from}), 0);
      ASSERT_EQ(starpu_data_cpy(to, from, i % 2, nullptr, nullptr), 0);
      ASSERT_EQ(submit(read, &sum, {to}), 0);
      starpu_data_unregister_submit(from);
      starpu_data_unregister_submit(to);
    }
  });
  EXPECT_EQ(sum, 60);
  expect_kept(report);
  EXPECT_EQ(report["gated_tasks"], 60 * 3);
  EXPECT_EQ(report["least_bytes"], 2 * kMiB);
}

TEST(HandleGate, CommutingTasksStayInsideTheBound) {
  const auto report = run_bounded(kBound, [&] {
    static starpu_codelet write = writing_codelet(), increment = incrementing_codelet();
    increment.modes[0] = static_cast<starpu_data_access_mode>(STARPU_RW | STARPU_COMMUTE);
    std::atomic<int> sum = 0;
    static starpu_codelet read = reading_codelet();
    for (int i = 0; i < 20; ++i) {
      const starpu_data_handle_t handle = temporary(3 * kMiB);
      ASSERT_EQ(submit(write, nullptr, {handle}), 0);
      for (int j = 0; j < 10; ++j) ASSERT_EQ(submit(increment, nullptr, {handle}), 0);
      ASSERT_EQ(submit(read, &sum, {handle}), 0);
      starpu_data_unregister_submit(handle);
    }
    ASSERT_EQ(starpu_task_wait_for_all(), 0);
    EXPECT_EQ(sum, 20 * 11);
  });
  expect_kept(report);
}

TEST(HandleGate, WhatTheApplicationAllocatesCountsOnce) {
  Pressure chains;
  const auto report = run_bounded(kBound, [&] {
    const starpu_data_handle_t handle = temporary(4 * kMiB);
    ASSERT_EQ(starpu_data_acquire(handle, STARPU_W), 0);
    *static_cast<int*>(starpu_data_get_local_ptr(handle)) = 7;
    starpu_data_release(handle);
    static starpu_codelet increment = incrementing_codelet();
    ASSERT_EQ(submit(increment, nullptr, {handle}), 0);
    chains.submit_all();
    ASSERT_EQ(starpu_data_acquire(handle, STARPU_R), 0);
    EXPECT_EQ(*static_cast<int*>(starpu_data_get_local_ptr(handle)), 8);
    starpu_data_release(handle);
    ASSERT_EQ(starpu_task_wait_for_all(), 0);
    starpu_data_unregister(handle);
  });
  expect_kept(report);
  EXPECT_EQ(report["booked_peak_bytes"], 7 * kMiB);
  EXPECT_EQ(chains.sum(), Pressure::kChains);
}

TEST(HandleGate, WhatOnlyTheApplicationUsesCountsThoughNothingHoldsIt) {
  const auto report = run_bounded(kBound, [&] {
    std::array<starpu_data_handle_t, 4> handles;
    for (auto& handle : handles) {
      handle = temporary(4 * kMiB);
      ASSERT_EQ(starpu_data_acquire(handle, STARPU_W), 0);
      starpu_data_release(handle);
    }
    for (const auto handle : handles) starpu_data_unregister(handle);
  });
  EXPECT_EQ(report["bound_kept"], false);
  EXPECT_EQ(report["booked_peak_bytes"], 16 * kMiB);
  EXPECT_EQ(report["allocated_peak_bytes"], 16 * kMiB);
  EXPECT_EQ(outside(report, "blocks allocated for no task: acquisitions, partitions"), 4);
}

TEST(HandleGate, AcquisitionsWithACallbackTakeTheirTurn) {
  Pressure chains;
  const auto report = run_bounded(kBound, [&] {
    static starpu_codelet write = writing_codelet(), increment = incrementing_codelet();
    const starpu_data_handle_t handle = temporary(2 * kMiB);
    ASSERT_EQ(submit(write, nullptr, {handle}), 0);
    for (int i = 0; i < 20; ++i) {
      ASSERT_EQ(increment_in_callback(handle), 0);
      ASSERT_EQ(submit(increment, nullptr, {handle}), 0);
    }
    chains.submit_all();
    EXPECT_EQ(int_in(handle), 41);
    starpu_data_unregister(handle);
  });
  expect_kept(report);
}

TEST(HandleGate, FollowsInvalidationsAndWritesAfterThem) {
  const auto report = run_bounded(kBound, [&] {
    static starpu_codelet write = writing_codelet(), read = reading_codelet();
    std::atomic<int> sum = 0;
    std::array<starpu_data_handle_t, 4> handles;
    for (auto& handle : handles) handle = temporary(3 * kMiB);
    for (std::size_t i = 0; i < 100; ++i) {
      ASSERT_EQ(submit(write, nullptr, {handles[i % 4]}), 0);
      ASSERT_EQ(submit(read, &sum, {handles[i % 4]}), 0);
      starpu_data_invalidate_submit(handles[i % 4]);
    }
    ASSERT_EQ(starpu_task_wait_for_all(), 0);
    EXPECT_EQ(sum, 100);
    for (const auto handle : handles) starpu_data_unregister(handle);
  });
  expect_kept(report);
  EXPECT_EQ(report["least_bytes"], 3 * kMiB);
}

TEST(HandleGate, WontUseFreesNothing) {
  const auto report = run_bounded(kBound, [&] {
    static starpu_codelet write = writing_codelet();
    const starpu_data_handle_t a = temporary(5 * kMiB), b = temporary(2 * kMiB);
    ASSERT_EQ(submit(write, nullptr, {a}), 0);
    starpu_data_wont_use(a);
    ASSERT_EQ(starpu_task_wait_for_all(), 0);
    ASSERT_EQ(submit(write, nullptr, {b}), 0);
    starpu_data_unregister(a);
    starpu_data_unregister(b);
  });
  expect_kept(report);
  EXPECT_EQ(report["booked_peak_bytes"], 7 * kMiB);
}

TEST(HandleGate, UnregisteringInTheMiddleLetsHeldTasksIn) {
  const auto report = run_bounded(kBound, [&] {
    static starpu_codelet write = writing_codelet(), read = reading_codelet();
    std::atomic<int> sum = 0;
    for (int i = 0; i < 5; ++i) {
      const starpu_data_handle_t a = temporary(5 * kMiB), b = temporary(5 * kMiB);
      ASSERT_EQ(submit(write, nullptr, {a}), 0);
      ASSERT_EQ(submit(read, &sum, {a}), 0);
      ASSERT_EQ(submit(write, nullptr, {b}), 0);
      starpu_data_unregister(a);
      ASSERT_EQ(submit(read, &sum, {b}), 0);
      starpu_data_unregister(b);
    }
    EXPECT_EQ(sum, 10);
  });
  expect_kept(report);
}

// While the program computes, nothing happens in StarPU; it frees memory afterwards.
TEST(HandleGate, WaitsForAProgramThatWorksAfterWaitingForATask) {
  const auto report = run_bounded(kBound, [&] {
    static starpu_codelet write = writing_codelet(), read = reading_codelet();
    std::atomic<int> sum = 0;
    const starpu_data_handle_t a = temporary(5 * kMiB), b = temporary(5 * kMiB);
    ASSERT_EQ(submit(write, nullptr, {a}), 0);
    starpu_task* const task = make_task(read, &sum);
    task->handles[0] = a;
    task->detach = task->destroy = 0;
    ASSERT_EQ(starpu_task_submit(task), 0);
    ASSERT_EQ(submit(write, nullptr, {b}), 0);
    ASSERT_EQ(starpu_task_wait(task), 0);
    starpu_task_destroy(task);
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    starpu_data_unregister(a);
    ASSERT_EQ(submit(read, &sum, {b}), 0);
    starpu_data_unregister(b);
    EXPECT_EQ(sum, 2);
  });
  expect_kept(report);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::policy
