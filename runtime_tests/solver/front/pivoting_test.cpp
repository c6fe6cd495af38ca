#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <vector>

#include "solver/matrix/permute.h"
#include "solver/runtime/factorise.h"
#include "solver/support/systems.h"
#include "support/random_tree.h"

namespace espalier::solver {
namespace TEST_SOURCE {

constexpr Bytes kUnlimited = std::numeric_limits<Bytes>::max();

/// Entries of SquareMatrix (i, j) and (j, i) at random, most diagonals zero or small.
SquareMatrix random_indefinite(std::mt19937& random, std::int32_t n, FactorKind kind) {
  const auto shape = static_cast<Shape>(draw(random, 0, kShapes - 1));
  SquareMatrix a{random_values(random, random_pattern(random, shape, n), n), {}};
  std::uniform_real_distribution<> value(-1, 1);
  const int zeros = draw(random, 0, 3);  // of four diagonals
  for (std::int32_t j = 0; j < n; ++j)
    for (auto k = a.lower.column_start[j]; k < a.lower.column_start[j + 1]; ++k) {
      const bool diagonal = a.lower.row[k] == j;
      const bool zero = diagonal && draw(random, 0, 3) < zeros;
      a.lower.value[k] = zero ? 0 : value(random);
      if (kind == FactorKind::kLu)
        a.upper.push_back(diagonal                  ? a.lower.value[k]
                          : draw(random, 0, 4) == 0 ? 0
                                                    : value(random));
    }
  return a;
}

Dense dense_of(const SquareMatrix& a) {
  Dense dense(a.lower);
  for (std::int32_t j = 0; j < a.size(); ++j)
    for (auto k = a.lower.column_start[j]; k < a.lower.column_start[j + 1]; ++k)
      if (!a.symmetric() && a.lower.row[k] != j) dense(j, a.lower.row[k]) = a.upper[k];
  return dense;
}

/// Rank and number of negative pivots by Gaussian elimination with complete pivoting,
/// symmetric with 2 x 2 pivots where asked.
struct Oracle {
  std::int32_t rank = 0, negative = 0;
  long double smallest = std::numeric_limits<long double>::infinity();
};

void swap_both(Dense& a, std::int32_t i, std::int32_t j) {
  for (std::int32_t k = 0; k < a.size(); ++k) std::swap(a(i, k), a(j, k));
  for (std::int32_t k = 0; k < a.size(); ++k) std::swap(a(k, i), a(k, j));
}

// Eliminates a 1 x 1 or 2 x 2 pivot at k.
void eliminate_pivot(Dense& a, std::int32_t k, std::int32_t width) {
  for (std::int32_t i = k + width; i < a.size(); ++i) {
    long double l[2] = {0, 0};
    if (width == 1) {
      l[0] = a(i, k) / a(k, k);
    } else {
      const long double det = a(k, k) * a(k + 1, k + 1) - a(k, k + 1) * a(k + 1, k);
      l[0] = (a(i, k) * a(k + 1, k + 1) - a(i, k + 1) * a(k + 1, k)) / det;
      l[1] = (a(i, k + 1) * a(k, k) - a(i, k) * a(k, k + 1)) / det;
    }
    for (std::int32_t j = k + width; j < a.size(); ++j)
      for (std::int32_t q = 0; q < width; ++q) a(i, j) -= l[q] * a(k + q, j);
  }
}

Oracle symmetric_oracle(Dense a) {
  Oracle result;
  const std::int32_t n = a.size();
  for (std::int32_t k = 0; k < n;) {
    std::int32_t p = k, q = k, r = k;
    for (std::int32_t i = k; i < n; ++i) {
      if (std::abs(a(i, i)) > std::abs(a(p, p))) p = i;
      for (std::int32_t j = k; j < i; ++j)
        if (std::abs(a(i, j)) > std::abs(a(q, r)) || q == r) q = i, r = j;
    }
    const long double diagonal = std::abs(a(p, p));
    const long double off = q == r ? 0 : std::abs(a(q, r));
    if (std::max(diagonal, off) < 1e-12L) break;
    result.smallest = std::min(result.smallest, std::max(diagonal, off));
    const bool one = diagonal >= 0.64L * off;
    if (one) {
      swap_both(a, k, p);
      result.negative += a(k, k) < 0;
    } else {
      swap_both(a, k, r);
      swap_both(a, k + 1, q == k ? r : q);
      ++result.negative;
    }
    eliminate_pivot(a, k, one ? 1 : 2);
    k += one ? 1 : 2;
    result.rank = k;
  }
  return result;
}

Oracle general_oracle(Dense a) {
  Oracle result;
  for (std::int32_t k = 0; k < a.size(); ++k) {
    std::int32_t p = k, q = k;
    for (std::int32_t i = k; i < a.size(); ++i)
      for (std::int32_t j = k; j < a.size(); ++j)
        if (std::abs(a(i, j)) > std::abs(a(p, q))) p = i, q = j;
    if (std::abs(a(p, q)) < 1e-12L) break;
    result.smallest = std::min(result.smallest, std::abs(a(p, q)));
    for (std::int32_t j = 0; j < a.size(); ++j) std::swap(a(k, j), a(p, j));
    for (std::int32_t i = 0; i < a.size(); ++i) std::swap(a(i, k), a(i, q));
    eliminate_pivot(a, k, 1);
    result.rank = k + 1;
  }
  return result;
}

struct Instance {
  Instance(std::mt19937& random, std::int32_t n, FactorKind kind) {
    SquareMatrix a = random_indefinite(random, n, kind);
    const AnalyseOptions options = random_analysis(random);
    analysis.symbolic = analyse_pattern(a.lower, options);
    analysis.permuted = permuted(a, analysis.symbolic.permutation);
    assembly = random_assembly(random);
    assembly.kind = kind;
    assembly.block_width = draw(random, 1, 9);
    pivoting.zero = 1e-14;
    pivoting.perturbation = 1e-8;
  }
  template <class T>
  void build(std::mt19937& random) {
    assembly.entry_bytes = sizeof(T);
    tree = build_assembly_tree(analysis.symbolic, assembly);
    order = support::random_order(tree.tasks, random);
  }
  [[nodiscard]] FactorInput input() const {
    return {analysis.symbolic, analysis.permuted, tree, pivoting};
  }
  [[nodiscard]] std::string text() const {
    std::string upper;
    for (const double v : analysis.permuted.upper) upper += fmt::format(" {}", v);
    return fmt::format("width {} reserve {} order {} upper{} ", assembly.block_width,
                       pivoting.delay_reserve, support::describe(order), upper) +
           describe(analysis, assembly);
  }

  Analysis analysis;
  AssemblyOptions assembly;
  PivotOptions pivoting;
  AssemblyTree tree;
  std::vector<TaskId> order;
  FactorReport report;
};

/// Normwise backward error of op(A) x = b for a random b.
template <class T>
long double solve_error(std::mt19937& random, const Instance& instance, const Dense& a,
                        const Factor<T>& factor, bool transposed) {
  const std::int32_t n = a.size();
  std::vector<T> b(n);
  for (T& value : b) value = static_cast<T>(draw(random, -9, 9));
  std::vector<T> x = b;
  solve_in_place<T>({instance.analysis.symbolic, instance.tree, factor}, x, transposed);
  long double worst = 0, largest = 0, norm = 0;
  for (const T value : x) largest = std::max<long double>(largest, std::abs(value));
  for (std::int32_t i = 0; i < n; ++i) {
    long double sum = b[i], row = 0;
    for (std::int32_t j = 0; j < n; ++j) {
      const long double entry = transposed ? a(j, i) : a(i, j);
      sum -= entry * x[j];
      row += std::abs(entry);
    }
    worst = std::max(worst, std::abs(sum));
    norm = std::max(norm, row);
  }
  return std::isfinite(largest) ? worst / (norm * largest + 9)
                                : std::numeric_limits<long double>::infinity();
}

template <class T>
class Pivoting : public testing::Test {};
using Precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(Pivoting, Precisions);

TYPED_TEST(Pivoting, SolvesIndefiniteAndGeneralSystemsByDelayingPivots) {
  using T = TypeParam;
  std::mt19937 random(20);
  std::int64_t delayed = 0, regular = 0;
  for (int round = 0; round < 4000; ++round) {
    const FactorKind kind = round % 2 == 0 ? FactorKind::kLdlt : FactorKind::kLu;
    Instance instance(random, round < 20 ? round % 5 : draw(random, 1, 45), kind);
    instance.template build<T>(random);
    const Dense a = dense_of(instance.analysis.permuted);
    const Oracle oracle =
        kind == FactorKind::kLdlt ? symmetric_oracle(a) : general_oracle(a);
    const bool is_regular = oracle.rank == a.size() && oracle.smallest > 1e-3L;
    if (sizeof(T) < sizeof(double)) instance.pivoting.zero = 1e-6;
    const auto factor =
        factorise_sequentially<T>(instance.input(), instance.order, instance.report);
    ASSERT_TRUE(factor.has_value()) << instance.text();
    delayed += instance.report.pivots.delayed;
    ASSERT_EQ(instance.report.pivots.perturbed, 0) << instance.text();
    if (!is_regular) continue;
    ++regular;
    ASSERT_EQ(instance.report.pivots.null_space, 0) << instance.text();
    if (kind == FactorKind::kLdlt) {
      ASSERT_EQ(instance.report.pivots.negative, oracle.negative) << instance.text();
    }
    for (const bool transposed : {false, true})
      ASSERT_LE(solve_error(random, instance, a, *factor, transposed),
                1e5L * std::numeric_limits<T>::epsilon())
          << "transposed " << transposed << ": " << instance.text();
  }
  EXPECT_GT(delayed, 1000);
  EXPECT_GT(regular, 1000);
}

TEST(NullSpace, IsCountedInDoublePrecision) {
  using T = double;
  std::mt19937 random(21);
  for (int round = 0; round < 1000; ++round) {
    const FactorKind kind = round % 2 == 0 ? FactorKind::kLdlt : FactorKind::kLu;
    Instance instance(random, draw(random, 3, 30), kind);
    // Small integers: ranks are exact in the oracle.
    const int zero_part = draw(random, 1, 4);
    for (auto* values :
         {&instance.analysis.permuted.lower.value, &instance.analysis.permuted.upper})
      for (double& v : *values)
        v = draw(random, 0, zero_part) == 0 ? draw(random, -2, 2) : 0;
    instance.template build<T>(random);
    instance.pivoting.zero = 1e-11;
    const Dense a = dense_of(instance.analysis.permuted);
    const Oracle oracle =
        kind == FactorKind::kLdlt ? symmetric_oracle(a) : general_oracle(a);
    const auto factor =
        factorise_sequentially<T>(instance.input(), instance.order, instance.report);
    ASSERT_TRUE(factor.has_value()) << instance.text();
    ASSERT_EQ(instance.report.pivots.null_space, a.size() - oracle.rank)
        << instance.text();
    ASSERT_TRUE(std::isfinite(solve_error(random, instance, a, *factor, false)))
        << instance.text();
  }
}

TYPED_TEST(Pivoting, NeverDelaysWithoutAReserve) {
  using T = TypeParam;
  std::mt19937 random(22);
  int refused = 0;
  for (int round = 0; round < 1000; ++round) {
    const FactorKind kind = round % 2 == 0 ? FactorKind::kLdlt : FactorKind::kLu;
    Instance instance(random, draw(random, 1, 45), kind);
    instance.pivoting.delay_reserve = 0;
    instance.template build<T>(random);
    try {
      const auto factor =
          factorise_sequentially<T>(instance.input(), instance.order, instance.report);
      ASSERT_TRUE(factor.has_value()) << instance.text();
      ASSERT_EQ(instance.report.pivots.delayed, 0) << instance.text();
      const Dense a = dense_of(instance.analysis.permuted);
      if (std::isfinite(solve_error(random, instance, a, *factor, false))) continue;
      // A few replaced pivots of 1e-8, one after the other: beyond single precision.
      ASSERT_TRUE(sizeof(T) == sizeof(float) && instance.report.pivots.perturbed > 0)
          << instance.text();
      ++refused;
    } catch (const Error&) {  // entries beyond the precision, instead of infinities
      ++refused;
    }
  }
  // Which ones depends on how the kernels round.
  EXPECT_LE(refused, sizeof(T) == sizeof(float) ? 10 : 0);
}

TYPED_TEST(Pivoting, GoesOnWhenTheReserveIsUsedUp) {
  using T = TypeParam;
  std::mt19937 random(23);
  std::int64_t both = 0;
  for (int round = 0; round < 1000; ++round) {
    const FactorKind kind = round % 2 == 0 ? FactorKind::kLdlt : FactorKind::kLu;
    Instance instance(random, draw(random, 10, 45), kind);
    instance.pivoting.delay_reserve = draw(random, 500, 20000);
    instance.template build<T>(random);
    const auto factor =
        factorise_sequentially<T>(instance.input(), instance.order, instance.report);
    ASSERT_TRUE(factor.has_value()) << instance.text();
    const PivotStatistics& pivots = instance.report.pivots;
    both += pivots.delayed > 0 && pivots.perturbed > 0;
    // Perturbed by 1e-8 at most each: the factor is that of a matrix nearby.
    const Dense a = dense_of(instance.analysis.permuted);
    ASSERT_TRUE(std::isfinite(solve_error(random, instance, a, *factor, false)))
        << instance.text();
  }
  EXPECT_GT(both, 10);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
