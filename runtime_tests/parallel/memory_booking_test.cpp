// The cases of one subject, which share their instances: over 300 lines.

#include "espalier/parallel/memory_booking.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <queue>
#include <random>
#include <vector>

#include "espalier/model/error.h"
#include "parallel/instances.h"

namespace espalier {
namespace TEST_SOURCE {

// The algorithm as published, with its walk over the ancestors one by one: the reference.
class WalkingBooking {
 public:
  WalkingBooking(const TaskTree& tree, std::vector<TaskId> order, Bytes bound)
      : tree_(tree),
        order_(std::move(order)),
        booked_(tree.size(), 0),
        subtree_booked_(tree.size(), -1),
        ended_(tree.size(), false),
        bound_(bound) {}

  void activate() {
    for (; next_ < order_.size(); ++next_) {
      const TaskId i = order_[next_];
      Bytes& subtree = subtree_booked_[index(i)];
      if (subtree == -1) {
        subtree = booked_[index(i)];
        for (const TaskId c : tree_.children(i)) {
          if (!ended_[index(c)]) {
            subtree += subtree_booked_[index(c)] - tree_.retained_size(c);
          }
        }
      }
      const Bytes miss = std::max<Bytes>(0, tree_.memory_requirement(i) - subtree);
      if (total_ + miss > bound_) return;
      total_ += miss;
      booked_[index(i)] += miss;
      subtree += miss;
    }
  }

  void complete(TaskId j) {
    Bytes left = booked_[index(j)] - tree_.output_size(j) - tree_.retained_size(j);
    booked_[index(j)] = 0;
    ended_[index(j)] = true;
    total_ -= left;
    auto i = tree_.parent(j);
    if (i) booked_[index(*i)] += tree_.output_size(j);
    for (; i && left > 0 && subtree_booked_[index(*i)] != -1; i = tree_.parent(*i)) {
      Bytes& subtree = subtree_booked_[index(*i)];
      const Bytes need = tree_.memory_requirement(*i);
      const Bytes kept = std::min(left, std::max<Bytes>(0, need - (subtree - left)));
      booked_[index(*i)] += kept;
      total_ += kept;
      subtree -= left - kept;
      left -= kept;
    }
    activate();
  }

  [[nodiscard]] Bytes booked(TaskId i) const { return booked_[index(i)]; }
  [[nodiscard]] Bytes booked_total() const { return total_; }

 private:
  const TaskTree& tree_;
  std::vector<TaskId> order_;
  std::size_t next_ = 0;
  std::vector<Bytes> booked_, subtree_booked_;
  std::vector<bool> ended_;
  Bytes bound_, total_ = 0;
};

// Runs a tree under a booking with random priorities and durations, and checks the
// contract after each event.
class Execution {
 public:
  Execution(const TaskTree& tree, const std::vector<TaskId>& order, Bytes bound,
            std::mt19937& random)
      : tree_(tree),
        booking_(tree, order, bound),
        reference_(tree, order, bound),
        random_(random) {}

  // The first broken promise, or nothing.
  std::string run(std::size_t workers) {
    booking_.activate(startable_);
    reference_.activate();
    while (booking_.unfinished() > 0) {
      start(workers);
      if (std::string wrong = broken(); !wrong.empty()) return wrong;
      if (running_.empty()) return "deadlock";
      const auto [time, task] = running_.top();
      running_.pop();
      now_ = time;
      used_ -= tree_.input_size(task) + tree_.execution_size(task);
      ended_ += 1;
      booking_.complete(task, startable_);
      reference_.complete(task);
      if (std::string wrong = broken(); !wrong.empty()) return wrong;
    }
    return ended_ == tree_.size() ? "" : "not every task ran";
  }

 private:
  void start(std::size_t workers) {
    while (running_.size() < workers && !startable_.empty()) {
      const std::size_t pick = random_() % startable_.size();
      const TaskId task = startable_[pick];
      startable_.erase(startable_.begin() + static_cast<std::ptrdiff_t>(pick));
      used_ += tree_.memory_requirement(task) - tree_.input_size(task);
      running_.push({now_ + random_() % 8, task});
    }
  }

  std::string broken() const {
    if (used_ > booking_.booked_total()) return "more is used than booked";
    if (booking_.booked_total() > booking_.bound())
      return "more is booked than the bound";
    if (booking_.booked_peak() > booking_.bound()) return "the booked peak is too high";
    if (booking_.booked_total() != reference_.booked_total()) return "not the reference";
    for (std::size_t i = 0; i < tree_.size(); ++i) {
      const TaskId task = task_id(i);
      if (booking_.booked(task) != reference_.booked(task)) return "not the reference";
      if (booking_.startable(task) &&
          booking_.booked(task) < tree_.memory_requirement(task)) {
        return "a startable task has not booked its need";
      }
    }
    return "";
  }

  const TaskTree& tree_;
  MemoryBooking booking_;
  WalkingBooking reference_;
  std::mt19937& random_;
  using Run = std::pair<std::uint64_t, TaskId>;
  std::priority_queue<Run, std::vector<Run>, std::greater<>> running_;
  std::vector<TaskId> startable_;
  std::uint64_t now_ = 0;
  Bytes used_ = 0;
  std::size_t ended_ = 0;
};

TEST(MemoryBooking, NeverDeadlocksOnRandomTrees) {
  std::mt19937 random(20240817);
  for (int round = 0; round < 100'000; ++round) {
    const TaskTree tree = random_tree(random, 1 + random() % 12);
    const std::vector<TaskId> order = random_order(tree, random);
    const Bytes peak = peak_of(tree, order);
    const Bytes bound = peak + (random() % 2 == 0 ? 0 : random() % (peak + 1));
    const std::size_t workers = 1 + random() % 8;
    const std::string wrong = Execution(tree, order, bound, random).run(workers);
    ASSERT_EQ(wrong, "") << "round " << round << ", bound " << bound << ", workers "
                         << workers << "\n"
                         << describe(tree, order);
  }
}

TEST(MemoryBooking, MatchesTheWalkOnDeepAndBushyTrees) {
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    const TaskTree tree = random_tree(random, 100 + random() % 200);
    const std::vector<TaskId> order = random_order(tree, random);
    const Bytes bound = peak_of(tree, order) * (1 + round % 3);
    const std::string wrong = Execution(tree, order, bound, random).run(4);
    ASSERT_EQ(wrong, "") << "round " << round << "\n" << describe(tree, order);
  }
}

// Two tasks that retain 10 each, in 15.
TEST(MemoryBooking, GoesOnWithWhatIsGivenBack) {
  const TaskTree tree(
      std::vector<Task>{{std::nullopt, 0, 0, 10, 1}, {std::nullopt, 0, 0, 10, 1}});
  const std::vector<TaskId> order = ids({0, 1});
  EXPECT_THROW(MemoryBooking(tree, order, 15), InvalidInput);
  MemoryBooking booking(tree, order, 15, MemoryBooking::Bound::kHoped);
  std::vector<TaskId> startable;
  booking.activate(startable);
  EXPECT_EQ(startable, ids({0}));
  EXPECT_EQ(booking.missing(), 0) << "one runs";
  EXPECT_FALSE(booking.give_back(task_id(1), 1, startable)) << "it waits";
  EXPECT_TRUE(booking.give_back(task_id(0), 1, startable));
  EXPECT_EQ(booking.booked_total(), 9);
  booking.complete(task_id(0), startable);
  EXPECT_EQ(booking.missing(), 4);
  EXPECT_FALSE(booking.give_back(task_id(0), 10, startable)) << "9 are left";
  EXPECT_FALSE(booking.give_back(task_id(0), -1, startable));
  EXPECT_TRUE(booking.give_back(task_id(0), 3, startable));
  EXPECT_EQ(booking.missing(), 1);
  EXPECT_EQ(startable, ids({0}));
  EXPECT_TRUE(booking.give_back(task_id(0), 1, startable));
  EXPECT_EQ(startable, ids({0, 1}));
  EXPECT_EQ(booking.booked_total(), 15);
  EXPECT_TRUE(booking.give_back(task_id(1), 10, startable));
  booking.complete(task_id(1), startable);
  EXPECT_EQ(booking.booked_total(), 5);
  EXPECT_EQ(booking.missing(), 0) << "all have ended";
}

// Runs a tree in a bound that may be below its peak: each task gives back, while it runs
// or when it has ended, so much of what it retains.
class HopefulExecution {
 public:
  HopefulExecution(const TaskTree& tree, const std::vector<TaskId>& order, Bytes bound,
                   std::mt19937& random)
      : tree_(tree),
        booking_(tree, order, bound, MemoryBooking::Bound::kHoped),
        random_(random),
        gone_(tree.size()) {
    for (std::size_t i = 0; i < tree.size(); ++i)
      gone_[i] = static_cast<Bytes>(
          random() % static_cast<std::uint64_t>(tree.retained_size(task_id(i)) + 1));
  }

  // Peak of the order where what is given back leaves as soon as its task has ended.
  [[nodiscard]] Bytes peak_of_order(const std::vector<TaskId>& order) const {
    Bytes now = 0, peak = 0;
    for (const TaskId task : order) {
      peak =
          std::max(peak, now + tree_.memory_requirement(task) - tree_.input_size(task));
      now += tree_.output_size(task) - tree_.input_size(task) +
             tree_.retained_size(task) - gone_[index(task)];
    }
    return peak;
  }

  // The first broken promise; "stands"; or nothing.
  std::string run(std::size_t workers) {
    std::vector<TaskId> startable, running;
    booking_.activate(startable);
    while (booking_.unfinished() > 0) {
      while (running.size() < workers && !startable.empty()) {
        running.push_back(take(startable));
        used_ +=
            tree_.memory_requirement(running.back()) - tree_.input_size(running.back());
      }
      if (used_ > booking_.booked_total()) return "more is used than booked";
      if (booking_.booked_total() > booking_.bound()) return "more is booked than bound";
      if (booking_.missing() > 0) return running.empty() ? "stands" : "one runs";
      if (running.empty()) return "deadlock";
      end(take(running), startable);
    }
    return booking_.missing() == 0 ? "" : "all have ended";
  }

 private:
  TaskId take(std::vector<TaskId>& from) {
    const std::size_t pick = random_() % from.size();
    const TaskId task = from[pick];
    from.erase(from.begin() + static_cast<std::ptrdiff_t>(pick));
    return task;
  }
  void end(TaskId task, std::vector<TaskId>& startable) {
    const bool early = random_() % 2 == 0;
    if (early) give_back(task, startable);
    used_ -= tree_.input_size(task) + tree_.execution_size(task);
    booking_.complete(task, startable);
    if (!early) give_back(task, startable);
  }
  void give_back(TaskId task, std::vector<TaskId>& startable) {
    used_ -= gone_[index(task)];
    EXPECT_TRUE(booking_.give_back(task, gone_[index(task)], startable));
    EXPECT_FALSE(booking_.give_back(
        task, tree_.retained_size(task) - gone_[index(task)] + 1, startable));
  }

  const TaskTree& tree_;
  MemoryBooking booking_;
  std::mt19937& random_;
  std::vector<Bytes> gone_;  // of each task
  Bytes used_ = 0;
};

TEST(MemoryBooking, StandsOnlyWhereTheOrderDoesNotFit) {
  std::mt19937 random(20261126);
  int stood = 0, fitted = 0;
  for (int round = 0; round < 30'000; ++round) {
    const TaskTree tree = random_tree(random, 1 + random() % 12);
    const std::vector<TaskId> order = random_order(tree, random);
    const Bytes peak = peak_of(tree, order);
    const Bytes bound =
        static_cast<Bytes>(random() % static_cast<std::uint64_t>(peak + 2));
    HopefulExecution execution(tree, order, bound, random);
    const std::string outcome = execution.run(1 + random() % 4);
    const bool fits = execution.peak_of_order(order) <= bound;
    if (outcome == "stands") {
      ++stood;
      ASSERT_FALSE(fits) << "round " << round << ", bound " << bound << "\n"
                         << describe(tree, order);
    } else {
      ASSERT_EQ(outcome, "") << "round " << round << ", bound " << bound << "\n"
                             << describe(tree, order);
      fitted += bound < peak ? 1 : 0;
    }
  }
  EXPECT_GT(stood, 1000);
  EXPECT_GT(fitted, 1000);
}

TEST(MemoryBooking, RefusesAnOrderThatDoesNotFit) {
  const TaskTree tree = worked_example();
  const std::vector<TaskId> order = ids({3, 4, 1, 5, 6, 2, 0});
  EXPECT_NO_THROW(MemoryBooking(tree, order, 15));
  EXPECT_THROW(MemoryBooking(tree, order, 14), InvalidInput);
  EXPECT_THROW(MemoryBooking(tree, ids({3, 4, 1}), 99), InvalidInput);
  EXPECT_THROW(MemoryBooking(tree, ids({3, 3, 1, 5, 6, 2, 0}), 99), InvalidInput);
  EXPECT_THROW(MemoryBooking(tree, ids({3, 1, 4, 5, 6, 2, 0}), 99), InvalidInput);
  EXPECT_THROW(MemoryBooking(tree, ids({3, 4, 9, 5, 6, 2, 0}), 99), InvalidInput);
}

TEST(MemoryBooking, FollowsTheWorkedTrace) {
  const TaskTree tree = worked_example();
  MemoryBooking booking(tree, ids({3, 4, 1, 5, 6, 2, 0}), 17);
  std::vector<TaskId> startable;
  booking.activate(startable);
  EXPECT_EQ(startable, ids({3, 4, 5}));
  EXPECT_EQ(booking.booked(task_id(1)), 4);
  EXPECT_EQ(booking.booked_total(), 17);
  EXPECT_FALSE(booking.activated(task_id(6)));
  startable.clear();
  booking.complete(task_id(3), startable);
  booking.complete(task_id(4), startable);
  EXPECT_EQ(startable, ids({1}));
  startable.clear();
  booking.complete(task_id(1), startable);
  EXPECT_EQ(startable, ids({6}));
  EXPECT_TRUE(booking.activated(task_id(0)));
  EXPECT_EQ(booking.booked(task_id(2)), 2);
  EXPECT_EQ(booking.booked_total(), 15);
}

TEST(MemoryBooking, AcceptsTheEmptyForest) {
  const TaskTree tree;
  MemoryBooking booking(tree, {}, 0);
  std::vector<TaskId> startable;
  booking.activate(startable);
  EXPECT_TRUE(startable.empty());
  EXPECT_EQ(booking.unfinished(), 0u);
}

TEST(MemoryBooking, HandlesSizesNearTheLimit) {
  const Bytes large = Bytes{1} << 61;
  const TaskTree tree(std::vector<Task>{{std::nullopt, 1, 0, 0, 1},
                                        {task_id(0), large, 0, 0, 1},
                                        {task_id(1), 3, large, 5, 1}});
  const std::vector<TaskId> order = ids({2, 1, 0});
  for (const Bytes bound : {peak_of(tree, order), std::numeric_limits<Bytes>::max()}) {
    std::mt19937 random(1);
    EXPECT_EQ(Execution(tree, order, bound, random).run(2), "");
  }
}

// Linear chains of completions: a walk to the root at each of them would take hours.
TEST(MemoryBooking, EndsOnAChainAndAStarOfAMillion) {
  for (const bool chain : {true, false}) {
    constexpr std::int32_t n = 1'000'000;
    std::vector<Task> tasks(n);
    for (std::int32_t i = 0; i < n; ++i) {
      if (i > 0) tasks[i].parent = task_id(chain ? i - 1 : 0);
      tasks[i].output_size = chain ? i + 1 : 1 + i % 7;  // each end frees a little
      tasks[i].execution_size = i % 5;
    }
    const TaskTree tree(tasks);
    const Bytes peak = peak_of(tree, tree.postorder());
    MemoryBooking booking(tree, tree.postorder(), 2 * peak);
    std::vector<TaskId> startable;
    booking.activate(startable);
    for (std::size_t next = 0; next < startable.size(); ++next) {
      booking.complete(startable[next], startable);
    }
    EXPECT_EQ(booking.unfinished(), 0u);
    EXPECT_LE(booking.booked_peak(), 2 * peak);
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier
