#pragma once

// What holds for every block that factor_pivot_block() returns, and random blocks.

#include <gtest/gtest.h>

#include <algorithm>

#include "pivot_instances.h"
#include "random_entries.h"

namespace espalier::solver::kernels {

template <class T>
class PivotBlocks : public RandomEntries<T> {
 protected:
  PivotBlocks() : RandomEntries<T>(3) {}
  using Base = RandomEntries<T>;
  using Base::draw;
  using Base::random;
  using Base::value;

  // Those that entries of this type are factored by, and those of them that pivot.
  static std::vector<FactorKind> kinds() {
    std::vector<FactorKind> all = pivoted();
    if (!kIsComplex<T> || kIsHermitian<T>) all.push_back(FactorKind::kCholesky);
    return all;
  }
  static std::vector<FactorKind> pivoted() {
    if (kIsHermitian<T>) return {FactorKind::kLdlt};
    return {FactorKind::kLdlt, FactorKind::kLu};
  }
  std::int32_t size() { return draw(0, 3) == 0 ? draw(0, 140) : draw(0, 40); }
  std::int32_t rows() { return draw(0, 29) == 0 ? draw(500, 1400) : draw(0, 60); }

  // Entries drawn with probability `density`, columns scaled by powers of 10 down to
  // 10^-grades, rows below scaled by `weight`.
  DenseBlock<T> draw_block(FactorKind kind, std::int32_t w, std::int32_t m,
                           double density = 1, int grades = 0, T weight = 1) {
    DenseBlock<T> a(kind, w, m);
    std::vector<T> scale(w);
    for (T& s : scale) s = RealOf<T>(std::pow(10, -draw(0, grades)));
    const auto entry = [&] { return draw(0, 999) < 1000 * density ? value() : T(0); };
    const bool lu = kind == FactorKind::kLu;
    for (std::int32_t j = 0; j < w; ++j) {
      for (std::int32_t i = lu ? 0 : j; i < w + m; ++i)
        a.set(i, j, entry() * scale[j] * (i < w ? (lu ? T(1) : scale[i]) : weight));
      if (kind == FactorKind::kCholesky) a.set(j, j, RealOf<T>(w + m + 1));
    }
    for (T& x : a.right) x = entry();
    return a;
  }

  // Factors and checks all that holds for every block. @return the counts
  PivotCounts check(const DenseBlock<T>& a, const PivotRule& rule) {
    SplitBlock<T> f(a, random);
    return check(a, rule, f, f.factor(rule));
  }
  PivotCounts check_by_tiles(const DenseBlock<T>& a, const PivotRule& rule) {
    SplitBlock<T> f(a, random);
    const auto together = static_cast<std::size_t>(draw(0, 2));
    return check(a, rule, f, f.factor_by_tiles(rule, together));
  }
  PivotCounts check(const DenseBlock<T>& a, const PivotRule& rule, const SplitBlock<T>& f,
                    const PivotCounts& counts) {
    const std::int32_t w = a.width, e = counts.eliminated;
    const double u = rule.threshold, epsilon = std::numeric_limits<RealOf<T>>::epsilon();
    EXPECT_TRUE(f.canaries_live());
    EXPECT_TRUE(0 <= e && e <= w) << e;
    if (a.kind != FactorKind::kCholesky) {
      expect_permutation(f.row_order());
      expect_permutation(f.column_order());
    }
    const auto r = residual(a, f, e);
    if (counts.perturbed == 0) {
      EXPECT_LE(r.largest, 4 * (w + 1) * epsilon * r.size);
    }
    if (a.kind != FactorKind::kCholesky && !rule.take_all) {
      EXPECT_LE(r.largest_l, (1 + 8 * epsilon) / std::min(u, 1.0));
    }
    if (rule.take_all) {
      EXPECT_EQ(e, w);
    } else {
      EXPECT_EQ(counts.perturbed, 0);
    }
    if (a.kind == FactorKind::kLdlt) check_d(f, counts);
    if (this->HasFailure())
      ADD_FAILURE() << "kind " << int(a.kind) << ", w " << w << ", rows " << a.rows
                    << ", u " << u << ", tiny " << rule.tiny << ", e " << e
                    << ", residual " << double(r.largest) << " of " << double(r.size);
    return counts;
  }

  static void expect_permutation(std::vector<std::int32_t> order) {
    std::sort(order.begin(), order.end());
    for (std::int32_t k = 0; k < std::int32_t(order.size()); ++k) EXPECT_EQ(order[k], k);
  }

  // D as the counts say, zero after the eliminated columns; L has ones, and zeros in D's
  // pairs.
  static void check_d(const SplitBlock<T>& f, const PivotCounts& counts) {
    std::int32_t negative = 0, pairs = 0;
    const auto w = std::int32_t(f.row_order().size());
    for (std::int32_t k = 0; k < w; ++k) {
      if (k >= counts.eliminated) {
        EXPECT_EQ(f.d(2 * k), T(0));
        EXPECT_EQ(f.d(2 * k + 1), T(0));
        continue;
      }
      EXPECT_EQ(f.diagonal(k, k), T(1));
      const Exact<T> a = exact(f.d(2 * k)), b = exact(f.d(2 * k + 1));
      if (b == Exact<T>(0)) {
        EXPECT_NE(a, Exact<T>(0));
        negative += is_negative(a);
        continue;
      }
      ++pairs, ++k;
      ASSERT_LT(k, counts.eliminated);
      EXPECT_EQ(f.diagonal(k, k - 1), T(0));
      EXPECT_EQ(f.d(2 * k + 1), T(0));
      const Exact<T> c = exact(f.d(2 * k));
      const Exact<T> determinant = a * c - b * across(b), trace = a + c;
      negative += is_negative(determinant) ? 1 : is_negative(trace) ? 2 : 0;
    }
    EXPECT_EQ(counts.negative, negative);
    EXPECT_EQ(counts.two_by_two, pairs);
  }
};

using Precisions = testing::Types<double, float>;
using AllEntries =
    testing::Types<double, float, std::complex<double>, HermitianEntry<double>>;

inline constexpr double kThresholds[] = {1e-8, 0.01, 0.1, 0.5, 1};

}  // namespace espalier::solver::kernels
