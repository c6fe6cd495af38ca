#include "solver/kernels/front_solve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "random_entries.h"

namespace espalier::solver::kernels {
namespace TEST_SOURCE {

constexpr double kTolerance = 1e-12;

using Vector = std::vector<double>;

// A front among `size` unknowns: its pivots begin at `first`, its rows lie behind them.
struct Instance {
  std::int32_t pivots, first;
  std::vector<std::int32_t> rows;
  Vector panel;

  [[nodiscard]] std::int32_t order() const {
    return pivots + static_cast<std::int32_t>(rows.size());
  }
  [[nodiscard]] FewPivots<double> front() const {
    return {pivots, order(), panel.data(), rows.data()};
  }
  [[nodiscard]] double entry(std::int32_t i, std::int32_t j) const {
    return panel[i + j * order()];
  }
};

class FrontSolveKernels : public RandomEntries<double> {
 protected:
  static constexpr std::int32_t kSize = 40;

  FrontSolveKernels() : RandomEntries<double>(3) {}

  Instance instance() {
    Instance one{draw(1, kFewPivots), draw(0, 5), {}, {}};
    for (std::int32_t row = one.first + one.pivots; row < kSize; ++row)
      if (draw(0, 3) == 0) one.rows.push_back(row);
    one.panel.resize(static_cast<std::size_t>(one.order()) * one.pivots);
    for (double& each : one.panel) each = value();
    for (std::int32_t j = 0; j < one.pivots; ++j)
      one.panel[j + j * one.order()] = 2 + one.pivots;
    return one;
  }
  Vector vector(std::size_t size) {
    Vector x(size);
    for (double& each : x) each = value();
    return x;
  }
};

void expect_near(const Vector& x, const Vector& expected) {
  ASSERT_EQ(x.size(), expected.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    ASSERT_NEAR(x[i], expected[i], kTolerance) << "x" << i;
}

//   L = 2        x = 4 7 | 1 1      own: 2 and (7 - 2) / 5, rows: 1 - 3 * 2 - 1
//       1 5
//       3 1
TEST_F(FrontSolveKernels, SolvesWithTwoPivotsAndOneRow) {
  const Vector panel = {2, 1, 3, 0, 5, 1};
  const std::vector<std::int32_t> rows = {3};
  const FewPivots<double> front{2, 3, panel.data(), rows.data()};
  Vector x = {4, 7, 1, 1};
  forward_few(front, x.data(), x.data(), {});
  expect_near(x, {2, 1, 1, -6});
  // Back: (1 + 6) / 5, then (2 + 18 - 7 / 5) / 2
  backward_few(front, x.data(), x.data(), x.data());
  expect_near(x, {9.3, 1.4, 1, -6});
}

TEST_F(FrontSolveKernels, MatchPlainLoops) {
  for (int round = 0; round < 2000; ++round) {
    const Instance a = instance();
    Vector x = vector(kSize), expected = x;
    double* const own = expected.data() + a.first;
    const auto at = [&](std::int32_t i) -> double& {
      return i < a.pivots ? own[i] : expected[a.rows[i - a.pivots]];
    };
    for (std::int32_t j = 0; j < a.pivots; ++j) {
      own[j] /= a.entry(j, j);
      for (std::int32_t i = j + 1; i < a.order(); ++i) at(i) -= a.entry(i, j) * own[j];
    }
    forward_few(a.front(), x.data() + a.first, x.data(), {});
    expect_near(x, expected);
    for (std::int32_t j = a.pivots - 1; j >= 0; --j) {
      for (std::int32_t i = j + 1; i < a.order(); ++i) own[j] -= a.entry(i, j) * at(i);
      own[j] /= a.entry(j, j);
    }
    backward_few(a.front(), x.data() + a.first, x.data(), x.data() + a.first);
    expect_near(x, expected);
    if (HasFatalFailure()) FAIL() << "round " << round;
  }
}

// The last rows stand elsewhere, in an order of their own, with the same bits.
TEST_F(FrontSolveKernels, ReachRowsOutside) {
  for (int round = 0; round < 500; ++round) {
    const Instance a = instance();
    const std::int32_t limit = draw(a.first + a.pivots, kSize);
    const auto first = std::ranges::lower_bound(a.rows, limit) - a.rows.begin();
    std::vector<std::int32_t> place;
    for (auto k = first; k < std::ssize(a.rows); ++k)
      place.push_back(kSize - 1 - a.rows[static_cast<std::size_t>(k)]);
    const Vector start = vector(kSize);
    Vector whole = start, inside = start, outside(kSize);
    for (std::int32_t i = 0; i < kSize; ++i) outside[kSize - 1 - i] = start[i];
    forward_few(a.front(), whole.data() + a.first, whole.data(), {});
    forward_few<double>(a.front(), inside.data() + a.first, inside.data(),
                        {static_cast<std::int32_t>(first), outside.data(), place.data()});
    for (std::int32_t i = 0; i < kSize; ++i)
      ASSERT_EQ(i < limit ? inside[i] : outside[kSize - 1 - i], whole[i]) << "row " << i;
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver::kernels
