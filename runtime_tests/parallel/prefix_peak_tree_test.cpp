#include "espalier/parallel/prefix_peak_tree.h"

#include <gtest/gtest.h>

#include <list>
#include <random>
#include <unordered_map>
#include <utility>
#include <vector>

namespace espalier {
namespace TEST_SOURCE {

// The same tasks in a list, scanned.
class Scan {
 public:
  struct Task {
    std::uint32_t id;
    Bytes alloc, free;
  };

  [[nodiscard]] std::optional<std::uint32_t> first_above(Bytes limit) const {
    Bytes memory = 0;
    for (const Task& task : tasks) {
      if (memory + task.alloc > limit) return task.id;
      memory += task.alloc - task.free;
    }
    return std::nullopt;
  }
  [[nodiscard]] Bytes peak() const {
    Bytes memory = 0, peak = 0;
    for (const Task& task : tasks) {
      peak = std::max(peak, memory + task.alloc);
      memory += task.alloc - task.free;
    }
    return peak;
  }

  std::list<Task> tasks;
};

// Both, kept in step, with the tree's places followed through closing up.
class Pair {
 public:
  Pair()
      : tree_([this](std::uint32_t task, PrefixPeakTree::Place place) {
          places_[task] = place;
        }) {}

  void assign(std::uint32_t tasks, std::mt19937& random) {
    std::vector<PrefixPeakTree::Entry> entries;
    for (; next_ < tasks; ++next_) {
      entries.push_back(
          {static_cast<Bytes>(random() % 20), static_cast<Bytes>(random() % 20)});
      scan_.tasks.push_back({next_, entries.back().alloc, entries.back().free});
      places_[next_] = next_;
    }
    tree_.assign(std::move(entries));
  }
  void append(std::mt19937& random) {
    const std::uint32_t id = next_++;
    places_[id] = tree_.append(id);
    scan_.tasks.push_back({id, 0, 0});
    change(std::prev(scan_.tasks.end()), random);
  }
  void change(std::mt19937& random) { change(any(random), random); }
  void remove(std::mt19937& random) {
    const auto task = any(random);
    tree_.remove(places_[task->id]);
    if (random() % 3 == 0) {
      compare_without(task, random);
      tree_.restore(places_[task->id]);
      return;
    }
    places_.erase(task->id);
    scan_.tasks.erase(task);
  }

  [[nodiscard]] bool empty() const { return scan_.tasks.empty(); }

  void compare(std::mt19937& random) {
    ASSERT_EQ(tree_.size(), scan_.tasks.size());
    const Bytes peak = scan_.peak();
    ASSERT_EQ(tree_.peak(), peak);
    const auto first = tree_.first();
    ASSERT_EQ(first.has_value(), !scan_.tasks.empty());
    if (first) {
      ASSERT_EQ(*first, places_[scan_.tasks.front().id]);
    }
    for (const Bytes limit :
         {Bytes{-1}, Bytes{0}, peak, peak - 1, static_cast<Bytes>(random() % 200) - 50})
      compare_at(limit);
  }

 private:
  using Position = std::list<Scan::Task>::iterator;

  Position any(std::mt19937& random) {
    // Near an end or anywhere.
    const std::size_t size = scan_.tasks.size();
    const std::size_t i =
        random() % (random() % 2 == 0 ? std::min<std::size_t>(size, 4) : size);
    return std::next(scan_.tasks.begin(), static_cast<std::ptrdiff_t>(i));
  }
  void change(Position task, std::mt19937& random) {
    const Bytes alloc = static_cast<Bytes>(random() % 20), free = random() % 20;
    tree_.change(places_[task->id], alloc - task->alloc, free - task->free);
    task->alloc = alloc;
    task->free = free;
  }
  void compare_at(Bytes limit) {
    const auto found = tree_.first_above(limit);
    const auto expected = scan_.first_above(limit);
    ASSERT_EQ(found.has_value(), expected.has_value()) << "limit " << limit;
    if (found) {
      ASSERT_EQ(*found, places_[*expected]) << "limit " << limit;
    }
  }
  void compare_without(Position task, std::mt19937& random) {
    std::list<Scan::Task> aside;
    const auto next = std::next(task);
    aside.splice(aside.begin(), scan_.tasks, task);
    compare(random);
    scan_.tasks.splice(next, aside);
  }

  PrefixPeakTree tree_;
  Scan scan_;
  std::unordered_map<std::uint32_t, PrefixPeakTree::Place> places_;
  std::uint32_t next_ = 0;
};

TEST(PrefixPeakTree, MatchesAScan) {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    Pair pair;
    if (seed % 3 == 0) pair.assign(seed, random);
    // Growing, shrinking and of one size, so that it closes up in every state.
    const unsigned appends = 1 + seed % 5;
    for (int i = 0; i < 600; ++i) {
      const unsigned choice = random() % 8;
      if (pair.empty() || choice < appends)
        pair.append(random);
      else if (choice < 6)
        pair.remove(random);
      else
        pair.change(random);
      pair.compare(random);
      if (HasFatalFailure()) return;
    }
  }
}

// Three tasks: 5 bytes that stay, 3 for a moment, 4 that replace the 5.
TEST(PrefixPeakTree, FollowsMemoryAlongThreeTasks) {
  PrefixPeakTree tree([](std::uint32_t, PrefixPeakTree::Place) {});
  EXPECT_EQ(tree.peak(), 0);
  EXPECT_EQ(tree.first(), std::nullopt);
  EXPECT_EQ(tree.first_above(-1), std::nullopt);
  const auto a = tree.append(0), b = tree.append(1), c = tree.append(2);
  tree.change(a, 5, 0);
  tree.change(b, 3, 3);
  tree.change(c, 4, 5);
  EXPECT_EQ(tree.peak(), 9);  // 5, 5+3, 5+4
  EXPECT_EQ(tree.first_above(9), std::nullopt);
  EXPECT_EQ(tree.first_above(8), c);
  EXPECT_EQ(tree.first_above(7), b);
  EXPECT_EQ(tree.first_above(4), a);
  tree.remove(a);
  EXPECT_EQ(tree.peak(), 4);
  EXPECT_EQ(tree.first(), b);
  tree.restore(a);
  EXPECT_EQ(tree.peak(), 9);
}

// In the order of submission, thousands at a time, as tasks pass through a window.
TEST(PrefixPeakTree, KeepsItsSizeWhileAMillionTasksPass) {
  constexpr std::uint32_t kTasks = 1'000'000, kWindow = 1000;
  std::vector<PrefixPeakTree::Place> places(kTasks);
  PrefixPeakTree tree([&places](std::uint32_t task, PrefixPeakTree::Place place) {
    places[task] = place;
  });
  PrefixPeakTree::Place last = 0;
  for (std::uint32_t i = 0; i < kTasks; ++i) {
    places[i] = tree.append(i);
    last = std::max(last, places[i]);
    tree.change(places[i], 2, 2);
    if (i >= kWindow) tree.remove(places[i - kWindow]);
  }
  EXPECT_EQ(tree.size(), kWindow);
  EXPECT_EQ(tree.peak(), 2);
  EXPECT_LT(last, 4 * kWindow);
}

TEST(PrefixPeakTree, HoldsAMillionTasksAndLetsThemGoFromAnywhere) {
  constexpr std::uint32_t kTasks = 1'000'000;
  std::vector<PrefixPeakTree::Place> places(kTasks);
  PrefixPeakTree tree([&places](std::uint32_t task, PrefixPeakTree::Place place) {
    places[task] = place;
  });
  for (std::uint32_t i = 0; i < kTasks; ++i) {
    places[i] = tree.append(i);
    tree.change(places[i], 1, 0);
  }
  EXPECT_EQ(tree.peak(), kTasks);
  EXPECT_EQ(tree.first_above(kTasks - 1), places[kTasks - 1]);
  EXPECT_EQ(tree.first_above(700'000), places[700'000]);
  for (std::uint32_t i = 0; i < kTasks; i += 2) tree.remove(places[i]);
  EXPECT_EQ(tree.peak(), kTasks / 2);
  EXPECT_EQ(tree.first_above(0), places[1]);
  for (std::uint32_t i = kTasks - 1; i < kTasks; i -= 2) tree.remove(places[i]);
  EXPECT_EQ(tree.size(), 0U);
  EXPECT_EQ(tree.peak(), 0);
  EXPECT_EQ(tree.first_above(-1), std::nullopt);
}

// Prefixes far below zero and peaks near the largest sum that the gate allows.
TEST(PrefixPeakTree, IsExactForSizesNear2To62) {
  constexpr Bytes kLarge = (Bytes{1} << 62) - 1;
  PrefixPeakTree tree([](std::uint32_t, PrefixPeakTree::Place) {});
  std::vector<PrefixPeakTree::Place> places;
  for (std::uint32_t i = 0; i < 100; ++i) places.push_back(tree.append(i));
  tree.change(places[3], 0, kLarge);  // frees what was there before
  tree.change(places[50], kLarge, 0);
  EXPECT_EQ(tree.peak(), 0);
  EXPECT_EQ(tree.first_above(0), std::nullopt);
  EXPECT_EQ(tree.first_above(-1), places[0]);
  tree.remove(places[3]);
  EXPECT_EQ(tree.peak(), kLarge);
  EXPECT_EQ(tree.first_above(kLarge), std::nullopt);
  EXPECT_EQ(tree.first_above(kLarge - 1), places[50]);
}

}  // namespace TEST_SOURCE
}  // namespace espalier
