// Programs that declare no tree: the policy is a priority scheduler.

#include <gtest/gtest.h>

#include <atomic>
#include <climits>
#include <vector>

#include "policy/starpu_run.h"

namespace espalier::policy {
namespace TEST_SOURCE {

TEST(Undeclared, RunsIndependentTasksOnceEach) {
  for (const int workers : {1, 2, 4}) {
    const StarPuRun starpu(workers);
    starpu_codelet codelet = cpu_codelet(
        [](void**, void* argument) { ++*static_cast<std::atomic<int>*>(argument); });
    std::vector<std::atomic<int>> runs(5000);
    for (auto& run : runs)
      ASSERT_EQ(starpu_task_submit(
                    make_task(codelet, &run, static_cast<int>(&run - runs.data()))),
                0);
    ASSERT_EQ(starpu_task_wait_for_all(), 0);
    for (const auto& run : runs) EXPECT_EQ(run, 1);
  }
}

TEST(Undeclared, RunsAChainInOrder) {
  const StarPuRun starpu(2);
  starpu_codelet codelet{};
  codelet.cpu_funcs[0] = [](void** buffers, void* argument) {
    auto& value = *reinterpret_cast<int*>(STARPU_VARIABLE_GET_PTR(buffers[0]));
    if (value == static_cast<int>(reinterpret_cast<std::intptr_t>(argument))) ++value;
  };
  codelet.nbuffers = 1;
  codelet.modes[0] = STARPU_RW;
  int value = 0;
  starpu_data_handle_t handle;
  starpu_variable_data_register(&handle, STARPU_MAIN_RAM,
                                reinterpret_cast<std::uintptr_t>(&value), sizeof value);
  for (std::intptr_t i = 0; i < 2000; ++i) {
    starpu_task* const task =
        make_task(codelet, reinterpret_cast<void*>(i), static_cast<int>(i));
    task->handles[0] = handle;
    ASSERT_EQ(starpu_task_submit(task), 0);
  }
  starpu_data_unregister(handle);
  EXPECT_EQ(value, 2000);
}

TEST(Undeclared, GoesByPriorityAndThenByAge) {
  const StarPuRun starpu(1);
  static std::vector<std::intptr_t> order;
  order.clear();
  starpu_codelet codelet = cpu_codelet([](void**, void* argument) {
    order.push_back(reinterpret_cast<std::intptr_t>(argument));
  });
  const int priorities[] = {0, 5, INT_MIN, 5, INT_MAX, -1, 0};
  HeldWorker worker;
  ASSERT_TRUE(worker.ok());
  for (std::intptr_t i = 0; i < 7; ++i)
    ASSERT_EQ(
        starpu_task_submit(make_task(codelet, reinterpret_cast<void*>(i), priorities[i])),
        0);
  worker.let_go();
  ASSERT_EQ(starpu_task_wait_for_all(), 0);
  EXPECT_EQ(order, (std::vector<std::intptr_t>{4, 1, 3, 0, 6, 5, 2}));
}

TEST(Undeclared, LeavesTasksForASpecificWorkerToIt) {
  const StarPuRun starpu(2);
  static std::atomic<int> wrong;
  wrong = 0;
  starpu_codelet codelet = cpu_codelet([](void**, void* argument) {
    if (starpu_worker_get_id() != *static_cast<int*>(argument)) ++wrong;
  });
  int ids[] = {0, 1};
  for (int i = 0; i < 200; ++i) {
    starpu_task* const task = make_task(codelet, &ids[i % 2]);
    task->execute_on_a_specific_worker = 1;
    task->workerid = static_cast<unsigned>(i % 2);
    ASSERT_EQ(starpu_task_submit(task), 0);
  }
  ASSERT_EQ(starpu_task_wait_for_all(), 0);
  EXPECT_EQ(wrong, 0);
}

TEST(Undeclared, AsksWhetherAWorkerCanExecuteATask) {
  const StarPuRun starpu(2);
  static std::atomic<int> wrong, ran;
  wrong = ran = 0;
  starpu_codelet codelet = cpu_codelet([](void**, void* argument) {
    if (starpu_worker_get_id() != *static_cast<int*>(argument)) ++wrong;
    ++ran;
  });
  codelet.can_execute = [](unsigned worker, starpu_task* task, unsigned) {
    return static_cast<int>(worker) == *static_cast<int*>(task->cl_arg) ? 1 : 0;
  };
  int ids[] = {0, 1};
  for (int i = 0; i < 500; ++i)
    ASSERT_EQ(starpu_task_submit(make_task(codelet, &ids[i % 5 == 0 ? 1 : 0], i)), 0);
  ASSERT_EQ(starpu_task_wait_for_all(), 0);
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(ran, 500);
}

TEST(Undeclared, RespectsTheWorkersThatATaskNames) {
  const StarPuRun starpu(2);
  static std::atomic<int> wrong;
  wrong = 0;
  starpu_codelet codelet = cpu_codelet([](void**, void*) {
    if (starpu_worker_get_id() != 1) ++wrong;
  });
  std::uint32_t only_one = 1U << 1;
  for (int i = 0; i < 200; ++i) {
    starpu_task* const task = make_task(codelet, nullptr);
    task->workerids = &only_one;
    task->workerids_len = 1;
    ASSERT_EQ(starpu_task_submit(task), 0);
  }
  ASSERT_EQ(starpu_task_wait_for_all(), 0);
  EXPECT_EQ(wrong, 0);
}

TEST(Undeclared, PicksTheImplementationThatCanRun) {
  const StarPuRun starpu(1);
  static std::atomic<int> second;
  second = 0;
  starpu_codelet codelet = cpu_codelet([](void**, void*) {});
  codelet.cpu_funcs[1] = [](void**, void*) { ++second; };
  codelet.can_execute = [](unsigned, starpu_task*, unsigned implementation) {
    return implementation == 1 ? 1 : 0;
  };
  for (int i = 0; i < 20; ++i)
    ASSERT_EQ(starpu_task_submit(make_task(codelet, nullptr)), 0);
  ASSERT_EQ(starpu_task_wait_for_all(), 0);
  EXPECT_EQ(second, 20);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::policy
