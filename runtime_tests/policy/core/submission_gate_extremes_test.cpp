// Extremes of the gate, and the memory that it takes.

#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <new>

#include "policy/gate_steps.h"
#include "support/sanitized.h"

// Bytes of the heap that C++ objects of the program take, with what malloc adds to each.
static std::atomic<std::int64_t> heap_bytes = 0;

static std::int64_t heap_size(void* block) {
  return static_cast<std::int64_t>(malloc_usable_size(block) + sizeof(std::size_t));
}

[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  void* const block = std::malloc(bytes);
  if (block != nullptr) heap_bytes += heap_size(block);
  return block;
}

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  void* const block = operator new(bytes, std::nothrow);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

[[gnu::noinline]] void operator delete(void* block) noexcept {
  if (block != nullptr) heap_bytes -= heap_size(block);
  std::free(block);
}

[[gnu::noinline]] void operator delete(void* block, std::size_t) noexcept {
  operator delete(block);
}

namespace espalier::policy {
namespace TEST_SOURCE {

// One runs, one after the other, in the order in which they are let in; each datum is
// released when its last task has been submitted.
void run_all(SubmissionGate& gate, const std::vector<Op>& ops,
             const std::function<const void*(std::size_t)>& released) {
  std::vector<void*> admitted;
  std::size_t ended = 0;
  const auto run = [&](Op op, std::size_t i) {
    gate.end(op);
    if (const void* const datum = released(i)) gate.release(datum);
    ++ended;
  };
  for (std::size_t i = 0; i < ops.size(); ++i)
    if (gate.ready(ops[i], 0)) run(ops[i], i);
  while (ended < ops.size()) {
    admitted.clear();
    gate.admit_held(0, admitted);
    ASSERT_FALSE(admitted.empty()) << ended << " have ended";
    for (void* const t : admitted)
      run(gate.find(t), (reinterpret_cast<std::uintptr_t>(t) - 0x10000000) / 256);
  }
}

constexpr auto kMany = static_cast<std::uintptr_t>(support::rounds(1'000'000));

TEST(SubmissionGate, RunsOneTask) {
  SubmissionGate gate(1, false);
  run_all(gate, {submit(gate, 0, 0, 1)}, [](std::size_t) { return handle(0); });
  EXPECT_EQ(gate.booked(), 0);
  EXPECT_EQ(gate.report().least, 1);
}

TEST(SubmissionGate, RunsAMillionReadersOfOneDatum) {
  SubmissionGate gate(8, false);
  std::vector<Op> ops;
  for (std::uintptr_t t = 0; t < kMany; ++t) ops.push_back(submit(gate, t, 0, 8));
  gate.release(handle(0));
  run_all(gate, ops, [](std::size_t) { return nullptr; });
  EXPECT_EQ(gate.booked(), 0);
  EXPECT_EQ(gate.report().booked_peak, 8);
  EXPECT_EQ(gate.report().held_tasks, 0);
}

// Each task is ready when the one before has ended.
TEST(SubmissionGate, RunsAChainOfAMillionWriters) {
  SubmissionGate gate(8, false);
  std::vector<Op> ops;
  for (std::uintptr_t t = 0; t < kMany; ++t) ops.push_back(submit(gate, t, 0, 8));
  for (const Op op : ops) {
    ASSERT_TRUE(gate.ready(op, 0));
    gate.end(op);
  }
  EXPECT_EQ(gate.booked(), 8);
  gate.release(handle(0));
  EXPECT_EQ(gate.booked(), 0);
}

// All are ready at once, and memory suffices for three.
TEST(SubmissionGate, RunsAMillionIndependentChains) {
  constexpr Bytes kSize = 64;
  SubmissionGate gate(3 * kSize, false);
  std::vector<Op> writers, readers;
  for (std::uintptr_t c = 0; c < kMany; ++c) {
    writers.push_back(submit(gate, 2 * c, c, kSize));
    readers.push_back(submit(gate, 2 * c + 1, c, kSize));
    gate.release(handle(c));
  }
  std::vector<std::uintptr_t> in;
  for (std::uintptr_t c = 0; c < kMany; ++c)
    if (gate.ready(writers[c], 0)) in.push_back(c);
  EXPECT_EQ(in, (std::vector<std::uintptr_t>{0, 1, 2}));
  std::vector<void*> admitted;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const std::uintptr_t c = in[i];
    gate.end(writers[c]);
    ASSERT_TRUE(gate.ready(readers[c], 0));
    gate.end(readers[c]);
    admitted.clear();
    gate.admit_held(0, admitted);
    for (void* const t : admitted)
      in.push_back((reinterpret_cast<std::uintptr_t>(t) - 0x10000000) / 512);
  }
  EXPECT_EQ(in.size(), kMany);
  EXPECT_EQ(gate.booked(), 0);
  EXPECT_EQ(gate.report().booked_peak, 3 * kSize);
  EXPECT_EQ(gate.report().least, kSize);
}

// What a task costs the gate until it has ended, in bytes. Each works on so many data
// that no other works on, or on the datum of the task before too.
std::int64_t heap_of_a_task(std::uintptr_t count, std::uintptr_t data, bool in_pairs,
                            bool held) {
  std::vector<DataAccess> accesses(data);
  const std::int64_t before = heap_bytes;
  SubmissionGate gate(1, false);
  for (std::uintptr_t t = 0; t < count; ++t) {
    for (std::uintptr_t d = 0; d < data; ++d)
      accesses[d] = {handle(in_pairs ? t / 2 : data * t + d), 8, nullptr};
    const Op op = gate.submit(task(t), accesses);
    if (held) {
      EXPECT_FALSE(gate.ready(op, 0));
    }
  }
  return (heap_bytes - before) / static_cast<std::int64_t>(count);
}

TEST(SubmissionGate, TakesAtMost200BytesForATaskAndItsDatum) {
  // In numbers of tasks after which tables have just grown, too.
  for (const std::uintptr_t count : {10'000U, 49'153U, 65'537U, 300'000U}) {
    const std::int64_t one = heap_of_a_task(count, 1, false, false);
    const std::int64_t two = heap_of_a_task(count, 2, false, false);
    const std::int64_t held = heap_of_a_task(count, 1, false, true);
    const std::int64_t pairs = heap_of_a_task(count, 1, true, true);
    std::printf(
        "%6zu tasks: %lld bytes with a datum, %lld with two, %lld held, %lld held in "
        "pairs\n",
        static_cast<std::size_t>(count), static_cast<long long>(one),
        static_cast<long long>(two), static_cast<long long>(held),
        static_cast<long long>(pairs));
    EXPECT_LE(one, 200);
    EXPECT_LE(pairs, 200);
    EXPECT_LE(two - one, 100) << "a further datum";
    EXPECT_LE(held - one, 32) << "while it is held";
  }
}

TEST(SubmissionGate, TakesNoMoreMemoryHoweverLongItRuns) {
  SubmissionGate gate(1000, true);
  const auto pass = [&gate](std::uintptr_t from, std::uintptr_t to) {
    for (std::uintptr_t t = from; t < to; ++t) {
      const Op op = submit(gate, t, t % 7, 10);
      gate.release(handle(t % 7));
      ASSERT_TRUE(gate.ready(op, 0));
      fetch(gate, op, t % 7, t % 11, 10);
      gate.end(op);
      ASSERT_TRUE(free_block(gate, t % 11));
    }
  };
  pass(0, 10'000);
  const std::int64_t before = heap_bytes;
  pass(10'000, 300'000);
  EXPECT_LE(heap_bytes - before, 1024);
  EXPECT_EQ(gate.booked(), 0);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::policy
