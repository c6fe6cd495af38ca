#include "policy/core/submission_banker.h"

#include <gtest/gtest.h>

#include <array>

namespace espalier::policy {
namespace TEST_SOURCE {

using Op = SubmissionBanker::Op;
using Datum = SubmissionBanker::Datum;

// Names: addresses that nobody looks at.
std::array<char, 8> names;
char *const a = &names[0], *const b = &names[1], *const t = &names[2],
            *const u = &names[3], *const v = &names[4];

// The diagram of submission_banker.h from end to end.
TEST(SubmissionBanker, FollowsADatum) {
  SubmissionBanker banker(100);
  const Datum datum = banker.add(a, 40, false, false);
  EXPECT_EQ(banker.named(a), datum);
  const Op op = banker.submit(t, std::array{datum}, 40, false);
  EXPECT_EQ(banker.find(t), op);
  EXPECT_EQ(banker.task(op), t);
  EXPECT_FALSE(banker.rule().booked(datum));
  EXPECT_TRUE(banker.try_start(op));
  EXPECT_TRUE(banker.rule().booked(datum));
  EXPECT_EQ(banker.rule().booked(), 40);
  banker.release(datum);
  EXPECT_EQ(banker.named(a), Datum::kNone);
  EXPECT_TRUE(banker.was_released(a));
  EXPECT_EQ(banker.rule().booked(), 40);
  bool done = false;
  banker.end(op, [&](Datum d) {
    done = true;
    EXPECT_EQ(d, datum);
  });
  EXPECT_TRUE(done);
  EXPECT_EQ(banker.find(t), Op::kNone);
  EXPECT_EQ(banker.rule().booked(), 40);  // until its blocks are gone
  banker.remove(datum);
  EXPECT_EQ(banker.rule().booked(), 0);
  EXPECT_FALSE(banker.was_released(a));
  EXPECT_EQ(banker.room(), Banker::kUnlimited);
  EXPECT_EQ(banker.least(), 40);
}

TEST(SubmissionBanker, AHandleNamesAnotherDatumOnceItIsReleased) {
  SubmissionBanker banker(100);
  const Datum first = banker.add(a, 10, false, false);
  const Op op = banker.submit(t, std::array{first}, 10, false);
  banker.start(op);
  banker.release(first);
  const Datum second = banker.add(a, 20, false, false);
  EXPECT_EQ(banker.named(a), second);
  EXPECT_TRUE(banker.was_released(a));
  banker.end(op, [](Datum) {});
  banker.remove(first);
  EXPECT_FALSE(banker.was_released(a));
  EXPECT_EQ(banker.named(a), second);
}

TEST(SubmissionBanker, WhatIsGoneWithoutNoticeLeavesNoName) {
  SubmissionBanker banker(100);
  const Datum datum = banker.add(a, 10, true, false);
  EXPECT_EQ(banker.rule().booked(), 10);
  banker.remove(datum);
  EXPECT_EQ(banker.named(a), Datum::kNone);
  EXPECT_FALSE(banker.was_released(a));
  EXPECT_EQ(banker.rule().booked(), 0);
  EXPECT_EQ(banker.rule().base(), 0);
}

TEST(SubmissionBanker, KnowsWhatStandsBehindAMessage) {
  SubmissionBanker banker(100);
  const Datum datum = banker.add(a, 10, false, false),
              other = banker.add(b, 10, false, false);
  const Op before = banker.submit(t, std::array{datum}, 10, false);
  const Op message = banker.submit(u, std::array{datum}, 0, true);
  const Op after = banker.submit(v, std::array{other}, 10, false);
  EXPECT_FALSE(banker.behind_message(before));
  EXPECT_TRUE(banker.behind_message(after));
  EXPECT_LT(banker.number(before), banker.number(after));
  banker.end(message, [](Datum) {});
  EXPECT_FALSE(banker.behind_message(after));
}

TEST(SubmissionBanker, DataThatTurnOutLargerCountInTheSequentialRun) {
  SubmissionBanker banker(100);
  const Datum datum = banker.add(a, 10, false, false);
  const Op op = banker.submit(t, std::array{datum}, 10, false);
  banker.release(datum);
  banker.start(op);
  banker.grow(datum, 5, op);
  EXPECT_EQ(banker.least(), 15);
  EXPECT_EQ(banker.rule().booked(), 15);
  EXPECT_EQ(banker.room(), Banker::kUnlimited - 15);
  banker.end(op, [&](Datum d) { banker.remove(d); });
  banker.submit(u, std::array{banker.add(b, 12, false, false)}, 12, false);
  EXPECT_EQ(banker.least(), 15);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::policy
