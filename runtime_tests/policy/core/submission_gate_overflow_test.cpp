// What the gate does when the bound does not suffice, checked by hand, and laws over
// random programs.

#include <gtest/gtest.h>

#include <random>

#include "policy/gate_steps.h"

namespace espalier::policy {
namespace TEST_SOURCE {

DataAccess that_stays(std::uintptr_t d, Bytes size) {
  return {handle(d), size, nullptr, true};
}

// Datum 0 has been written, and the task that writes datum 1 does not fit beside it.
struct Stalled {
  explicit Stalled(bool measured) : gate(100, measured) {
    const Op first = submit(gate, 0, 0, 60);
    EXPECT_TRUE(gate.ready(first, 0));
    if (measured) fetch(gate, first, 0, 0, 60);
    gate.end(first);
    second = submit(gate, 1, 1, 60);
    EXPECT_FALSE(gate.ready(second, 0));
    EXPECT_TRUE(gate.stalled());
  }
  SubmissionGate gate;
  Op second;
};

TEST(SubmissionGateOverflow, EvictedDataAreBookedWhileTasksWorkOnThem) {
  for (const bool measured : {false, true}) {
    Stalled s(measured);
    s.gate.let_evict();
    EXPECT_EQ(s.gate.booked(), 0);
    EXPECT_EQ(admit(s.gate), tasks({1}));
    EXPECT_EQ(s.gate.booked(), 60);
    s.gate.end(s.second);
    EXPECT_EQ(s.gate.booked(), 0);
    const Op again = submit(s.gate, 2, 0, 60), twice = submit(s.gate, 3, 0, 60);
    EXPECT_TRUE(s.gate.ready(again, 0));
    EXPECT_TRUE(s.gate.ready(twice, 0));
    EXPECT_EQ(s.gate.booked(), 60) << "one datum, two tasks";
    s.gate.end(again);
    EXPECT_EQ(s.gate.booked(), 60);
    s.gate.end(twice);
    EXPECT_EQ(s.gate.booked(), 0);
    EXPECT_LE(s.gate.report().over_bound, 0);
    EXPECT_EQ(s.gate.report().unproven, 0);
  }
}

TEST(SubmissionGateOverflow, DataThatStayAreBookedUntilTheyAreReleased) {
  SubmissionGate gate(100, false);
  const Op first = submit(gate, 0, {that_stays(0, 50)});
  EXPECT_TRUE(gate.ready(first, 0));
  gate.end(first);
  const Op second = submit(gate, 1, 1, 60);
  EXPECT_FALSE(gate.ready(second, 0));
  gate.let_evict();
  EXPECT_EQ(gate.booked(), 50);
  EXPECT_EQ(gate.staying(), 50);
  EXPECT_TRUE(admit(gate).empty());
  EXPECT_TRUE(gate.stalled());
  gate.release(handle(0));
  EXPECT_EQ(admit(gate), tasks({1}));
}

// The second task's own datum stays: with it, the third would never fit.
TEST(SubmissionGateOverflow, TheRestMustStillFitBesideWhatStays) {
  SubmissionGate gate(100, false);
  const Op blocker = submit(gate, 0, 9, 100);
  EXPECT_TRUE(gate.ready(blocker, 0));
  gate.end(blocker);
  const Op a = submit(gate, 1, {that_stays(0, 30), {handle(1), 40, nullptr}});
  EXPECT_FALSE(gate.ready(a, 0));
  gate.let_evict();
  const Op b = submit(gate, 2, {that_stays(0, 30), {handle(2), 70, nullptr}});
  gate.release(handle(0));
  const Op c = submit(gate, 3, {that_stays(3, 30)});
  const Op d = submit(gate, 4, {that_stays(4, 30)});
  EXPECT_EQ(admit(gate), tasks({1}));
  EXPECT_FALSE(gate.ready(d, 0)) << "the second could never start";
  EXPECT_FALSE(gate.ready(c, 0));
  gate.end(a);
  EXPECT_TRUE(gate.ready(b, 0));
  gate.end(b);
  EXPECT_EQ(admit(gate), tasks({3, 4}));
}

TEST(SubmissionGateOverflow, BlocksThatAreEvictedAreNotTakenForReleased) {
  Stalled s(true);
  s.gate.let_evict();
  EXPECT_EQ(admit(s.gate), tasks({1}));
  const std::uint32_t token = s.gate.freeing(block(0), true);
  s.gate.left(token);
  s.gate.freed(token);
  fetch(s.gate, s.second, 1, 1, 60);
  s.gate.end(s.second);
  const DataAccess evicted{handle(0), 60, nullptr, false, true};
  const Op reader = s.gate.submit(task(2), {&evicted, 1});
  EXPECT_TRUE(s.gate.ready(reader, 0));
  s.gate.end(reader);
  EXPECT_EQ(s.gate.report().least, 120) << "both are alive";
}

// StarPU may give the block of one datum to another without freeing it.
TEST(SubmissionGateOverflow, BlocksAreHandedOnFromDatumToDatum) {
  Stalled s(true);
  s.gate.let_evict();
  EXPECT_EQ(admit(s.gate), tasks({1}));
  const DataAccess places[] = {{handle(1), 60, block(0)}};
  s.gate.fetched(s.second, {}, places);
  s.gate.end(s.second);
  s.gate.release(handle(0));
  s.gate.release(handle(1));
  EXPECT_EQ(s.gate.booked(), 0);
  EXPECT_EQ(s.gate.report().allocated, 60);
  free_block(s.gate, 0);
  EXPECT_EQ(s.gate.report().allocated, 0);
}

// The block of datum 0 is datum 1's when datum 0 comes back to another one.
TEST(SubmissionGateOverflow, DataThatComeBackAreNotTakenForLargerOnes) {
  Stalled s(true);
  s.gate.let_evict();
  EXPECT_EQ(admit(s.gate), tasks({1}));
  s.gate.end(s.second);
  const Op reader = submit(s.gate, 2, 0, 60);
  EXPECT_TRUE(s.gate.ready(reader, 0));
  fetch(s.gate, reader, 0, 1, 60);
  EXPECT_EQ(s.gate.report().underestimates, 0);
  EXPECT_EQ(s.gate.booked(), 60);
  s.gate.end(reader);
  s.gate.release(handle(0));
  free_block(s.gate, 1);
  free_block(s.gate, 0);
  EXPECT_EQ(s.gate.booked(), 0);
  EXPECT_EQ(s.gate.report().allocated, 0);
}

TEST(SubmissionGateOverflow, ExceedingGoesAsFarAsAllThatIsSubmittedNeedsAndAsksNobody) {
  SubmissionGate gate(100, false);
  const Op first = submit(gate, 0, 0, 60), second = submit(gate, 1, 1, 60);
  EXPECT_TRUE(gate.ready(first, 0));
  gate.end(first);
  EXPECT_FALSE(gate.ready(second, 0));
  gate.let_exceed();
  EXPECT_EQ(admit(gate), tasks({1}));
  EXPECT_EQ(gate.report().over_bound, 20);
  // From now on no task waits for a stall, and none alone.
  const Op third = submit(gate, 2, 2, 60), fourth = submit(gate, 3, 3, 60);
  EXPECT_TRUE(gate.ready(third, 0));
  EXPECT_TRUE(gate.ready(fourth, 0));
  EXPECT_EQ(gate.report().over_bound, 140);
  EXPECT_EQ(gate.report().unproven, 0);
}

TEST(SubmissionGateOverflow, ExceedingHoldsWhatTheBoundRaisedHasNoRoomFor) {
  SubmissionGate gate(50, false);
  gate.let_exceed();
  std::vector<Op> ops;
  for (std::uintptr_t t = 0; t < 4; ++t) {
    ops.push_back(submit(gate, t, t, 60));
    gate.release(handle(t));
  }
  EXPECT_TRUE(gate.ready(ops[0], 0));
  EXPECT_FALSE(gate.ready(ops[1], 0)) << "one after the other needs 60";
  gate.end(ops[0]);
  EXPECT_EQ(admit(gate), tasks({1}));
  EXPECT_EQ(gate.report().over_bound, 10);
}

TEST(SubmissionGateOverflow, WithoutALimitNothingIsHeldAndTheLeastIsFound) {
  SubmissionGate gate(SubmissionGate::kUnlimited, false);
  std::vector<Op> ops;
  for (std::uintptr_t t = 0; t < 3; ++t) {
    ops.push_back(submit(gate, 2 * t, t, Bytes{1} << 59));
    ops.push_back(submit(gate, 2 * t + 1, t, Bytes{1} << 59));
    gate.release(handle(t));
  }
  for (const Op op : ops) EXPECT_TRUE(gate.ready(op, 0));
  for (const Op op : ops) gate.end(op);
  EXPECT_EQ(gate.booked(), 0);
  EXPECT_EQ(gate.report().least, Bytes{1} << 59);
  EXPECT_EQ(gate.report().booked_peak, 3 * (Bytes{1} << 59));
}

struct EvictedProgram {
  static constexpr int kData = 6, kTasks = 24;
  Bytes sizes[kData];
  int staying;  // the first so many data
  std::vector<std::vector<DataAccess>> tasks;
  Bytes bound = 0;  // that a task fits in beside what stays
};

EvictedProgram evicted_program(std::mt19937& random) {
  const auto below = [&](int n) { return static_cast<int>(random() % n); };
  EvictedProgram program{.sizes = {}, .staying = 0, .tasks = {}};
  for (Bytes& size : program.sizes) size = 1 + below(20);
  program.staying = below(3);
  program.tasks.resize(EvictedProgram::kTasks);
  Bytes stays = 0;
  for (int d = 0; d < program.staying; ++d) stays += program.sizes[d];
  for (auto& accesses : program.tasks) {
    const int first = below(EvictedProgram::kData), second = below(EvictedProgram::kData);
    for (const int d : {first, second}) {
      if (d == second && first == second && !accesses.empty()) break;
      accesses.push_back({handle(d), program.sizes[d], nullptr, d < program.staying});
    }
    Bytes footprint = 0;
    for (const DataAccess& a : accesses) footprint += a.stays ? 0 : a.size;
    program.bound = std::max(program.bound, stays + footprint);
  }
  return program;
}

// Of data that do not stay: those that running tasks work on.
Bytes bytes_in_use(const EvictedProgram& program, const std::vector<int>& running) {
  Bytes in_use = 0;
  for (int d = program.staying; d < EvictedProgram::kData; ++d) {
    bool used = false;
    for (const int t : running)
      for (const DataAccess& a : program.tasks[t]) used = used || a.handle == handle(d);
    in_use += used ? program.sizes[d] : 0;
  }
  return in_use;
}

// Random programs whose data are evicted from the start: what is booked never exceeds the
// bound, is what the running tasks work on and what stays, and every program ends if each
// task fits beside what stays at its place.
TEST(SubmissionGateOverflow, EvictingEndsRandomProgramsInsideTheBound) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto below = [&](int n) { return static_cast<int>(random() % n); };
    constexpr int kTasks = EvictedProgram::kTasks;
    const EvictedProgram program = evicted_program(random);
    SubmissionGate gate(program.bound, false);
    gate.let_evict();
    std::vector<Op> ops;
    for (int t = 0; t < kTasks; ++t)
      ops.push_back(gate.submit(task(t), program.tasks[t]));
    std::vector<int> running;
    const auto run = [&](const void* started) {
      for (int t = 0; t < kTasks; ++t)
        if (task(t) == started) running.push_back(t);
    };
    int next = 0, ended = 0;
    while (ended < kTasks) {
      if (next < kTasks && (running.empty() || below(2) == 0)) {
        if (gate.ready(ops[next], 0)) running.push_back(next);
        ++next;
      } else {
        ASSERT_FALSE(running.empty()) << "stalled";
        const int i = below(static_cast<int>(running.size()));
        gate.end(ops[running[i]]);
        running.erase(running.begin() + i);
        ++ended;
      }
      for (const void* const started : admit(gate)) run(started);
      ASSERT_LE(gate.booked(), program.bound);
      ASSERT_EQ(gate.booked(), gate.staying() + bytes_in_use(program, running));
    }
    EXPECT_EQ(gate.report().unproven, 0);
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::policy
