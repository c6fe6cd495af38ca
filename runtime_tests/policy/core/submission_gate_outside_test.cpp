// Single cases of the gate, checked by hand: data that are allocated for none of its
// tasks.

#include <gtest/gtest.h>

#include "policy/gate_steps.h"

namespace espalier::policy {
namespace TEST_SOURCE {

TEST(SubmissionGate, CountsDataFromOutsideUntilTheyAreFreed) {
  SubmissionGate gate(100, true);
  gate.allocated_outside(block(0), 60);
  EXPECT_EQ(gate.booked(), 60);
  EXPECT_EQ(gate.report().allocated, 60);
  const Op op = submit(gate, 0, 0, 50);
  EXPECT_FALSE(gate.ready(op, 0)) << "there is no room beside it";
  EXPECT_EQ(gate.report().least, 110);
  EXPECT_TRUE(free_block(gate, 0));
  EXPECT_EQ(gate.booked(), 0);
  EXPECT_EQ(admit(gate), tasks({0}));
  EXPECT_EQ(gate.report().outside_peak, 60);
  EXPECT_EQ(gate.report().outside_blocks, 1);
}

TEST(SubmissionGate, CountsDataFromOutsideOnceWhenATaskUsesThem) {
  SubmissionGate gate(100, true);
  gate.allocated_outside(block(0), 60);
  const Op op = submit(gate, 0, 0, 60, block(0));
  EXPECT_EQ(gate.booked(), 60);
  EXPECT_TRUE(gate.ready(op, 0));
  gate.end(op);
  EXPECT_EQ(gate.report().least, 60);
  gate.release(handle(0));
  EXPECT_TRUE(free_block(gate, 0));
  EXPECT_EQ(gate.booked(), 0);
  EXPECT_EQ(gate.outside(), 0);
}

TEST(SubmissionGate, HasDataFromOutsideBeforeTheFirstTaskThatUsesThem) {
  SubmissionGate gate(60, true);
  gate.allocated_outside(block(0), 60);
  const Op before = submit(gate, 0, 1, 50);
  gate.release(handle(1));
  submit(gate, 1, 0, 60, block(0));
  EXPECT_FALSE(gate.ready(before, 0));
  EXPECT_EQ(gate.report().least, 110);
}

// Its data were nowhere when it was submitted.
TEST(SubmissionGate, FindsTheDataOfATaskInBlocksFromOutside) {
  SubmissionGate gate(100, true);
  const Op op = submit(gate, 0, 0, 60), next = submit(gate, 1, 0, 60);
  gate.release(handle(0));
  EXPECT_FALSE(gate.may_be_found(op));
  gate.allocated_outside(block(0), 60);
  EXPECT_TRUE(gate.may_be_found(op));
  const DataAccess places[] = {{handle(0), 0, block(0)}};
  gate.found(op, places);
  EXPECT_EQ(gate.booked(), 60);
  EXPECT_EQ(gate.outside(), 0);
  const Op other = submit(gate, 2, 1, 40);
  EXPECT_TRUE(gate.ready(other, 0)) << "the rest fits";
  EXPECT_TRUE(gate.ready(op, 0));
  EXPECT_TRUE(gate.ready(next, 0));
  gate.end(op);
  gate.end(next);
  EXPECT_TRUE(free_block(gate, 0));
  EXPECT_EQ(gate.booked(), 40);
  EXPECT_EQ(gate.report().least, 60);
}

// Two data are written, the second first; then the program releases them. If it had
// waited before, both had to be there at a time.
TEST(SubmissionGate, NeedsMoreWhereTheProgramWaitsBeforeItReleases) {
  for (const bool waits : {false, true}) {
    SubmissionGate gate(SubmissionGate::kUnlimited, true);
    const Op slow = submit(gate, 0, 0, 60), fast = submit(gate, 1, 1, 50);
    const Op last = submit(gate, 2, 2, 10);
    EXPECT_TRUE(gate.ready(slow, 0));
    EXPECT_TRUE(gate.ready(fast, 0));
    fetch(gate, fast, 1, 1, 50);
    if (waits) gate.program_waits();
    gate.end(fast);
    gate.release(handle(0));
    EXPECT_EQ(gate.report().least, waits ? 110 : 60);
    gate.release(handle(1));
    EXPECT_TRUE(gate.ready(last, 0));
  }
}

// Buffers of two workers for each of three data, and a datum of two blocks, of which the
// second is in the place of nothing.
TEST(SubmissionGate, TellsBuffersOfWorkersApart) {
  SubmissionGate gate(SubmissionGate::kUnlimited, true);
  const auto buffers = [](std::uintptr_t datum, Bytes size) {
    return DataAccess{handle(datum), size, nullptr, false, false, true};
  };
  for (std::uintptr_t worker = 0; worker < 2; ++worker) {
    const std::uintptr_t own = 4 + worker;
    const Op op = submit(gate, worker,
                         {buffers(0, 60), buffers(1, 100), buffers(2, 60),
                          DataAccess{handle(own), 24, nullptr}});
    EXPECT_TRUE(gate.ready(op, 0));
    std::vector<const void*> blocks;
    for (std::uintptr_t b = 0; b < 5; ++b) {
      blocks.push_back(block(5 * worker + b));
      gate.allocated(blocks.back(), b == 1 ? 50 : b < 3 ? 30 : 12, true);
    }
    const DataAccess places[] = {{handle(own), 0, blocks[3]}};
    gate.fetched(op, blocks, places);
    gate.end(op);
  }
  EXPECT_EQ(gate.report().underestimates, 0);
  for (const std::uintptr_t datum : {2, 1, 0}) {
    gate.release(handle(datum));
    const Bytes before = gate.booked();
    free_block(gate, datum);
    EXPECT_EQ(gate.booked(), before) << "the other worker's is there";
    EXPECT_TRUE(free_block(gate, 5 + datum));
    EXPECT_EQ(gate.booked(), before - (datum == 1 ? 100 : 60));
  }
}

// The second worker's buffer comes alone, and the other datum is in memory.
TEST(SubmissionGate, TakesABufferThatComesAloneForNoOtherDatum) {
  SubmissionGate gate(SubmissionGate::kUnlimited, true);
  const DataAccess buffers{handle(0), 60, nullptr, false, false, true};
  const Op first = submit(gate, 0, {buffers});
  EXPECT_TRUE(gate.ready(first, 0));
  gate.allocated(block(0), 30, true);
  EXPECT_TRUE(gate.fetched_alone(first, block(0), 1));
  const Op second = submit(gate, 1, {buffers, DataAccess{handle(1), 40, nullptr}});
  EXPECT_TRUE(gate.ready(second, 0));
  gate.allocated(block(1), 30, true);
  EXPECT_FALSE(gate.fetched_alone(second, block(1), 1)) << "it may be either's";
}

TEST(SubmissionGate, OnlyCountsDataFromOutsideWhereFreesAreNotSeen) {
  SubmissionGate gate(100, false);
  gate.allocated_outside(block(0), 60);
  EXPECT_EQ(gate.booked(), 0);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::policy
