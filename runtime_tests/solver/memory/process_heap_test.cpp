#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "solver/memory/process_memory.h"

namespace espalier::solver {
namespace TEST_SOURCE {

constexpr Bytes kMiB = Bytes{1} << 20;
constexpr int kTimes = 16;

/// Fresh pages that a megabyte costs which is taken, written and freed again and again.
long faults_of_a_megabyte() {
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  for (int time = 0; time < kTimes; ++time) {
    void* volatile block = std::malloc(kMiB);
    std::memset(block, 1, kMiB);
    std::free(block);
  }
  getrusage(RUSAGE_SELF, &after);
  return after.ru_minflt - before.ru_minflt;
}

// With 4 KiB a page it is 256 of them, with 64 KiB 16.
TEST(ProcessHeap, WhatIsFreedServesAgainUntilTheHeapIsSmall) {
  const long pages = kMiB / sysconf(_SC_PAGESIZE);
  keep_heap_small();
  EXPECT_GE(faults_of_a_megabyte(), kTimes * pages) << "each time from the system";
  keep_freed(8 * kMiB);
  EXPECT_LE(faults_of_a_megabyte(), 4 * pages);
  EXPECT_LE(faults_of_a_megabyte(), pages / 4) << "all there";
  keep_heap_small();
  trim_heap();
  EXPECT_GE(faults_of_a_megabyte(), kTimes * pages);
}

TEST(ProcessHeap, KeepsNoMoreThanItIsTold) {
  keep_heap_small();
  trim_heap();
  const Bytes before = baseline_bytes();
  keep_freed(4 * kMiB);
  void* blocks[32];
  for (void*& block : blocks) std::memset(block = std::malloc(2 * kMiB), 1, 2 * kMiB);
  EXPECT_GE(baseline_bytes(), before + 64 * kMiB);
  for (void* block : blocks) std::free(block);
  EXPECT_LE(baseline_bytes(), before + 6 * kMiB);
  keep_heap_small();
  trim_heap();
  EXPECT_LE(baseline_bytes(), before + kMiB);
}

// Sizes that no mallopt() takes.
TEST(ProcessHeap, TakesAnySize) {
  keep_freed(Bytes{1} << 50);
  EXPECT_LE(faults_of_a_megabyte(), 4 * (kMiB / sysconf(_SC_PAGESIZE)));
  keep_freed(1);
  EXPECT_GE(faults_of_a_megabyte(), kMiB / sysconf(_SC_PAGESIZE));
  keep_heap_small();
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
