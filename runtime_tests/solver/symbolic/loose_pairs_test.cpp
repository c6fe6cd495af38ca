#include "solver/symbolic/loose_pairs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "solver/matrix/permute.h"
#include "solver/ordering/ordering.h"

namespace espalier::solver {
namespace TEST_SOURCE {

// Variables with `strong` on the diagonal, then constraints with seven of them each, the
// first their own: it is the constraint's partner.
struct Programme {
  SymmetricMatrix matrix;
  std::vector<std::int32_t> partner;
  std::int32_t variables;
};

Programme programme(std::int32_t variables, std::int32_t constraints, double strong) {
  std::mt19937 random(147);
  Programme result{
      {.size = variables + constraints, .column_start = {0}, .row = {}, .value = {}},
      std::vector<std::int32_t>(variables + constraints),
      variables};
  std::vector<std::vector<std::int32_t>> column(variables);
  for (std::int32_t c = 0; c < constraints; ++c) {
    column[c].push_back(variables + c);
    for (int k = 0; k < 6; ++k) column[random() % variables].push_back(variables + c);
  }
  std::iota(result.partner.begin(), result.partner.end(), 0);
  for (std::int32_t c = 0; c < constraints; ++c) {
    result.partner[c] = variables + c;
    result.partner[variables + c] = c;
  }
  SymmetricMatrix& a = result.matrix;
  for (std::int32_t j = 0; j < a.size; ++j) {
    if (j < variables) {
      std::ranges::sort(column[j]);
      const auto repeated = std::ranges::unique(column[j]);
      column[j].erase(repeated.begin(), repeated.end());
      a.row.push_back(j);
      a.value.push_back(strong);
      a.row.insert(a.row.end(), column[j].begin(), column[j].end());
      a.value.insert(a.value.end(), column[j].size(), 1.0);
    }
    a.column_start.push_back(std::ssize(a.row));
  }
  return result;
}

// Pairs let go; of those, how many have their constraint before its variable.
std::pair<int, int> let_go(const Programme& given, const PairedOrder& found) {
  const std::vector<std::int32_t> place =
      inverse_permutation(found.eliminated.permutation);
  int gone = 0, wrong = 0;
  for (std::int32_t i = given.variables; i < given.matrix.size; ++i) {
    if (found.partner[i] != i) continue;
    ++gone;
    wrong += place[i] < place[given.partner[i]] ? 1 : 0;
  }
  return {gone, wrong};
}

GroupedPattern all_pairs(const SymmetricMatrix& matrix,
                         const std::vector<std::int32_t>& partner) {
  return GroupedPattern(matrix, partner, GroupedPattern::Equal::kJoined, {});
}

PairedOrder by_degree(const SymmetricMatrix& matrix,
                      const std::vector<std::int32_t>& partner) {
  return order_pairs_by_degree(matrix, partner, all_pairs(matrix, partner));
}

TEST(LoosePairs, AreLetGoWhereTheyMakeFill) {
  const Programme given = programme(4000, 1000, 0.5);
  const PairedOrder found = by_degree(given.matrix, given.partner);
  ASSERT_TRUE(found.settled);
  const auto [gone, wrong] = let_go(given, found);
  EXPECT_GT(gone, 500);
  EXPECT_LT(wrong, 20);
  for (std::size_t i = 0; i < found.partner.size(); ++i) {
    const std::int32_t other = found.partner[i];
    EXPECT_EQ(found.partner[other], static_cast<std::int32_t>(i));
    EXPECT_TRUE(other == static_cast<std::int32_t>(i) || other == given.partner[i]);
  }
  const Programme tight = programme(4000, 1000, 0.05);
  const std::vector<std::int32_t> all =
      compute_ordering(tight.matrix, OrderingKind::kAmd, tight.partner);
  EXPECT_LT(2 * found.eliminated.flops, elimination_order(tight.matrix, all).flops);
}

TEST(LoosePairs, StayWhereDiagonalsAreWeakOrFactorsCheap) {
  const Programme weak = programme(4000, 1000, 0.05);
  const PairedOrder all = by_degree(weak.matrix, weak.partner);
  EXPECT_FALSE(all.settled);
  EXPECT_EQ(all.partner, weak.partner);
  const Programme cheap = programme(60, 10, 0.5);
  const PairedOrder found = by_degree(cheap.matrix, cheap.partner);
  EXPECT_TRUE(found.settled);
  EXPECT_EQ(found.partner, cheap.partner);
}

// What is known of minimum degree need not be found out again.
TEST(LoosePairs, LeaveTheChoiceToWhatItWouldBeWithoutThem) {
  const Programme weak = programme(4000, 1000, 0.05);
  PairedOrder all = by_degree(weak.matrix, weak.partner);
  const Flops flops = all.eliminated.flops;
  const ChosenOrder known =
      choose_order(all_pairs(weak.matrix, weak.partner), std::move(all.eliminated), {});
  const ChosenOrder anew =
      choose_order(weak.matrix, OrderingKind::kAuto, weak.partner, {});
  EXPECT_EQ(known.kind, anew.kind);
  EXPECT_EQ(known.eliminated.permutation, anew.eliminated.permutation);
  EXPECT_EQ(known.eliminated.counts, anew.eliminated.counts);
  EXPECT_LE(known.eliminated.flops, flops);
}

TEST(LoosePairs, TakeMatricesOfOrderOneAndTwo) {
  const SymmetricMatrix pair{2, {0, 2, 2}, {0, 1}, {1, 1}};
  const std::vector<std::int32_t> partner = {1, 0};
  EXPECT_EQ(by_degree(pair, partner).partner, partner);
  const SymmetricMatrix one{1, {0, 1}, {0}, {1}};
  EXPECT_EQ(by_degree(one, std::vector<std::int32_t>{0}).partner.size(), 1U);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
