// Each dense kernel against plain loops, on matrices that all share: over 300 lines.

#include "solver/kernels/dense.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "random_entries.h"
#include "solver/kernels/block_solve.h"
#include "solver/kernels/right_solve.h"
#include "solver/kernels/update.h"

namespace espalier::solver::kernels {
namespace TEST_SOURCE {

constexpr double kCanary = 1e300;
constexpr double kTolerance = 1e-12;

// Column-major storage with `padding` rows of canaries below every column.
struct Matrix {
  std::int32_t rows, columns, leading;
  std::vector<double> entries;

  Matrix(std::int32_t m, std::int32_t n, std::int32_t padding)
      : rows(m),
        columns(n),
        leading(std::max(1, m + padding)),
        entries(static_cast<std::size_t>(leading) * n + 1, kCanary) {}

  double& operator()(std::int32_t i, std::int32_t j) {
    return entries[i + static_cast<std::size_t>(j) * leading];
  }
  double operator()(std::int32_t i, std::int32_t j) const {
    return entries[i + static_cast<std::size_t>(j) * leading];
  }
  double* data() { return entries.data(); }
};

class DenseKernels : public RandomEntries<double> {
 public:
  DenseKernels() : RandomEntries<double>(2) {}

  // Mostly within the plain loops' reach, sometimes far beyond it.
  std::int32_t size() {
    const std::int32_t limit = draw(0, 9) == 0 ? 150 : draw(0, 2) == 0 ? 40 : 12;
    return draw(0, limit);
  }

  // Lower triangular, with a diagonal that dominates; canaries above.
  Matrix lower(std::int32_t n) {
    Matrix l(n, n, draw(0, 3));
    for (std::int32_t j = 0; j < n; ++j)
      for (std::int32_t i = j; i < n; ++i) l(i, j) = i == j ? 2 + n : value();
    return l;
  }
  // Every entry drawn where `inside`, canaries elsewhere.
  Matrix fill(std::int32_t m, std::int32_t n,
              const std::function<bool(std::int32_t, std::int32_t)>& inside) {
    Matrix a(m, n, draw(0, 3));
    for (std::int32_t j = 0; j < n; ++j)
      for (std::int32_t i = 0; i < m; ++i)
        if (inside(i, j)) a(i, j) = value();
    return a;
  }
};

bool always(std::int32_t /*i*/, std::int32_t /*j*/) { return true; }
bool on_or_below(std::int32_t i, std::int32_t j) { return i >= j; }

// Entries near those expected, canaries (also those inside the matrix) as they were.
void expect_near(const Matrix& actual, const Matrix& expected, double scale) {
  ASSERT_EQ(actual.entries.size(), expected.entries.size());
  for (std::size_t k = 0; k < actual.entries.size(); ++k) {
    if (expected.entries[k] == kCanary) {
      ASSERT_EQ(actual.entries[k], kCanary) << "outside, at " << k;
    } else {
      ASSERT_NEAR(actual.entries[k], expected.entries[k], kTolerance * scale)
          << "at " << k << ", leading dimension " << actual.leading;
    }
  }
}

// Columns from the left, each updated by those before it. @return as cholesky()
std::int32_t naive_cholesky(Matrix& a) {
  for (std::int32_t j = 0; j < a.columns; ++j) {
    for (std::int32_t i = j; i < a.columns; ++i)
      for (std::int32_t k = 0; k < j; ++k) a(i, j) -= a(i, k) * a(j, k);
    if (!(a(j, j) > 0) || std::isinf(a(j, j))) return j + 1;
    a(j, j) = std::sqrt(a(j, j));
    for (std::int32_t i = j + 1; i < a.columns; ++i) a(i, j) /= a(j, j);
  }
  return 0;
}

TEST_F(DenseKernels, CholeskyOfAThreeByThreeMatrix) {
  //  4            2
  //  2 10     =   1 3      L L^T, column by column
  //  6  9 14      3 2 1
  double a[] = {4, 2, 6, kCanary, 10, 9, kCanary, kCanary, 14};
  EXPECT_EQ(cholesky(3, a, 3), 0);
  const double l[] = {2, 1, 3, kCanary, 3, 2, kCanary, kCanary, 1};
  for (int k = 0; k < 9; ++k) EXPECT_DOUBLE_EQ(a[k], l[k]) << k;
}

TEST_F(DenseKernels, CholeskyMatchesPlainLoops) {
  for (int instance = 0; instance < 600; ++instance) {
    const std::int32_t n = instance < 120 ? instance : size();
    Matrix a = lower(n);
    Matrix expected = a;
    ASSERT_EQ(naive_cholesky(expected), 0);
    ASSERT_EQ(cholesky(n, a.data(), a.leading), 0) << n;
    expect_near(a, expected, 1 + n);
    if (HasFatalFailure()) FAIL() << "n " << n;
  }
}

TEST_F(DenseKernels, CholeskyNamesTheColumnOfABadPivot) {
  const double bad[] = {0,
                        -1,
                        -std::numeric_limits<double>::min(),
                        std::numeric_limits<double>::quiet_NaN(),
                        std::numeric_limits<double>::infinity(),
                        -std::numeric_limits<double>::infinity()};
  for (const std::int32_t n : {1, 2, 7, 24, 25, 26, 48, 49, 64, 100, 130}) {
    for (std::int32_t column = 0; column < n; ++column) {
      for (const double pivot : bad) {
        Matrix a(n, n, 1);  // block diagonal but for the column's own row: exact pivots
        for (std::int32_t j = 0; j < n; ++j)
          for (std::int32_t i = j; i < n; ++i) a(i, j) = i == j ? 4 : j > column ? 1 : 0;
        a(column, column) = pivot;
        ASSERT_EQ(cholesky(n, a.data(), a.leading), column + 1)
            << "n " << n << ", pivot " << pivot;
        for (std::int32_t j = 0; j < column; ++j) ASSERT_EQ(a(j, j), 2);
      }
    }
  }
}

TEST_F(DenseKernels, CholeskySeesWhatOffDiagonalEntriesDoToAPivot) {
  for (const std::int32_t n : {2, 20, 24, 25, 40, 90}) {
    for (std::int32_t row = 1; row < n; ++row) {
      for (const double entry : {3.0, std::numeric_limits<double>::quiet_NaN(),
                                 std::numeric_limits<double>::infinity()}) {
        Matrix a(n, n, 0);
        for (std::int32_t j = 0; j < n; ++j)
          for (std::int32_t i = j; i < n; ++i) a(i, j) = i == j ? 4 : 0;
        a(row, draw(0, row - 1)) = 2 * entry;  // 4 - entry^2 < 0
        ASSERT_EQ(cholesky(n, a.data(), a.leading), row + 1)
            << "n " << n << ", entry " << entry;
      }
    }
  }
}

TEST_F(DenseKernels, CholeskyFactorsTheColumnsBeforeABadPivot) {
  for (int instance = 0; instance < 200; ++instance) {
    const std::int32_t n = draw(1, 80), column = draw(0, n - 1);
    Matrix a = lower(n);
    a(column, column) = -1;
    Matrix expected = a;
    ASSERT_EQ(naive_cholesky(expected), column + 1);
    ASSERT_EQ(cholesky(n, a.data(), a.leading), column + 1);
    for (std::int32_t j = 0; j < column; ++j)
      for (std::int32_t i = j; i <= column; ++i)
        ASSERT_NEAR(a(i, j), expected(i, j), kTolerance * n)
            << "n " << n << ", bad " << column << ", entry " << i << " " << j;
  }
}

// B := B L^-T by L, its diagonal or ones there.
void check_solve_below(DenseKernels& test, std::int32_t m, std::int32_t n, bool unit) {
  Matrix l = test.lower(n);
  Matrix b = test.fill(m, n, always);
  if (unit)
    for (std::int32_t j = 0; j < n; ++j)
      for (std::int32_t i = j + 1; i < n; ++i) l(i, j) /= n;
  Matrix expected = b;
  for (std::int32_t j = 0; j < n; ++j)
    for (std::int32_t i = 0; i < m; ++i) {
      for (std::int32_t k = 0; k < j; ++k) expected(i, j) -= expected(i, k) * l(j, k);
      if (!unit) expected(i, j) /= l(j, j);
    }
  const Matrix kept = l;
  (unit ? solve_below_unit<double> : solve_below<double>)(m, n, l.data(), l.leading,
                                                          b.data(), b.leading);
  expect_near(b, expected, unit ? 1 + n : 1);
  EXPECT_EQ(l.entries, kept.entries);
}

TEST_F(DenseKernels, SolveBelowMatchesPlainLoops) {
  for (int instance = 0; instance < 1500; ++instance) {
    const std::int32_t m = size(), n = size();
    check_solve_below(*this, m, n, false);
    check_solve_below(*this, m, n, true);
    if (HasFailure()) FAIL() << "m " << m << ", n " << n;
  }
}

TEST_F(DenseKernels, SolveByUpperMatchesPlainLoops) {
  for (int instance = 0; instance < 1500; ++instance) {
    const std::int32_t m = size(), n = size();
    Matrix u = fill(n, n, [](std::int32_t i, std::int32_t j) { return i <= j; });
    for (std::int32_t j = 0; j < n; ++j) u(j, j) = 2 + n;
    Matrix b = fill(m, n, always), expected = b;
    for (std::int32_t j = 0; j < n; ++j)
      for (std::int32_t i = 0; i < m; ++i) {
        for (std::int32_t k = 0; k < j; ++k) expected(i, j) -= expected(i, k) * u(k, j);
        expected(i, j) /= u(j, j);
      }
    const Matrix kept = u;
    solve_by_upper(m, n, u.data(), u.leading, b.data(), b.leading);
    expect_near(b, expected, 1);
    EXPECT_EQ(u.entries, kept.entries);
    if (HasFailure()) FAIL() << "m " << m << ", n " << n;
  }
}

// One pass over a panel is a factorisation and a solve, to the bit.
TEST_F(DenseKernels, CholeskyPanelHasTheBitsOfBothSteps) {
  for (int instance = 0; instance < 2000; ++instance) {
    const std::int32_t n = size(), m = size(), order = n + m;
    Matrix panel(order, n, 0);
    for (std::int32_t j = 0; j < n; ++j)
      for (std::int32_t i = j; i < order; ++i) panel(i, j) = i == j ? 2 + order : value();
    Matrix steps = panel;
    ASSERT_EQ(cholesky_panel(n, order, panel.data()), 0);
    ASSERT_EQ(cholesky(n, steps.data(), std::max(order, 1)), 0);
    solve_below(m, n, steps.data(), order, steps.data() + n, order);
    ASSERT_EQ(panel.entries, steps.entries) << "n " << n << ", m " << m;
  }
}

TEST_F(DenseKernels, CholeskyPanelNamesTheColumnOfABadPivot) {
  for (const std::int32_t n : {1, 2, 3, 4, 5, 6, 7, 8, 20, 40}) {
    for (std::int32_t column = 0; column < n; ++column) {
      Matrix panel(n + 3, n, 0);
      for (std::int32_t j = 0; j < n; ++j)
        for (std::int32_t i = j; i < n + 3; ++i) panel(i, j) = i == j ? 4 : 0;
      panel(column, column) = 0;
      ASSERT_EQ(cholesky_panel(n, n + 3, panel.data()), column + 1) << "n " << n;
      for (std::int32_t j = 0; j < column; ++j) ASSERT_EQ(panel(j, j), 2);
    }
  }
}

TEST_F(DenseKernels, UpdateMatchesPlainLoopsOnTheTrapezoid) {
  for (int instance = 0; instance < 1500; ++instance) {
    const std::int32_t n = size(), m = n + size(), k = size();
    Matrix a = fill(m, k, always);
    Matrix c = fill(m, n, on_or_below);
    Matrix expected = c;
    for (std::int32_t j = 0; j < n; ++j)
      for (std::int32_t i = j; i < m; ++i)
        for (std::int32_t q = 0; q < k; ++q) expected(i, j) -= a(i, q) * a(j, q);
    const Matrix kept = a;
    update_lower(m, n, k, a.data(), a.leading, c.data(), c.leading);
    expect_near(c, expected, 1 + k);
    EXPECT_EQ(a.entries, kept.entries);
    if (HasFailure()) FAIL() << "m " << m << ", n " << n << ", k " << k;
  }
}

TEST_F(DenseKernels, ForwardBlockMatchesPlainLoops) {
  for (int instance = 0; instance < 1500; ++instance) {
    const std::int32_t n = size(), m = size();
    Matrix l = fill(n + m, n, on_or_below);
    for (std::int32_t j = 0; j < n; ++j) l(j, j) = 2 + n;
    Matrix x = fill(n + m, 1, always), expected = x;
    for (std::int32_t j = 0; j < n; ++j) {
      expected(j, 0) /= l(j, j);
      for (std::int32_t i = j + 1; i < n + m; ++i)
        expected(i, 0) -= l(i, j) * expected(j, 0);
    }
    forward_solve(FactorKind::kCholesky, n, l.data(), l.leading, 1, x.data(), n);
    apply_below(m, n, l.data() + n, l.leading, 1, x.data(), n, x.data() + n, m);
    expect_near(x, expected, 1 + n);
    if (HasFailure()) FAIL() << "m " << m << ", n " << n;
  }
}

TEST_F(DenseKernels, BackwardBlockMatchesPlainLoops) {
  for (int instance = 0; instance < 1500; ++instance) {
    const std::int32_t n = size(), m = size();
    Matrix l = fill(n + m, n, on_or_below);
    for (std::int32_t j = 0; j < n; ++j) l(j, j) = 2 + n;
    Matrix x = fill(n + m, 1, always), expected = x;
    for (std::int32_t j = n - 1; j >= 0; --j) {
      for (std::int32_t i = j + 1; i < n + m; ++i)
        expected(j, 0) -= l(i, j) * expected(i, 0);
      expected(j, 0) /= l(j, j);
    }
    apply_below_transposed(m, n, l.data() + n, l.leading, 1, x.data() + n, m, x.data(),
                           n);
    backward_solve(FactorKind::kCholesky, n, l.data(), l.leading, 1, x.data(), n);
    expect_near(x, expected, 1 + n + m);
    if (HasFailure()) FAIL() << "m " << m << ", n " << n;
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver::kernels
