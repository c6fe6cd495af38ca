// Single cases of the gate, checked by hand: which tasks may start. The law over random
// programs is in submission_gate_test.cpp.
//
// The cases of one subject, which share their instances: over 300 lines.

#include <gtest/gtest.h>

#include <algorithm>

#include "espalier/model/error.h"
#include "policy/gate_steps.h"

namespace espalier::policy {
namespace TEST_SOURCE {

// Sixteen chains: writer 2c and reader 2c + 1 of 64 bytes, which are then released. All
// are submitted before any runs.
struct Chains {
  static constexpr std::uintptr_t kCount = 16;
  static constexpr Bytes kSize = 64;

  explicit Chains(Bytes bound) : gate(bound, true) {
    for (std::uintptr_t c = 0; c < kCount; ++c) {
      writers.push_back(submit(gate, 2 * c, c, kSize));
      readers.push_back(submit(gate, 2 * c + 1, c, kSize));
      gate.release(handle(c));
    }
  }
  /// Those of the writers, ready in this order, that are let in.
  std::vector<std::uintptr_t> ready(const std::vector<std::uintptr_t>& order) {
    std::vector<std::uintptr_t> admitted;
    for (const std::uintptr_t c : order)
      if (gate.ready(writers[c], 0)) admitted.push_back(c);
    return admitted;
  }
  void read_and_free(std::uintptr_t c) {
    fetch(gate, writers[c], c, c, kSize);
    gate.end(writers[c]);
    EXPECT_TRUE(gate.ready(readers[c], 0)) << "what allocates nothing is never held";
    gate.end(readers[c]);
    EXPECT_TRUE(free_block(gate, c));
  }

  SubmissionGate gate;
  std::vector<Op> writers, readers;
};

std::vector<std::uintptr_t> counting_up(std::uintptr_t from, std::uintptr_t to) {
  std::vector<std::uintptr_t> order;
  for (; from < to; ++from) order.push_back(from);
  return order;
}

TEST(SubmissionGate, LetsFourOfTheSixteenChainsInAtATime) {
  Chains chains(256);
  EXPECT_EQ(chains.gate.report().least, 64);
  EXPECT_EQ(chains.ready(counting_up(0, 16)), counting_up(0, 4));
  EXPECT_EQ(chains.gate.booked(), 256);
  EXPECT_EQ(chains.gate.held(), 12U);
  EXPECT_EQ(chains.gate.first_held(), task(8));
  EXPECT_EQ(chains.gate.needed_now(), 256 + 64);
  EXPECT_FALSE(chains.gate.stalled());
  for (std::uintptr_t c = 0; c < 16; ++c) {
    EXPECT_TRUE(admit(chains.gate).empty()) << "no memory has been given back";
    chains.read_and_free(c);
    EXPECT_EQ(admit(chains.gate),
              c + 4 < 16 ? tasks({2 * (c + 4)}) : std::vector<void*>());
  }
  const SubmissionGateReport report = chains.gate.report();
  EXPECT_EQ(report.booked, 0);
  EXPECT_EQ(report.booked_peak, 256);
  EXPECT_EQ(report.allocated, 0);
  EXPECT_EQ(report.allocated_peak, 64);
  EXPECT_EQ(report.least, 64);
  EXPECT_EQ(report.tasks, 32);
  EXPECT_EQ(report.held_tasks, 12);
  EXPECT_EQ(report.unproven, 0);
  EXPECT_LE(report.over_bound, 0);
}

TEST(SubmissionGate, LetsTheSixteenChainsInOneByOneWhenOneFits) {
  Chains chains(64);
  EXPECT_EQ(chains.ready(counting_up(0, 16)), counting_up(0, 1));
  for (std::uintptr_t c = 0; c < 16; ++c) {
    chains.read_and_free(c);
    EXPECT_EQ(admit(chains.gate), c < 15 ? tasks({2 * c + 2}) : std::vector<void*>());
  }
}

// With three writers from the end in memory, the readers of which come last, a fourth
// would fill memory before the first chain could start.
TEST(SubmissionGate, LeavesRoomForTheOrderOfSubmission) {
  Chains chains(256);
  std::vector<std::uintptr_t> backwards = counting_up(0, 16);
  std::reverse(backwards.begin(), backwards.end());
  EXPECT_EQ(chains.ready(backwards), (std::vector<std::uintptr_t>{15, 14, 13, 0}));
  EXPECT_EQ(chains.gate.booked(), 256);
}

TEST(SubmissionGate, ForgetsATryThatTheOrderForbids) {
  SubmissionGate gate(128, true);
  std::vector<Op> writers;
  for (std::uintptr_t c = 0; c < 3; ++c) {
    writers.push_back(submit(gate, 2 * c, c, 64));
    submit(gate, 2 * c + 1, c, 64);
    gate.release(handle(c));
  }
  EXPECT_TRUE(gate.ready(writers[2], 0));
  fetch(gate, writers[2], 2, 2, 64);
  gate.end(writers[2]);
  EXPECT_FALSE(gate.ready(writers[1], 0)) << "fits, and leaves no room for the first";
  EXPECT_EQ(gate.booked(), 64);
  EXPECT_EQ(gate.report().booked_peak, 64);
  EXPECT_TRUE(gate.stalled());
}

// Some tasks of 50 bytes are held in front of a small one. When memory is given back, it
// is tried if it is among the first eight, or if nothing runs.
TEST(SubmissionGate, TriesTheOldestHeldTasksFirst) {
  for (const std::uintptr_t before : {7, 8, 9}) {
    SubmissionGate gate(100, true);
    const Op large = submit(gate, 0, 0, 60), other = submit(gate, 1, 1, 35);
    gate.release(handle(0));
    gate.release(handle(1));
    EXPECT_TRUE(gate.ready(large, 0));
    EXPECT_TRUE(gate.ready(other, 0));
    fetch(gate, large, 0, 0, 60);
    fetch(gate, other, 1, 1, 35);
    for (std::uintptr_t t = 2; t <= 2 + before; ++t) {
      const Op op = submit(gate, t, t, t < 2 + before ? 50 : 10);
      gate.release(handle(t));
      EXPECT_FALSE(gate.ready(op, 0));
    }
    gate.end(other);
    EXPECT_TRUE(free_block(gate, 1));
    const auto small = tasks({2 + before});
    EXPECT_EQ(admit(gate), before < 8 ? small : std::vector<void*>()) << before;
    if (before < 8) continue;
    gate.end(large);
    EXPECT_EQ(admit(gate), small) << "the others wait for memory to be freed";
  }
}

TEST(SubmissionGate, BooksUntilMemoryHasReallyBeenFreed) {
  SubmissionGate gate(100, true);
  const Op first = submit(gate, 0, 0, 60);
  gate.release(handle(0));
  const Op second = submit(gate, 1, 1, 60);
  EXPECT_TRUE(gate.ready(first, 0));
  EXPECT_FALSE(gate.ready(second, 0));
  fetch(gate, first, 0, 0, 60);
  gate.end(first);
  EXPECT_TRUE(admit(gate).empty());
  EXPECT_EQ(gate.booked(), 60);
  EXPECT_TRUE(free_block(gate, 0));
  EXPECT_EQ(gate.booked(), 0);
  EXPECT_EQ(admit(gate), tasks({1}));
}

TEST(SubmissionGate, WithoutMeasuringGivesBackAtTheLastOfReleaseAndEnd) {
  SubmissionGate gate(100, false);
  const Op released_first = submit(gate, 0, 0, 60);
  EXPECT_TRUE(gate.ready(released_first, 0));
  gate.release(handle(0));
  EXPECT_EQ(gate.booked(), 60);
  gate.end(released_first);
  EXPECT_EQ(gate.booked(), 0);
  const Op ended_first = submit(gate, 1, 0, 60);
  EXPECT_TRUE(gate.ready(ended_first, 0));
  gate.end(ended_first);
  EXPECT_EQ(gate.booked(), 60);
  gate.release(handle(0));
  EXPECT_EQ(gate.booked(), 0);
}

TEST(SubmissionGate, HoldsATaskThatCameBeforeOneWhichMemoryDoesNotSufficeFor) {
  SubmissionGate gate(100, true);
  const Op first = submit(gate, 0, 0, 60);  // stays
  const Op second = submit(gate, 1, 1, 60);
  const Op third = submit(gate, 2, 2, 10);
  EXPECT_FALSE(gate.ready(second, 0)) << "the first could not start any more";
  EXPECT_FALSE(gate.ready(third, 0)) << "behind what cannot be proved";
  EXPECT_TRUE(gate.stalled());
  EXPECT_FALSE(gate.first_is_held());
  EXPECT_TRUE(gate.ready(first, 0));
  EXPECT_FALSE(gate.stalled());
  EXPECT_TRUE(gate.first_is_held());
  EXPECT_EQ(gate.report().least, 130);
}

// Behind one that runs stand one that is not ready, many that would leave it no room, and
// one that would: held all of them. @return what is let in when the first has ended
std::vector<void*> let_in_behind(std::uintptr_t many, bool all) {
  SubmissionGate gate(100, false);
  const Op running = submit(gate, 0, 0, 95);
  gate.release(handle(0));
  submit(gate, 1, 1, 60);
  gate.release(handle(1));
  EXPECT_TRUE(gate.ready(running, 0));
  const std::uintptr_t last = 2 + 2 * many;
  std::vector<Op> ops;
  for (std::uintptr_t t = 2; t < last; t += 2) {
    ops.push_back(submit(gate, t, t, 50));
    submit(gate, t + 1, t, 50);
    gate.release(handle(t));
  }
  ops.push_back(submit(gate, last, last, 10));
  gate.release(handle(last));
  for (const Op op : ops) EXPECT_FALSE(gate.ready(op, 0));
  gate.end(running);
  std::vector<void*> admitted;
  gate.admit_held(0, admitted, all);
  return admitted;
}

TEST(SubmissionGate, TriesTheFirstOfManyHeldTasksEachTimeAndAllWhenAskedTo) {
  EXPECT_EQ(let_in_behind(60, false), tasks({122}));
  EXPECT_EQ(let_in_behind(70, false), tasks({}));
  EXPECT_EQ(let_in_behind(70, true), tasks({142}));
}

TEST(SubmissionGate, AccountsForTheTimeOfTasksThatWait) {
  SubmissionGate gate(10, true);
  const Op first = submit(gate, 0, 0, 10);
  gate.release(handle(0));
  const Op second = submit(gate, 1, 1, 10);
  EXPECT_TRUE(gate.ready(first, 1));
  EXPECT_FALSE(gate.ready(second, 2));
  gate.end(first);
  std::vector<void*> admitted;
  gate.admit_held(5, admitted);
  EXPECT_EQ(admitted, tasks({1}));
  EXPECT_EQ(gate.report().held_time, 3);
}

TEST(SubmissionGate, WhereDataCanBeEvictedCountsThoseOfRunningTasks) {
  SubmissionGate gate(100, false);
  std::vector<Op> ops;
  for (std::uintptr_t t = 0; t < 3; ++t) ops.push_back(submit(gate, t, t, 60));
  EXPECT_TRUE(gate.ready(ops[0], 0));
  gate.end(ops[0]);
  EXPECT_FALSE(gate.ready(ops[1], 0));
  EXPECT_FALSE(gate.ready(ops[2], 0));
  EXPECT_EQ(gate.admit_unproven(0), nullptr);
  gate.let_evict();
  EXPECT_EQ(admit(gate), tasks({1}));
  EXPECT_TRUE(admit(gate).empty()) << "not beside the one that runs";
  gate.end(ops[1]);
  EXPECT_EQ(admit(gate), tasks({2}));
  EXPECT_EQ(gate.report().unproven, 0);
  const Op large = submit(gate, 3, 3, 120);
  EXPECT_FALSE(gate.ready(large, 0));
  gate.end(ops[2]);
  EXPECT_TRUE(admit(gate).empty()) << "StarPU would look for memory for ever";
  EXPECT_EQ(gate.admit_over_bound(0), task(3));
  EXPECT_EQ(gate.report().over_bound, 20);
}

// The predecessor of task 1 is submitted after it, as tags allow.
TEST(SubmissionGate, LetsInWithoutProofWhatFits) {
  SubmissionGate gate(100, true);
  submit(gate, 0, 0, 60);
  const Op successor = submit(gate, 1, 1, 60);
  EXPECT_FALSE(gate.ready(successor, 0));
  EXPECT_TRUE(gate.stalled());
  EXPECT_EQ(gate.admit_unproven(0), task(1));
  EXPECT_EQ(gate.report().unproven, 1);
  EXPECT_EQ(gate.booked(), 60);
  EXPECT_FALSE(gate.holds());
  EXPECT_LE(gate.report().over_bound, 0);
}

TEST(SubmissionGate, ReportsWhatIsLetInOverTheBound) {
  SubmissionGate gate(100, true);
  const Op first = submit(gate, 0, 0, 60), second = submit(gate, 1, 1, 60);
  EXPECT_TRUE(gate.ready(first, 0));
  gate.end(first);
  EXPECT_FALSE(gate.ready(second, 0));
  EXPECT_EQ(gate.admit_unproven(0), nullptr);
  EXPECT_EQ(gate.admit_over_bound(0), task(1));
  EXPECT_EQ(gate.report().over_bound, 20);
  EXPECT_EQ(gate.report().booked_peak, 120);
  EXPECT_EQ(gate.report().unproven, 0);
}

TEST(SubmissionGate, BooksForATaskThatStartsUnasked) {
  SubmissionGate gate(100, true);
  const Op first = submit(gate, 0, 0, 60), second = submit(gate, 1, 1, 60);
  gate.start(first);
  gate.start(second);
  EXPECT_EQ(gate.booked(), 120);
  EXPECT_EQ(gate.report().over_bound, 20);
  EXPECT_TRUE(gate.started(second));
}

TEST(SubmissionGate, TakesAHandleAtAnOldAddressForANewOne) {
  for (const bool measured : {true, false}) {
    SubmissionGate gate(100, measured);
    const Op old = submit(gate, 0, 0, 10);
    EXPECT_TRUE(gate.ready(old, 0));
    if (measured) fetch(gate, old, 0, 0, 10);
    gate.end(old);
    if (measured) {
      EXPECT_TRUE(free_block(gate, 0));
    }
    const Op fresh = submit(gate, 1, 0, 95);
    EXPECT_EQ(gate.booked(), 0);
    EXPECT_TRUE(gate.ready(fresh, 0));
    EXPECT_EQ(gate.booked(), 95);
    EXPECT_EQ(gate.report().least, 95);
  }
}

TEST(SubmissionGate, TakesATaskThatIsSubmittedAgainForEnded) {
  SubmissionGate gate(100, false);
  const Op before = submit(gate, 0, 0, 60);
  gate.release(handle(0));
  EXPECT_TRUE(gate.ready(before, 0));
  EXPECT_EQ(gate.booked(), 60);
  const Op again = submit(gate, 0, 1, 80);
  EXPECT_EQ(gate.booked(), 0);
  EXPECT_EQ(gate.find(task(0)), again);
  EXPECT_TRUE(gate.ready(again, 0));
  EXPECT_EQ(gate.booked(), 80);
}

TEST(SubmissionGate, NeedsNothingForTasksWithoutMemory) {
  SubmissionGate gate(100, true);
  EXPECT_EQ(gate.submit(task(0), {}), Op::kNone);
  EXPECT_EQ(submit(gate, 1, 0, 0), Op::kNone);
  EXPECT_EQ(gate.report().tasks, 0);
}

constexpr Bytes kLargest = Bytes{1} << 62;

TEST(SubmissionGate, IsExactForSizesNear2To62) {
  SubmissionGate gate(kLargest, true);
  const Op half = submit(gate, 0, 0, kLargest / 2 - 1);
  const Op rest = submit(gate, 1, 1, kLargest / 2);
  EXPECT_THROW(submit(gate, 2, 2, 2), OverflowError);
  const Op byte = submit(gate, 2, 2, 1);
  EXPECT_TRUE(gate.ready(byte, 0));
  EXPECT_TRUE(gate.ready(half, 0));
  EXPECT_TRUE(gate.ready(rest, 0));
  EXPECT_EQ(gate.booked(), kLargest);
  EXPECT_EQ(gate.report().least, kLargest);
}

TEST(SubmissionGate, ForgetsTheSizesOfDataThatAreGone) {
  SubmissionGate gate(kLargest, false);
  for (std::uintptr_t t = 0; t < 4; ++t) {
    const Op op = submit(gate, t, t, kLargest - 1);
    EXPECT_TRUE(gate.ready(op, 0));
    gate.release(handle(t));
    gate.end(op);
  }
  EXPECT_EQ(gate.booked(), 0);
  EXPECT_EQ(gate.report().least, kLargest - 1);
}

TEST(SubmissionGate, HoldsSizesNear2To62UnderASmallBound) {
  SubmissionGate gate(1, true);
  const Op large = submit(gate, 0, 0, kLargest - 1), byte = submit(gate, 1, 1, 1);
  EXPECT_FALSE(gate.ready(large, 0));
  EXPECT_FALSE(gate.ready(byte, 0));
  EXPECT_EQ(gate.needed_now(), kLargest - 1);
  gate.release(handle(0));
  gate.release(handle(1));
  EXPECT_EQ(gate.admit_unproven(0), task(1));
  EXPECT_EQ(gate.admit_over_bound(0), task(0));
  gate.end(large);
  gate.end(byte);
  EXPECT_EQ(gate.booked(), 0);
  EXPECT_EQ(gate.report().over_bound, kLargest - 1);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::policy
