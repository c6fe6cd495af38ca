// Codelets that several workers may run together. However many they are, each task's work
// is done once.

#include <gtest/gtest.h>

#include <atomic>
#include <climits>
#include <cstddef>
#include <vector>

#include "policy/living.h"

namespace espalier::policy {
namespace TEST_SOURCE {

class ParallelTasks : public Living {};
INSTANTIATE_TEST_SUITE_P(Policy, ParallelTasks, bounds(), bound_name);

constexpr std::size_t kLength = 1000;

// SPMD: every worker of the task runs this, on its share of the entries.
void count_own_share(void** buffers, void*) {
  auto* const counts = reinterpret_cast<int*>(STARPU_VECTOR_GET_PTR(buffers[0]));
  const auto size = static_cast<std::size_t>(starpu_combined_worker_get_size());
  const auto rank = static_cast<std::size_t>(starpu_combined_worker_get_rank());
  for (std::size_t i = kLength * rank / size; i < kLength * (rank + 1) / size; ++i)
    ++counts[i];
}

// Fork-join: one worker runs this, the others leave it their cores.
void count_all(void** buffers, void*) {
  auto* const counts = reinterpret_cast<int*>(STARPU_VECTOR_GET_PTR(buffers[0]));
  for (std::size_t i = 0; i < kLength; ++i) ++counts[i];
}

starpu_codelet parallel_codelet(starpu_codelet_type type, int most_workers) {
  starpu_codelet codelet =
      on_variable(type == STARPU_SPMD ? count_own_share : count_all, STARPU_RW);
  codelet.type = type;
  codelet.max_parallelism = most_workers;
  return codelet;
}

void run_in_turn(starpu_codelet_type type, int most_workers) {
  const StarPuRun starpu(4);
  starpu_codelet parallel = parallel_codelet(type, most_workers);
  starpu_codelet sequential = parallel_codelet(STARPU_FORKJOIN, 1);
  std::vector<std::vector<int>> counts(8, std::vector<int>(kLength));
  std::vector<starpu_data_handle_t> handles(counts.size());
  for (std::size_t i = 0; i < counts.size(); ++i)
    starpu_vector_data_register(&handles[i], STARPU_MAIN_RAM,
                                reinterpret_cast<std::uintptr_t>(counts[i].data()),
                                kLength, sizeof(int));
  for (int round = 0; round < 20; ++round)
    for (const auto handle : handles) {
      ASSERT_EQ(submit(parallel, nullptr, {handle}), 0);
      ASSERT_EQ(submit(sequential, nullptr, {handle}), 0);
    }
  for (const auto handle : handles) starpu_data_unregister(handle);
  for (const auto& row : counts) EXPECT_EQ(row, std::vector<int>(kLength, 40));
}

TEST_P(ParallelTasks, RunTogetherShareByShare) { run_in_turn(STARPU_SPMD, INT_MAX); }
TEST_P(ParallelTasks, RunTogetherOnTheCoresOfMany) {
  run_in_turn(STARPU_FORKJOIN, INT_MAX);
}
TEST_P(ParallelTasks, MayBeLimitedToTwoWorkers) { run_in_turn(STARPU_SPMD, 2); }

}  // namespace TEST_SOURCE
}  // namespace espalier::policy
