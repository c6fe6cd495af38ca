#include "espalier/parallel/graph_admission.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>

#include "espalier/model/error.h"
#include "espalier/model/replay_graph.h"
#include "espalier/parallel/graph_banker.h"
#include "support/random_graphs.h"
#include "support/random_tree.h"

namespace espalier {
namespace TEST_SOURCE {

using support::describe;

enum class State { kWaiting, kRunning, kEnded };

// The definitions, by scanning everything.
class Truth {
 public:
  Truth(const TaskGraph& graph, std::vector<TaskId> witness)
      : graph_(graph), witness_(std::move(witness)), state_(graph.size()) {}

  void start(TaskId task) { state_[index(task)] = State::kRunning; }
  void end(TaskId task) { state_[index(task)] = State::kEnded; }

  // Bytes in memory: data that exist and are not free, workspaces of what runs.
  [[nodiscard]] Bytes resident() const {
    Bytes bytes = 0;
    for (std::size_t d = 0; d < graph_.data(); ++d) {
      const auto producer = graph_.producer(datum_id(d));
      if (producer && state_[index(*producer)] == State::kWaiting) continue;
      bool alive = graph_.stays(datum_id(d));
      if (producer) alive = alive || state_[index(*producer)] == State::kRunning;
      for (const TaskId reader : graph_.consumers(datum_id(d))) {
        alive = alive || state_[index(reader)] != State::kEnded;
      }
      bytes += alive ? graph_.size(datum_id(d)) : 0;
    }
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      if (state_[i] == State::kRunning) bytes += graph_.workspace(task_id(i));
    }
    return bytes;
  }

  // The banker's test, word for word: it fits now, and the rest one by one after all that
  // runs has ended.
  [[nodiscard]] bool safe(TaskId task, Bytes bound) const {
    Truth then = *this;
    then.start(task);
    if (then.resident() > bound) return false;
    for (State& state : then.state_) {
      if (state == State::kRunning) state = State::kEnded;
    }
    for (const TaskId next : witness_) {
      if (then.state_[index(next)] == State::kEnded) continue;
      then.start(next);
      if (then.resident() > bound) return false;
      then.end(next);
    }
    return true;
  }

 private:
  const TaskGraph& graph_;
  std::vector<TaskId> witness_;
  std::vector<State> state_;
};

struct Instance {
  TaskGraph graph;
  std::vector<TaskId> witness;
  Bytes bound;
};

Instance random_instance(std::mt19937& random, int round) {
  Instance result{support::varied_graph(random, round, 14), {}, 0};
  result.witness = support::random_order(result.graph, random);
  const Bytes peak = replay(result.graph, result.witness).peak;
  result.bound = peak + (round % 2 == 0 ? 0 : static_cast<Bytes>(random() % (peak + 1)));
  return result;
}

std::string describe(const Instance& instance) {
  return describe(instance.graph) + support::describe(instance.witness) +
         fmt::format("bound {}", instance.bound);
}

template <class T>
T take(std::vector<T>& from, std::mt19937& random) {
  std::swap(from[random() % from.size()], from.back());
  const T item = from.back();
  from.pop_back();
  return item;
}

// Durations and choices by an adversary: candidates are tried and operators end in any
// order. `on_try` is told of each try before it is made.
template <class OnTry>
void run_adversary(const Instance& instance, GraphAdmission& admission,
                   std::mt19937& random, OnTry&& on_try) {
  Truth truth(instance.graph, instance.witness);
  std::vector<TaskId> candidates, refused, running;
  std::size_t ended = 0;
  admission.begin(candidates);
  while (ended < instance.graph.size()) {
    while (!candidates.empty() && (running.empty() || random() % 3 != 0)) {
      const TaskId task = take(candidates, random);
      const bool starts = on_try(task, truth, [&] { return admission.try_start(task); });
      (starts ? running : refused).push_back(task);
      if (starts) truth.start(task);
      ASSERT_LE(truth.resident(), admission.booked()) << describe(instance);
      ASSERT_LE(admission.booked(), instance.bound) << describe(instance);
    }
    ASSERT_FALSE(running.empty()) << "deadlock\n" << describe(instance);
    const TaskId task = take(running, random);
    truth.end(task);
    ++ended;
    candidates.insert(candidates.end(), refused.begin(), refused.end());
    refused.clear();
    admission.end(task, candidates);
    ASSERT_LE(truth.resident(), admission.booked()) << describe(instance);
    ASSERT_LE(admission.booked(), instance.bound) << describe(instance);
  }
  EXPECT_EQ(admission.booked(), instance.graph.final_bytes()) << describe(instance);
}

constexpr auto kJustTry = [](TaskId, const Truth&, auto&& attempt) { return attempt(); };

TEST(GraphAdmission, ActivationNeverDeadlocksOnRandomGraphs) {
  std::mt19937 random(61);
  for (int round = 0; round < 15'000 && !testing::Test::HasFatalFailure(); ++round) {
    const Instance instance = random_instance(random, round);
    GraphActivation admission(instance.graph, instance.witness, instance.bound);
    run_adversary(instance, admission, random, kJustTry);
  }
}

// The banker lets in what is safe, and nothing else.
void expect_the_definition(const Instance& instance, std::mt19937& random) {
  GraphBanker admission(instance.graph, instance.witness, instance.bound);
  run_adversary(instance, admission, random,
                [&](TaskId task, const Truth& truth, auto&& attempt) {
                  const bool expected = truth.safe(task, instance.bound);
                  const bool starts = attempt();
                  EXPECT_EQ(starts, expected) << describe(instance);
                  return starts;
                });
}

TEST(GraphAdmission, TheBankerNeverDeadlocksAndIsTheDefinition) {
  std::mt19937 random(65);
  for (int round = 0; round < 15'000 && !testing::Test::HasFatalFailure(); ++round) {
    const Instance instance = random_instance(random, round);
    expect_the_definition(instance, random);
  }
}

TEST(GraphAdmission, TheBankerLetsInWhateverActivationDoes) {
  std::mt19937 random(67);
  for (int round = 0; round < 5000 && !testing::Test::HasFatalFailure(); ++round) {
    const Instance instance = random_instance(random, round);
    GraphActivation admission(instance.graph, instance.witness, instance.bound);
    run_adversary(instance, admission, random,
                  [&](TaskId task, const Truth& truth, auto&& attempt) {
                    EXPECT_TRUE(truth.safe(task, instance.bound)) << describe(instance);
                    return attempt();
                  });
  }
}

// A datum that all but the first operator read, each of which writes one that is kept,
// needs a workspace, or neither.
TaskGraph fan(std::size_t readers, std::mt19937& random) {
  TaskGraphBuilder builder;
  const DatumId read = builder.add_datum("", 7);
  builder.writes(builder.add_task("", 0), read);
  for (std::size_t i = 0; i < readers; ++i) {
    const TaskId task = builder.add_task("", static_cast<Bytes>(random() % 3));
    builder.reads(task, read);
    const DatumId written = builder.add_datum("", static_cast<Bytes>(random() % 3));
    builder.writes(task, written);
    if (random() % 2 == 0) builder.keep(written);
  }
  return std::move(builder).build();
}

TEST(GraphAdmission, TheBankerFollowsADatumOfManyReaders) {
  std::mt19937 random(68);
  for (int round = 0; round < 300 && !testing::Test::HasFatalFailure(); ++round) {
    Instance instance{fan(1 + random() % 40, random), {}, 0};
    instance.witness = support::random_order(instance.graph, random);
    instance.bound = replay(instance.graph, instance.witness).peak + round % 3;
    expect_the_definition(instance, random);
  }
}

TEST(GraphAdmission, WithoutABoundTheBankerRefusesNothing) {
  std::mt19937 random(69);
  for (int round = 0; round < 300 && !testing::Test::HasFatalFailure(); ++round) {
    Instance instance = random_instance(random, round);
    instance.bound = BankerRule::kUnlimited;
    GraphBanker admission(instance.graph, instance.witness, instance.bound);
    run_adversary(instance, admission, random, [&](TaskId, const Truth&, auto&& attempt) {
      const bool starts = attempt();
      EXPECT_TRUE(starts) << describe(instance);
      return starts;
    });
  }
}

// u writes 4 bytes that v reads for nothing; p writes 3, q turns them into 1.
//   witness u v p q, peak 4
struct TwoPairs {
  TaskGraph graph;
  TaskId u{}, v{}, p{}, q{};
};

TwoPairs two_pairs() {
  TaskGraphBuilder builder;
  TwoPairs result;
  const auto pair = [&](Bytes middle, Bytes last, TaskId& first, TaskId& second) {
    const DatumId between = builder.add_datum("", middle),
                  after = builder.add_datum("", last);
    first = builder.add_task("");
    second = builder.add_task("");
    builder.writes(first, between);
    builder.reads(second, between);
    builder.writes(second, after);
    builder.keep(after);
  };
  pair(4, 0, result.u, result.v);
  pair(3, 1, result.p, result.q);
  result.graph = std::move(builder).build();
  return result;
}

TEST(GraphAdmission, FollowsAnExample) {
  const TwoPairs x = two_pairs();
  const std::vector<TaskId> witness = {x.u, x.v, x.p, x.q};
  std::vector<TaskId> candidates;
  GraphActivation activation(x.graph, witness, 7);
  activation.begin(candidates);  // u 4, v 0, p 3: full before q
  EXPECT_EQ(candidates, (std::vector<TaskId>{x.u, x.p}));
  EXPECT_EQ(activation.booked(), 7);
  candidates.clear();
  activation.end(x.p, candidates);  // nothing is free: q waits although it is ready
  EXPECT_TRUE(candidates.empty());
  activation.end(x.u, candidates);
  EXPECT_EQ(candidates, (std::vector<TaskId>{x.v}));
  candidates.clear();
  activation.end(x.v, candidates);
  EXPECT_EQ(candidates, (std::vector<TaskId>{x.q}));
  EXPECT_EQ(activation.booked(), 4);
}

TEST(GraphAdmission, TheBankerRefusesWhatTheRestCannotAfford) {
  const TwoPairs x = two_pairs();
  const std::vector<TaskId> witness = {x.u, x.v, x.p, x.q};
  std::vector<TaskId> candidates;
  GraphBanker banker(x.graph, witness, 6);
  banker.begin(candidates);
  EXPECT_EQ(candidates, (std::vector<TaskId>{x.u, x.p}));
  EXPECT_FALSE(banker.try_start(x.p));  // it fits, but then u does not any more
  EXPECT_TRUE(banker.try_start(x.u));
  EXPECT_FALSE(banker.try_start(x.p));  // 4 + 3
  GraphBanker wider(x.graph, witness, 7);
  EXPECT_TRUE(wider.try_start(x.p));
  EXPECT_TRUE(wider.try_start(x.u));
}

TEST(GraphAdmission, RefusesAWitnessThatDoesNotFitOrIsNone) {
  const TwoPairs x = two_pairs();
  const std::vector<TaskId> witness = {x.u, x.v, x.p, x.q};
  const std::vector<TaskId> wrong = {x.v, x.u, x.p, x.q};
  EXPECT_THROW(GraphActivation(x.graph, witness, 3), InvalidInput);
  EXPECT_THROW(GraphActivation(x.graph, wrong, 9), InvalidInput);
  EXPECT_THROW(GraphBanker(x.graph, witness, 3), InvalidInput);
  EXPECT_THROW(GraphBanker(x.graph, wrong, 9), InvalidInput);
}

}  // namespace TEST_SOURCE
}  // namespace espalier
