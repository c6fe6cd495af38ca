// Solves with parts of a factor: together they are the inverse, each by itself is what it
// is called, for every kind of factor, real and complex.
// The cases of one subject, which share their instances: over 300 lines.

#include <espalier_solver.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <complex>
#include <cstdint>
#include <functional>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "solver/support/c_interface.h"

namespace espalier::solver {
namespace TEST_SOURCE {

using Number = std::complex<double>;

/// A dense matrix by columns.
struct Square {
  explicit Square(std::int64_t n) : order(n), value(static_cast<std::size_t>(n * n)) {}
  Number& operator()(std::int64_t i, std::int64_t j) { return value[i + j * order]; }
  Number operator()(std::int64_t i, std::int64_t j) const { return value[i + j * order]; }
  std::int64_t order;
  std::vector<Number> value;
};

Square product(const Square& a, const Square& b) {
  Square c(a.order);
  for (std::int64_t j = 0; j < a.order; ++j)
    for (std::int64_t k = 0; k < a.order; ++k)
      for (std::int64_t i = 0; i < a.order; ++i) c(i, j) += a(i, k) * b(k, j);
  return c;
}

Square transposed_of(const Square& a, bool conjugate) {
  Square t(a.order);
  for (std::int64_t j = 0; j < a.order; ++j)
    for (std::int64_t i = 0; i < a.order; ++i)
      t(j, i) = conjugate ? std::conj(a(i, j)) : a(i, j);
  return t;
}

double distance(const Square& a, const Square& b) {
  double most = 0, norm = 0;
  for (std::size_t k = 0; k < a.value.size(); ++k) {
    most = std::max(most, std::abs(a.value[k] - b.value[k]));
    norm = std::max(norm, std::abs(b.value[k]));
  }
  return most / norm;
}

enum class Shape { kDefinite, kIndefinite, kGeneral };
struct Case {
  const char* name;
  Shape shape;
  bool complex, hermitian;
  std::int32_t format = ESPALIER_SOLVER_COLUMNS;
  std::int32_t precision = ESPALIER_SOLVER_DOUBLE;
  std::int32_t runtime = ESPALIER_SOLVER_RUNTIME_NONE;
  bool delays = false;
};
std::ostream& operator<<(std::ostream& out, const Case& each) { return out << each.name; }

/// Nonsingular with some isolated variables; without a diagonal where it is indefinite.
Square random_matrix(const Case& of, std::int64_t n, double density, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> value(-1, 1), part(0, 1);
  Square a(n);
  const auto entry = [&] {
    return Number(value(random), of.complex ? value(random) : 0.0);
  };
  for (std::int64_t j = 0; j < n - 3; ++j)
    for (std::int64_t i = j; i < n - 3; ++i) {
      if (i != j && i != j + 1 && part(random) > density) continue;
      a(i, j) = entry();
      a(j, i) = of.shape == Shape::kGeneral ? entry()
                : of.hermitian              ? std::conj(a(i, j))
                                            : a(i, j);
      if (i == j && of.hermitian) a(i, i) = a(i, i).real();
      if (i == j && of.shape == Shape::kDefinite) a(i, i) = 2.0 * static_cast<double>(n);
      if (i == j && of.shape != Shape::kDefinite && i % 3 != 0) a(i, i) = 1e-12;
    }
  for (std::int64_t i = n - 3; i < n; ++i) a(i, i) = static_cast<double>(i - n + 5);
  return a;
}

/// The solver of a matrix, which is given by columns or rows.
class Parts {
 public:
  Parts(const Square& a, const Case& of) : n_(a.order), parts_(of.complex ? 2 : 1) {
    const bool half = of.shape != Shape::kGeneral;
    const bool by_rows = of.format == ESPALIER_SOLVER_ROWS;
    for (std::int64_t j = 0; j < n_; ++j) {
      for (std::int64_t i = half ? j : 0; i < n_; ++i) {
        const Number entry = by_rows ? a(j, i) : a(i, j);
        if (entry == 0.0) continue;
        index_.push_back(static_cast<std::int32_t>(i));
        value_.push_back(entry.real());
        if (of.complex) value_.push_back(entry.imag());
      }
      start_.push_back(static_cast<std::int32_t>(index_.size()));
    }
    espalier_solver_input input = ESPALIER_SOLVER_INPUT_INIT;
    input.order = n_;
    input.format = of.format;
    input.symmetry = ESPALIER_SOLVER_GENERAL;
    if (half) input.symmetry = ESPALIER_SOLVER_SYMMETRIC;
    if (half && of.hermitian) input.symmetry = ESPALIER_SOLVER_HERMITIAN;
    input.scalar = of.complex ? ESPALIER_SOLVER_COMPLEX : ESPALIER_SOLVER_REAL;
    input.starts = start_.data();
    input.rows = input.columns = index_.data();
    input.values = value_.data();
    espalier_solver_options options = ESPALIER_SOLVER_OPTIONS_INIT;
    options.precision = of.precision;
    options.runtime = of.runtime;
    options.factor_parts = 1;
    if (of.delays) {
      options.scaling = ESPALIER_SOLVER_SCALING_NONE;
      options.ordering = ESPALIER_SOLVER_ORDERING_AMD;
      options.pivot_threshold = 0.5;
    }
    solver_ = factored(input, &options);
  }

  [[nodiscard]] espalier_solver* solver() const { return solver_.get(); }
  [[nodiscard]] espalier_solver_statistics facts() const {
    espalier_solver_statistics facts{};
    facts.size = sizeof facts;
    EXPECT_EQ(espalier_solver_read_statistics(solver(), &facts), 0);
    return facts;
  }

  /// P^-1 X, with gaps between vectors.
  [[nodiscard]] Square apply(std::int32_t part, std::int32_t transposed,
                             const Square& x) const {
    const std::int64_t leading = n_ + 2;
    std::vector<double> block(static_cast<std::size_t>(parts_ * leading * n_), 7);
    for (std::int64_t j = 0; j < n_; ++j)
      for (std::int64_t i = 0; i < n_; ++i) {
        block[parts_ * (i + j * leading)] = x(i, j).real();
        if (parts_ == 2) block[2 * (i + j * leading) + 1] = x(i, j).imag();
      }
    const auto count = static_cast<std::int32_t>(n_);
    EXPECT_EQ(espalier_solver_solve_part(solver(), part, transposed, count, block.data(),
                                         leading, block.data(), leading),
              0)
        << espalier_solver_last_error();
    Square result(n_);
    for (std::int64_t j = 0; j < n_; ++j)
      for (std::int64_t i = 0; i < n_; ++i)
        result(i, j) = {block[parts_ * (i + j * leading)],
                        parts_ == 2 ? block[2 * (i + j * leading) + 1] : 0.0};
    return result;
  }
  [[nodiscard]] Square part(std::int32_t part, std::int32_t transposed = 0) const {
    Square unit(n_);
    for (std::int64_t i = 0; i < n_; ++i) unit(i, i) = 1;
    return apply(part, transposed, unit);
  }

 private:
  std::int64_t n_, parts_;
  std::vector<std::int32_t> start_ = {0}, index_;
  std::vector<double> value_;
  Handle solver_;
};

/// Whether rows and columns can be permuted, `alike` or not, so that nothing is above the
/// diagonal: a row with one entry left is the next one.
bool is_triangular(const Square& a, bool alike) {
  std::vector<bool> row_done(a.order), column_done(a.order);
  for (std::int64_t done = 0; done < a.order; ++done) {
    std::int64_t row = -1, column = -1;
    for (std::int64_t i = 0; i < a.order && row < 0; ++i) {
      if (row_done[i]) continue;
      std::int64_t count = 0;
      for (std::int64_t j = 0; j < a.order; ++j)
        if (!column_done[j] && a(i, j) != 0.0) ++count, column = j;
      if (count == 1 && (!alike || column == i)) row = i;
    }
    if (row < 0) return false;
    row_done[row] = column_done[column] = true;
  }
  return true;
}

bool is_power_of_two(Number x) {
  int exponent = 0;
  return x.imag() == 0 && std::frexp(std::abs(x.real()), &exponent) == 0.5;
}

class FactorParts : public testing::TestWithParam<Case> {
 protected:
  static constexpr std::int64_t kOrder = 40;
  /// What opposes L: L^T, or L^H.
  [[nodiscard]] static std::int32_t opposite() { return GetParam().hermitian ? 2 : 1; }
  [[nodiscard]] static double tolerance() {
    return GetParam().precision == ESPALIER_SOLVER_SINGLE ? 2e-2 : 1e-8;
  }
};

TEST_P(FactorParts, AreTheInverseOneAfterTheOther) {
  bool delayed = false, paired = false;
  for (unsigned seed = 1; seed <= 6; ++seed) {
    const Square a = random_matrix(GetParam(), kOrder, 0.12, seed);
    const Parts parts(a, GetParam());
    delayed |= parts.facts().delayed_pivots > 0;
    paired |= parts.facts().two_by_two_pivots > 0;
    Square inverse = parts.part(ESPALIER_SOLVER_PART_L);
    if (GetParam().shape == Shape::kIndefinite)
      inverse = parts.apply(ESPALIER_SOLVER_PART_D, 0, inverse);
    inverse = GetParam().shape == Shape::kGeneral
                  ? parts.apply(ESPALIER_SOLVER_PART_U, 0, inverse)
                  : parts.apply(ESPALIER_SOLVER_PART_L, opposite(), inverse);
    Square unit(kOrder);
    for (std::int64_t i = 0; i < kOrder; ++i) unit(i, i) = 1;
    EXPECT_LT(distance(product(a, inverse), unit), tolerance()) << seed;
    EXPECT_LT(distance(product(inverse, a), unit), tolerance()) << seed;
  }
  if (GetParam().delays) {
    EXPECT_TRUE(delayed);
  }
  if (GetParam().shape == Shape::kIndefinite) {
    EXPECT_TRUE(paired);
  }
}

TEST_P(FactorParts, AreWhatTheyAreCalled) {
  const bool general = GetParam().shape == Shape::kGeneral;
  const bool by_rows = general && GetParam().format == ESPALIER_SOLVER_ROWS;
  for (unsigned seed = 1; seed <= 3; ++seed) {
    const Parts parts(random_matrix(GetParam(), kOrder, 0.12, seed), GetParam());
    const Square lower = parts.part(ESPALIER_SOLVER_PART_L);
    EXPECT_TRUE(is_triangular(lower, !by_rows)) << seed;
    if (general) {
      const Square upper = parts.part(ESPALIER_SOLVER_PART_U);
      EXPECT_TRUE(is_triangular(transposed_of(upper, false), by_rows)) << seed;
    }
    const Square& unit_part = by_rows ? parts.part(ESPALIER_SOLVER_PART_U) : lower;
    for (std::int64_t i = 0; GetParam().shape != Shape::kDefinite && i < kOrder; ++i)
      EXPECT_TRUE(is_power_of_two(unit_part(i, i))) << i;
    if (GetParam().shape != Shape::kIndefinite) continue;
    const Square d = parts.part(ESPALIER_SOLVER_PART_D);
    EXPECT_LT(distance(d, transposed_of(d, GetParam().hermitian)), tolerance());
    for (std::int64_t j = 0; j < kOrder; ++j) {
      std::int64_t entries = 0;
      for (std::int64_t i = 0; i < kOrder; ++i) entries += d(i, j) != 0.0;
      EXPECT_LE(entries, 2) << j;
    }
  }
}

TEST_P(FactorParts, TransposedAreTransposed) {
  const Parts parts(random_matrix(GetParam(), kOrder, 0.12, 1), GetParam());
  std::vector<std::int32_t> all = {ESPALIER_SOLVER_PART_L};
  if (GetParam().shape == Shape::kIndefinite) all.push_back(ESPALIER_SOLVER_PART_D);
  if (GetParam().shape == Shape::kGeneral) all.push_back(ESPALIER_SOLVER_PART_U);
  for (const std::int32_t part : all)
    for (std::int32_t transposed = 1; transposed <= (GetParam().complex ? 2 : 1);
         ++transposed)
      EXPECT_LT(distance(parts.part(part, transposed),
                         transposed_of(parts.part(part), transposed == 2)),
                tolerance())
          << part << ' ' << transposed;
}

constexpr std::int32_t kRows = ESPALIER_SOLVER_ROWS, kColumns = ESPALIER_SOLVER_COLUMNS,
                       kSingle = ESPALIER_SOLVER_SINGLE, kDouble = ESPALIER_SOLVER_DOUBLE,
                       kAlone = ESPALIER_SOLVER_RUNTIME_NONE,
                       kStarpu = ESPALIER_SOLVER_RUNTIME_STARPU;
INSTANTIATE_TEST_SUITE_P(
    Kinds, FactorParts,
    testing::Values(Case{"Definite", Shape::kDefinite, false, false},
                    Case{"DefiniteOnStarPU", Shape::kDefinite, false, false, kColumns,
                         kDouble, kStarpu},
                    Case{"DefiniteHermitian", Shape::kDefinite, true, true},
                    Case{"Indefinite", Shape::kIndefinite, false, false},
                    Case{"IndefiniteInSinglePrecision", Shape::kIndefinite, false, false,
                         kColumns, kSingle},
                    Case{"IndefiniteWithDelays", Shape::kIndefinite, false, false,
                         kColumns, kDouble, kAlone, true},
                    Case{"IndefiniteHermitian", Shape::kIndefinite, true, true, kColumns,
                         kDouble, kAlone, true},
                    Case{"ComplexSymmetric", Shape::kIndefinite, true, false, kColumns,
                         kDouble, kAlone, true},
                    Case{"General", Shape::kGeneral, false, false},
                    Case{"GeneralByRows", Shape::kGeneral, false, false, kRows},
                    Case{"GeneralWithDelays", Shape::kGeneral, false, false, kColumns,
                         kDouble, kStarpu, true},
                    Case{"ComplexGeneral", Shape::kGeneral, true, false, kColumns,
                         kDouble, kAlone, true},
                    Case{"ComplexGeneralByRows", Shape::kGeneral, true, false, kRows}),
    [](const auto& each) { return std::string(each.param.name); });

// Fronts of several blocks, whose slots go on.
TEST(FactorPartsOfLargeFronts, AreASolveTogether) {
  for (const Shape shape : {Shape::kDefinite, Shape::kIndefinite, Shape::kGeneral}) {
    const Case of{"", shape, false, false, kColumns, kDouble, kAlone, true};
    const std::int64_t n = 500;
    const Parts parts(random_matrix(of, n, 0.5, 3), of);
    const espalier_solver_statistics facts = parts.facts();
    EXPECT_EQ(facts.two_by_two_pivots + facts.delayed_pivots > 0,
              shape != Shape::kDefinite);
    std::vector<double> b(n), x(n), y(n);
    for (std::int64_t i = 0; i < n; ++i) b[i] = 1 + static_cast<double>(i % 7);
    const auto apply = [&](std::int32_t part, std::int32_t transposed,
                           const double* from) {
      ASSERT_EQ(espalier_solver_solve_part(parts.solver(), part, transposed, 1, from, n,
                                           y.data(), n),
                0)
          << espalier_solver_last_error();
    };
    apply(ESPALIER_SOLVER_PART_L, 0, b.data());
    if (shape == Shape::kIndefinite) apply(ESPALIER_SOLVER_PART_D, 0, y.data());
    if (shape == Shape::kGeneral)
      apply(ESPALIER_SOLVER_PART_U, 0, y.data());
    else
      apply(ESPALIER_SOLVER_PART_L, 1, y.data());
    x = b;
    ASSERT_EQ(espalier_solver_solve(parts.solver(), 0, 1, x.data()), 0);
    for (std::int64_t i = 0; i < n; ++i)
      EXPECT_NEAR(x[i], y[i], 1e-7 * (1 + std::abs(x[i]))) << i;
  }
}

TEST(FactorPartsRefused, NameWhatCannotBe) {
  const Case definite{"", Shape::kDefinite, false, false};
  const Case general{"", Shape::kGeneral, false, false};
  const Parts llt(random_matrix(definite, 10, 0.3, 1), definite);
  const Parts lu(random_matrix(general, 10, 0.3, 1), general);
  std::vector<double> x(20, 1);
  const auto refused = [&](const Parts& of, std::int32_t part, std::int32_t transposed,
                           std::int64_t ldx, const char* word) {
    expect_error(espalier_solver_solve_part(of.solver(), part, transposed, 2, x.data(),
                                            10, x.data(), ldx),
                 EINVAL, word);
  };
  refused(llt, 0, 0, 10, "part");
  refused(llt, 4, 0, 10, "part");
  refused(llt, ESPALIER_SOLVER_PART_L, 2, 10, "transposed");
  refused(llt, ESPALIER_SOLVER_PART_D, 0, 10, "D is a part of L D L^T");
  refused(llt, ESPALIER_SOLVER_PART_U, 0, 10, "U is a part of L U");
  refused(lu, ESPALIER_SOLVER_PART_D, 0, 10, "D is a part of L D L^T");
  refused(lu, ESPALIER_SOLVER_PART_L, 0, 9, "ldx");
  expect_error(espalier_solver_solve_part(nullptr, 1, 0, 1, x.data(), 1, x.data(), 1),
               EINVAL, "solver");
  x[3] = NAN;
  refused(lu, ESPALIER_SOLVER_PART_L, 0, 10, "nan");
}

// A triangular matrix has no one L and U in block form, and says which option does it.
TEST(FactorPartsRefused, InBlockTriangularFormUnlessAskedFor) {
  const std::int32_t start[] = {0, 2, 4, 5}, row[] = {0, 1, 1, 2, 2};
  const double value[] = {2, 1, 3, 1, 4};
  espalier_solver_input input = ESPALIER_SOLVER_INPUT_INIT;
  input.order = 3;
  input.starts = start;
  input.rows = row;
  input.values = value;
  for (const std::int32_t asked : {0, 1}) {
    espalier_solver_options options = ESPALIER_SOLVER_OPTIONS_INIT;
    options.factor_parts = asked;
    espalier_solver* solver = nullptr;
    ASSERT_EQ(espalier_solver_analyse(&solver, &input, &options), 0);
    const Handle handle(solver);
    ASSERT_EQ(espalier_solver_plan(solver, INT64_MAX), 0);
    ASSERT_EQ(espalier_solver_factorise(solver), 0);
    double x[] = {2, 4, 5};
    const int status = espalier_solver_solve_part(solver, 1, 0, 1, x, 3, x, 3);
    if (asked == 0) {
      expect_error(status, EINVAL, "options.factor_parts");
      continue;
    }
    EXPECT_EQ(status, 0) << espalier_solver_last_error();
    ASSERT_EQ(espalier_solver_solve_part(solver, 3, 0, 1, x, 3, x, 3), 0);
    for (const double each : x) EXPECT_NEAR(each, 1, 1e-14);
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
