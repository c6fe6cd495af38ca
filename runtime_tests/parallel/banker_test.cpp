#include "espalier/parallel/banker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace espalier {
namespace TEST_SOURCE {

using Datum = Banker::Datum;
using Op = Banker::Op;

Op append(Banker& banker, std::vector<Datum> data) { return banker.append(data); }

void end(Banker& banker, Op op) {
  banker.end(op, [&](Datum datum) { banker.remove(datum); });
}

// Two pairs: 4 bytes written and read, then 3. Bound 6.
TEST(Banker, RefusesWhatTheRestCannotAfford) {
  Banker banker(6);
  const Datum x = banker.add(4, false, true), y = banker.add(3, false, true);
  const Op write_x = append(banker, {x}), read_x = append(banker, {x});
  const Op write_y = append(banker, {y}), read_y = append(banker, {y});
  banker.release(x);
  banker.release(y);
  EXPECT_FALSE(banker.try_start(write_y));  // it fits, but then x does not any more
  EXPECT_EQ(banker.booked_peak(), 0);
  EXPECT_TRUE(banker.try_start(write_x));
  EXPECT_FALSE(banker.try_start(write_y));  // 4 + 3
  end(banker, write_x);
  EXPECT_TRUE(banker.try_start(read_x));
  end(banker, read_x);
  EXPECT_EQ(banker.booked(), 0);
  EXPECT_TRUE(banker.try_start(write_y));
  end(banker, write_y);
  EXPECT_TRUE(banker.try_start(read_y));
  end(banker, read_y);
  EXPECT_EQ(banker.booked(), 0);
  EXPECT_EQ(banker.booked_peak(), 4);
}

// Beyond the horizon nothing starts; before it, what does not bring it nearer.
TEST(Banker, StaysBeforeTheHorizon) {
  Banker banker(10);
  const Datum small = banker.add(4, false, true), large = banker.add(8, false, true);
  const Op first = append(banker, {small}), beyond = append(banker, {large});
  EXPECT_FALSE(banker.try_start(beyond));
  EXPECT_TRUE(banker.try_start(first));
  EXPECT_FALSE(banker.try_start(beyond));
  banker.release(small);
  end(banker, first);
  EXPECT_TRUE(banker.try_start(beyond));
  EXPECT_EQ(banker.over_bound(), -2);
}

TEST(Banker, WithoutABoundNothingIsRefused) {
  Banker banker(Banker::kUnlimited);
  const Datum x = banker.add(5, false, true);
  const Op one = append(banker, {x}), two = append(banker, {x});
  EXPECT_TRUE(banker.try_start(two));
  EXPECT_TRUE(banker.try_start(one));
  EXPECT_EQ(banker.booked(), 5);
}

TEST(Banker, EvictedDataAreBookedWhileTasksRun) {
  Banker banker(10);
  const Datum a = banker.add(6, true, false), b = banker.add(6, false, false);
  const Op read_a = append(banker, {a}), write_b = append(banker, {b});
  EXPECT_FALSE(banker.try_start(write_b));
  banker.let_evict();
  EXPECT_EQ(banker.booked(), 0);
  EXPECT_TRUE(banker.try_start(write_b));
  EXPECT_FALSE(banker.try_start(read_a));
  end(banker, write_b);
  EXPECT_TRUE(banker.try_start(read_a));
  EXPECT_EQ(banker.booked(), 6);
}

TEST(Banker, ABoundThatMayBeExceededIsRaisedToWhatIsNeeded) {
  Banker banker(5);
  const Datum a = banker.add(4, false, true), b = banker.add(4, false, true);
  const Op first = append(banker, {a}), second = append(banker, {b});
  EXPECT_TRUE(banker.try_start(first));
  EXPECT_FALSE(banker.try_start(second));
  banker.let_exceed();
  EXPECT_TRUE(banker.try_start(second));
  EXPECT_EQ(banker.over_bound(), 3);
}

// --- Against the definition, worked out anew for each question.

struct Model {
  struct Item {
    Bytes size;
    bool released = false, booked = false, removed = false;
    int unended = 0;
  };
  struct Task {
    std::vector<std::size_t> data;
    bool started = false, ended = false;
  };
  Bytes bound;
  std::vector<Item> items;
  std::vector<Task> tasks;

  [[nodiscard]] Bytes booked() const {
    Bytes bytes = 0;
    for (const Item& item : items) bytes += item.booked ? item.size : 0;
    return bytes;
  }
  // First task in order at which following the order exceeds the bound.
  [[nodiscard]] std::size_t horizon() const {
    std::vector<bool> there(items.size()), used(items.size(), false);
    std::vector<std::size_t> last(items.size(), tasks.size());
    for (std::size_t t = 0; t < tasks.size(); ++t)
      if (!tasks[t].started)
        for (const std::size_t d : tasks[t].data) last[d] = t;
    Bytes memory = 0;
    for (std::size_t d = 0; d < items.size(); ++d) {
      const bool leaves = items[d].released && last[d] == tasks.size();
      there[d] = items[d].booked;
      if (there[d] && !leaves) memory += items[d].size;
    }
    for (std::size_t t = 0; t < tasks.size(); ++t) {
      if (tasks[t].started) continue;
      for (const std::size_t d : tasks[t].data)
        if (!there[d]) {
          there[d] = true;
          memory += items[d].size;
        }
      if (memory > bound) return t;
      for (const std::size_t d : tasks[t].data)
        if (items[d].released && last[d] == t) memory -= items[d].size;
    }
    return tasks.size();
  }
  void start(std::size_t t) {
    tasks[t].started = true;
    for (const std::size_t d : tasks[t].data) items[d].booked = true;
  }
  [[nodiscard]] bool may_start(std::size_t t) const {
    Bytes more = 0;
    for (const std::size_t d : tasks[t].data) more += items[d].booked ? 0 : items[d].size;
    if (more == 0) return true;
    if (booked() + more > bound) return false;
    const std::size_t before = horizon();
    if (before <= t) return false;
    Model then = *this;
    then.start(t);
    return then.horizon() >= before;
  }
  [[nodiscard]] std::string text() const {
    std::ostringstream out;
    out << "bound " << bound << "; data";
    for (const Item& item : items)
      out << ' ' << item.size << (item.released ? "r" : "") << (item.booked ? "b" : "");
    out << "; tasks";
    for (const Task& task : tasks) {
      out << " (";
      for (const std::size_t d : task.data) out << ' ' << d;
      out << (task.ended ? " ended)" : task.started ? " started)" : " )");
    }
    return out.str();
  }
};

class Twins {
 public:
  explicit Twins(std::mt19937& random)
      : random_(random),
        model_{static_cast<Bytes>(5 + below(20)), {}, {}},
        banker_(model_.bound) {}

  void step() {
    switch (below(6)) {
      case 0:
        return add();
      case 1:
      case 2:
        return append();
      case 3:
        return release();
      case 4:
        return start();
      default:
        return end();
    }
  }
  void compare() const {
    ASSERT_EQ(banker_.booked(), model_.booked()) << model_.text();
    ASSERT_LE(banker_.booked(), model_.bound) << model_.text();
    for (std::size_t t = 0; t < ops_.size(); ++t) {
      if (model_.tasks[t].ended) continue;
      ASSERT_EQ(banker_.started(ops_[t]), model_.tasks[t].started);
    }
  }

 private:
  std::size_t below(std::size_t n) { return random_() % n; }
  void add() {
    const auto size = static_cast<Bytes>(below(8));
    const bool there = below(5) == 0 && model_.booked() + size <= model_.bound;
    model_.items.push_back({size, false, there});
    data_.push_back(banker_.add(size, there, true));
  }
  void append() {
    Model::Task task;
    std::vector<Datum> data;
    for (std::size_t d = 0; d < data_.size(); ++d) {
      if (model_.items[d].released || below(4) != 0) continue;
      task.data.push_back(d);
      data.push_back(data_[d]);
      ++model_.items[d].unended;
    }
    if (data.empty()) return;
    model_.tasks.push_back(task);
    ops_.push_back(banker_.append(data));
  }
  void release() {
    if (data_.empty()) return;
    const std::size_t d = below(data_.size());
    if (model_.items[d].released) return;
    model_.items[d].released = true;
    banker_.release(data_[d]);
    if (model_.items[d].unended == 0) remove(d);
  }
  void start() {
    if (ops_.empty()) return;
    const std::size_t t = below(ops_.size());
    if (model_.tasks[t].started) return;
    const std::string text = model_.text();
    const bool may = model_.may_start(t);
    ASSERT_EQ(banker_.try_start(ops_[t]), may) << text << ", task " << t;
    if (may) model_.start(t);
  }
  void end() {
    if (ops_.empty()) return;
    const std::size_t t = below(ops_.size());
    Model::Task& task = model_.tasks[t];
    if (!task.started || task.ended) return;
    task.ended = true;
    std::vector<Datum> done, expected;
    banker_.end(ops_[t], [&](Datum datum) { done.push_back(datum); });
    for (const std::size_t d : task.data)
      if (--model_.items[d].unended == 0 && model_.items[d].released)
        expected.push_back(data_[d]);
    std::sort(done.begin(), done.end());
    std::sort(expected.begin(), expected.end());
    ASSERT_EQ(done, expected) << model_.text();
    for (const std::size_t d : task.data)
      if (model_.items[d].unended == 0 && model_.items[d].released) remove(d);
  }
  // Indices are used again, so that the model's goes.
  void remove(std::size_t d) {
    banker_.remove(data_[d]);
    model_.items[d].booked = false;
    model_.items[d].removed = true;
  }

  std::mt19937& random_;
  Model model_;
  Banker banker_;
  std::vector<Datum> data_;
  std::vector<Op> ops_;
};

TEST(Banker, IsTheDefinitionOnRandomPrograms) {
  std::mt19937 random(29);
  for (int round = 0; round < 3000 && !HasFatalFailure(); ++round) {
    Twins twins(random);
    for (int step = 0; step < 60 && !HasFatalFailure(); ++step) {
      twins.step();
      twins.compare();
    }
  }
}

TEST(Banker, HoldsSizesNearTheLimit) {
  constexpr Bytes kHuge = Banker::kUnlimited - 2;
  Banker banker(kHuge);
  const Datum large = banker.add(kHuge - 1, false, true),
              small = banker.add(2, false, true);
  const Op first = append(banker, {large}), second = append(banker, {small});
  EXPECT_TRUE(banker.try_start(first));
  EXPECT_FALSE(banker.try_start(second));
  banker.release(large);
  end(banker, first);
  EXPECT_TRUE(banker.try_start(second));
}

}  // namespace TEST_SOURCE
}  // namespace espalier
