#pragma once

// Seeded symmetric systems for the tests of the numerical factorisation, and dense
// elimination in long double to compare with.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "solver/matrix/triplets.h"
#include "solver/solve/triangular_solve.h"
#include "solver/support/random_matrices.h"
#include "solver/symbolic/analyse.h"
#include "solver/tree/assembly_tree.h"

namespace espalier::solver {

/// Places (column, row), row > column, of a pattern below the diagonal.
using Pattern = std::set<std::pair<std::int32_t, std::int32_t>>;

inline int draw(std::mt19937& random, int first, int last) {
  return std::uniform_int_distribution<int>(first, last)(random);
}

enum class Shape {
  kRandom,       ///< from diagonal to nearly dense
  kForest,       ///< elimination without fill
  kDenseRows,    ///< sparse, with a few full rows
  kDiagonal,     ///
  kTridiagonal,  ///
  kArrowFirst,   ///< the first row is full: dense factor in natural order
  kArrowLast,    ///< the last row is full: no fill
  kBlocks,       ///< dense diagonal blocks, each tied to the next by one entry
  kDense,
};
constexpr int kShapes = 9;

inline Pattern random_pattern(std::mt19937& random, Shape shape, std::int32_t n) {
  Pattern pattern;
  const auto add = [&](std::int32_t i, std::int32_t j) {
    if (i != j) pattern.emplace(std::min(i, j), std::max(i, j));
  };
  const auto fill_row = [&](std::int32_t row) {
    for (std::int32_t i = 0; i < n; ++i) add(i, row);
  };
  const auto scatter = [&](int entries) {
    for (int k = 0; k < entries; ++k) add(draw(random, 0, n - 1), draw(random, 0, n - 1));
  };
  const std::int32_t block = draw(random, 2, 9);
  switch (n == 0 ? Shape::kDiagonal : shape) {
    case Shape::kRandom:
      scatter(draw(random, 0, n * draw(random, 1, 6)));
      break;
    case Shape::kForest:
      for (std::int32_t i = 0; i + 1 < n; ++i)
        if (draw(random, 0, 7) > 0) add(i, draw(random, i + 1, n - 1));
      break;
    case Shape::kDenseRows:
      scatter(2 * n);
      for (int k = draw(random, 1, 3); k > 0; --k) fill_row(draw(random, 0, n - 1));
      break;
    case Shape::kDiagonal:
      break;
    case Shape::kTridiagonal:
      for (std::int32_t i = 0; i + 1 < n; ++i) add(i, i + 1);
      break;
    case Shape::kArrowFirst:
    case Shape::kArrowLast:
      fill_row(shape == Shape::kArrowFirst ? 0 : n - 1);
      break;
    case Shape::kBlocks:
      for (std::int32_t i = 0; i < n; ++i) {
        for (std::int32_t j = i / block * block; j < i; ++j) add(i, j);
        if (i % block == 0) add(i, i - draw(random, 0, i));
      }
      break;
    case Shape::kDense:
      for (std::int32_t i = 0; i < n; ++i) fill_row(i);
      break;
  }
  return pattern;
}

/// Random entries at the places of `pattern`, diagonals that make it positive definite
/// (each 1.1 times what diagonal dominance asks for), rows and columns scaled by powers
/// of two.
inline SymmetricMatrix random_values(std::mt19937& random, const Pattern& pattern,
                                     std::int32_t n) {
  std::uniform_real_distribution<> value(-1, 1);
  std::map<std::pair<std::int32_t, std::int32_t>, double> entries;
  std::vector<double> diagonal(n, 0.5);
  for (const auto& place : pattern) {
    const double v = entries[place] = value(random);
    diagonal[place.first] += 1.1 * std::abs(v);
    diagonal[place.second] += 1.1 * std::abs(v);
  }
  for (std::int32_t i = 0; i < n; ++i) entries[{i, i}] = diagonal[i];
  std::vector<int> scale(n, 0);
  if (draw(random, 0, 1) == 1)
    for (int& s : scale) s = draw(random, -20, 20);
  Triplets triplets;
  for (const auto& [place, v] : entries)
    triplets.append(place.second, place.first,
                    std::ldexp(v, scale[place.first] + scale[place.second]));
  return assemble(n, std::move(triplets));
}

inline SymmetricMatrix random_spd(std::mt19937& random, std::int32_t n) {
  const auto shape = static_cast<Shape>(draw(random, 0, kShapes - 1));
  return random_values(random, random_pattern(random, shape, n), n);
}

inline AnalyseOptions random_analysis(std::mt19937& random) {
  AnalyseOptions options;
  constexpr OrderingKind kKinds[] = {OrderingKind::kNatural, OrderingKind::kNatural,
                                     OrderingKind::kAmd, OrderingKind::kMetis};
  options.ordering = kKinds[draw(random, 0, 3)];
  if (!available(options.ordering)) options.ordering = OrderingKind::kNatural;
  options.amalgamation.relaxed = draw(random, 0, 2) > 0;
  if (draw(random, 0, 3) == 0) options.amalgamation.zeros_beyond = 0.9;
  constexpr Flops kBundles[] = {0, 2e4, 1e18};
  options.bundles.parent_work = 0;
  options.bundles.bundle_work = kBundles[draw(random, 0, 2)];
  return options;
}

/// From a node for each front to one node for each tree, with and without tiles.
inline AssemblyOptions random_assembly(std::mt19937& random) {
  constexpr Flops kFloors[] = {0, 3e4, 2e5, 1e18};
  constexpr double kFractions[] = {0, 0, 0.01, 0.5};
  constexpr double kMost[] = {0.125, 1e18};
  constexpr std::int32_t kTiled[] = {1, 20, 256};
  constexpr double kWhole[] = {0, 1.0 / 16, 0.5, 2};
  constexpr std::int32_t kWidths[] = {2, 9, 64};
  constexpr Flops kTiles[] = {0, 60, 4e6};
  constexpr double kFitting[] = {0, 1.0 / 8, 2};
  constexpr Bytes kUnits[] = {0, Bytes{16} << 10, Bytes{2} << 20};
  return {.workers = draw(random, 1, 6),
          .subtree_fraction = kFractions[draw(random, 0, 3)],
          .subtree_floor = kFloors[draw(random, 0, 3)],
          .subtree_most = kMost[draw(random, 0, 1)],
          .subtree_least = 0,
          .chain_floor = kFloors[draw(random, 0, 3)],
          .tiled_order = kTiled[draw(random, 0, 2)],
          .whole_part = kWhole[draw(random, 0, 3)],
          .fitting_part = kFitting[draw(random, 0, 2)],
          .unit = kUnits[draw(random, 0, 2)],
          .block_width = kWidths[draw(random, 0, 2)],
          .tile_flops = kTiles[draw(random, 0, 2)]};
}

/// A dense matrix of long doubles, by columns.
class Dense {
 public:
  explicit Dense(std::int32_t n) : n_(n), entries_(static_cast<std::size_t>(n) * n) {}
  explicit Dense(const SymmetricMatrix& a) : Dense(a.size) {
    for (std::int32_t j = 0; j < n_; ++j)
      for (auto k = a.column_start[j]; k < a.column_start[j + 1]; ++k)
        (*this)(a.row[k], j) = (*this)(j, a.row[k]) = a.value[k];
  }
  [[nodiscard]] std::int32_t size() const { return n_; }
  long double& operator()(std::int32_t i, std::int32_t j) {
    return entries_[i + static_cast<std::size_t>(j) * n_];
  }
  long double operator()(std::int32_t i, std::int32_t j) const {
    return entries_[i + static_cast<std::size_t>(j) * n_];
  }

 private:
  std::int32_t n_;
  std::vector<long double> entries_;
};

/// Factors the columns [first, last) of the lower triangle in place, as though the
/// columns before them did not exist. @return the column that fails, or -1
inline std::int32_t eliminate(Dense& a, std::int32_t first, std::int32_t last) {
  for (std::int32_t j = first; j < last; ++j) {
    if (!(a(j, j) > 0)) return j;
    a(j, j) = std::sqrt(a(j, j));
    for (std::int32_t i = j + 1; i < a.size(); ++i) a(i, j) /= a(j, j);
    for (std::int32_t k = j + 1; k < a.size(); ++k) {
      if (a(k, j) == 0) continue;
      for (std::int32_t i = k; i < a.size(); ++i) a(i, k) -= a(i, j) * a(k, j);
    }
  }
  return -1;
}

/// x with L L^T x = b.
inline std::vector<long double> dense_solve(const Dense& l, std::vector<long double> x) {
  for (std::int32_t j = 0; j < l.size(); ++j) {
    x[j] /= l(j, j);
    for (std::int32_t i = j + 1; i < l.size(); ++i) x[i] -= l(i, j) * x[j];
  }
  for (std::int32_t j = l.size() - 1; j >= 0; --j) {
    for (std::int32_t i = j + 1; i < l.size(); ++i) x[j] -= l(i, j) * x[i];
    x[j] /= l(j, j);
  }
  return x;
}

/// x := A^-1 x or A^-T x by one thread.
template <class T>
void solve_in_place(const FactorView<T>& view, std::span<T> x, bool transposed = false) {
  const auto n = static_cast<std::int64_t>(view.symbolic.size);
  std::vector<T> b(x.begin(), x.end());
  solve_sequentially<T>(view, transposed, {b.data(), n, 1}, {x.data(), n, 1});
}

/// How the matrix was ordered and grouped: for the message of a failing test.
inline std::string describe(const Analysis& analysis, const AssemblyOptions& options) {
  const Symbolic& symbolic = analysis.symbolic;
  return fmt::format(
      "workers {} fraction {} floor {} most {} tiled_order {} whole {}; first columns "
      "{}; parents {}; "
      "permuted matrix, {}",
      options.workers, options.subtree_fraction, options.subtree_floor,
      options.subtree_most, options.tiled_order, options.whole_part,
      fmt::join(symbolic.first_column, " "), fmt::join(symbolic.parent, " "),
      symbolic.size > 40 ? "large" : describe(analysis.permuted.lower));
}

}  // namespace espalier::solver
