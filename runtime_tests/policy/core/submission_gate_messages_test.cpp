// Messages in the order of submission, step by step. Whole jobs:
// submission_gate_jobs_test.cpp.

#include <gtest/gtest.h>

#include "policy/core/submission_gate.h"
#include "policy/gate_steps.h"

namespace espalier::policy {
namespace TEST_SOURCE {

Op message(SubmissionGate& gate, std::uintptr_t m, std::uintptr_t d, Bytes size) {
  const DataAccess access{handle(d), size, nullptr};
  return gate.submit_message(task(1000 + m), {&access, 1});
}

TEST(SubmissionGateMessages, KeepRoomForWhatAnotherProcessWaitsFor) {
  // Process 0 writes a (2), sends it, then receives c (4); process 1 receives a, then
  // writes c and sends it. Both have 4. If process 1 wrote c first, it could not receive
  // a, so a would stay in process 0, which could not receive c.
  SubmissionGate gate(4, true);
  const Op room = submit(gate, 1, 10, 2);
  const Op receive = message(gate, 1, 10, 2);
  const Op read = submit(gate, 2, 10, 2);
  gate.release(handle(10));
  const Op write = submit(gate, 3, 11, 4);
  const Op send = message(gate, 2, 11, 4);
  gate.release(handle(11));
  EXPECT_FALSE(gate.ready(write, 0));
  EXPECT_TRUE(gate.ready(room, 0));
  fetch(gate, room, 10, 1, 2);
  gate.end(room);
  EXPECT_TRUE(admit(gate).empty());
  EXPECT_FALSE(gate.stalled());  // the message may come
  gate.end(receive);
  EXPECT_TRUE(gate.ready(read, 0));
  gate.end(read);
  EXPECT_TRUE(admit(gate).empty());
  free_block(gate, 1);
  EXPECT_EQ(admit(gate), tasks({3}));
  fetch(gate, write, 11, 2, 4);
  gate.end(write);
  EXPECT_EQ(gate.booked(), 4);  // until it has been sent
  gate.end(send);
  free_block(gate, 2);
  EXPECT_EQ(gate.booked(), 0);
  EXPECT_EQ(gate.report().least, 4);
  EXPECT_EQ(gate.report().tasks, 3);
}

TEST(SubmissionGateMessages, AHeldTaskBeforeThemIsStuckAndOneBehindThemIsNot) {
  SubmissionGate gate(4, true);
  const Op write = submit(gate, 1, 1, 3);
  EXPECT_TRUE(gate.ready(write, 0));
  fetch(gate, write, 1, 1, 3);
  gate.end(write);
  const Op send = message(gate, 1, 1, 3);
  EXPECT_FALSE(gate.ready(submit(gate, 2, 2, 2), 0));
  EXPECT_TRUE(gate.awaits_message());
  EXPECT_FALSE(gate.stalled());
  gate.end(send);
  EXPECT_FALSE(gate.awaits_message());
  EXPECT_TRUE(gate.stalled());
  message(gate, 2, 1, 3);
  EXPECT_TRUE(gate.stalled());
}

TEST(SubmissionGateMessages, ReceivingAllocatesWhatIsNotThere) {
  SubmissionGate gate(8, true);
  EXPECT_TRUE(gate.allocates({handle(1), 3, nullptr}));
  EXPECT_FALSE(gate.allocates({handle(1), 0, nullptr}));
  EXPECT_FALSE(gate.allocates({handle(1), 3, block(9)}));
  const Op write = submit(gate, 1, 1, 3);
  EXPECT_FALSE(gate.allocates({handle(1), 3, nullptr}));
  gate.start(write);
  fetch(gate, write, 1, 1, 3);
  gate.release(handle(1));
  EXPECT_TRUE(gate.allocates({handle(1), 3, block(1)}));  // that block is on its way out
}

TEST(SubmissionGateMessages, BlocksOfTheirOwnAreMeasuredAndNotBooked) {
  constexpr Bytes kKib = 1024;
  SubmissionGate gate(8 * kKib, true);
  gate.allocated_for_message(block(1), 5 * kKib);
  gate.allocated_for_message(block(2), 6 * kKib);
  EXPECT_EQ(gate.booked(), 0);
  EXPECT_EQ(gate.allocated_now(), 11 * kKib);
  free_block(gate, 1);
  EXPECT_EQ(gate.allocated_now(), 6 * kKib);
  // A task works on the second: it is a datum like any other now.
  submit(gate, 1, 1, 6 * kKib, block(2));
  EXPECT_EQ(gate.booked(), 6 * kKib);
  gate.allocated_for_message(block(3), 4 * kKib);
  EXPECT_EQ(gate.report().message_peak, 11 * kKib);
  free_block(gate, 2);
  free_block(gate, 3);
  EXPECT_EQ(gate.allocated_now(), 0);
}

// A barrier's messages of four bytes may come before it is reached.
TEST(SubmissionGateMessages, SmallBlocksThatMpiCouldHaveBufferedAreNotAllocated) {
  SubmissionGate gate(8, true);
  gate.allocated_for_message(block(1), kSentAtOnce - 1);
  gate.allocated_for_message(block(2), 4);
  EXPECT_EQ(gate.allocated_now(), 0);
  EXPECT_EQ(gate.report().message_peak, kSentAtOnce + 3);
  // A task works on one of them.
  submit(gate, 1, 1, 4, block(2));
  EXPECT_EQ(gate.booked(), 4);
  EXPECT_EQ(gate.allocated_now(), 4);
  free_block(gate, 1);
  free_block(gate, 2);
  EXPECT_EQ(gate.allocated_now(), 0);
  EXPECT_EQ(gate.report().allocated_peak, 4);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::policy
