// Programs that declare nothing, under a bound: data in parts and in several blocks.

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "policy/bounded_run.h"
#include "policy/vector_in_parts.h"

namespace espalier::policy {
namespace TEST_SOURCE {

const std::string kBound = "8MiB";

using Vector = VectorInParts<4 * kMiB / sizeof(int), 4>;

TEST(HandleGate, PartsOfAllocatedDataCountWithTheWhole) {
  Pressure chains;
  const auto report = run_bounded(kBound, [&] {
    Vector vector;
    ASSERT_EQ(submit(vector.fill, nullptr, {vector.handle}), 0);
    vector.increment_in_parts(3);
    chains.submit_all();
    EXPECT_EQ(vector.sum(), 4L * Vector::kLength);
    ASSERT_EQ(starpu_task_wait_for_all(), 0);
    starpu_data_unregister(vector.handle);
  });
  expect_kept(report);
  EXPECT_EQ(report["booked_peak_bytes"], 7 * kMiB);
}

TEST(HandleGate, PartsOfDataThatAreNowhereYetAreAllocatedOneByOne) {
  const auto report = run_bounded("9MiB", [&] {
    Vector vector;
    starpu_data_partition(vector.handle, &vector.filter);
    for (unsigned i = 0; i < Vector::kParts; ++i)
      ASSERT_EQ(
          submit(vector.fill, nullptr, {starpu_data_get_sub_data(vector.handle, 1, i)}),
          0);
    starpu_data_unpartition(vector.handle, STARPU_MAIN_RAM);
    ASSERT_EQ(submit(vector.increment, nullptr, {vector.handle}), 0);
    EXPECT_EQ(vector.sum(), 2L * Vector::kLength);
    starpu_data_unregister(vector.handle);
  });
  expect_kept(report);
}

// Of data that the application holds: StarPU (1.3.10, 1.4.7) loses the pieces of others.
TEST(HandleGate, PartitionsOfTheApplicationsDataAreSubmittedLikeTasks) {
  std::vector<int> memory(Vector::kLength);
  Pressure chains;
  const auto report = run_bounded(kBound, [&] {
    Vector vector;
    starpu_data_unregister(vector.handle);
    starpu_vector_data_register(&vector.handle, STARPU_MAIN_RAM,
                                reinterpret_cast<std::uintptr_t>(memory.data()),
                                Vector::kLength, sizeof(int));
    std::array<starpu_data_handle_t, Vector::kParts> parts;
    starpu_data_partition_plan(vector.handle, &vector.filter, parts.data());
    ASSERT_EQ(submit(vector.fill, nullptr, {vector.handle}), 0);
    chains.submit_all();
    for (int round = 0; round < 3; ++round) {
      starpu_data_partition_submit(vector.handle, Vector::kParts, parts.data());
      for (const auto part : parts)
        ASSERT_EQ(submit(vector.increment, nullptr, {part}), 0);
      starpu_data_unpartition_submit(vector.handle, Vector::kParts, parts.data(), -1);
      ASSERT_EQ(submit(vector.increment, nullptr, {vector.handle}), 0);
    }
    EXPECT_EQ(vector.sum(), 7L * Vector::kLength);
    starpu_data_partition_clean(vector.handle, Vector::kParts, parts.data());
    starpu_data_unregister(vector.handle);
  });
  expect_kept(report);
}

// The whole is allocated again when its parts come together, by a task of StarPU's that
// passes through no policy. Kept to the end, it leaves less for the rest.
TEST(HandleGate, CountsTheWholeThatPartsOfATemporaryLeave) {
  const std::string unkept = "blocks allocated for no task: acquisitions, partitions";
  Pressure chains;
  const auto report = run_bounded(
      "10MiB",
      [&] {
        std::array<Vector, 2> wholes;
        for (Vector& vector : wholes) {
          std::array<starpu_data_handle_t, Vector::kParts> parts;
          ASSERT_EQ(submit(vector.fill, nullptr, {vector.handle}), 0);
          starpu_data_acquire(vector.handle, STARPU_R);
          starpu_data_release(vector.handle);
          starpu_data_partition_plan(vector.handle, &vector.filter, parts.data());
          starpu_data_partition_submit(vector.handle, Vector::kParts, parts.data());
          for (const auto part : parts)
            ASSERT_EQ(submit(vector.fill, nullptr, {part}), 0);
          starpu_data_unpartition_submit(vector.handle, Vector::kParts, parts.data(), -1);
          starpu_data_partition_clean(vector.handle, Vector::kParts, parts.data());
          ASSERT_EQ(starpu_task_wait_for_all(), 0);
        }
        chains.submit_all();
        ASSERT_EQ(starpu_task_wait_for_all(), 0);
        for (Vector& vector : wholes) starpu_data_unregister(vector.handle);
      },
      2, "warn");
  EXPECT_EQ(report["bound_kept"], false) << report;
  // Beside a chain.
  EXPECT_GE(report["allocated_peak_bytes"], 11 * kMiB) << report;
  EXPECT_LE(report["allocated_peak_bytes"], report["booked_peak_bytes"]) << report;
  EXPECT_GE(report["least_bytes"], 11 * kMiB) << report;
  EXPECT_GT(outside(report, unkept), 0) << report;
}

// The pieces are needed until they come together, in a task that is not executed. The
// whole is there from the plan of its partition on.
TEST(HandleGate, PartsOfATemporaryCountUntilTheyComeTogether) {
  for (const char* bound : {"1GiB", "8MiB"}) {
    const auto report = run_bounded(bound, [] {
      Vector vector;
      std::array<starpu_data_handle_t, Vector::kParts> parts;
      starpu_data_partition_plan(vector.handle, &vector.filter, parts.data());
      starpu_data_partition_submit(vector.handle, Vector::kParts, parts.data());
      for (const auto part : parts) ASSERT_EQ(submit(vector.fill, nullptr, {part}), 0);
      starpu_data_unpartition_submit(vector.handle, Vector::kParts, parts.data(), -1);
      starpu_data_partition_clean(vector.handle, Vector::kParts, parts.data());
      ASSERT_EQ(submit(vector.increment, nullptr, {vector.handle}), 0);
      starpu_data_unregister(vector.handle);
    });
    expect_kept(report);
    EXPECT_EQ(report["least_bytes"], 8 * kMiB) << report;
  }
}

TEST(HandleGate, TakesDataOfSeveralBlocks) {
  const auto report = run_bounded(kBound, [&] {
    constexpr std::uint32_t kNonZeros = 300'000, kRows = 200'000;
    static starpu_codelet write = on_variable(
        [](void** buffers, void*) {
          reinterpret_cast<double*>(STARPU_CSR_GET_NZVAL(buffers[0]))[kNonZeros - 1] = 1;
          STARPU_CSR_GET_COLIND(buffers[0])[kNonZeros - 1] = 2;
          STARPU_CSR_GET_ROWPTR(buffers[0])[kRows] = kNonZeros;
        },
        STARPU_W);
    static std::atomic<int> right;
    right = 0;
    static starpu_codelet read = on_variable(
        [](void** buffers, void*) {
          right += reinterpret_cast<double*>(
                       STARPU_CSR_GET_NZVAL(buffers[0]))[kNonZeros - 1] == 1 &&
                   STARPU_CSR_GET_COLIND(buffers[0])[kNonZeros - 1] == 2 &&
                   STARPU_CSR_GET_ROWPTR(buffers[0])[kRows] == kNonZeros;
        },
        STARPU_R);
    starpu_pause();
    for (int i = 0; i < 8; ++i) {
      starpu_data_handle_t handle;
      starpu_csr_data_register(&handle, -1, kNonZeros, kRows, 0, nullptr, nullptr, 0,
                               sizeof(double));
      ASSERT_EQ(submit(write, nullptr, {handle}), 0);
      ASSERT_EQ(submit(read, nullptr, {handle}), 0);
      starpu_data_unregister_submit(handle);
    }
    starpu_resume();
    ASSERT_EQ(starpu_task_wait_for_all(), 0);
    EXPECT_EQ(right, 8);
  });
  expect_kept(report);
  // One matrix, of 12 bytes a non-zero and 4 a row: two do not fit.
  EXPECT_EQ(report["booked_peak_bytes"], 12 * 300'000 + 4 * (200'000 + 1));
  EXPECT_EQ(report["allocated_peak_bytes"], report["booked_peak_bytes"]);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::policy
