// The cases of one subject, which share their instances: over 300 lines.

#include "espalier/checkpoint/rotor.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <tuple>

#include "espalier/model/replay_checkpoint.h"
#include "espalier/model/validate_checkpoint.h"
#include "support/listed_actions.h"

namespace espalier {
namespace TEST_SOURCE {

using Stages = std::vector<Stage>;

std::string describe(const Chain& chain) {
  std::string text;
  for (const Stage& s : chain.stages()) {
    text += fmt::format("{} {} {} {} {} {}\n", s.input, s.saved, s.forward, s.backward,
                        s.forward_workspace, s.backward_workspace);
  }
  return text + fmt::format("{}\n", chain.output());
}

std::shared_ptr<const Chain> random_chain(std::mt19937& random, int most_stages,
                                          int most_size) {
  const auto draw = [&random](int first, int last) {
    return std::uniform_int_distribution<int>(first, last)(random);
  };
  Stages stages(static_cast<std::size_t>(draw(1, most_stages)));
  for (Stage& s : stages) {
    s = {draw(0, most_size),
         0,
         draw(0, 6),
         draw(0, 6),
         draw(0, 2) * draw(0, most_size),
         draw(0, 2) * draw(0, most_size)};
  }
  const Bytes output = draw(0, 1) * draw(0, most_size);
  for (std::size_t i = 0; i < stages.size(); ++i) {
    stages[i].saved = (i + 1 < stages.size() ? stages[i + 1].input : output) +
                      draw(0, 1) * draw(0, 2 * most_size);
  }
  return std::make_shared<const Chain>(stages, output);
}

// Every way to do stages i … t with m bytes beside x_i, by trying all first moves. The
// bytes of each step that runs are compared with what is left, one at a time.
class EveryByte {
 public:
  explicit EveryByte(const Chain& chain) : c_(chain) {}
  static constexpr Nanoseconds kNever = std::numeric_limits<Nanoseconds>::max() / 4;

  Nanoseconds cost(std::int64_t i, std::int64_t t, Bytes m) {
    if (m < 0) return kNever;
    const auto [entry, is_new] = known_.try_emplace({i, t, m}, kNever);
    if (!is_new) return entry->second;
    Nanoseconds least = i == t ? single(i, m) : std::min(taped(i, t, m), stops(i, t, m));
    return known_[{i, t, m}] = least;
  }

 private:
  Nanoseconds single(std::int64_t i, Bytes m) {
    const Stage& s = c_.stage(i);
    const bool forward_fits = c_.state(i + 1) + s.saved + s.forward_workspace <= m;
    const bool backward_fits = c_.state(i + 1) + s.saved + s.backward_workspace <= m;
    return forward_fits && backward_fits ? s.forward + s.backward : kNever;
  }
  Nanoseconds taped(std::int64_t i, std::int64_t t, Bytes m) {
    const Stage& s = c_.stage(i);
    if (c_.state(t + 1) + s.saved + s.forward_workspace > m) return kNever;
    if (c_.state(i + 1) + s.saved + s.backward_workspace > m) return kNever;
    return s.forward + s.backward + cost(i + 1, t, m - s.saved);
  }
  Nanoseconds stops(std::int64_t i, std::int64_t t, Bytes m) {
    Nanoseconds least = kNever, run = 0;
    for (std::int64_t k = i; k < t; ++k) {
      const Bytes input = k == i ? 0 : c_.state(k);
      if (c_.state(t + 1) + input + c_.state(k + 1) + c_.stage(k).forward_workspace > m)
        break;
      run += c_.stage(k).forward;
      least = std::min(least, run + cost(k + 1, t, m - c_.state(k + 1)) + cost(i, k, m));
    }
    return least;
  }

  const Chain& c_;
  std::map<std::tuple<std::int64_t, std::int64_t, Bytes>, Nanoseconds> known_;
};

void expect_valid(const std::shared_ptr<const RotorTable>& table, Bytes bound,
                  Nanoseconds cost) {
  const auto plan = plan_chain(table, bound);
  ASSERT_TRUE(plan) << describe(table->chain());
  ASSERT_EQ(plan->cost, cost) << describe(table->chain());
  const Violations wrong = validate_checkpoint(*plan);
  ASSERT_TRUE(wrong.empty()) << wrong.front() << '\n' << describe(table->chain());
  const CheckpointReplay replay = replay_checkpoint(*plan);
  ASSERT_EQ(replay.peak_bytes, plan->peak_bytes) << describe(table->chain());
  ASSERT_LE(plan->peak_bytes, bound) << describe(table->chain());
}

TEST(Rotor, CurveEqualsATableOverEveryByte) {
  std::mt19937 random(40);
  for (int k = 0; k < 700; ++k) {
    const auto chain = random_chain(random, k < 600 ? 6 : 9, k < 600 ? 4 : 7);
    const auto table = std::make_shared<const RotorTable>(chain);
    const auto curve = table->curve();
    EveryByte all(*chain);
    Nanoseconds before = EveryByte::kNever;
    std::size_t next = 0;
    for (Bytes m = 0; m <= curve.back().bytes + 5; ++m) {
      const Nanoseconds cost = all.cost(0, chain->size() - 1, m - chain->state(0));
      if (cost != before) {
        ASSERT_LT(next, curve.size()) << describe(*chain);
        ASSERT_EQ(curve[next], (BudgetPoint{m, cost})) << describe(*chain);
        ++next;
      }
      before = cost;
    }
    ASSERT_EQ(next, curve.size()) << describe(*chain);
    for (const BudgetPoint& point : curve) {
      expect_valid(table, point.bytes, point.cost);
      if (HasFatalFailure()) return;
    }
    ASSERT_FALSE(plan_chain(table, curve.front().bytes - 1));
  }
}

TEST(Rotor, WithAllBytesEveryStageRunsOnce) {
  std::mt19937 random(41);
  for (int k = 0; k < 20; ++k) {
    const auto chain = random_chain(random, 40, 1000);
    const auto table = std::make_shared<const RotorTable>(chain);
    Nanoseconds once = 0;
    for (const Stage& s : chain->stages()) once += s.forward + s.backward;
    const auto curve = table->curve();
    EXPECT_EQ(curve.back().cost, once) << describe(*chain);
    expect_valid(table, curve.front().bytes, curve.front().cost);
    expect_valid(table, curve.back().bytes + 100, once);
    EXPECT_EQ(plan_chain(table, curve.back().bytes)->proof, CheckpointProof::kOptimal);
  }
}

// Equal stages whose tapes are as large as a state: by hand.
TEST(Rotor, TwoStagesByHand) {
  // Stages of f = 1, b = 2, x = 1, x̄ = 2, the last with an output of 0 bytes. Both taped:
  // x_0 and x̄_1, then x̄_2. Stage 1 run without tape: x_0, x_1, x̄_2; then again.
  const auto chain = std::make_shared<const Chain>(Stages{{1, 2, 1, 2}, {1, 2, 1, 2}});
  const RotorTable table(chain);
  EXPECT_EQ(table.curve(), (std::vector<BudgetPoint>{{4, 7}, {5, 6}}));
}

TEST(Rotor, RefusesWithTheLeastThatSuffices) {
  const auto chain = std::make_shared<const Chain>(Stages{{1, 2, 1, 2}, {1, 2, 1, 2}});
  const auto table = std::make_shared<const RotorTable>(chain);
  const auto plan = plan_chain(table, 3);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().least_bytes, 4);
  EXPECT_EQ(plan.error().lower_bound_bytes, 4);
  EXPECT_EQ(plan.error().reason, Infeasible::Reason::kImpossible);
}

TEST(Rotor, OneStageAndExtremeSizes) {
  const Bytes large = Bytes{1} << 58;
  const auto one =
      std::make_shared<const Chain>(Stages{{large, large, 5, 6, large, 2}}, large);
  const RotorTable table(one);
  EXPECT_EQ(table.curve(), (std::vector<BudgetPoint>{{4 * large, 11}}));
  EXPECT_THROW(Chain(Stages{{large * 8, 0, 1, 1}, {large * 8, 0, 1, 1}}), InvalidInput);
  EXPECT_THROW(Chain(Stages(3, Stage{large * 8, large * 8, 1, 1})), OverflowError);
  EXPECT_THROW(Chain(Stages{}), InvalidInput);
  EXPECT_THROW(Chain(Stages{{1, 1, -1, 1}}), InvalidInput);
  const auto nothing = std::make_shared<const Chain>(Stages(12));
  EXPECT_EQ(RotorTable(nothing).curve(), (std::vector<BudgetPoint>{{0, 0}}));
}

// --- validators -------------------------------------------------------------------

std::vector<Action> listed(const CheckpointSchedule& plan) {
  std::vector<Action> actions;
  const auto stream = plan.actions();
  while (const auto action = stream->next()) actions.push_back(*action);
  return actions;
}

Action spoiled(std::mt19937& random, Action action) {
  switch (std::uniform_int_distribution<int>(0, 5)(random)) {
    case 0:
      ++action.first;
      break;
    case 1:
      ++action.last;
      break;
    case 2:
      ++(action.source.is_slot() ? action.source : action.target).slot;
      break;
    case 3:
      action.kind =
          action.kind == ActionKind::kCopy ? ActionKind::kMove : ActionKind::kCopy;
      break;
    case 4:
      action.target = action.target.is_slot() ? Place() : Place{0, 0};
      break;
    default:
      action.keeps_tape = !action.keeps_tape;
  }
  return action;
}

// Whatever is changed, the validator objects or the schedule still keeps its promises; it
// says so exactly when the replay agrees.
void expect_caught(const CheckpointSchedule& plan, std::mt19937& random, int& caught) {
  std::vector<Action> actions = listed(plan);
  const auto at =
      std::uniform_int_distribution<std::size_t>(0, actions.size() - 1)(random);
  const int way = std::uniform_int_distribution<int>(0, 3)(random);
  if (way == 0) {
    actions.erase(actions.begin() + static_cast<std::ptrdiff_t>(at));
  } else if (way == 1) {
    actions.insert(actions.begin() + static_cast<std::ptrdiff_t>(at), actions[at]);
  } else {
    actions[at] = spoiled(random, actions[at]);
  }
  support::ListedActions changed(actions);
  const bool objects = !validate_checkpoint(plan, changed).empty();
  CheckpointSchedule other = plan;
  other.actions = [&actions] {
    return std::make_unique<support::ListedActions>(actions);
  };
  bool broken = false;
  try {
    const CheckpointReplay replay = replay_checkpoint(other);
    broken = replay.cost != plan.cost || replay.use != plan.use ||
             replay.advances != plan.advances || replay.peak_bytes != plan.peak_bytes;
  } catch (const Error&) {
    broken = true;
  }
  if (broken) {
    ASSERT_TRUE(objects) << "action " << at << ", change " << way;
  }
  caught += objects ? 1 : 0;
}

TEST(ValidateCheckpoint, ObjectsToSpoiledSchedules) {
  std::mt19937 random(42);
  int caught = 0;
  for (int k = 0; k < 300; ++k) {
    const auto chain = random_chain(random, 6, 9);
    const auto table = std::make_shared<const RotorTable>(chain);
    expect_caught(*plan_chain(table, table->curve().front().bytes), random, caught);
    const auto levels = plan_checkpoints(9, {{"ram", 1 + k % 3}, {"disk", 2, 1, 2}},
                                         {.forward = 2, .backward = 1, .forwards = {}});
    expect_caught(*levels, random, caught);
    expect_caught(*plan_checkpoints(8, {{"ram", 2}}, {}), random, caught);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(caught, 600);
}

TEST(ValidateCheckpoint, ObjectsToFalseFigures) {
  const auto right = *plan_checkpoints(30, {{"ram", 2}, {"disk", 3, 4, 3}}, {});
  EXPECT_TRUE(validate_checkpoint(right).empty());
  const auto objects = [&right](auto change) {
    CheckpointSchedule plan = right;
    change(plan);
    return !validate_checkpoint(plan).empty();
  };
  EXPECT_TRUE(objects([](CheckpointSchedule& plan) { ++plan.cost; }));
  EXPECT_TRUE(objects([](CheckpointSchedule& plan) { ++plan.advances; }));
  EXPECT_TRUE(objects([](CheckpointSchedule& plan) { ++plan.use[1].reads; }));
  EXPECT_TRUE(objects([](CheckpointSchedule& plan) { ++plan.use[0].writes; }));
  EXPECT_TRUE(objects([](CheckpointSchedule& plan) { ++plan.lower_bound; }));
  EXPECT_TRUE(objects([](CheckpointSchedule& plan) { --plan.lower_bound; }));
  EXPECT_TRUE(objects([](CheckpointSchedule& plan) { --plan.levels[1].slots; }));
  EXPECT_TRUE(objects([](CheckpointSchedule& plan) { ++plan.steps; }));
  EXPECT_TRUE(objects([](CheckpointSchedule& plan) { plan.use.pop_back(); }));
  const auto chain = std::make_shared<const Chain>(Stages(5, Stage{1, 2, 1, 2, 0, 0}));
  auto plan = *plan_chain(std::make_shared<const RotorTable>(chain), 7);
  EXPECT_TRUE(validate_checkpoint(plan).empty());
  plan.bound_bytes = plan.peak_bytes - 1;
  EXPECT_FALSE(validate_checkpoint(plan).empty());
}

}  // namespace TEST_SOURCE
}  // namespace espalier
