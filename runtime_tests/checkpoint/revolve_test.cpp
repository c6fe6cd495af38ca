#include "espalier/checkpoint/revolve.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "espalier/checkpoint/h_revolve.h"
#include "espalier/model/error.h"
#include "espalier/model/replay_checkpoint.h"
#include "espalier/model/validate_checkpoint.h"
#include "support/error_message.h"

namespace espalier {
namespace TEST_SOURCE {

using Count = std::int64_t;

std::string text_of(const Action& action) {
  return fmt::format("{} {}-{} from {}/{} to {}/{}", name(action.kind), action.first,
                     action.last, action.source.level, action.source.slot,
                     action.target.level, action.target.slot);
}

std::vector<std::string> actions_of(Count steps, Count slots) {
  std::vector<std::string> texts;
  RevolveStream stream(steps, slots);
  while (const auto action = stream.next()) texts.push_back(text_of(*action));
  return texts;
}

// What a stream does, and what is wrong with it.
struct Outcome {
  Count forwards = 0, stores = 0, most_slots = 0, actions = 0;
  std::string wrong;
};

// Where a run of a chain is; each action says whether it may come now.
struct Progress {
  Count steps, slots;
  Outcome result = {};
  std::map<Count, Count> slot = {};  // what each holds
  Count working = 0, left = steps;
  bool turned = false, ended = false;

  bool forward(const Action& action) {
    bool right = action.first == working && action.last > working;
    if (action.target.is_slot()) {
      right = right && action.target.level == 0 && action.target.slot < slots &&
              slot.emplace(action.target.slot, working).second;
      ++result.stores;
    }
    result.forwards += action.last - action.first;
    working = action.last;
    return right;
  }
  bool restore(const Action& action) {
    const auto held = slot.find(action.source.slot);
    const bool right = held != slot.end() && held->second == action.first;
    working = action.first;
    if (action.kind == ActionKind::kMove && right) slot.erase(held);
    return right;
  }
  bool take(const Action& action) {
    switch (action.kind) {
      case ActionKind::kForward:
        return forward(action);
      case ActionKind::kCopy:
      case ActionKind::kMove:
        return restore(action);
      case ActionKind::kReverse:
        return turned && working == left - 1 && action.first == working &&
               action.last == left--;
      case ActionKind::kEndForward:
        return !std::exchange(turned, true) && working == steps - 1;
      case ActionKind::kEndReverse:
        ended = true;
        return left == 0 && slot.empty();
    }
    return false;
  }
};

Outcome run(Count steps, Count slots) {
  RevolveStream stream(steps, slots);
  Progress at{.steps = steps, .slots = slots};
  Outcome& result = at.result;
  while (const auto action = stream.next()) {
    ++result.actions;
    const bool right = !at.ended && at.take(*action);
    result.most_slots = std::max(result.most_slots, static_cast<Count>(at.slot.size()));
    if (!right) {
      result.wrong = text_of(*action);
      return result;
    }
  }
  if (!at.ended) result.wrong = "no end";
  return result;
}

// Forward steps, then stores that are read, by trying every first stop.
class Recurrence {
 public:
  std::pair<Count, Count> best(Count n, Count c) {  // x_0 is in its slot
    if (n == 1) return {0, 0};
    if (c == 1) return {n * (n - 1) / 2, 0};
    auto& known = known_[{n, c}];
    if (known.first > 0) return known;
    std::pair<Count, Count> least{std::numeric_limits<Count>::max(), 0};
    for (Count j = 1; j < n; ++j) {
      const auto right = best(n - j, c - 1), left = best(j, c);
      least = std::min(least, {j + right.first + left.first,
                               right.second + left.second + (n - j > 1 ? 1 : 0)});
    }
    return known_[{n, c}] = least;
  }

 private:
  std::map<std::pair<Count, Count>, std::pair<Count, Count>> known_;
};

TEST(Revolve, SixStepsInTwoSlots) {
  EXPECT_EQ(revolve_cost(6, 2), 8);
  EXPECT_EQ(revolve_repetitions(6, 2), 2);
  const std::vector<std::string> expected = {
      "Forward 0-3 from -1/0 to 0/0",     "Forward 3-5 from -1/0 to 0/1",
      "EndForward 5-5 from -1/0 to -1/0", "Reverse 5-6 from -1/0 to -1/0",
      "Copy 3-3 from 0/1 to -1/0",        "Forward 3-4 from -1/0 to -1/0",
      "Reverse 4-5 from -1/0 to -1/0",    "Move 3-3 from 0/1 to -1/0",
      "Reverse 3-4 from -1/0 to -1/0",    "Copy 0-0 from 0/0 to -1/0",
      "Forward 0-1 from -1/0 to -1/0",    "Forward 1-2 from -1/0 to 0/1",
      "Reverse 2-3 from -1/0 to -1/0",    "Move 1-1 from 0/1 to -1/0",
      "Reverse 1-2 from -1/0 to -1/0",    "Move 0-0 from 0/0 to -1/0",
      "Reverse 0-1 from -1/0 to -1/0",    "EndReverse 0-0 from -1/0 to -1/0"};
  EXPECT_EQ(actions_of(6, 2), expected);
}

TEST(Revolve, CostsOfTheSpecification) {
  EXPECT_EQ(revolve_cost(1'000'000, 20), 6'815'960);
  EXPECT_EQ(revolve_cost(1'000'000, 5), 31'940'948);
  EXPECT_EQ(revolve_cost(1'000'000'000, 50), 7'699'325'912);
}

TEST(Revolve, CostAndStoresAreThoseOfTheRecurrence) {
  Recurrence recurrence;
  for (Count c = 1; c <= 9; ++c) {
    for (Count n = 1; n <= 130; ++n) {
      const auto [cost, stores] = recurrence.best(n, c);
      ASSERT_EQ(revolve_cost(n, c), cost) << n << " steps, " << c << " slots";
      const Outcome result = run(n, c);
      ASSERT_EQ(result.wrong, "") << n << " steps, " << c << " slots";
      ASSERT_EQ(result.forwards, cost) << n << " steps, " << c << " slots";
      ASSERT_EQ(result.stores, stores + (n > 1 ? 1 : 0)) << n << " steps, " << c;
      ASSERT_LE(result.most_slots, c) << n << " steps, " << c << " slots";
    }
  }
}

TEST(Revolve, LongStreamsCostWhatIsPromised) {
  for (const auto& [n, c] : {std::pair<Count, Count>{1'000'000, 20},
                             {300'000, 100},
                             {200'000, 3},
                             {20'000, 2},
                             {1'000, 1},
                             {100'000, 100'000},
                             {100'000, 1'000'000'000'000}}) {
    const Outcome result = run(n, c);
    EXPECT_EQ(result.wrong, "") << n << " steps, " << c << " slots";
    EXPECT_EQ(result.forwards, revolve_cost(n, c)) << n << " steps, " << c << " slots";
    EXPECT_LE(result.most_slots, c);
  }
}

// t(N,c) grows by r with N up to β(c,r), so costs at binomials check all between.
TEST(Revolve, ClosedFormUpToAThousandMillionSteps) {
  for (Count c = 1; c <= 100; ++c) {
    Count reach = 1, cost = 0;  // β(c, r) and its cost
    for (Count r = 1; reach < 1'000'000'000 && r < 50'000; ++r) {
      const Count next = reach * (c + r) / r;
      const Count middle = reach + (next - reach) / 2;
      ASSERT_EQ(revolve_repetitions(middle == reach ? next : middle, c), r);
      ASSERT_EQ(revolve_cost(middle, c), cost + r * (middle - reach)) << c << ' ' << r;
      cost += r * (next - reach);
      reach = next;
      ASSERT_EQ(revolve_repetitions(reach, c), r) << c;
      ASSERT_EQ(revolve_cost(reach, c), cost) << c << ' ' << r;
      ASSERT_EQ(revolve_repetitions(reach + 1, c), r + 1) << c;
    }
  }
}

TEST(Revolve, StartsOfEnormousChains) {
  const Count most = Count{1} << 62;
  for (const Count c : {Count{2}, Count{3}, Count{60}, Count{1'000'000}, most}) {
    RevolveStream stream(most, c);
    Count working = 0, end = most - 1;
    for (int k = 0; k < 1000; ++k) {
      const auto action = stream.next();
      ASSERT_TRUE(action);
      if (action->kind == ActionKind::kForward) {
        ASSERT_EQ(action->first, working);
        ASSERT_GT(action->last, working);
        ASSERT_LE(action->last, end);
      }
      if (action->kind == ActionKind::kReverse) {
        ASSERT_EQ(action->first, end--);
      }
      if (action->kind != ActionKind::kEndForward) working = action->last;
    }
  }
  EXPECT_THROW((void)revolve_cost(most, 2), OverflowError);
  EXPECT_THROW((void)revolve_cost(most, 1), OverflowError);
  EXPECT_EQ(revolve_cost(most, most), most - 1);
}

TEST(Checkpoints, SayThatCostsMayLeaveTheRange) {
  const StepCosts costs{.forward = 1'000'000'000, .forwards = {}};
  EXPECT_EQ(
      support::error_message<OverflowError>([&] {
        (void)plan_checkpoints(2'000'000, {{"disk", 3, 1'000'000'000, 1}}, costs);
      }),
      "what reversing 2000000 steps may cost leaves the 64-bit range, counted in units "
      "of "
      "1 ns, of which all times of steps, reads and writes are multiples; rounder times "
      "have a longer unit");
  EXPECT_EQ(
      support::error_message<OverflowError>([&] {
        (void)plan_checkpoints(
            1'000, {{"disk", 3, costs.forward, costs.forward}},
            {.forward = costs.forward, .backward = Nanoseconds{1} << 60, .forwards = {}});
      }),
      "the cost of reversing 1000 steps leaves the 64-bit range of nanoseconds");
}

// The fewest slots are those with which the cost is a number of 64 bits.
TEST(Revolve, TheSlotsThatSufficeDo) {
  for (const Count steps : {Count{2}, Count{4'000'000'000}, Count{5'000'000'000},
                            Count{1} << 50, Count{1} << 62})
    for (const Nanoseconds forward : {0, 1, 1000}) {
      const StepCosts costs{.forward = forward, .forwards = {}};
      const auto none = plan_checkpoints(steps, {{"ram", 0}}, costs);
      ASSERT_FALSE(none);
      const Count least = none.error().least_slots;
      if (forward == 1000 && steps == Count{1} << 62) {  // whatever the slots
        EXPECT_EQ(least, 1);
        continue;
      }
      EXPECT_TRUE(plan_checkpoints(steps, {{"ram", least}}, costs)) << steps;
      if (least > 1) {
        EXPECT_EQ(support::error_message<OverflowError>([&] {
                    (void)plan_checkpoints(steps, {{"ram", 1}}, costs);
                  }),
                  fmt::format("the cost of reversing {} steps with 1 slot leaves the "
                              "64-bit range; with {} slots it does not",
                              steps, least));
        EXPECT_THROW((void)plan_checkpoints(steps, {{"ram", least - 1}}, costs),
                     OverflowError);
      }
    }
}

TEST(CheckpointSchedule, OfNoPlannerSaysSo) {
  const CheckpointSchedule schedule;
  const std::string_view why = "the schedule has no actions: plan_checkpoints()";
  for (const bool replayed : {false, true}) {
    const std::string said = support::error_message<InvalidInput>([&] {
      if (replayed) return (void)replay_checkpoint(schedule);
      (void)schedule.actions();
    });
    EXPECT_EQ(said.substr(0, why.size()), why);
  }
  EXPECT_EQ(validate_checkpoint(schedule).size(), 1U);
}

TEST(Revolve, RefusesWhatIsNoChain) {
  EXPECT_THROW(RevolveStream(0, 3), InvalidInput);
  EXPECT_THROW(RevolveStream(5, 0), InvalidInput);
  EXPECT_THROW((void)revolve_cost(std::numeric_limits<Count>::max(), 3), InvalidInput);
  RevolveStream one(1, 1);
  EXPECT_EQ(one.next()->kind, ActionKind::kEndForward);
  EXPECT_EQ(one.next()->kind, ActionKind::kReverse);
  EXPECT_EQ(one.next()->kind, ActionKind::kEndReverse);
  EXPECT_FALSE(one.next());
  EXPECT_FALSE(one.next());
}

}  // namespace TEST_SOURCE
}  // namespace espalier
