// Single cases of the gate, checked by hand: what becomes of memory that is measured.
//
// The cases of one subject, which share their instances: over 300 lines.

#include <gtest/gtest.h>

#include "policy/gate_steps.h"

namespace espalier::policy {
namespace TEST_SOURCE {

TEST(SubmissionGate, CountsWhatTheApplicationAllocatedOnceATaskUsesIt) {
  SubmissionGate gate(100, true);
  gate.allocated(block(0), 70, false);
  EXPECT_EQ(gate.booked(), 0);
  const DataAccess access{handle(0), 70, block(0)};
  EXPECT_TRUE(gate.adopts({&access, 1}));
  const Op op = submit(gate, 0, 0, 70, block(0));
  EXPECT_FALSE(gate.adopts({&access, 1}));
  EXPECT_EQ(gate.booked(), 70);
  EXPECT_EQ(gate.report().allocated, 70);
  EXPECT_TRUE(gate.ready(op, 0));
  EXPECT_EQ(gate.booked(), 70) << "in memory already";
  gate.end(op);
  gate.release(handle(0));
  EXPECT_EQ(gate.booked(), 70);
  EXPECT_TRUE(free_block(gate, 0));
  EXPECT_EQ(gate.booked(), 0);
  EXPECT_EQ(gate.report().allocated, 0);
  EXPECT_EQ(gate.report().least, 70);
}

TEST(SubmissionGate, CountsAPartOfPartitionedDataWithTheWhole) {
  SubmissionGate gate(100, true);
  const Op whole = submit(gate, 0, 0, 70);
  EXPECT_TRUE(gate.ready(whole, 0));
  fetch(gate, whole, 0, 0, 70);
  gate.end(whole);
  EXPECT_EQ(submit(gate, 1, 1, 35, block(0)), Op::kNone) << "begins where the whole does";
  EXPECT_EQ(submit(gate, 2, 2, 35, at(0x30000000000 + 35)), Op::kNone) << "is no block";
  EXPECT_EQ(gate.booked(), 70);
}

TEST(SubmissionGate, CountsWhatBelongsToNoDatumUntilItIsFreed) {
  SubmissionGate gate(100, true);
  gate.allocated(block(0), 130, true);
  const void* const blocks[] = {block(0)};
  gate.fetched(Op::kNone, blocks, {});
  EXPECT_EQ(gate.booked(), 130);
  EXPECT_EQ(gate.report().extra_peak, 130);
  EXPECT_EQ(gate.report().over_bound, 30);
  EXPECT_EQ(gate.report().booked_peak, 130);
  const Op op = submit(gate, 0, 0, 50);
  EXPECT_FALSE(gate.ready(op, 0));
  EXPECT_TRUE(free_block(gate, 0));
  EXPECT_EQ(gate.booked(), 0);
  EXPECT_EQ(admit(gate), tasks({0}));
}

TEST(SubmissionGate, LeavesRoomBesideWhatBelongsToNoDatum) {
  SubmissionGate gate(100, true);
  submit(gate, 0, 0, 60);
  const Op second = submit(gate, 1, 1, 10);
  gate.allocated(block(0), 50, true);
  const void* const blocks[] = {block(0)};
  gate.fetched(Op::kNone, blocks, {});
  EXPECT_FALSE(gate.ready(second, 0)) << "the first does not fit";
}

TEST(SubmissionGate, FindsOutWhoseABlockIs) {
  SubmissionGate gate(100, true);
  gate.allocated(block(0), 30, true);
  const void* const blocks[] = {block(0)};
  gate.fetched(Op::kNone, blocks, {});
  const Op op = submit(gate, 0, 0, 30, block(0));
  EXPECT_EQ(gate.booked(), 30);
  EXPECT_TRUE(gate.ready(op, 0));
  gate.end(op);
  EXPECT_TRUE(free_block(gate, 0));
  EXPECT_EQ(gate.booked(), 0);
  EXPECT_EQ(gate.report().allocated, 0);
}

TEST(SubmissionGate, DoesNotCountWhatTheApplicationAllocatesForItself) {
  SubmissionGate gate(100, true);
  gate.allocated(block(0), 70, false);
  EXPECT_EQ(gate.report().allocated, 0);
  EXPECT_FALSE(free_block(gate, 0));
  EXPECT_EQ(gate.report().allocated, 0);
}

// As with starpu_data_deinitialize_submit().
TEST(SubmissionGate, NoticesThatAReleaseDidNotFree) {
  SubmissionGate gate(200, true);
  const Op before = submit(gate, 0, 0, 60);
  EXPECT_TRUE(gate.ready(before, 0));
  fetch(gate, before, 0, 0, 60);
  gate.end(before);
  gate.release(handle(0));
  const Op after = submit(gate, 1, 0, 60, block(0));
  EXPECT_TRUE(gate.ready(after, 0));
  EXPECT_EQ(gate.booked(), 120);
  const DataAccess places[] = {{handle(0), 60, block(0)}};
  gate.fetched(after, {}, places);
  EXPECT_EQ(gate.booked(), 60);
  EXPECT_EQ(gate.report().allocated, 60);
  gate.end(after);
  gate.release(handle(0));
  EXPECT_TRUE(free_block(gate, 0));
  EXPECT_EQ(gate.booked(), 0);
}

TEST(SubmissionGate, DoesNotGiveABlockToAPartOfItsDatum) {
  SubmissionGate gate(200, true);
  const Op part = submit(gate, 0, 1, 35);  // the whole is nowhere yet
  const Op whole = submit(gate, 1, 0, 70);
  EXPECT_TRUE(gate.ready(whole, 0));
  fetch(gate, whole, 0, 0, 70);
  EXPECT_TRUE(gate.ready(part, 0));
  const DataAccess places[] = {{handle(1), 35, block(0)}};
  gate.fetched(part, {}, places);
  EXPECT_EQ(gate.booked(), 70 + 35);
  gate.end(part);
  gate.end(whole);
  gate.release(handle(0));
  EXPECT_TRUE(free_block(gate, 0));
  EXPECT_EQ(gate.booked(), 35);
}

TEST(SubmissionGate, TakesABlockThatIsAllocatedAgainForFreed) {
  SubmissionGate gate(100, true);
  const Op op = submit(gate, 0, 0, 60);
  EXPECT_TRUE(gate.ready(op, 0));
  fetch(gate, op, 0, 0, 60);
  gate.end(op);
  gate.release(handle(0));
  gate.allocated(block(0), 10, false);
  EXPECT_EQ(gate.booked(), 0);
  EXPECT_EQ(gate.report().allocated, 0);
}

TEST(SubmissionGate, AttributesSeveralBlocksToOneDatum) {
  SubmissionGate gate(100, true);
  const Op op = submit(gate, 0, 0, 60);
  EXPECT_TRUE(gate.ready(op, 0));
  for (std::uintptr_t b : {0, 1, 2}) gate.allocated(block(b), 20, true);
  const void* const blocks[] = {block(0), block(1), block(2)};
  const DataAccess places[] = {{handle(0), 0, block(0)}};
  gate.fetched(op, blocks, places);
  EXPECT_FALSE(gate.unplaced(op));
  EXPECT_EQ(gate.booked(), 60);
  EXPECT_EQ(gate.report().extra_peak, 0);
  gate.end(op);
  gate.release(handle(0));
  EXPECT_FALSE(free_block(gate, 0));
  EXPECT_FALSE(free_block(gate, 2));
  EXPECT_EQ(gate.booked(), 60) << "until the last of them has gone";
  EXPECT_TRUE(free_block(gate, 1));
  EXPECT_EQ(gate.booked(), 0);
}

// Where StarPU evicts and caches, what it frees is not what the gate booked.
TEST(SubmissionGate, OnlyCountsBlocksWhenItIsNotToMeasure) {
  SubmissionGate gate(100, false);
  gate.allocated(block(9), 40, false);
  const Op first = submit(gate, 0, 0, 60), second = submit(gate, 1, 9, 40, block(9));
  EXPECT_EQ(gate.booked(), 40);
  gate.release(handle(0));
  gate.release(handle(9));
  EXPECT_TRUE(gate.ready(first, 0));
  fetch(gate, first, 0, 0, 60);
  EXPECT_TRUE(gate.ready(second, 0));
  EXPECT_EQ(gate.report().allocated, 100);
  gate.end(first);
  gate.end(second);
  EXPECT_EQ(gate.booked(), 0);
  const Op next = submit(gate, 2, 1, 70), other = submit(gate, 3, 2, 10);
  EXPECT_TRUE(gate.ready(next, 0));
  gate.allocated(block(1), 70, true);
  EXPECT_TRUE(gate.fetched_alone(next, block(1), 1)) << "nothing more to be known";
  EXPECT_TRUE(gate.ready(other, 0));
  gate.end(next);
  gate.release(handle(1));
  EXPECT_EQ(gate.booked(), 10);
  const Op last = submit(gate, 4, 3, 70);
  EXPECT_TRUE(gate.ready(last, 0));
  free_block(gate, 1);  // cached until now
  free_block(gate, 0);
  free_block(gate, 9);
  EXPECT_EQ(gate.booked(), 80) << "those of others";
  EXPECT_EQ(gate.report().allocated, 0);
  EXPECT_EQ(gate.report().allocated_peak, 170);
}

TEST(SubmissionGate, KnowsWhoseTheOnlyBlockIsIfOnlyOneDatumIsNowhere) {
  SubmissionGate gate(100, true);
  const Op writer = submit(gate, 0, 0, 30);
  EXPECT_TRUE(gate.ready(writer, 0));
  gate.allocated(block(0), 30, true);
  EXPECT_TRUE(gate.fetched_alone(writer, block(0), 1));
  const Op second =
      submit(gate, 1, {{handle(0), 30, block(0)}, {handle(1), 20, nullptr}});
  EXPECT_TRUE(gate.ready(second, 0));
  gate.allocated(block(1), 25, true);
  EXPECT_TRUE(gate.fetched_alone(second, block(1), 1));
  EXPECT_EQ(gate.report().underestimated_bytes, 5);
  const Op third = submit(gate, 2, {{handle(2), 10, nullptr}, {handle(3), 10, nullptr}});
  EXPECT_TRUE(gate.ready(third, 0));
  gate.allocated(block(2), 10, true);
  EXPECT_FALSE(gate.fetched_alone(third, block(2), 1)) << "either of two";
  EXPECT_FALSE(gate.fetched_alone(second, block(2), 1)) << "none of its data";
  EXPECT_FALSE(gate.fetched_alone(Op::kNone, block(2), 1));
  gate.end(writer);
  gate.end(second);
  gate.release(handle(0));
  gate.release(handle(1));
  EXPECT_TRUE(free_block(gate, 0));
  EXPECT_TRUE(free_block(gate, 1));
  EXPECT_EQ(gate.booked(), 20);
}

TEST(SubmissionGate, ReportsDataThatAreLargerThanTheyWereSaidToBe) {
  SubmissionGate gate(100, true);
  const Op writer = submit(gate, 0, 0, 10), reader = submit(gate, 1, 0, 10);
  EXPECT_TRUE(gate.ready(writer, 0));
  fetch(gate, writer, 0, 0, 25);
  EXPECT_EQ(gate.booked(), 25);
  EXPECT_EQ(gate.report().underestimates, 1);
  EXPECT_EQ(gate.report().underestimated_bytes, 15);
  gate.release(handle(0));
  gate.end(writer);
  EXPECT_TRUE(gate.ready(reader, 0));
  gate.end(reader);
  EXPECT_TRUE(free_block(gate, 0));
  EXPECT_EQ(gate.booked(), 0);
  const Op next = submit(gate, 2, 1, 100);
  EXPECT_TRUE(gate.ready(next, 0)) << "nothing of the excess is left";
  EXPECT_EQ(gate.report().least, 100);
}

TEST(SubmissionGate, KnowsThatALargerDatumFreesMore) {
  SubmissionGate gate(100, true);
  const Op writer = submit(gate, 0, 0, 10), reader = submit(gate, 1, 0, 10);
  gate.release(handle(0));
  const Op next = submit(gate, 2, 1, 80);
  EXPECT_TRUE(gate.ready(writer, 0));
  fetch(gate, writer, 0, 0, 25);
  gate.end(writer);
  EXPECT_FALSE(gate.ready(next, 0));
  EXPECT_TRUE(gate.ready(reader, 0));
  gate.end(reader);
  EXPECT_TRUE(free_block(gate, 0));
  EXPECT_EQ(admit(gate), tasks({2})) << "the order can still be followed";
  EXPECT_EQ(gate.report().least, 80);
}

TEST(SubmissionGate, CountsOnALargerDatumToFreeMore) {
  SubmissionGate gate(100, true);
  const Op writer = submit(gate, 0, 0, 10);
  submit(gate, 1, 0, 10);
  gate.release(handle(0));
  submit(gate, 2, 1, 90);
  gate.release(handle(1));
  const Op small = submit(gate, 3, 2, 5);
  gate.release(handle(2));
  EXPECT_TRUE(gate.ready(writer, 0));
  fetch(gate, writer, 0, 0, 25);
  EXPECT_TRUE(gate.ready(small, 0));
}

TEST(SubmissionGate, BooksAgainWhatWasEvictedBeforeATaskGotIt) {
  SubmissionGate gate(100, true);
  const Op writer = submit(gate, 0, 0, 60), reader = submit(gate, 1, 0, 60);
  EXPECT_TRUE(gate.ready(writer, 0));
  fetch(gate, writer, 0, 0, 60);
  gate.end(writer);
  EXPECT_TRUE(gate.ready(reader, 0));
  EXPECT_TRUE(free_block(gate, 0));
  EXPECT_EQ(gate.booked(), 0);
  fetch(gate, reader, 0, 1, 60);
  EXPECT_EQ(gate.booked(), 60);
}

TEST(SubmissionGate, KnowsEvictedDataAgain) {
  SubmissionGate gate(100, true);
  const Op writer = submit(gate, 0, 0, 60), reader = submit(gate, 1, 0, 60);
  EXPECT_TRUE(gate.ready(writer, 0));
  fetch(gate, writer, 0, 0, 60);
  gate.end(writer);
  EXPECT_TRUE(free_block(gate, 0));
  const Op second_reader = submit(gate, 2, 0, 60);
  EXPECT_TRUE(gate.ready(reader, 0));
  EXPECT_TRUE(gate.ready(second_reader, 0));
  EXPECT_EQ(gate.booked(), 60);
}

TEST(SubmissionGate, GivesBackWhatIsEvictedAndBooksItAgainForTheNextTask) {
  SubmissionGate gate(100, true);
  const Op writer = submit(gate, 0, 0, 60), reader = submit(gate, 1, 0, 60);
  const Op other = submit(gate, 2, 1, 60);
  gate.release(handle(1));
  EXPECT_TRUE(gate.ready(writer, 0));
  fetch(gate, writer, 0, 0, 60);
  gate.end(writer);
  EXPECT_FALSE(gate.ready(other, 0));
  EXPECT_TRUE(free_block(gate, 0));
  EXPECT_EQ(gate.booked(), 0);
  EXPECT_EQ(admit(gate), tasks({2}));
  EXPECT_FALSE(gate.ready(reader, 0)) << "its datum must come back";
  fetch(gate, other, 1, 1, 60);
  gate.end(other);
  EXPECT_TRUE(free_block(gate, 1));
  EXPECT_EQ(admit(gate), tasks({1}));
  EXPECT_EQ(gate.booked(), 60);
  fetch(gate, reader, 0, 2, 60);
  gate.end(reader);
  gate.release(handle(0));
  EXPECT_TRUE(free_block(gate, 2));
  EXPECT_EQ(gate.booked(), 0);
}

// StarPU does not free data in use: the task has ended, which is seen only later.
TEST(SubmissionGate, TakesAHandleForANewOneOnceItsMemoryHasBeenFreed) {
  SubmissionGate gate(100, true);
  const Op old = submit(gate, 0, 0, 10);
  EXPECT_TRUE(gate.ready(old, 0));
  fetch(gate, old, 0, 0, 10);
  EXPECT_TRUE(free_block(gate, 0));
  const Op fresh = submit(gate, 1, 0, 70);
  EXPECT_TRUE(gate.ready(fresh, 0));
  fetch(gate, fresh, 0, 1, 70);
  gate.end(old);
  EXPECT_EQ(gate.booked(), 70);
  EXPECT_EQ(gate.report().underestimates, 0);
  EXPECT_EQ(gate.report().least, 70);
}

TEST(SubmissionGate, GivesBackOnceWhatIsFreedBeforeItsTaskIsSeenToEnd) {
  SubmissionGate gate(100, true);
  const Op old = submit(gate, 0, 0, 60);
  gate.release(handle(0));
  EXPECT_TRUE(gate.ready(old, 0));
  fetch(gate, old, 0, 0, 60);
  EXPECT_TRUE(free_block(gate, 0));
  EXPECT_EQ(gate.booked(), 0);
  submit(gate, 1, 1, 50);
  const Op third = submit(gate, 2, 2, 60);
  EXPECT_FALSE(gate.ready(third, 0)) << "there is no room for both";
  gate.end(old);
  EXPECT_EQ(gate.booked(), 0);
}

TEST(SubmissionGate, TakesAReleasedHandleForANewOneThatMayStartBesideTheOld) {
  SubmissionGate gate(100, true);
  const Op old = submit(gate, 0, 0, 60);
  EXPECT_TRUE(gate.ready(old, 0));
  fetch(gate, old, 0, 0, 60);
  gate.release(handle(0));
  const Op fresh = submit(gate, 1, 0, 60, block(0));  // not freed yet
  EXPECT_FALSE(gate.ready(fresh, 0));
  gate.end(old);
  EXPECT_TRUE(free_block(gate, 0));
  EXPECT_EQ(admit(gate), tasks({1}));
  EXPECT_EQ(gate.booked(), 60);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::policy
