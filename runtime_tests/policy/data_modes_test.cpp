// Programs that declare nothing and use what StarPU offers for data.

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "policy/living.h"
#include "policy/vector_in_parts.h"

namespace espalier::policy {
namespace TEST_SOURCE {

class DataModes : public Living {};
INSTANTIATE_TEST_SUITE_P(Policy, DataModes, bounds(), bound_name);

TEST_P(DataModes, ManyShortLivesFollowEachOther) {
  const StarPuRun starpu(2);
  starpu_codelet write = writing_codelet(), read = reading_codelet();
  std::atomic<int> sum = 0;
  for (int i = 0; i < 500; ++i) {
    const starpu_data_handle_t handle = temporary(3 * kMiB);
    ASSERT_EQ(submit(write, nullptr, {handle}), 0);
    ASSERT_EQ(submit(read, &sum, {handle}), 0);
    starpu_data_unregister_submit(handle);
  }
  ASSERT_EQ(starpu_task_wait_for_all(), 0);
  EXPECT_EQ(sum, 500);
}

TEST_P(DataModes, ADatumIsInvalidatedAndWrittenAgain) {
  const StarPuRun starpu(2);
  starpu_codelet write = writing_codelet(), read = reading_codelet();
  std::atomic<int> sum = 0;
  std::array<starpu_data_handle_t, 4> handles;
  for (auto& handle : handles) handle = temporary(3 * kMiB);
  for (int i = 0; i < 200; ++i) {
    const starpu_data_handle_t handle = handles[static_cast<std::size_t>(i) % 4];
    ASSERT_EQ(submit(write, nullptr, {handle}), 0);
    ASSERT_EQ(submit(read, &sum, {handle}), 0);
    starpu_data_invalidate_submit(handle);
  }
  ASSERT_EQ(starpu_task_wait_for_all(), 0);
  EXPECT_EQ(sum, 200);
  for (const auto handle : handles) starpu_data_unregister(handle);
}

TEST_P(DataModes, TheApplicationAcquiresBetweenTasks) {
  const StarPuRun starpu(2);
  starpu_codelet increment = incrementing_codelet();
  const starpu_data_handle_t handle = temporary(kMiB);
  ASSERT_EQ(starpu_data_acquire(handle, STARPU_W), 0);
  *static_cast<int*>(starpu_data_get_local_ptr(handle)) = 0;
  starpu_data_release(handle);
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(submit(increment, nullptr, {handle}), 0);
    ASSERT_EQ(starpu_data_acquire(handle, STARPU_RW), 0);
    ++*static_cast<int*>(starpu_data_get_local_ptr(handle));
    starpu_data_release(handle);
    ASSERT_EQ(int_in(handle), 2 * (i + 1));
  }
  starpu_data_unregister(handle);
}

TEST_P(DataModes, TheApplicationAcquiresInACallback) {
  const StarPuRun starpu(2);
  starpu_codelet write = writing_codelet(), increment = incrementing_codelet();
  const starpu_data_handle_t handle = temporary(kMiB);
  ASSERT_EQ(submit(write, nullptr, {handle}), 0);
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(increment_in_callback(handle), 0);
    ASSERT_EQ(submit(increment, nullptr, {handle}), 0);
  }
  EXPECT_EQ(int_in(handle), 101);
  starpu_data_unregister(handle);
}

TEST_P(DataModes, ReductionsAddUp) {
  const StarPuRun starpu(2);
  starpu_codelet zero =
      on_variable([](void** buffers, void*) { first_int(buffers[0]) = 0; }, STARPU_W);
  starpu_codelet add = cpu_codelet(
      [](void** buffers, void*) { first_int(buffers[0]) += first_int(buffers[1]); });
  add.nbuffers = 2;
  add.modes[0] = STARPU_RW;
  add.modes[1] = STARPU_R;
  starpu_codelet contribute = incrementing_codelet();
  contribute.modes[0] = STARPU_REDUX;
  for (int round = 0; round < 10; ++round) {
    const starpu_data_handle_t handle = temporary(kMiB);
    starpu_data_set_reduction_methods(handle, &add, &zero);
    ASSERT_EQ(submit(zero, nullptr, {handle}), 0);
    for (int i = 0; i < 100; ++i) ASSERT_EQ(submit(contribute, nullptr, {handle}), 0);
    EXPECT_EQ(int_in(handle), 100);
    starpu_data_unregister(handle);
  }
}

TEST_P(DataModes, CommutingTasksLoseNoUpdate) {
  const StarPuRun starpu(2);
  starpu_codelet write = writing_codelet();
  starpu_codelet both = cpu_codelet([](void** buffers, void*) {
    ++first_int(buffers[0]);
    ++first_int(buffers[1]);
  });
  both.nbuffers = 2;
  both.modes[0] = both.modes[1] =
      static_cast<starpu_data_access_mode>(STARPU_RW | STARPU_COMMUTE);
  for (const bool with_arbiter : {false, true}) {
    std::array<starpu_data_handle_t, 4> handles;
    starpu_arbiter_t arbiter = with_arbiter ? starpu_arbiter_create() : nullptr;
    for (auto& handle : handles) {
      handle = temporary(kMiB);
      if (with_arbiter) starpu_data_assign_arbiter(handle, arbiter);
      ASSERT_EQ(submit(write, nullptr, {handle}), 0);
    }
    for (std::size_t i = 0; i < 600; ++i)
      ASSERT_EQ(submit(both, nullptr, {handles[i % 4], handles[(i + 1 + i % 3) % 4]}), 0);
    int sum = 0;
    for (const auto handle : handles) sum += int_in(handle);
    EXPECT_EQ(sum, 4 + 2 * 600);
    for (const auto handle : handles) starpu_data_unregister(handle);
    if (with_arbiter) starpu_arbiter_destroy(arbiter);
  }
}

TEST_P(DataModes, EachWorkerHasScratchOfItsOwn) {
  const StarPuRun starpu(3);
  static std::atomic<int> wrong;
  wrong = 0;
  starpu_codelet codelet = on_variable(
      [](void** buffers, void*) {
        int& value = first_int(buffers[0]);
        value = starpu_worker_get_id();
        std::this_thread::yield();
        wrong += value != starpu_worker_get_id();
      },
      STARPU_SCRATCH);
  const starpu_data_handle_t handle = temporary(kMiB);
  for (int i = 0; i < 500; ++i) ASSERT_EQ(submit(codelet, nullptr, {handle}), 0);
  ASSERT_EQ(starpu_task_wait_for_all(), 0);
  EXPECT_EQ(wrong, 0);
  starpu_data_unregister(handle);
}

using Vector = VectorInParts<kMiB / sizeof(int), 8>;

TEST_P(DataModes, PartitionedDataComeTogetherAgain) {
  const StarPuRun starpu(2);
  for (const int home : {-1, STARPU_MAIN_RAM}) {
    Vector vector(home);
    ASSERT_EQ(submit(vector.fill, nullptr, {vector.handle}), 0);
    vector.increment_in_parts(5);
    EXPECT_EQ(vector.sum(), 6L * Vector::kLength);
    starpu_data_unregister(vector.handle);
  }
}

// Of data that the application holds: StarPU (1.3.10, 1.4.7) loses the pieces of others.
TEST_P(DataModes, PartitionsAreSubmittedLikeTasks) {
  const StarPuRun starpu(2);
  Vector vector(STARPU_MAIN_RAM);
  std::array<starpu_data_handle_t, Vector::kParts> parts;
  starpu_data_partition_plan(vector.handle, &vector.filter, parts.data());
  ASSERT_EQ(submit(vector.fill, nullptr, {vector.handle}), 0);
  for (int round = 0; round < 5; ++round) {
    starpu_data_partition_submit(vector.handle, Vector::kParts, parts.data());
    for (const auto part : parts) ASSERT_EQ(submit(vector.increment, nullptr, {part}), 0);
    starpu_data_unpartition_submit(vector.handle, Vector::kParts, parts.data(), -1);
    ASSERT_EQ(submit(vector.increment, nullptr, {vector.handle}), 0);
  }
  EXPECT_EQ(vector.sum(), 11L * Vector::kLength);
  starpu_data_partition_clean(vector.handle, Vector::kParts, parts.data());
  starpu_data_unregister(vector.handle);
}

TEST_P(DataModes, TasksMayGiveUpSequentialConsistency) {
  const StarPuRun starpu(2);
  starpu_codelet write = writing_codelet(), increment = incrementing_codelet();
  starpu_codelet read = reading_codelet();
  std::atomic<int> sum = 0;
  for (int i = 0; i < 100; ++i) {
    const starpu_data_handle_t handle = temporary(kMiB);
    if (i % 2 != 0) starpu_data_set_sequential_consistency_flag(handle, 0);
    const std::vector<starpu_task*> tasks = {
        make_task(write, nullptr), make_task(increment, nullptr), make_task(read, &sum)};
    for (starpu_task* const task : tasks) task->sequential_consistency = 0;
    run_as_chain(tasks, handle);
  }
  EXPECT_EQ(sum, 200);
}

TEST_P(DataModes, ATaskMayTakeManyHandles) {
  const StarPuRun starpu(2);
  constexpr int kHandles = 40;
  starpu_codelet write = writing_codelet();
  starpu_codelet read_all = cpu_codelet([](void** buffers, void* argument) {
    for (int i = 0; i < kHandles; ++i)
      *static_cast<std::atomic<int>*>(argument) += first_int(buffers[i]);
  });
  read_all.nbuffers = STARPU_VARIABLE_NBUFFERS;
  std::atomic<int> sum = 0;
  for (int round = 0; round < 5; ++round) {
    std::vector<starpu_data_descr> descriptions;
    for (int i = 0; i < kHandles; ++i) {
      descriptions.push_back({temporary(64 * kKiB), STARPU_R});
      ASSERT_EQ(submit(write, nullptr, {descriptions.back().handle}), 0);
    }
    ASSERT_EQ(starpu_task_insert(&read_all, STARPU_DATA_MODE_ARRAY, descriptions.data(),
                                 kHandles, STARPU_CL_ARGS_NFREE, &sum, sizeof sum, 0),
              0);
    for (const auto& description : descriptions)
      starpu_data_unregister_submit(description.handle);
  }
  ASSERT_EQ(starpu_task_wait_for_all(), 0);
  EXPECT_EQ(sum, 5 * kHandles);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::policy
