#include "solver/ordering/ordering.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <thread>

#include "espalier/model/error.h"
#include "solver/matrix/grid.h"
#include "solver/matrix/permute.h"
#include "solver/support/random_matrices.h"
#include "solver/symbolic/analyse.h"

namespace espalier::solver {
namespace TEST_SOURCE {

// An involution.
std::vector<std::int32_t> random_partners(std::mt19937& random, std::int32_t size) {
  std::vector<std::int32_t> order(size), partner(size);
  std::iota(order.begin(), order.end(), 0);
  std::iota(partner.begin(), partner.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  for (std::int32_t k = 0; k + 1 < size / 2; k += 2) {
    std::swap(partner[order[k]], partner[order[k + 1]]);
  }
  return partner;
}

class Ordering : public testing::TestWithParam<OrderingKind> {
 protected:
  void SetUp() override {
    if (!available(GetParam())) GTEST_SKIP() << "not in this build";
  }
  void expect_permutation(const SymmetricMatrix& matrix) {
    std::vector<std::int32_t> order = compute_ordering(matrix, GetParam());
    std::sort(order.begin(), order.end());
    std::vector<std::int32_t> all(matrix.size);
    std::iota(all.begin(), all.end(), 0);
    ASSERT_EQ(order, all) << describe(matrix);
  }
};

TEST_P(Ordering, IsAPermutationOfSmallMatrices) {
  std::mt19937 random(4);
  for (int instance = 0; instance < 500; ++instance) {
    expect_permutation(random_matrix(random, 30));
  }
}

TEST_P(Ordering, TakesEmptyAndDiagonalMatrices) {
  expect_permutation({0, {0}, {}, {}});
  expect_permutation({1, {0, 1}, {0}, {1.0}});
  expect_permutation({3, {0, 0, 0, 0}, {}, {}});
  expect_permutation({3, {0, 1, 2, 3}, {0, 1, 2}, {1, 1, 1}});
}

TEST_P(Ordering, IsTheSameInEveryRun) {
  const SymmetricMatrix grid = make_grid({20, 20, 3});
  EXPECT_EQ(compute_ordering(grid, GetParam()), compute_ordering(grid, GetParam()));
}

// Libraries that draw random numbers share them among threads.
TEST_P(Ordering, IsTheSameInSeveralThreads) {
  const SymmetricMatrix grids[] = {make_grid({12, 11, 10}), make_grid({50, 40, 1})};
  const std::vector<std::int32_t> alone[] = {compute_ordering(grids[0], GetParam()),
                                             compute_ordering(grids[1], GetParam())};
  std::atomic<int> different = 0;
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, which = thread % 2] {
      for (int round = 0; round < 4; ++round)
        if (compute_ordering(grids[which], GetParam()) != alone[which]) ++different;
    });
  threads.clear();
  EXPECT_EQ(different, 0);
}

TEST_P(Ordering, KeepsTheFactorOfAGridSparse) {
  if (GetParam() == OrderingKind::kNatural) GTEST_SKIP() << "does not reduce fill";
  const SymmetricMatrix grid = make_grid({60, 60, 1});
  EXPECT_LT(analyse_pattern(grid, {GetParam(), {}}).factor_entries, 85'000);
  EXPECT_GT(analyse_pattern(grid, {OrderingKind::kNatural, {}}).factor_entries, 200'000);
}

INSTANTIATE_TEST_SUITE_P(Libraries, Ordering,
                         testing::Values(OrderingKind::kNested, OrderingKind::kMetis,
                                         OrderingKind::kScotch, OrderingKind::kAmd,
                                         OrderingKind::kNatural, OrderingKind::kAuto),
                         [](const auto& each) { return std::string(name(each.param)); });

TEST_P(Ordering, KeepsPartnersTogether) {
  std::mt19937 random(6);
  for (int instance = 0; instance < 300; ++instance) {
    const SymmetricMatrix matrix = random_matrix(random, 30);
    const std::vector<std::int32_t> partner = random_partners(random, matrix.size);
    const auto order = compute_ordering(matrix, GetParam(), partner);
    ASSERT_EQ(order.size(), partner.size());
    const std::vector<std::int32_t> place = inverse_permutation(order);
    for (std::int32_t k = 0; k < matrix.size && !matrix.row.empty(); ++k) {
      ASSERT_EQ(order[place[k]], k);
      ASSERT_LE(std::abs(place[k] - place[partner[k]]), 1) << describe(matrix);
    }
  }
}

// Three unknowns a point, as in elasticity.
TEST_P(Ordering, OrdersEqualColumnsWellWhetherCompressedOrNot) {
  if (GetParam() == OrderingKind::kNatural) GTEST_SKIP() << "does not reduce fill";
  const SymmetricMatrix points = make_grid({12, 12, 12});
  SymmetricMatrix triple;
  triple.size = 3 * points.size;
  triple.column_start.assign(1, 0);
  for (std::int32_t column = 0; column < triple.size; ++column) {
    for (auto at = points.column_start[column / 3];
         at < points.column_start[column / 3 + 1]; ++at) {
      for (std::int32_t row = 3 * points.row[at]; row < 3 * points.row[at] + 3; ++row) {
        if (row >= column) triple.row.push_back(row);
      }
    }
    triple.column_start.push_back(static_cast<std::int64_t>(triple.row.size()));
  }
  const auto entries = [this](const SymmetricMatrix& matrix) {
    return static_cast<double>(analyse_pattern(matrix, {GetParam(), {}}).factor_entries);
  };
  EXPECT_LT(entries(triple), 9 * 1.15 * entries(points));
}

TEST(AutomaticOrdering, NeedsNoMoreOperationsThanEither) {
  for (const GridShape& shape :
       {GridShape{90, 90, 1}, GridShape{14, 14, 14}, GridShape{3000, 1, 1}}) {
    const SymmetricMatrix grid = make_grid(shape);
    const double least = analyse_pattern(grid, {OrderingKind::kAuto, {}}).factor_flops;
    const bool with_metis = available(OrderingKind::kMetis);
    for (auto kind : {with_metis ? OrderingKind::kMetis : OrderingKind::kNested,
                      OrderingKind::kAmd}) {
      if (!available(kind)) continue;
      const double other = analyse_pattern(grid, {kind, {}}).factor_flops;
      // It may stop at minimum degree when the whole factor is cheaper than another
      // ordering.
      EXPECT_LE(least, std::max(other, 8000.0 * static_cast<double>(grid.row.size())));
    }
  }
}

// Both have more than 40 000 operations an entry by minimum degree: a cube of 32 768
// columns, and a random graph of 9500.
TEST(AutomaticOrdering, TakesOurDissectionFromTenThousandColumnsOn) {
  const SymmetricMatrix cube = make_grid({32, 32, 32});
  EXPECT_EQ(choose_ordering(cube, OrderingKind::kAuto).kind, OrderingKind::kNested);
  if (!available(OrderingKind::kMetis)) return;
  std::mt19937 random(266);
  SymmetricMatrix graph;
  graph.size = 9500;
  graph.column_start.push_back(0);
  for (std::int32_t j = 0; j < graph.size; ++j) {
    std::set<std::int32_t> rows = {j};
    for (int k = 0; k < 2; ++k)
      rows.insert(j + static_cast<std::int32_t>(random() % (graph.size - j)));
    graph.row.insert(graph.row.end(), rows.begin(), rows.end());
    graph.column_start.push_back(std::ssize(graph.row));
  }
  const double by_degree = analyse_pattern(graph, {OrderingKind::kAmd, {}}).factor_flops;
  ASSERT_GT(by_degree, 40'000.0 * static_cast<double>(graph.row.size()));
  EXPECT_NE(choose_ordering(graph, OrderingKind::kAuto).kind, OrderingKind::kNested);
}

TEST(OrderingNames, ReadBackAndRefuseOthers) {
  for (const char* text : {"nd", "metis", "scotch", "amd", "natural", "auto"}) {
    EXPECT_EQ(name(parse_ordering(text)), text);
  }
  EXPECT_THROW((void)parse_ordering("Metis"), InvalidInput);
  EXPECT_THROW((void)parse_ordering(""), InvalidInput);
}

TEST(OrderingNames, NameThePackageThatIsMissing) {
  for (auto kind : {OrderingKind::kMetis, OrderingKind::kScotch}) {
    if (available(kind)) continue;
    try {
      (void)compute_ordering(make_grid({2, 2, 1}), kind);
      FAIL() << name(kind);
    } catch (const InvalidInput& error) {
      EXPECT_NE(std::string(error.what()).find("Debian: lib"), std::string::npos);
    }
  }
  EXPECT_TRUE(available(OrderingKind::kNested));
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
