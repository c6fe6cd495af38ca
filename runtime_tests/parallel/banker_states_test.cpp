// What becomes known of a datum late: that it is in memory, that it stays there.

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "espalier/parallel/banker.h"

namespace espalier {
namespace TEST_SOURCE {

using Datum = Banker::Datum;
using Op = Banker::Op;

void end(Banker& banker, Op op) {
  banker.end(op, [&](Datum datum) { banker.remove(datum); });
}

TEST(Banker, ADatumFoundInMemoryIsBookedBeforeItsTasksStart) {
  Banker banker(10);
  const Datum x = banker.add(4, false, true), y = banker.add(7, false, true);
  const Op write = banker.append({{x}}), other = banker.append({{y}});
  banker.find_allocated(x);
  banker.find_allocated(x);
  EXPECT_EQ(banker.booked(), 4);
  EXPECT_EQ(banker.missing(write), 0);
  EXPECT_FALSE(banker.try_start(other)) << "4 + 7";
  banker.release(x);
  EXPECT_TRUE(banker.try_start(write));
  end(banker, write);
  EXPECT_EQ(banker.booked(), 0);
  EXPECT_TRUE(banker.try_start(other));
}

TEST(Banker, ADatumThatIsKeptIsNotEvictedAnyMore) {
  Banker banker(10);
  const Datum x = banker.add(4, false, false), y = banker.add(7, false, false);
  const Op first = banker.append({{x}}), second = banker.append({{x}});
  const Op other = banker.append({{y}});
  banker.let_evict();
  EXPECT_TRUE(banker.try_start(first));
  banker.keep(x);
  end(banker, first);
  EXPECT_EQ(banker.booked(), 4) << "it stays after the task";
  EXPECT_FALSE(banker.try_start(other)) << "4 + 7";
  banker.release(x);
  EXPECT_TRUE(banker.try_start(second));
  end(banker, second);
  EXPECT_EQ(banker.booked(), 0);
  EXPECT_TRUE(banker.try_start(other));
}

// Random programs of which some data stay: said when they are added, or when all tasks
// have been appended and data are evicted already.
class KeptLate : public testing::TestWithParam<unsigned> {
 protected:
  static constexpr int kData = 6, kTasks = 12;
  std::mt19937 random_{GetParam()};
  Banker early_{12}, late_{12};
  std::vector<Op> waiting_, running_;

  std::size_t pick(std::size_t n) { return random_() % n; }
  void append_all() {
    std::vector<Datum> data, kept;
    for (int d = 0; d < kData; ++d) {
      const auto size = static_cast<Bytes>(1 + pick(4));
      const bool stays = pick(3) == 0;
      data.push_back(early_.add(size, false, stays));
      EXPECT_EQ(late_.add(size, false, false), data.back());
      if (stays) kept.push_back(data.back());
    }
    for (int t = 0; t < kTasks; ++t) {
      const std::size_t first = pick(kData), second = pick(kData);
      std::vector<Datum> used = {data[first]};
      if (second != first) used.push_back(data[second]);
      waiting_.push_back(early_.append(used));
      EXPECT_EQ(late_.append(used), waiting_.back());
    }
    early_.let_evict();
    late_.let_evict();
    for (const Datum datum : kept) late_.keep(datum);
  }
  void step() {
    if (running_.empty() || pick(2) == 0) {
      if (waiting_.empty()) return;
      const std::size_t i = pick(waiting_.size());
      const bool starts = early_.try_start(waiting_[i]);
      ASSERT_EQ(late_.try_start(waiting_[i]), starts);
      if (!starts) return;
      running_.push_back(waiting_[i]);
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      const std::size_t i = pick(running_.size());
      end(early_, running_[i]);
      end(late_, running_[i]);
      running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    ASSERT_EQ(late_.booked(), early_.booked());
    ASSERT_EQ(late_.base(), early_.base());
  }
};

TEST_P(KeptLate, AreTreatedAsIfTheyHadAlwaysStayed) {
  append_all();
  for (int i = 0; i < 200; ++i) step();
}
INSTANTIATE_TEST_SUITE_P(Banker, KeptLate, testing::Range(0U, 200U));

}  // namespace TEST_SOURCE
}  // namespace espalier
