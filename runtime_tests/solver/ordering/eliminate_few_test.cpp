#include "solver/ordering/eliminate_few.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "solver/matrix/grid.h"

namespace espalier::solver {
namespace TEST_SOURCE {

using Edges = std::vector<std::pair<std::int32_t, std::int32_t>>;
using Neighbours = std::vector<std::set<std::int32_t>>;

// The pattern of its lower triangle, a diagonal entry first.
SymmetricMatrix matrix_of(std::int32_t size, const Edges& edges) {
  std::vector<std::set<std::int32_t>> rows(static_cast<std::size_t>(size));
  for (const auto& [i, j] : edges) rows[std::min(i, j)].insert(std::max(i, j));
  SymmetricMatrix a{size, {0}, {}, {}};
  for (std::int32_t j = 0; j < size; ++j) {
    a.row.push_back(j);
    a.row.insert(a.row.end(), rows[j].begin(), rows[j].end());
    a.column_start.push_back(std::ssize(a.row));
  }
  a.value.assign(a.row.size(), 1);
  return a;
}

SymmetricMatrix random_graph(std::mt19937& random, std::int32_t size, double edges_each) {
  Edges edges;
  std::uniform_int_distribution<std::int32_t> vertex(0, size - 1);
  for (auto k = static_cast<int>(size * edges_each); k > 0; --k) {
    const std::int32_t i = vertex(random), j = vertex(random);
    if (i != j) edges.emplace_back(i, j);
  }
  return matrix_of(size, edges);
}

Neighbours neighbours_of(const SymmetricMatrix& a) {
  Neighbours result(static_cast<std::size_t>(a.size));
  for (std::int32_t j = 0; j < a.size; ++j)
    for (auto k = a.column_start[j]; k < a.column_start[j + 1]; ++k)
      if (a.row[k] != j) {
        result[j].insert(a.row[k]);
        result[a.row[k]].insert(j);
      }
  return result;
}

// What every other way finds out about the same order.
void expect_is_the_elimination(const SymmetricMatrix& a) {
  const EliminationOrder found = eliminate_few(a);
  std::vector<std::int32_t> sorted = found.permutation;
  std::ranges::sort(sorted);
  for (std::int32_t k = 0; k < a.size; ++k) ASSERT_EQ(sorted[k], k);
  const EliminationOrder other = elimination_order(a, found.permutation);
  EXPECT_EQ(found.permutation, other.permutation) << "not in postorder";
  EXPECT_EQ(found.parent, other.parent);
  EXPECT_EQ(found.counts, other.counts);
  EXPECT_EQ(found.flops, other.flops);
  EXPECT_EQ(found.rows.row_start, other.rows.row_start);
  EXPECT_EQ(found.rows.column, other.rows.column);
}

// Entries of L under a plain minimum degree, neighbours as sets: of those of least degree
// the first is taken.
std::int64_t entries_by_plain_degree(const SymmetricMatrix& a) {
  Neighbours left = neighbours_of(a);
  std::set<std::int32_t> alive;
  for (std::int32_t v = 0; v < a.size; ++v) alive.insert(v);
  std::int64_t entries = 0;
  while (!alive.empty()) {
    const std::int32_t v = *std::ranges::min_element(
        alive, {}, [&](std::int32_t u) { return left[u].size(); });
    entries += 1 + std::ssize(left[v]);
    for (const std::int32_t u : left[v]) {
      left[u].insert(left[v].begin(), left[v].end());
      left[u].erase(u);
      left[u].erase(v);
    }
    alive.erase(v);
  }
  return entries;
}

std::int64_t entries(const EliminationOrder& order) {
  return std::accumulate(order.counts.begin(), order.counts.end(), std::int64_t{0});
}

TEST(EliminateFew, GoesAroundTheHubOfAStar) {
  const SymmetricMatrix star = matrix_of(4, {{0, 1}, {0, 2}, {0, 3}});
  const EliminationOrder order = eliminate_few(star);
  EXPECT_EQ(entries(order), 7);
  EXPECT_EQ(order.flops, 4 + 4 + 4 + 1);
  expect_is_the_elimination(star);
  EXPECT_EQ(order.permutation, (std::vector<std::int32_t>{1, 2, 0, 3}));
}

// A path has no fill from its ends on, and a ring one entry for each but the last three.
TEST(EliminateFew, OfAPathAndARing) {
  for (const std::int32_t n : {2, 3, 10, 64, 65, 200, kFewColumns}) {
    Edges edges;
    for (std::int32_t i = 1; i < n; ++i) edges.emplace_back(i - 1, i);
    EXPECT_EQ(entries(eliminate_few(matrix_of(n, edges))), 2 * n - 1) << n;
    if (n < 3) continue;
    edges.emplace_back(n - 1, 0);
    EXPECT_EQ(entries(eliminate_few(matrix_of(n, edges))), 3 * n - 3) << n;
  }
}

TEST(EliminateFew, OfNothingOneDiagonalAndAFullMatrix) {
  for (const std::int32_t n : {0, 1, 5, 63, 64, 65, 128, 129, 256, 257}) {
    expect_is_the_elimination(matrix_of(n, {}));
    Edges all;
    for (std::int32_t i = 0; i < n; ++i)
      for (std::int32_t j = 0; j < i; ++j) all.emplace_back(i, j);
    const SymmetricMatrix full = matrix_of(n, all);
    expect_is_the_elimination(full);
    EXPECT_EQ(entries(eliminate_few(full)), std::int64_t{n} * (n + 1) / 2) << n;
  }
}

TEST(EliminateFew, FindsOutWhatOthersDo) {
  std::mt19937 random(11);
  for (int round = 0; round < 600; ++round) {
    const auto n = std::uniform_int_distribution<std::int32_t>(1, 150)(random);
    expect_is_the_elimination(
        random_graph(random, n, std::uniform_real_distribution(0.3, 4.0)(random)));
    if (HasFailure()) FAIL() << "round " << round << ", " << n << " columns";
  }
  for (const std::int32_t n : {255, 256, 257, 511, 512, 513, 700, kFewColumns})
    expect_is_the_elimination(random_graph(random, n, 1.5));
}

// On random graphs external degrees are neither better nor worse than plain ones.
TEST(EliminateFew, FillsAboutWhatAPlainMinimumDegreeDoes) {
  std::mt19937 random(12);
  double ours = 0, plain = 0;
  for (int round = 0; round < 300; ++round) {
    const auto n = std::uniform_int_distribution<std::int32_t>(2, 90)(random);
    const SymmetricMatrix a = random_graph(random, n, 2);
    const auto here = entries(eliminate_few(a)), there = entries_by_plain_degree(a);
    EXPECT_LE(4 * here, 5 * there) << "round " << round;
    ours += static_cast<double>(here);
    plain += static_cast<double>(there);
  }
  EXPECT_NEAR(ours, plain, 0.02 * plain);
}

TEST(EliminateFew, OfGridsIsAsGoodAsAmd) {
  for (const GridShape shape : {GridShape{.nx = 5, .ny = 5},
                                {.nx = 10, .ny = 10},
                                {.nx = 3, .ny = 3, .nz = 3},
                                {.nx = 6, .ny = 6, .nz = 6},
                                {.nx = 30, .ny = 30},
                                {.nx = 10, .ny = 10, .nz = 10}}) {
    const SymmetricMatrix a = make_grid(shape);
    const EliminationOrder amd =
        elimination_order(a, compute_ordering(a, OrderingKind::kAmd, {}, 1));
    EXPECT_LE(eliminate_few(a).flops, 1.15 * amd.flops) << a.size;
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
