#include "policy/core/held_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace espalier::policy {
namespace TEST_SOURCE {

using Op = HeldQueue::Op;

TEST(HeldQueue, GivesTheFirstSubmittedFirst) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::uint32_t> numbers(1 + random() % 20);
    for (std::uint32_t& number : numbers) number = static_cast<std::uint32_t>(random());
    HeldQueue queue;
    for (const std::uint32_t number : numbers) queue.hold(Op{number ^ 1}, number);
    std::sort(numbers.begin(), numbers.end());
    EXPECT_EQ(queue.size(), numbers.size());
    for (const std::uint32_t number : numbers) {
      EXPECT_EQ(queue.first(), Op{number ^ 1});
      EXPECT_EQ(queue.take_first(), Op{number ^ 1});
    }
    EXPECT_TRUE(queue.empty());
  }
}

TEST(HeldQueue, SumsTheirWaiting) {
  HeldQueue queue;
  queue.count_to(10);
  queue.hold(Op{1}, 1);
  queue.count_to(12);
  queue.hold(Op{2}, 2);
  queue.count_to(13);
  queue.take_first();
  queue.count_to(17);
  queue.take_first();
  queue.count_to(100);
  EXPECT_EQ(queue.waited(), 2 + 2 * 1 + 4);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::policy
