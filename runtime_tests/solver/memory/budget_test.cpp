#include "solver/memory/budget.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "solver/memory/process_memory.h"

namespace espalier::solver {
namespace TEST_SOURCE {

using namespace std::chrono_literals;

constexpr Bytes kMiB = Bytes{1} << 20;
// By which readings of what is resident differ.
constexpr Bytes kNoise = 3 * kMiB;
void expect_near(Bytes value, Bytes expected) {
  EXPECT_GE(value, expected - kNoise);
  EXPECT_LE(value, expected + kNoise);
}

std::shared_ptr<Budget> budget_beyond_now(Bytes bytes) {
  trim_heap();
  return Budget::create(resident_bytes() + bytes);
}

// 100 MiB less the 2 that are kept: 98 are left.
TEST(Budget, GivesOutWhatIsLeftAndNoMore) {
  const auto budget = budget_beyond_now(100 * kMiB);
  expect_near(budget->left(), 98 * kMiB);
  const auto first = budget->take(40 * kMiB, 40 * kMiB);
  ASSERT_TRUE(first);
  EXPECT_EQ((*first)->bytes(), 40 * kMiB);
  const auto second = budget->take(10 * kMiB, 30 * kMiB);
  ASSERT_TRUE(second);
  EXPECT_EQ((*second)->bytes(), 30 * kMiB);
  EXPECT_EQ(budget->leased(), 70 * kMiB);

  const auto refused = budget->take(40 * kMiB, 40 * kMiB);
  ASSERT_FALSE(refused);
  const LeaseRefused& why = refused.error();
  EXPECT_EQ(why.budget, budget->bytes());
  EXPECT_EQ(why.asked, 40 * kMiB);
  EXPECT_EQ(why.leased, 70 * kMiB);
  EXPECT_EQ(why.sufficient, why.beside + why.leased + why.asked + counted_late());
  expect_near(why.sufficient, budget->bytes() + 12 * kMiB);
  EXPECT_NE(why.message().find("would do"), std::string::npos);

  const auto rest = budget->take(10 * kMiB, 1000 * kMiB);
  ASSERT_TRUE(rest);
  expect_near((*rest)->bytes(), 28 * kMiB);
}

TEST(Budget, HasBackWhatIsGivenBack) {
  const auto budget = budget_beyond_now(60 * kMiB);
  { ASSERT_TRUE(budget->take(50 * kMiB, 50 * kMiB)); }
  EXPECT_EQ(budget->leased(), 0);
  EXPECT_TRUE(budget->take(50 * kMiB, 50 * kMiB));
}

TEST(Budget, CountsWhatAHolderTellsOnce) {
  const auto budget = budget_beyond_now(200 * kMiB);
  const auto lease = budget->take(80 * kMiB, 80 * kMiB);
  ASSERT_TRUE(lease);
  const Bytes before = budget->left();
  {
    const PageBuffer told(60 * kMiB, &(*lease)->held());
    expect_near(budget->left(), before);
    (*lease)->hold(0);
    expect_near(budget->left(), before - 60 * kMiB);  // twice
    (*lease)->hold(told.size());
  }
  EXPECT_EQ((*lease)->held().now(), 0);
  expect_near(budget->left(), before);
}

TEST(Budget, SeesWhatTheProgramTakesBesideIt) {
  const auto budget = budget_beyond_now(100 * kMiB);
  const PageBuffer beside(70 * kMiB);
  EXPECT_FALSE(budget->take(40 * kMiB, 40 * kMiB));
  EXPECT_TRUE(budget->take(20 * kMiB, 20 * kMiB));
}

TEST(Budget, WaitsForOthersAsLongAsThereAreAny) {
  const auto budget = budget_beyond_now(50 * kMiB);
  // Nobody could give anything back: refused at once.
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(budget->take(60 * kMiB, 60 * kMiB, 1h));
  EXPECT_LT(std::chrono::steady_clock::now() - start, 1min);

  auto first = budget->take(30 * kMiB, 30 * kMiB);
  ASSERT_TRUE(first);
  EXPECT_FALSE(budget->take(30 * kMiB, 30 * kMiB, 30ms));
  std::atomic<bool> given_back = false;
  const std::jthread other([&] {
    std::this_thread::sleep_for(50ms);
    given_back = true;
    first->reset();
  });
  EXPECT_TRUE(budget->take(30 * kMiB, 30 * kMiB, 1min));
  EXPECT_TRUE(given_back);
}

TEST(Budget, RefusesWhatCannotBe) {
  EXPECT_THROW((void)Budget::create(0), InvalidInput);
  EXPECT_THROW((void)Budget::create(-1), InvalidInput);
  const auto budget = budget_beyond_now(50 * kMiB);
  EXPECT_THROW((void)budget->take(-1, 5), InvalidInput);
  EXPECT_THROW((void)budget->take(5, 4), InvalidInput);
  EXPECT_TRUE(budget->take(0, 0));
}

// Threads that take leases of any size and fill them, some telling and some not.
TEST(Budget, IsNeverExceededByThoseWhoKeepToTheirLeases) {
  keep_heap_small();
  const auto budget = budget_beyond_now(64 * kMiB);
  std::atomic<bool> done = false;
  std::atomic<Bytes> most = 0;
  std::atomic<int> granted = 0, refused = 0;
  std::jthread watch([&] {
    while (!done) {
      const Bytes now = resident_bytes();
      if (now > most) most = now;
      std::this_thread::sleep_for(500us);
    }
  });
  {
    std::vector<std::jthread> holders;
    for (unsigned seed = 0; seed < 6; ++seed)
      holders.emplace_back([&, seed] {
        std::mt19937 random(seed);
        const auto draw = [&](int last) {
          return std::uniform_int_distribution<int>(0, last)(random);
        };
        for (int round = 0; round < 40; ++round) {
          const Bytes wanted = kMiB * (1 + draw(30));
          const auto lease = budget->take(wanted / 2, wanted, draw(1) == 0 ? 0ms : 20ms);
          if (!lease) {
            ++refused;
            continue;
          }
          ++granted;
          std::optional<PageBuffer> memory;
          const bool tells = draw(1) == 0;
          memory.emplace((*lease)->bytes(), tells ? &(*lease)->held() : nullptr);
          std::this_thread::sleep_for(std::chrono::microseconds(draw(2000)));
        }
      });
  }
  done = true;
  watch.join();
  EXPECT_LE(most.load(), budget->bytes());
  EXPECT_GT(granted, 20);
  EXPECT_GT(refused, 0);
  EXPECT_EQ(budget->leased(), 0);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
