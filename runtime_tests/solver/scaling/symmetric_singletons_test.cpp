#include "solver/scaling/symmetric_singletons.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "solver/support/dense_rows.h"
#include "solver/support/identity.h"

namespace espalier::solver {
namespace TEST_SOURCE {

using Ints = std::vector<std::int32_t>;

// Any row with one entry left is taken, until there is none.
Ints partner_by_search(const DenseRows& a) {
  Ints partner = identity(a.size());
  for (bool again = true; again;) {
    again = false;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (partner[i] != static_cast<std::int32_t>(i) || a[i][i] != 0) continue;
      Ints left;
      for (std::size_t j = 0; j < a.size(); ++j)
        if (a[i][j] != 0 && partner[j] == static_cast<std::int32_t>(j))
          left.push_back(static_cast<std::int32_t>(j));
      if (left.empty()) return identity(a.size());
      if (left.size() > 1) continue;
      partner[i] = left[0];
      partner[left[0]] = static_cast<std::int32_t>(i);
      again = true;
    }
  }
  return partner;
}

DenseRows draw_matrix(std::mt19937& random, std::size_t size) {
  DenseRows a(size, std::vector<double>(size, 0.0));
  const auto place = [&] { return random() % size; };
  for (std::size_t k = 0; k < size + random() % size; ++k) {
    const std::size_t i = place(), j = place();
    a[i][j] = a[j][i] = std::uniform_real_distribution(-1.0, 1.0)(random);
  }
  return a;
}

TEST(SymmetricSingletons, TakesOnePairAfterTheOther) {
  const DenseRows a = {{4, 1, 2, 7}, {1, 0, 0, 0}, {2, 0, 0, 5}, {7, 0, 5, 3}};
  const SymmetricSingletons found = symmetric_singletons(sparse(a));
  EXPECT_EQ(found.partner, (Ints{1, 0, 3, 2}));
  EXPECT_EQ(found.row, (Ints{1, 2}));
}

TEST(SymmetricSingletons, AreThoseOfASearchOverAllRows) {
  std::mt19937 random(141);
  std::size_t pairs = 0, whole = 0;
  for (int turn = 0; turn < 4000; ++turn) {
    const DenseRows a = draw_matrix(random, 2 + turn % 11);
    const SymmetricSingletons found = symmetric_singletons(sparse(a));
    ASSERT_EQ(found.partner, partner_by_search(a)) << turn;
    pairs += found.row.size();
    whole += 2 * found.row.size() == a.size() ? 1 : 0;
  }
  EXPECT_GT(pairs, 1000U);
  EXPECT_GT(whole, 50U);
}

TEST(SymmetricSingletons, KeepZerosAndWhatIsNotFinite) {
  GeneralMatrix a = sparse({{4, 1}, {1, 0}});
  EXPECT_EQ(symmetric_singletons(a).row, Ints{1});
  for (const double value : {0.0, HUGE_VAL, std::nan("")}) {
    a.value[1] = a.value[2] = value;
    EXPECT_TRUE(symmetric_singletons(a).row.empty());
  }
  // A zero that is stored on the diagonal may be more in another matrix.
  EXPECT_TRUE(
      symmetric_singletons({2, {0, 2, 4}, {0, 1, 0, 1}, {4, 1, 1, 0}}).row.empty());
  EXPECT_TRUE(symmetric_singletons({0, {0}, {}, {}}).row.empty());
}

// No entry is above 1 and those of the pairs are 1, as they are after a matching.
TEST(SymmetricSingletons, AreScaledAsPairsOfAMatching) {
  std::mt19937 random(142);
  for (int turn = 0; turn < 2000; ++turn) {
    DenseRows a = draw_matrix(random, 2 + turn % 13);
    for (std::size_t i = 0; i < a.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        a[i][j] = a[j][i] = std::ldexp(a[i][j], static_cast<int>(random() % 40) - 39);
    const GeneralMatrix both = sparse(a);
    const SymmetricSingletons found = symmetric_singletons(both);
    std::vector<double> log(a.size(), 0.0);  // what is left has no entry above 1
    scale_singletons(both, found, log);
    for (std::size_t i = 0; i < a.size(); ++i)
      for (std::size_t j = 0; j < a.size(); ++j) {
        if (a[i][j] == 0) continue;
        const double scaled = log[i] + log[j] + std::log2(std::abs(a[i][j]));
        ASSERT_LE(scaled, 1e-9) << turn << ": " << i << ", " << j;
        if (i != j && found.partner[i] == static_cast<std::int32_t>(j)) {
          ASSERT_NEAR(scaled, 0, 1e-9) << turn << ": " << i << ", " << j;
        }
      }
  }
}

TEST(SymmetricSingletons, FollowAChainOfAHundredThousand) {
  constexpr std::int32_t kPairs = 100'000;  // row k has the columns k - 1 and k
  GeneralMatrix a{.size = 2 * kPairs, .column_start = {0}, .row = {}, .value = {}};
  for (std::int32_t j = 0; j < 2 * kPairs; ++j) {
    const bool row = j >= kPairs;
    const std::int32_t k = row ? j - kPairs : j;
    const Ints rows = row              ? (k > 0 ? Ints{k - 1, k} : Ints{k})
                      : k + 1 < kPairs ? Ints{kPairs + k, kPairs + k + 1}
                                       : Ints{kPairs + k};
    a.row.insert(a.row.end(), rows.begin(), rows.end());
    a.value.insert(a.value.end(), rows.size(), 1.0);
    a.column_start.push_back(std::ssize(a.row));
  }
  const SymmetricSingletons found = symmetric_singletons(a);
  ASSERT_EQ(std::ssize(found.row), kPairs);
  for (std::int32_t k = 0; k < kPairs; ++k) ASSERT_EQ(found.partner[k], kPairs + k);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
