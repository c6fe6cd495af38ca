// What a factor tells beside solutions: determinants, Schur complements, null spaces.
//
// The cases of one subject, which share their instances: over 300 lines.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "espalier/solver/solver.h"
#include "solver/matrix/grid.h"
#include "solver/solve/determinant.h"
#include "solver/support/square_systems.h"

namespace espalier::solver {
namespace TEST_SOURCE {

/// A dense matrix by columns.
class Square {
 public:
  explicit Square(std::size_t n) : n_(n), value_(n * n) {}
  [[nodiscard]] std::int32_t size() const { return static_cast<std::int32_t>(n_); }
  double& operator()(std::int64_t i, std::int64_t j) { return value_[at(i, j)]; }
  double operator()(std::int64_t i, std::int64_t j) const { return value_[at(i, j)]; }

 private:
  [[nodiscard]] std::size_t at(std::int64_t i, std::int64_t j) const {
    return static_cast<std::size_t>(i) + n_ * static_cast<std::size_t>(j);
  }
  std::size_t n_;
  std::vector<double> value_;
};

// Of order 0 where there is none.
Square inverse_of(const Square& a) {
  Dense given(a.size());
  for (std::int32_t j = 0; j < a.size(); ++j)
    for (std::int32_t i = 0; i < a.size(); ++i) given(i, j) = a(i, j);
  const Dense found = solver::inverse_of(given);
  Square inverse(static_cast<std::size_t>(found.size()));
  for (std::int32_t j = 0; j < found.size(); ++j)
    for (std::int32_t i = 0; i < found.size(); ++i)
      inverse(i, j) = static_cast<double>(found(i, j));
  return inverse;
}

InputMatrix sparse(const Square& a, bool symmetric) {
  SymmetricMatrix lower{.size = a.size(), .column_start = {0}, .row = {}, .value = {}};
  GeneralMatrix whole{.size = a.size(), .column_start = {0}, .row = {}, .value = {}};
  const auto fill = [&](auto& matrix, bool half) {
    for (std::int32_t j = 0; j < a.size(); ++j) {
      for (std::int32_t i = half ? j : 0; i < a.size(); ++i)
        if (a(i, j) != 0) {
          matrix.row.push_back(i);
          matrix.value.push_back(a(i, j));
        }
      matrix.column_start.push_back(std::ssize(matrix.row));
    }
  };
  fill(lower, true);
  fill(whole, false);
  if (symmetric) return lower;
  return whole;
}

// Entries of moduli up to 2, so sparse that small ones are often singular.
Square random_square_of(std::mt19937& random, std::int32_t n, FactorKind kind) {
  Square a(static_cast<std::size_t>(n));
  for (std::int32_t j = 0; j < n; ++j)
    for (std::int32_t i = 0; i < n; ++i) {
      if (draw(random, 0, n) > 3 && i != j) continue;
      a(i, j) = std::uniform_real_distribution<>(-2, 2)(random);
      if (kind != FactorKind::kLu) a(j, i) = a(i, j);
    }
  for (std::int32_t i = 0; i < n; ++i) {
    if (kind == FactorKind::kCholesky)
      a(i, i) = 8 + 2.0 * n;
    else if (draw(random, 0, 2) == 0)
      a(i, i) = 0;
  }
  return a;
}

double determinant_of(Square a) {
  double product = 1;
  const std::int32_t n = a.size();
  for (std::int32_t k = 0; k < n; ++k) {
    std::int32_t pivot = k;
    for (std::int32_t i = k; i < n; ++i)
      if (std::abs(a(i, k)) > std::abs(a(pivot, k))) pivot = i;
    if (pivot != k) product = -product;
    for (std::int32_t j = 0; j < n; ++j) std::swap(a(k, j), a(pivot, j));
    if (a(k, k) == 0) return 0;
    product *= a(k, k);
    for (std::int32_t i = k + 1; i < n; ++i)
      for (std::int32_t j = n - 1; j >= k; --j) a(i, j) -= a(i, k) / a(k, k) * a(k, j);
  }
  return product;
}

// By an index set.
Square part_of(const Square& a, const std::vector<std::int32_t>& rows,
               const std::vector<std::int32_t>& columns) {
  Square part(std::max(rows.size(), columns.size()));
  for (std::size_t j = 0; j < columns.size(); ++j)
    for (std::size_t i = 0; i < rows.size(); ++i)
      part(static_cast<std::int64_t>(i), static_cast<std::int64_t>(j)) =
          a(rows[i], columns[j]);
  return part;
}

struct Setting {
  FactorKind kind;
  PrepareOptions::Scaling scaling;
  Flops runtime_flops;
};
constexpr Flops kHere = 1e18;

std::vector<Setting> settings() {
  using Scaling = PrepareOptions::Scaling;
  std::vector<Setting> all;
  for (const FactorKind kind :
       {FactorKind::kCholesky, FactorKind::kLdlt, FactorKind::kLu})
    for (const Scaling scaling : {Scaling::kAuto, Scaling::kNone, Scaling::kEquilibrate})
      all.push_back({kind, scaling, kHere});
  for (const FactorKind kind :
       {FactorKind::kCholesky, FactorKind::kLdlt, FactorKind::kLu})
    all.push_back({kind, Scaling::kAuto, 0});
  return all;
}

SolverOptions options_of(const Setting& setting) {
  SolverOptions options;
  options.kind = setting.kind;
  options.prepare.scaling = setting.scaling;
  options.runtime_flops = setting.runtime_flops;
  options.workers = 2;
  return options;
}

// StarPU starts once for all that are on it while this lives.
class Started {
 public:
  Started() : solver_(make_grid(parse_grid("4x4")), options()) {}

 private:
  static SolverOptions options() {
    SolverOptions options;
    options.workers = 2;
    options.runtime_flops = 0;
    return options;
  }
  Solver solver_;
};

void factor(Solver& solver, std::optional<Bytes> bound = std::nullopt) {
  ASSERT_TRUE(solver.plan(bound));
  ASSERT_TRUE(solver.factorise());
}

TEST(Determinant, IsWorkedByHand) {
  Determinant product;
  EXPECT_EQ(product.sign(), 1);
  EXPECT_EQ(product.log_modulus(), 0);
  for (const double each : {-3.0, 4.0, 0.5}) product.multiply(each);
  EXPECT_EQ(std::ldexp(product.mantissa, static_cast<int>(product.exponent)), -6);
  EXPECT_EQ(product.sign(), -1);
  for (int k = 0; k < 5000; ++k) product.multiply(1e300);
  EXPECT_NEAR(product.log_modulus(), std::log(6) + 5000 * std::log(1e300), 1e-6);
  product.multiply(0);
  EXPECT_EQ(product.sign(), 0);
  EXPECT_EQ(product.log_modulus(), -HUGE_VAL);
  EXPECT_EQ(parity(std::vector<std::int32_t>{}), 1);
  EXPECT_EQ(parity(std::vector<std::int32_t>{1, 0, 2}), -1);
  EXPECT_EQ(parity(std::vector<std::int32_t>{1, 2, 0}), 1);
  EXPECT_EQ(parity(std::vector<std::int32_t>{3, 2, 1, 0}), 1);
}

TEST(Determinant, IsThatOfDenseElimination) {
  const Started started;
  std::mt19937 random(71);
  int compared = 0;
  for (const Setting& setting : settings())
    for (int instance = 0; instance < (setting.runtime_flops == 0 ? 3 : 120);
         ++instance) {
      const Square a = random_square_of(random, draw(random, 0, 14), setting.kind);
      SCOPED_TRACE(fmt::format("kind {} scaling {} instance {}",
                               static_cast<int>(setting.kind),
                               static_cast<int>(setting.scaling), instance));
      Solver solver(sparse(a, setting.kind != FactorKind::kLu), options_of(setting));
      factor(solver);
      const double expected = determinant_of(a);
      const Determinant found = solver.determinant();
      if (solver.singular()) {
        EXPECT_EQ(found.sign(), 0);
        EXPECT_LT(std::abs(expected), 1e-8);
        continue;
      }
      if (std::abs(expected) < 1e-6) continue;  // not much of it is known
      ++compared;
      const double value = std::ldexp(found.mantissa, static_cast<int>(found.exponent));
      EXPECT_NEAR(value, expected, 1e-7 * std::abs(expected));
    }
  EXPECT_GT(compared, 500);
}

// Of orders whose determinants no double holds, with delayed pivots and in several
// fronts.
TEST(Determinant, OfASaddlePointIsThatOfItsBlocks) {
  // [D B^T; B 0] with D = 2 I and B = [I 0]: det = prod over pairs of (-1), times 2's.
  const std::int32_t n = 3000, m = 1200;
  SymmetricMatrix a{.size = n + m, .column_start = {0}, .row = {}, .value = {}};
  for (std::int32_t j = 0; j < n + m; ++j) {
    if (j < n) {
      a.row.push_back(j);
      a.value.push_back(2);
    }
    if (j < m) {
      a.row.push_back(n + j);
      a.value.push_back(1);
    }
    a.column_start.push_back(std::ssize(a.row));
  }
  for (const std::optional<FactorKind> kind :
       {std::optional(FactorKind::kLdlt), std::optional(FactorKind::kLu)}) {
    SolverOptions options;
    options.kind = kind;
    Solver solver(SymmetricMatrix(a), options);
    factor(solver);
    const Determinant found = solver.determinant();
    EXPECT_EQ(found.sign(), 1);  // (-1)^1200
    EXPECT_NEAR(found.log_modulus(), (n - m) * std::log(2.0), 1e-9);
  }
}

TEST(Determinant, OfAGridOutOfCoreIsThatInCore) {
  SolverOptions options;
  options.runtime_flops = 0;
  Solver in_core(make_grid(parse_grid("22x22x22")), options);
  factor(in_core);
  options.out_of_core = testing::TempDir();
  Solver outside(make_grid(parse_grid("22x22x22")), options);
  factor(outside, outside.least_out_of_core());
  EXPECT_GT(outside.bytes_to_spill(), 0);
  EXPECT_EQ(outside.determinant().sign(), 1);
  EXPECT_NEAR(outside.determinant().log_modulus(), in_core.determinant().log_modulus(),
              1e-9);
}

// Variables of a matrix, by chance some that are kept and the others.
struct Split {
  std::vector<std::int32_t> kept, inner;
};

Split random_split(std::mt19937& random, std::int32_t n) {
  Split split;
  split.inner.resize(n);
  std::iota(split.inner.begin(), split.inner.end(), 0);
  std::ranges::shuffle(split.inner, random);
  const auto end = split.inner.begin() + draw(random, 1, n);
  split.kept.assign(split.inner.begin(), end);
  split.inner.erase(split.inner.begin(), end);
  return split;
}

double largest_of(const Square& a, std::size_t n) {
  double largest = 0;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) largest = std::max(largest, std::abs(a(i, j)));
  return largest;
}

// Of a, by the inverse of its inner block.
void expect_schur(const Solver& solver, const Square& a, const Split& split,
                  const Square& inverse, double tolerance) {
  const auto& [kept, inner] = split;
  const std::size_t k = kept.size(), m = inner.size();
  std::vector<double> s(k * k);
  solver.schur(s);
  for (std::size_t j = 0; j < k; ++j)
    for (std::size_t i = 0; i < k; ++i) {
      double expected = a(kept[i], kept[j]);
      for (std::size_t p = 0; p < m; ++p)
        for (std::size_t q = 0; q < m; ++q)
          expected -= a(kept[i], inner[p]) * inverse(p, q) * a(inner[q], kept[j]);
      EXPECT_NEAR(s[i + k * j], expected, tolerance);
    }
}

// The inner system, both ways; what stands at the kept variables is not read.
void expect_inner_solutions(Solver& solver, const Square& a, const Split& split) {
  const auto& [kept, inner] = split;
  for (const Operation operation : {Operation::kPlain, Operation::kTransposed}) {
    std::vector<double> b(kept.size() + inner.size(), 1e9);
    for (const std::int32_t i : inner) {
      b[i] = 0;
      for (const std::int32_t j : inner)
        b[i] += operation == Operation::kPlain ? a(i, j) : a(j, i);
    }
    (void)solver.solve(b, 1, operation);
    for (const std::int32_t each : kept) EXPECT_EQ(b[each], 0);
    for (const std::int32_t each : inner) EXPECT_NEAR(b[each], 1, 1e-7);
  }
}

// @return whether enough is known of the inner block to compare
bool expect_dense_elimination(const Setting& setting, const Square& a,
                              const Split& split) {
  SolverOptions options = options_of(setting);
  options.schur = split.kept;
  Solver solver(sparse(a, setting.kind != FactorKind::kLu), options);
  factor(solver);
  if (solver.singular()) {
    std::vector<double> s(split.kept.size() * split.kept.size());
    EXPECT_THROW(solver.schur(s), InvalidInput);
    return false;
  }
  const Square inner = part_of(a, split.inner, split.inner), inverse = inverse_of(inner);
  const double largest = largest_of(inverse, split.inner.size());
  if (largest > 1e4) return false;
  expect_schur(solver, a, split, inverse, 1e-9 * (1 + largest));
  const double expected = determinant_of(inner);
  const Determinant det = solver.determinant();
  EXPECT_NEAR(std::ldexp(det.mantissa, static_cast<int>(det.exponent)), expected,
              1e-7 * std::abs(expected));
  expect_inner_solutions(solver, a, split);
  return true;
}

TEST(Schur, IsWhatDenseEliminationLeaves) {
  const Started started;
  std::mt19937 random(72);
  int compared = 0;
  for (const Setting& setting : settings())
    for (int instance = 0; instance < (setting.runtime_flops == 0 ? 3 : 120);
         ++instance) {
      const std::int32_t n = draw(random, 1, 16);
      const Square a = random_square_of(random, n, setting.kind);
      const Split split = random_split(random, n);
      SCOPED_TRACE(fmt::format("kind {} scaling {} instance {} order {} kept {}",
                               static_cast<int>(setting.kind),
                               static_cast<int>(setting.scaling), instance, n,
                               split.kept.size()));
      if (expect_dense_elimination(setting, a, split)) ++compared;
    }
  EXPECT_GT(compared, 500);
}

// What is left when the kept variables are taken out may fall apart, and a part of it may
// have a front whose only rows are kept.
TEST(Schur, SolvesTheOthersInSinglePrecision) {
  const Started started;
  std::mt19937 random(75);
  for (int instance = 0; instance < 300; ++instance) {
    SCOPED_TRACE(instance);
    const std::int32_t n = draw(random, 1, 12), k = draw(random, 1, n);
    Square a(static_cast<std::size_t>(n));
    for (std::int32_t j = 0; j < n; ++j)
      for (std::int32_t i = 0; i < n; ++i)
        if (i == j || draw(random, 0, 3) == 0) a(i, j) = i == j ? 20 : draw(random, 1, 2);
    SolverOptions options = options_of({FactorKind::kLu, {}, kHere});
    options.precision = Precision::kSingle;
    for (std::int32_t kept = n - k; kept < n; ++kept) options.schur.push_back(kept);
    Solver solver(sparse(a, false), options);
    factor(solver);
    std::vector<double> b(n);
    for (std::int32_t i = 0; i < n - k; ++i)
      for (std::int32_t j = 0; j < n - k; ++j) b[i] += a(i, j);
    (void)solver.solve(b, 1, Operation::kPlain);
    for (std::int32_t i = 0; i < n; ++i) EXPECT_NEAR(b[i], i < n - k ? 1 : 0, 1e-12);
  }
}

// A plane of a grid, in all ways of running it, to the same digits, inside the bound.
TEST(Schur, OfAPlaneOfAGridIsTheSameInEveryWay) {
  const Started started;
  const SymmetricMatrix grid = make_grid(parse_grid("9x9x9"));
  std::vector<std::int32_t> plane;
  for (std::int32_t k = 0; k < grid.size; ++k)
    if (k / 81 == 4) plane.push_back(k);
  std::vector<double> first;
  for (const FactorKind kind :
       {FactorKind::kCholesky, FactorKind::kLdlt, FactorKind::kLu})
    for (const int way : {0, 1, 2, 3}) {
      SCOPED_TRACE(fmt::format("kind {} way {}", static_cast<int>(kind), way));
      SolverOptions options;
      options.kind = kind;
      options.schur = plane;
      options.runtime_flops = way == 0 ? kHere : 0;
      options.workers = 2;
      if (way == 3) options.out_of_core = testing::TempDir();
      Solver solver(SymmetricMatrix(grid), options);
      std::optional<Bytes> bound;
      if (way == 2) bound = solver.least();
      if (way == 3) bound = solver.least_out_of_core();
      ASSERT_TRUE(solver.plan(bound));
      const auto run = solver.factorise();
      ASSERT_TRUE(run);
      if (way > 0) {
        EXPECT_LE(run->allocated_peak, run->booked_peak);
      }
      std::vector<double> s(plane.size() * plane.size());
      solver.schur(s);
      if (first.empty()) first = s;
      double worst = 0;
      for (std::size_t k = 0; k < s.size(); ++k)
        worst = std::max(worst, std::abs(s[k] - first[k]));
      EXPECT_LE(worst, 1e-13);
      if (bound) {
        EXPECT_LE(solver.peak_resident(), *bound);
      }
    }
}

TEST(Schur, OfOtherValuesFollowsThem) {
  std::mt19937 random(73);
  for (const FactorKind kind : {FactorKind::kCholesky, FactorKind::kLdlt}) {
    SymmetricMatrix grid = make_grid(parse_grid("6x6"));
    SolverOptions options;
    options.kind = kind;
    options.schur = {35, 3, 17};
    Solver solver(SymmetricMatrix(grid), options);
    factor(solver);
    std::vector<double> once(9), twice(9);
    solver.schur(once);
    for (double& value : grid.value) value *= 2;
    solver.replace_values(grid);
    EXPECT_THROW(solver.schur(twice), InvalidInput);
    ASSERT_TRUE(solver.factorise());
    solver.schur(twice);
    for (std::size_t k = 0; k < 9; ++k) EXPECT_NEAR(twice[k], 2 * once[k], 1e-13);
  }
}

TEST(Schur, IsNotInTheWayOfSparseRightHandSides) {
  const Started started;
  const SymmetricMatrix grid = make_grid(parse_grid("20x20"));
  for (const Flops runtime_flops : {kHere, 0.0}) {
    SolverOptions options;
    options.schur = {7, 200, 399};
    options.runtime_flops = runtime_flops;
    options.workers = 2;
    Solver solver(SymmetricMatrix(grid), options);
    factor(solver);
    for (const std::vector<std::int64_t>& rows :
         {std::vector<std::int64_t>{200}, {7, 200, 399}, {3, 200}, {90}}) {
      std::vector<double> sparse(400), dense(400);
      for (const std::int64_t row : rows) sparse[row] = dense[row] = 1;
      (void)solver.solve(sparse, 1, Operation::kPlain, rows);
      (void)solver.solve(dense);
      for (std::size_t k = 0; k < dense.size(); ++k)
        EXPECT_NEAR(sparse[k], dense[k], 1e-14);
    }
  }
}

TEST(Schur, RefusesWhatCannotBe) {
  const auto solver_with = [](std::vector<std::int32_t> kept) {
    SolverOptions options;
    options.schur = std::move(kept);
    return Solver(make_grid(parse_grid("3x3")), options);
  };
  EXPECT_THROW((void)solver_with({9}), InvalidInput);
  EXPECT_THROW((void)solver_with({-1}), InvalidInput);
  EXPECT_THROW((void)solver_with({2, 1, 2}), InvalidInput);
  std::vector<double> four(4), one(1);
  Solver solver(make_grid(parse_grid("3x3")), {});
  factor(solver);
  EXPECT_THROW(solver.schur(one), InvalidInput);  // no variables
  SolverOptions options;
  options.schur = {4};
  Solver kept(make_grid(parse_grid("3x3")), options);
  EXPECT_THROW(kept.schur(one), InvalidInput);  // not factored
  factor(kept);
  EXPECT_THROW(kept.schur(four), InvalidInput);
  EXPECT_THROW(kept.save(testing::TempDir() + "/kept"), InvalidInput);
}

// Laplace's matrix of `parts` cycles: a vector of ones for each is in its null space.
SymmetricMatrix cycles(std::int32_t parts, std::int32_t length) {
  SymmetricMatrix a{.size = parts * length, .column_start = {0}, .row = {}, .value = {}};
  for (std::int32_t j = 0; j < a.size; ++j) {
    const std::int32_t place = j % length;
    a.row.push_back(j);
    a.value.push_back(2);
    if (place + 1 < length) a.row.push_back(j + 1), a.value.push_back(-1);
    if (place == 0) a.row.push_back(j + length - 1), a.value.push_back(-1);
    a.column_start.push_back(std::ssize(a.row));
  }
  return a;
}

TEST(NullSpace, OfCyclesIsConstantOnEach) {
  for (const std::int32_t parts : {1, 3, 20}) {
    SolverOptions options;
    options.kind = FactorKind::kLdlt;
    const std::int32_t length = 40, n = parts * length;
    Solver solver(cycles(parts, length), options);
    factor(solver);
    ASSERT_EQ(solver.null_space(), parts);
    EXPECT_EQ(solver.determinant().sign(), 0);
    const std::vector<double> basis = solver.null_space_basis();
    ASSERT_EQ(std::ssize(basis), std::int64_t{n} * parts);
    for (std::int32_t v = 0; v < parts; ++v)
      for (std::int32_t i = 0; i < n; ++i)
        EXPECT_NEAR(basis[v * n + i], basis[v * n + i / length * length], 1e-10);
    for (std::int32_t v = 0; v < parts; ++v)
      for (std::int32_t w = 0; w <= v; ++w)
        EXPECT_NEAR(std::inner_product(basis.begin() + v * n, basis.begin() + (v + 1) * n,
                                       basis.begin() + w * n, 0.0),
                    v == w, 1e-12);
  }
}

// L D L^T of small integers, so that all sums are exact: inertia is that of D.
struct LowRank {
  Square a;
  std::int64_t negative = 0, zero = 0;
};

LowRank low_rank(std::mt19937& random, std::size_t n) {
  std::uniform_int_distribution<int> entry(-1, 1);
  Square l(n);
  LowRank result{Square(n)};
  std::vector<int> d(n);
  for (std::size_t j = 0; j < n; ++j) {
    d[j] = j == 0 ? 0 : entry(random);
    result.negative += d[j] < 0;
    result.zero += d[j] == 0;
    for (std::size_t i = j; i < n; ++i) l(i, j) = i == j ? 1 : entry(random);
  }
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t k = 0; k <= std::min(i, j); ++k)
        result.a(i, j) += l(i, k) * d[k] * l(j, k);
  return result;
}

TEST(NullSpace, OfSmallMatricesHasItsDimensionBesideTheirInertia) {
  std::mt19937 random(3);
  SolverOptions options;
  options.kind = FactorKind::kLdlt;
  for (int instance = 0; instance < 200; ++instance) {
    const std::size_t n = 2 + instance % 5;
    const LowRank given = low_rank(random, n);
    SCOPED_TRACE(instance);
    Solver solver(sparse(given.a, true), options);
    ASSERT_TRUE(solver.plan(std::nullopt));
    const auto run = solver.factorise();
    ASSERT_TRUE(run);
    EXPECT_EQ(run->pivots.null_space, given.zero);
    EXPECT_EQ(run->pivots.negative, given.negative);
    const std::vector<double> basis = solver.null_space_basis();
    ASSERT_EQ(std::ssize(basis), std::ssize(basis) / n * n);
    for (std::size_t v = 0; v < basis.size(); v += n)
      for (std::size_t w = 0; w <= v; w += n)
        EXPECT_NEAR(std::inner_product(basis.begin() + v, basis.begin() + v + n,
                                       basis.begin() + w, 0.0),
                    v == w, 1e-12);
    for (std::size_t v = 0; v < basis.size(); v += n)
      for (std::size_t i = 0; i < n; ++i) {
        double sum = 0;
        for (std::size_t j = 0; j < n; ++j) sum += given.a(i, j) * basis[v + j];
        EXPECT_NEAR(sum, 0, 1e-11);
      }
  }
}

// A star whose points have no entry of their own: order 6, structural rank 2.
TEST(NullSpace, IsAsLargeAsTheStructuralRankSays) {
  for (const double hub : {0.0, 3.0}) {
    Square a(6);
    a(0, 0) = hub;
    for (std::int32_t i = 1; i < 6; ++i) a(i, 0) = a(0, i) = i;
    SolverOptions options;
    options.kind = FactorKind::kLdlt;
    Solver solver(sparse(a, true), options);
    ASSERT_TRUE(solver.plan(std::nullopt));
    const auto run = solver.factorise();
    ASSERT_TRUE(run);
    EXPECT_EQ(run->pivots.null_space, 4);
    EXPECT_EQ(run->pivots.negative, 1);
  }
}

// Left and right null spaces differ; columns and rows are scaled by powers of ten.
TEST(NullSpace, OfAGeneralMatrixIsThatOfItsOrOfItsTransposes) {
  std::mt19937 random(74);
  int checked = 0;
  for (int instance = 0; instance < 60; ++instance) {
    const std::int32_t n = draw(random, 4, 30), deficiency = draw(random, 1, 3);
    Square a(static_cast<std::size_t>(n));
    for (std::int32_t i = 0; i < n; ++i)
      for (std::int32_t j = 0; j < n; ++j)
        if (i == j || draw(random, 0, n) < 3)
          a(i, j) = std::uniform_real_distribution<>(-2, 2)(random);
    // The first rows become sums of others: exactly, in small whole numbers.
    for (std::int32_t i = 0; i < n; ++i)
      for (std::int32_t j = 0; j < n; ++j) a(i, j) = std::round(4 * a(i, j));
    for (std::int32_t r = 0; r < deficiency; ++r)
      for (std::int32_t j = 0; j < n; ++j)
        a(r, j) = a(n - 1, j) - a(n - 2 - r % (n - 3), j);
    SolverOptions options;
    options.kind = FactorKind::kLu;
    Solver solver(sparse(a, false), options);
    factor(solver);
    if (solver.null_space() == 0) continue;
    SCOPED_TRACE(fmt::format("instance {} order {}", instance, n));
    ++checked;
    for (const Operation operation : {Operation::kPlain, Operation::kTransposed}) {
      const std::vector<double> basis = solver.null_space_basis(operation);
      ASSERT_EQ(std::ssize(basis), n * solver.null_space());
      for (std::int64_t v = 0; v < solver.null_space(); ++v)
        for (std::int32_t i = 0; i < n; ++i) {
          double sum = 0, met = 0;
          for (std::int32_t j = 0; j < n; ++j) {
            const double entry = operation == Operation::kPlain ? a(i, j) : a(j, i);
            sum += entry * basis[v * n + j];
            met += std::abs(entry);
          }
          EXPECT_LE(std::abs(sum), 1e-9 * (1 + met));
        }
    }
  }
  EXPECT_GT(checked, 20);
}

// Two triangles without a node in common, the unknowns of one 2^90 times as large: in the
// scaled system the vectors are any mixtures of both, in the given one all but parallel.
TEST(NullSpace, IsOrthonormalHoweverUnknownsAreScaled) {
  for (const int power : {-90, -40, 40, 90, 300}) {
    SCOPED_TRACE(power);
    Square a(6);
    for (std::int32_t i = 0; i < 6; ++i)
      for (std::int32_t j = i / 3 * 3; j < i / 3 * 3 + 3; ++j)
        a(i, j) = std::ldexp(i == j ? 2 : -1, j < 3 ? 0 : power);
    SolverOptions options;
    options.kind = FactorKind::kLu;
    Solver solver(sparse(a, false), options);
    factor(solver);
    ASSERT_EQ(solver.null_space(), 2);
    const std::vector<double> basis = solver.null_space_basis();
    for (std::size_t i = 0; i < 12; ++i)
      EXPECT_NEAR(basis[i], basis[i / 3 * 3], 1e-12);  // constant on a triangle
    for (std::size_t v = 0; v < 12; v += 6)
      for (std::size_t w = 0; w <= v; w += 6)
        EXPECT_NEAR(std::inner_product(basis.begin() + v, basis.begin() + v + 6,
                                       basis.begin() + w, 0.0),
                    v == w, 1e-12);
  }
}

TEST(NullSpace, OfARegularMatrixIsEmpty) {
  Solver solver(make_grid(parse_grid("5x5")), {});
  EXPECT_THROW((void)solver.null_space_basis(), InvalidInput);
  factor(solver);
  EXPECT_TRUE(solver.null_space_basis().empty());
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
