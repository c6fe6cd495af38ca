// Entries of the inverse beside columns that are solved for, for each kind of factor.

#include <espalier_solver.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "solver/support/c_interface.h"

namespace espalier::solver {
namespace TEST_SOURCE {

struct Case {
  const char* name;
  std::int32_t symmetry, scalar, format;
  double diagonal;  // of even variables; those of odd ones are next to nothing
  std::int32_t runtime = ESPALIER_SOLVER_RUNTIME_NONE;
  std::int32_t precision = ESPALIER_SOLVER_DOUBLE;
  bool one_sided = false;  // in block triangular form
  std::vector<std::int32_t> kept = {};
};

/// Neighbours in a grid of random weights.
class Grid {
 public:
  Grid(const Case& of, std::int32_t side) : order_(side * side), parts_(of.scalar + 1) {
    std::mt19937 random(7);
    std::uniform_real_distribution<double> value(0.5, 1.5);
    const auto add = [&](std::int32_t i, std::int32_t j, double real, double imaginary) {
      rows_.push_back(i);
      columns_.push_back(j);
      values_.push_back(real);
      if (parts_ == 2) values_.push_back(imaginary);
    };
    for (std::int32_t i = 0; i < order_; ++i) {
      add(i, i, i % 2 == 0 ? of.diagonal : std::min(of.diagonal, 1e-9), 0);
      if (of.diagonal > 4) values_[values_.size() - parts_] = of.diagonal;
      for (const std::int32_t j : {i + 1, i + side}) {
        if (j >= order_ || (j == i + 1 && j % side == 0)) continue;
        add(j, i, -value(random), value(random));
        if (of.symmetry == ESPALIER_SOLVER_GENERAL && !of.one_sided)
          add(i, j, value(random), value(random));
      }
    }
    if (of.format == ESPALIER_SOLVER_ROWS) by_rows();
    espalier_solver_input input = ESPALIER_SOLVER_INPUT_INIT;
    input.order = order_;
    input.entries = static_cast<std::int64_t>(rows_.size());
    input.format = of.format;
    input.symmetry = of.symmetry;
    input.scalar = of.scalar;
    input.starts = starts_.data();
    input.rows = rows_.data();
    input.columns = columns_.data();
    input.values = values_.data();
    espalier_solver_options options = ESPALIER_SOLVER_OPTIONS_INIT;
    options.runtime = of.runtime;
    options.precision = of.precision;
    if (!of.kept.empty()) options.schur = of.kept.data();
    options.schur_count = std::ssize(of.kept);
    solver_ = factored(input, &options);
  }

  [[nodiscard]] espalier_solver* solver() const { return solver_.get(); }
  [[nodiscard]] std::int32_t order() const { return order_; }
  [[nodiscard]] std::int32_t parts() const { return parts_; }

  [[nodiscard]] std::vector<double> column(std::int32_t j) const {
    std::vector<double> x(static_cast<std::size_t>(order_) * parts_);
    x[static_cast<std::size_t>(j) * parts_] = 1;
    EXPECT_EQ(espalier_solver_solve(solver(), 0, 1, x.data()), 0);
    return x;
  }
  [[nodiscard]] std::vector<double> entries(const std::vector<std::int32_t>& rows,
                                            const std::vector<std::int32_t>& columns) {
    std::vector<double> values(rows.size() * parts_, -7);
    EXPECT_EQ(
        espalier_solver_read_inverse(solver(), static_cast<std::int64_t>(rows.size()),
                                     rows.data(), columns.data(), values.data()),
        0)
        << espalier_solver_last_error();
    return values;
  }

 private:
  void by_rows() {
    std::vector<std::size_t> order(rows_.size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
    std::ranges::stable_sort(order, {}, [&](std::size_t k) { return rows_[k]; });
    std::vector<std::int32_t> columns;
    std::vector<double> values;
    starts_.assign(static_cast<std::size_t>(order_) + 1, 0);
    for (const std::size_t k : order) {
      ++starts_[rows_[k] + 1];
      columns.push_back(columns_[k]);
      for (std::int32_t part = 0; part < parts_; ++part)
        values.push_back(values_[k * parts_ + part]);
    }
    for (std::size_t k = 1; k < starts_.size(); ++k) starts_[k] += starts_[k - 1];
    columns_ = columns;
    values_ = values;
  }

  std::int32_t order_, parts_;
  std::vector<std::int32_t> starts_, rows_, columns_;
  std::vector<double> values_;
  Handle solver_;
};

// Every `step`-th of them: columns of places are among these.
std::vector<std::int32_t> kept_variables(std::int32_t order, std::int32_t step) {
  std::vector<std::int32_t> kept;
  for (std::int32_t k = 0; k < order; k += step) kept.push_back(k);
  return kept;
}

class InverseEntries : public testing::TestWithParam<Case> {};

TEST_P(InverseEntries, AreThoseOfColumnsThatAreSolvedFor) {
  Grid grid(GetParam(), 12);
  const std::int32_t n = grid.order();
  std::mt19937 random(3);
  std::vector<std::int32_t> rows, columns;
  for (std::int32_t i = 0; i < n; ++i) rows.push_back(i), columns.push_back(i);
  for (int k = 0; k < 100; ++k) {  // anywhere, some of them twice
    rows.push_back(static_cast<std::int32_t>(random() % n));
    columns.push_back(static_cast<std::int32_t>(random() % 5 * 29));
  }
  const std::vector<double> found = grid.entries(rows, columns);
  const bool single = GetParam().precision == ESPALIER_SOLVER_SINGLE;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const std::vector<double> x = grid.column(columns[k]);
    double norm = 0;
    for (const double each : x) norm = std::max(norm, std::abs(each));
    for (std::int32_t part = 0; part < grid.parts(); ++part)
      EXPECT_NEAR(found[k * grid.parts() + part], x[rows[k] * grid.parts() + part],
                  (single ? 1e-3 : 1e-9) * norm)
          << rows[k] << ", " << columns[k];
  }
}

constexpr std::int32_t kReal = ESPALIER_SOLVER_REAL, kComplex = ESPALIER_SOLVER_COMPLEX,
                       kTriplets = ESPALIER_SOLVER_TRIPLETS, kRows = ESPALIER_SOLVER_ROWS,
                       kSymmetric = ESPALIER_SOLVER_SYMMETRIC,
                       kHermitian = ESPALIER_SOLVER_HERMITIAN,
                       kGeneral = ESPALIER_SOLVER_GENERAL,
                       kNone = ESPALIER_SOLVER_RUNTIME_NONE,
                       kStarpu = ESPALIER_SOLVER_RUNTIME_STARPU;
INSTANTIATE_TEST_SUITE_P(
    Kinds, InverseEntries,
    testing::Values(Case{"Definite", kSymmetric, kReal, kTriplets, 8},
                    Case{"DefiniteOnStarPU", kSymmetric, kReal, kTriplets, 8, kStarpu},
                    Case{"DefiniteInSinglePrecision", kSymmetric, kReal, kTriplets, 8,
                         kNone, ESPALIER_SOLVER_SINGLE},
                    Case{"DefiniteHermitian", kHermitian, kComplex, kTriplets, 12},
                    Case{"Indefinite", kSymmetric, kReal, kTriplets, 1},
                    Case{"IndefiniteHermitian", kHermitian, kComplex, kTriplets, 1},
                    Case{"ComplexSymmetric", kSymmetric, kComplex, kTriplets, 1},
                    Case{"General", kGeneral, kReal, kTriplets, 1},
                    Case{"GeneralByRows", kGeneral, kReal, kRows, 1, kStarpu},
                    Case{"ComplexGeneralByRows", kGeneral, kComplex, kRows, 1},
                    Case{"BlockTriangular", kGeneral, kReal, kTriplets, 8, kNone,
                         ESPALIER_SOLVER_DOUBLE, true},
                    Case{"DefiniteBesideKeptVariables", kSymmetric, kReal, kTriplets, 8,
                         kNone, ESPALIER_SOLVER_DOUBLE, false, kept_variables(144, 58)},
                    Case{"AllKept", kSymmetric, kReal, kTriplets, 8, kNone,
                         ESPALIER_SOLVER_DOUBLE, false, kept_variables(144, 1)},
                    Case{"GeneralBesideKeptVariablesByRows", kGeneral, kReal, kRows, 1,
                         kStarpu, ESPALIER_SOLVER_DOUBLE, false, kept_variables(144, 29)},
                    Case{"IndefiniteHermitianBesideKeptVariables", kHermitian, kComplex,
                         kTriplets, 1, kNone, ESPALIER_SOLVER_DOUBLE, false,
                         kept_variables(144, 2)}),
    [](const auto& each) { return std::string(each.param.name); });

TEST(InverseEntriesRefused, NameWhatCannotBe) {
  Grid grid(Case{"", kSymmetric, kReal, kTriplets, 8}, 3);
  std::int32_t rows[] = {0, 9}, columns[] = {0, 0};
  double values[2];
  expect_error(espalier_solver_read_inverse(grid.solver(), 2, rows, columns, values),
               EINVAL, "rows[1] is 9: not in 0 … 8");
  expect_error(espalier_solver_read_inverse(grid.solver(), -1, rows, columns, values),
               EINVAL, "count");
  expect_error(espalier_solver_read_inverse(grid.solver(), 1, nullptr, columns, values),
               EINVAL, "rows");
  expect_error(espalier_solver_read_inverse(grid.solver(), 1, rows, columns, nullptr),
               EINVAL, "values");
  EXPECT_EQ(espalier_solver_read_inverse(grid.solver(), 0, nullptr, nullptr, nullptr), 0);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
