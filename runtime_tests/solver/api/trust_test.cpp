// What a Solver says about how far its solutions are to be trusted, against the truth.
//
// The cases of one subject, which share their instances: over 300 lines.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "espalier/solver/solver.h"
#include "solver/matrix/general_matrix.h"

namespace espalier::solver {
namespace TEST_SOURCE {

using Vector = std::vector<double>;

// A matrix by its entries, in the order of columns.
struct Given {
  std::int32_t size = 0;
  std::map<std::pair<std::int32_t, std::int32_t>, double> entry;  // (column, row)

  void add(std::int32_t row, std::int32_t column, double value) {
    entry[{column, row}] += value;
  }
  [[nodiscard]] InputMatrix matrix(bool symmetric) const {
    SymmetricMatrix a{size, {0}, {}, {}};
    for (const auto& [place, value] : entry) {
      const auto [column, row] = place;
      if (symmetric && row < column) continue;
      a.column_start.resize(static_cast<std::size_t>(column) + 1, std::ssize(a.row));
      a.row.push_back(row);
      a.value.push_back(value);
    }
    a.column_start.resize(static_cast<std::size_t>(size) + 1, std::ssize(a.row));
    if (symmetric) return a;
    return GeneralMatrix{a.size, std::move(a.column_start), std::move(a.row),
                         std::move(a.value)};
  }
  [[nodiscard]] std::string text() const {
    std::string text = fmt::format("order {}:", size);
    for (const auto& [place, value] : entry)
      text += fmt::format(" ({}, {}) {:a}", place.second, place.first, value);
    return text;
  }
};

// max |b - A x|_i / (|A| |x| + |b|)_i in long double, without any excuse.
double strict_error(const Given& a, bool transposed, std::span<const double> x,
                    std::span<const double> b) {
  std::vector<long double> r(b.begin(), b.end()), w(r);
  for (long double& each : w) each = std::abs(each);
  for (const auto& [place, value] : a.entry) {
    const auto [i, j] = transposed ? place : std::pair{place.second, place.first};
    const long double product = static_cast<long double>(value) * x[j];
    r[i] -= product;
    w[i] += std::abs(product);
  }
  long double worst = 0;
  for (std::size_t i = 0; i < r.size(); ++i)
    if (r[i] != 0) worst = std::max(worst, std::abs(r[i]) / w[i]);
  return static_cast<double>(worst);
}

struct Answer {
  Vector x;
  Solution solution;
  PivotStatistics pivots;
};

Answer solve(InputMatrix&& matrix, const SolverOptions& options, Vector b,
             std::int32_t nrhs = 1, Operation operation = Operation::kPlain,
             bool least = false) {
  Solver solver(std::move(matrix), options);
  std::optional<Bytes> bound;
  if (least) bound = solver.least();
  EXPECT_TRUE(solver.plan(bound));
  const auto run = solver.factorise();
  EXPECT_TRUE(run);
  if (!run) return {};
  Answer answer{.x = std::move(b), .solution = {}, .pivots = run->pivots};
  answer.solution = solver.solve(answer.x, nrhs, operation);
  return answer;
}

SolverOptions of_kind(std::optional<FactorKind> kind) {
  SolverOptions options;
  options.kind = kind;
  options.workers = 2;
  return options;
}

void add_hilbert(Given& a, std::int32_t first, std::int32_t n, double scale = 1) {
  for (std::int32_t j = 0; j < n; ++j)
    for (std::int32_t i = 0; i < n; ++i) a.add(first + i, first + j, scale / (i + j + 1));
}

// The Laplacian of k x k points with free boundaries: rows sum to zero.
void add_neumann(Given& a, std::int32_t first, std::int32_t k) {
  const auto connect = [&](std::int32_t i, std::int32_t j) {
    a.add(i, i, 1);
    a.add(j, j, 1);
    a.add(i, j, -1);
    a.add(j, i, -1);
  };
  for (std::int32_t y = 0; y < k; ++y)
    for (std::int32_t x = 0; x < k; ++x) {
      const std::int32_t i = first + x + y * k;
      if (x + 1 < k) connect(i, i + 1);
      if (y + 1 < k) connect(i, i + k);
    }
}

Vector product(const Given& a, const Vector& x) {
  Vector b(a.size);
  for (const auto& [place, value] : a.entry) b[place.second] += value * x[place.first];
  return b;
}

TEST(Trust, FollowsTheErrorOfTheSystemAsItWasGiven) {
  // One row, or one unknown, that dwarfs the others in the scaled system.
  for (const double big : {1e30, 1e100})
    for (const bool by_rows : {true, false})
      for (const Precision precision : {Precision::kSingle, Precision::kDouble})
        for (const Operation operation : {Operation::kPlain, Operation::kTransposed}) {
          SCOPED_TRACE(
              fmt::format("{} {} {} {}", big, by_rows, int(precision), int(operation)));
          Given a{5, {}};
          a.add(0, 0, by_rows ? big : 1);
          add_hilbert(a, 1, 4);
          Vector b = product(a, Vector(5, 1.0));
          if (!by_rows) b[0] = big;
          b.insert(b.end(), b.begin(), b.end());
          for (std::size_t i = 5; i < 10; ++i) b[i] *= static_cast<double>(i);
          SolverOptions options = of_kind(FactorKind::kLu);
          options.precision = precision;
          const Answer answer = solve(a.matrix(false), options, b, 2, operation);
          for (std::size_t c = 0; c < 10; c += 5)
            EXPECT_LE(strict_error(a, operation == Operation::kTransposed,
                                   std::span(answer.x).subspan(c, 5),
                                   std::span(b).subspan(c, 5)),
                      1e-15);
          EXPECT_FALSE(answer.solution.doubts.any());
        }
}

// A huge unknown that is wrong makes every row that it is in look solved. Entries of one
// pattern and of sizes from 1e-20 to 1e21, in single precision.
TEST(Trust, IsNotGivenWhereAWrongUnknownExcusesAllRows) {
  Given a{6, {}};
  const auto add = [&a](std::int32_t i, std::int32_t j, double value) {
    a.add(i, j, value);
    if (i != j) a.add(j, i, value);
  };
  add(4, 1, 128);
  add(2, 1, 96);
  add(1, 0, 0x1p-66);
  add(2, 0, -103079215104.0);
  add(5, 2, 0x1p73);
  add(5, 0, -6);
  add(3, 0, 0x1p-42);
  add(3, 3, 0x1p-50);
  SolverOptions options = of_kind(FactorKind::kLdlt);
  options.precision = Precision::kSingle;
  const Vector b = {-515396075508.0,       224,  -1.8889465931890898e+22,
                    9.086065233532281e-13, -256, 4.722366482869645e+22};
  const Answer answer = solve(a.matrix(true), options, b);
  EXPECT_TRUE(strict_error(a, false, answer.x, b) <= 1e-12 ||
              answer.solution.doubts.any());
}

// B with ones on the diagonal and `growth` below it, then its inverse: B^-1 grows to
// growth^(order / 2). Or (0 B; B^T 0).
Given growing_chain(std::int32_t order, double growth, bool twice) {
  Given a{twice ? 2 * order : order, {}};
  const auto add = [&](std::int32_t i, std::int32_t j, double value) {
    a.add(i, twice ? j + order : j, value);
    if (twice) a.add(j + order, i, value);
  };
  for (std::int32_t i = 0; i < order; ++i) {
    add(i, i, 1);
    if (i > 0) add(i, i - 1, i < order / 2 ? growth : 1 / growth);
  }
  return a;
}

// Scaling makes all entries alike, and the growth a matter of the unknowns' scales: in
// the scaled system nothing is huge.
TEST(Trust, IsNotGivenWhereScalingHidesThatTheMatrixIsNearlySingular) {
  std::mt19937 random(21);
  for (const bool symmetric : {false, true}) {
    const Given a = growing_chain(80, 3, symmetric);
    Vector x(static_cast<std::size_t>(a.size));
    for (double& each : x) each = std::normal_distribution<>()(random);
    const Vector b = product(a, x);
    for (const auto kind : {FactorKind::kLdlt, FactorKind::kLu}) {
      if (kind == FactorKind::kLdlt && !symmetric) continue;
      const Answer answer = solve(a.matrix(kind == FactorKind::kLdlt), of_kind(kind), b);
      EXPECT_TRUE(answer.solution.doubts.forward_error);
    }
    const Given tame = growing_chain(80, 1.1, symmetric);
    EXPECT_FALSE(solve(tame.matrix(symmetric), SolverOptions{}, product(tame, x))
                     .solution.doubts.any());
  }
}

// Units that differ by far hide nothing: unknowns of the smallest scale are as exact as
// those of the largest.
TEST(Trust, IsGivenToUnitsThatDifferByFar) {
  Given a{40, {}};
  for (std::int32_t i = 0; i < a.size; ++i) {
    a.add(i, i, std::ldexp(4.0, 2 * i));
    if (i > 0) a.add(i, i - 1, std::ldexp(1.0, 2 * i - 2));
  }
  const Vector ones(static_cast<std::size_t>(a.size), 1);
  const Answer answer =
      solve(a.matrix(false), of_kind(FactorKind::kLu), product(a, ones));
  EXPECT_FALSE(answer.solution.doubts.any());
}

// Of a right-hand side that is a column of the matrix the solution is a unit vector.
// Expects it where it is trusted. @return whether it is
bool is_trusted_rightly(const Given& a, const SolverOptions& options,
                        std::int32_t column) {
  Vector one(static_cast<std::size_t>(a.size));
  one[column] = 1;
  const Answer answer =
      solve(a.matrix(options.kind != FactorKind::kLu), options, product(a, one));
  if (answer.solution.doubts.any()) return false;
  for (std::int32_t i = 0; i < a.size; ++i)
    EXPECT_NEAR(answer.x[i], one[i], kGoodForwardError) << a.text();
  return true;
}

// B B^T of whole numbers, in units of its own for each row and column: beside an unknown
// of a large unit, which is 1, those of small ones have errors that are as nothing in the
// scaled system.
TEST(Trust, OfProductsInAnyUnitsIsNeverWrong) {
  std::mt19937 random(7);
  const auto draw = [&](int first, int last) {
    return std::uniform_int_distribution<int>(first, last)(random);
  };
  int trusted = 0;
  for (int instance = 0; instance < 150; ++instance) {
    const std::int32_t n = draw(2, 6), unit = draw(0, 1) ? 40 : 80;
    std::vector<int> factor(static_cast<std::size_t>(n) * n), units(n);
    for (int& each : factor) each = draw(-3, 3);
    for (int& each : units) each = draw(-unit, unit);
    Given a{n, {}};
    for (std::int32_t i = 0; i < n; ++i)
      for (std::int32_t j = 0; j < n; ++j) {
        const int sum =
            std::inner_product(&factor[i * n], &factor[i * n] + n, &factor[j * n], 0);
        if (sum != 0) a.add(i, j, std::ldexp(sum, units[i] + units[j]));
      }
    const std::optional<FactorKind> kinds[] = {{}, FactorKind::kLdlt, FactorKind::kLu};
    SolverOptions options = of_kind(kinds[draw(0, 2)]);
    options.precision = draw(0, 2) ? Precision::kDouble : Precision::kSingle;
    options.prepare.scaling = static_cast<PrepareOptions::Scaling>(draw(0, 3));
    trusted += is_trusted_rightly(a, options, draw(0, n - 1));
  }
  EXPECT_GE(trusted, 70);
}

// I - (1 - s) v v^T in units that differ by less than what a definite matrix is scaled
// for: neither these nor its pivots are far from 1, and the condition number is 1/s.
TEST(Trust, OfDefiniteMatricesWithOneSmallEigenvalueIsNeverWrong) {
  std::mt19937 random(3);
  std::normal_distribution<> normal;
  std::uniform_int_distribution<int> unit(-9, 9), order(3, 20);
  std::uniform_real_distribution<> digits(11, 15.5);
  int trusted = 0;
  for (int instance = 0; instance < 600; ++instance) {
    const std::int32_t n = order(random);
    Vector v(n);
    std::vector<int> units(n);
    for (double& each : v) each = normal(random);
    for (int& each : units) each = unit(random);
    const double square = std::inner_product(v.begin(), v.end(), v.begin(), 0.0);
    const double part = (1 - std::pow(10, -digits(random))) / square;
    Given a{n, {}};
    for (std::int32_t i = 0; i < n; ++i)
      for (std::int32_t j = 0; j < n; ++j)
        a.add(i, j, std::ldexp((i == j) - part * (v[i] * v[j]), units[i] + units[j]));
    SolverOptions options = of_kind(std::nullopt);
    if (instance % 3 == 0) options.precision = Precision::kSingle;
    trusted += is_trusted_rightly(a, options, instance % n);
  }
  EXPECT_GE(trusted, 100);
}

TEST(Trust, IsNotGivenToSingularSystemsWhosePivotsAreRounding) {
  Given a{94 * 94, {}};
  add_neumann(a, 0, 94);
  Vector outside(a.size), inside(a.size);
  outside[0] = inside[0] = 1;
  inside[a.size - 1] = -1;
  for (const auto kind : {std::optional<FactorKind>{}, std::optional(FactorKind::kLdlt),
                          std::optional(FactorKind::kLu)}) {
    const bool symmetric = kind != FactorKind::kLu;
    Answer answer = solve(a.matrix(symmetric), of_kind(kind), outside);
    EXPECT_TRUE(answer.solution.doubts.singular);
    EXPECT_TRUE(answer.solution.doubts.backward_error);
    EXPECT_EQ(answer.pivots.null_space, 1);
    answer = solve(a.matrix(symmetric), of_kind(kind), inside);
    EXPECT_TRUE(answer.solution.doubts.singular);
    EXPECT_FALSE(answer.solution.doubts.backward_error);
    EXPECT_LE(strict_error(a, false, answer.x, inside), 1e-12);
  }
}

// Two rows, and columns, are alike; where they have no diagonal null vectors meet zeros.
Given with_equal_rows(std::mt19937& random, bool diagonal) {
  Given a{std::uniform_int_distribution<>(3, 15)(random), {}};
  std::uniform_int_distribution<> value(-3, 3);
  for (std::int32_t j = 1; j < a.size; ++j)
    for (std::int32_t i = j; i < a.size; ++i) {
      if (random() % 2 == 0 || (i == 1 && !diagonal)) continue;
      const double entry = value(random);
      for (const auto& [row, column] : {std::pair(i, j), std::pair(j, i)}) {
        if (i == j && row == i && column == j && a.entry.contains({i, j})) continue;
        a.add(row, column, entry);
        if (row == 1) a.add(0, column, entry);
        if (column == 1) a.add(row, 0, entry);
        if (row == 1 && column == 1) a.add(0, 0, entry);
      }
    }
  for (std::int32_t i = 0; i < a.size; ++i) a.add(i, i, 0);
  return a;
}

TEST(Trust, IsNotGivenToMatricesWithEqualRows) {
  std::mt19937 random(20);
  for (int round = 0; round < 150; ++round) {
    const Given a = with_equal_rows(random, round % 3 == 0);
    const Vector ones(static_cast<std::size_t>(a.size), 1);
    for (const auto kind : {FactorKind::kLdlt, FactorKind::kLu})
      for (const Precision precision : {Precision::kDouble, Precision::kSingle}) {
        SolverOptions options = of_kind(kind);
        options.precision = precision;
        for (const Vector& b : {ones, product(a, ones)}) {
          const Answer answer = solve(a.matrix(kind == FactorKind::kLdlt), options, b);
          ASSERT_TRUE(answer.solution.doubts.singular) << round << ": " << a.text();
        }
      }
  }
}

TEST(Trust, NullSpacesOfManyPartsAreCounted) {
  const std::vector<std::int32_t> parts = {94, 5, 96, 40, 1, 2};
  std::int32_t first = 0;
  Given a{94 * 94 + 25 + 96 * 96 + 1600 + 1 + 4, {}};
  for (const std::int32_t k : parts) {
    add_neumann(a, first, k);
    first += k * k;
  }
  const Answer answer = solve(a.matrix(true), of_kind({}), Vector(a.size, 1.0));
  EXPECT_TRUE(answer.solution.doubts.singular);
  EXPECT_EQ(answer.pivots.null_space, std::ssize(parts));
}

// In single precision rounding leaves more than a thousandth of the last pivot.
// B C of whole numbers, B unit lower and C unit upper trapezoidal: of their order's rank.
// Rows and columns are shuffled.
Given product_of_rank(std::int32_t rank, std::int32_t size, std::mt19937& random) {
  std::uniform_int_distribution<> digit(-2, 2);
  std::vector<Vector> b(size, Vector(rank)), c = b;  // by rows of B, by columns of C
  for (std::vector<Vector>* each : {&b, &c})
    for (std::int32_t i = 0; i < size; ++i)
      for (std::int32_t k = 0; k < std::min(i + 1, rank); ++k)
        (*each)[i][k] = k == i ? 1 : digit(random);
  std::ranges::shuffle(b, random);
  std::ranges::shuffle(c, random);
  Given product{size, {}};
  for (std::int32_t i = 0; i < size; ++i)
    for (std::int32_t j = 0; j < size; ++j)
      if (const double each =
              std::inner_product(b[i].begin(), b[i].end(), c[j].begin(), 0.0);
          each != 0)
        product.add(i, j, each);
  return product;
}

// Of some the rounding of a pivot is far above that of others, and another one in the
// next factorisation. Where it is told too small it is by one, of one in hundreds.
TEST(Trust, NullSpacesOfProductsAreCounted) {
  std::mt19937 random(4);
  int wrong = 0;
  for (int round = 0; round < 600; ++round) {
    const auto size = static_cast<std::int32_t>(10 + random() % 30);
    const auto rank = static_cast<std::int32_t>(size / 2 + random() % (size - size / 2));
    Solver solver(product_of_rank(rank, size, random).matrix(false), {});
    ASSERT_TRUE(solver.plan(std::nullopt));
    ASSERT_TRUE(solver.factorise());
    ASSERT_TRUE(solver.singular()) << round;
    ASSERT_LE(std::abs(solver.null_space() - (size - rank)), 1) << round;
    wrong += solver.null_space() != size - rank;
  }
  EXPECT_LE(wrong, 6);
}

TEST(Trust, IsNotGivenToALargeSingularSystemInSinglePrecision) {
  const std::int32_t k = 300;
  Given a{k * k, {}};
  add_neumann(a, 0, k);
  SolverOptions options = of_kind({});
  options.precision = Precision::kSingle;
  Vector b(a.size, 0.0);
  b[0] = 1;
  const Doubts doubts = solve(a.matrix(true), options, b).solution.doubts;
  EXPECT_TRUE(doubts.any());
}

TEST(Trust, KnowsThatAStructurallySingularMatrixIsSingular) {
  Given a{3, {}};
  a.add(0, 0, 1);
  a.add(2, 2, 2);
  for (const FactorKind kind : {FactorKind::kLdlt, FactorKind::kLu})
    for (const auto scaling :
         {PrepareOptions::Scaling::kAuto, PrepareOptions::Scaling::kEquilibrate,
          PrepareOptions::Scaling::kNone}) {
      SolverOptions options = of_kind(kind);
      options.delay_reserve = 0;
      options.prepare.scaling = scaling;
      const Answer answer = solve(a.matrix(kind == FactorKind::kLdlt), options, {1, 0, 2},
                                  1, Operation::kPlain, true);
      EXPECT_TRUE(answer.solution.doubts.singular);
    }
}

TEST(Trust, IsNotGivenWherePivotsWereReplacedByMoreThanTheirColumns) {
  // Columns 1 and 2 are parallel, and far below what a small pivot is replaced by.
  Given a{3, {}};
  for (std::int32_t i = 0; i < 3; ++i) {
    a.add(i, 0, i == 0 ? 4 : 1);
    a.add(i, 1, 1e-40 * (i + 1));
    a.add(i, 2, 1e-50 * (i + 1));
  }
  SolverOptions options = of_kind(FactorKind::kLu);
  options.delay_reserve = 0;
  options.prepare.scaling = PrepareOptions::Scaling::kNone;
  const Answer answer = solve(a.matrix(false), options, product(a, Vector(3, 1.0)), 1,
                              Operation::kPlain, true);
  EXPECT_TRUE(answer.solution.doubts.any());
}

struct System {
  std::string name;
  Given a;
  Vector x;
};

System& add_system(std::vector<System>& systems, const std::string& name,
                   std::int32_t size) {
  System& system = systems.emplace_back();
  system.name = name;
  system.a.size = size;
  system.x.assign(static_cast<std::size_t>(size), 1.0);
  return system;
}

std::vector<System> ill_conditioned() {
  std::vector<System> systems;
  add_hilbert(add_system(systems, "hilbert", 8).a, 0, 8);
  // D H D with H tridiagonal and d_i = 100^-i; x = D^-1 (1, ..., 1).
  System& graded = add_system(systems, "graded", 13);
  for (std::int32_t i = 0; i < 13; ++i) {
    graded.a.add(i, i, std::pow(10., -4 * i));
    graded.x[i] = std::pow(10., 2 * i);
    if (i == 0) continue;
    graded.a.add(i, i - 1, 0.3 * std::pow(10., -4 * i + 2));
    graded.a.add(i - 1, i, 0.3 * std::pow(10., -4 * i + 2));
  }
  Given& diagonal = add_system(systems, "diagonal", 2).a;
  diagonal.add(0, 0, 1);
  diagonal.add(1, 1, 1e-20);
  Given& shifted = add_system(systems, "tiny shift", 900).a;
  add_neumann(shifted, 0, 30);
  for (std::int32_t i = 0; i < 900; ++i) shifted.add(i, i, 1e-9);
  return systems;
}

TEST(Trust, IsNotRefusedToIllConditionedSystemsAsSingular) {
  for (const auto& [name, a, x] : ill_conditioned())
    for (const FactorKind kind : {FactorKind::kLdlt, FactorKind::kLu})
      for (const auto scaling :
           {PrepareOptions::Scaling::kAuto, PrepareOptions::Scaling::kNone}) {
        SCOPED_TRACE(fmt::format("{} {} {}", name, int(kind), int(scaling)));
        SolverOptions options = of_kind(kind);
        options.prepare.scaling = scaling;
        const Vector b = product(a, x);
        const Answer answer = solve(a.matrix(kind == FactorKind::kLdlt), options, b);
        EXPECT_FALSE(answer.solution.doubts.any());
        EXPECT_EQ(answer.pivots.null_space, 0);
        EXPECT_LE(strict_error(a, false, answer.x, b), 1e-14);
      }
}

// A factor of 1e300 or 1e-300 says nothing about a system.
TEST(Trust, DoesNotDependOnTheMagnitudeOfTheMatrix) {
  std::mt19937 random(14);
  const auto draw = [&](int first, int last) {
    return std::uniform_int_distribution<int>(first, last)(random);
  };
  for (int instance = 0; instance < 24; ++instance) {
    const std::int32_t n = draw(1, 30);
    const int power = instance % 2 == 0 ? 990 : -990;
    Given a{n, {}};
    for (std::int32_t j = 0; j < n; ++j) {
      a.add(j, j, std::ldexp(draw(8, 16), power));
      const double value = std::ldexp(draw(-3, 3), power);
      const std::int32_t i = draw(0, n - 1);
      a.add(i, j, value);
      a.add(j, i, value);
    }
    for (const FactorKind kind : {FactorKind::kLdlt, FactorKind::kLu})
      for (int scaling = 0; scaling < 4; ++scaling) {
        SolverOptions options = of_kind(kind);
        options.precision = Precision::kSingle;
        options.prepare.scaling = static_cast<PrepareOptions::Scaling>(scaling);
        Vector b(n);
        for (double& each : b) each = draw(-9, 9);
        SCOPED_TRACE(a.text());
        const Answer answer = solve(a.matrix(kind == FactorKind::kLdlt), options, b);
        EXPECT_FALSE(answer.solution.doubts.any());
        EXPECT_LE(strict_error(a, false, answer.x, b), 1e-14);
      }
  }
}

// Every row times a power of two, and every column; the right-hand side as the rows.
// Unknowns of sizes from 1e-4 to 1e4: of the small ones single precision knows little,
// and no refinement mends it. An answer that is trusted has some digits all the same.
TEST(Trust, OfSinglePrecisionWithoutRefinementIsNeverWrong) {
  std::mt19937 random(202);
  const auto draw = [&](int first, int last) {
    return std::uniform_int_distribution<int>(first, last)(random);
  };
  int trusted = 0;
  for (int instance = 0; instance < 300; ++instance) {
    const std::int32_t n = draw(2, 40), power = draw(0, 13);
    Vector size(n);
    for (double& each : size) each = std::ldexp(1.0, draw(-power, power));
    Given a{n, {}};
    a.add(0, 0, size[0] * size[0]);
    for (std::int32_t j = 1; j < n; ++j) {  // a Laplacian of a tree and some more edges
      for (const std::int32_t i : {draw(0, j - 1), draw(0, j - 1)}) {
        a.add(i, i, size[i] * size[i]);
        a.add(j, j, size[j] * size[j]);
        a.add(i, j, -size[i] * size[j]);
        a.add(j, i, -size[i] * size[j]);
      }
    }
    SolverOptions options = of_kind(FactorKind::kLdlt);
    options.precision = Precision::kSingle;
    options.prepare.scaling = PrepareOptions::Scaling::kEquilibrate;
    options.refine = false;
    const Answer answer = solve(a.matrix(true), options, product(a, Vector(n, 1.0)));
    if (answer.solution.doubts.any()) continue;
    ++trusted;
    for (const double each : answer.x) ASSERT_NEAR(each, 1, 0.2) << a.text();
  }
  EXPECT_GT(trusted, 50);
}

// Triangles of whole numbers, L times U: condition numbers up to 1e18, of which a factor
// in single precision shows some 1e8.
TEST(Trust, InABoundOfTheErrorHoldsInSinglePrecisionWhateverTheCondition) {
  std::mt19937 random(204);
  const auto draw = [&] { return random() % 10 < 3 ? int(random() % 7) - 3 : 0; };
  int trusted = 0;
  for (int instance = 0; instance < 150; ++instance) {
    const std::int32_t n = 20 + instance % 41;
    std::vector<int> l(n * n, 0), u(l);
    for (std::int32_t j = 0; j < n; ++j) {
      l[j * n + j] = u[j * n + j] = 1;
      for (std::int32_t i = j + 1; i < n; ++i) {
        l[i * n + j] = draw();
        u[j * n + i] = draw();
      }
    }
    Given a{n, {}};
    for (std::int32_t i = 0; i < n; ++i)
      for (std::int32_t j = 0; j < n; ++j) {
        int sum = 0;
        for (std::int32_t k = 0; k <= std::min(i, j); ++k)
          sum += l[i * n + k] * u[k * n + j];
        if (sum != 0) a.add(i, j, sum);
      }
    SolverOptions options = of_kind(FactorKind::kLu);
    options.precision = Precision::kSingle;
    options.estimate_errors = true;
    const Answer answer = solve(a.matrix(false), options, product(a, Vector(n, 1.0)));
    if (answer.solution.doubts.any()) continue;
    ++trusted;
    const double bound = answer.solution.errors->forward_error_bound;
    for (const double each : answer.x) ASSERT_NEAR(each, 1, 2 * bound) << instance;
  }
  EXPECT_GT(trusted, 50);
}

// Dozens of eigenvalues below the roundoff of the factor: neither refinement nor GMRES
// ends, and each solve of the estimate would take all the steps that these may make.
TEST(Trust, IsRefusedSoonWhereNoSolveCanBeRefined) {
  const std::int32_t n = 1000;
  Given a{n, {}};
  const double band[] = {20, -15, 6, -1};  // the third power of a second difference
  for (std::int32_t j = 0; j < n; ++j)
    for (std::int32_t i = std::max(0, j - 3); i < std::min(n, j + 4); ++i)
      a.add(i, j, band[std::abs(i - j)]);
  SolverOptions options = of_kind(FactorKind::kLu);
  options.precision = Precision::kSingle;
  options.estimate_errors = true;
  Solver solver(a.matrix(false), options);
  ASSERT_TRUE(solver.plan(std::nullopt));
  ASSERT_TRUE(solver.factorise());
  Vector b(2 * n, 1.0);
  int passes = 0;
  const Solution solution =
      solver.solve(b, 2, Operation::kPlain, {}, [&](double) { ++passes; });
  EXPECT_TRUE(solution.doubts.forward_error);
  ASSERT_TRUE(solution.errors);
  EXPECT_TRUE(std::isinf(solution.errors->forward_error_bound));
  EXPECT_GT(solution.errors->condition_1norm, 1e6);
  EXPECT_LT(passes - solution.refinement.gmres_steps, 250);
}

// What is finite in the scaled system may be beyond the largest number in the given one.
TEST(Trust, IsNotGivenToASolutionBeyondTheLargestNumber) {
  Given a{3, {}};
  for (std::int32_t i = 0; i < 3; ++i) a.add(i, i, i == 1 ? 1e-300 : 2);
  a.add(0, 2, 1);
  for (const FactorKind kind :
       {FactorKind::kCholesky, FactorKind::kLdlt, FactorKind::kLu})
    for (const bool refine : {false, true}) {
      SolverOptions options = of_kind(kind);
      options.refine = refine;
      Given matrix = a;
      if (kind != FactorKind::kLu) matrix.add(2, 0, 1);
      Solver solver(matrix.matrix(kind != FactorKind::kLu), options);
      ASSERT_TRUE(solver.plan(std::nullopt));
      ASSERT_TRUE(solver.factorise());
      Vector b = {1, 1e20, 1, 1, 1e5, 1};  // the first column alone is beyond
      const Solution both = solver.solve(b, 2, Operation::kPlain);
      EXPECT_TRUE(both.doubts.backward_error);
      Vector second = {1, 1e5, 1};
      EXPECT_FALSE(solver.solve(second, 1, Operation::kPlain).doubts.any());
      EXPECT_DOUBLE_EQ(second[1], 1e305);
    }
}

TEST(Trust, OfSmallSystemsOfAnyScaleIsNeverWrong) {
  std::mt19937 random(13);
  const auto draw = [&](int first, int last) {
    return std::uniform_int_distribution<int>(first, last)(random);
  };
  int trusted = 0;
  for (int instance = 0; instance < 30; ++instance) {
    const std::int32_t n = draw(1, 12);
    Given a{n, {}};
    std::vector<int> row(n), column(n);
    for (int& each : row) each = draw(0, 2) ? draw(-20, 20) : draw(-300, 300);
    for (int& each : column) each = draw(-20, 20);
    const bool is_singular = draw(0, 3) == 0 && n > 1;
    for (std::int32_t i = 0; i < n; ++i)
      for (std::int32_t j = 0; j < n; ++j)
        if (i == j || draw(0, 2) == 0)
          a.add(i, j, std::ldexp(draw(1, 9), row[i] + column[j]));
    if (is_singular)  // row 1 is row 0, but for their scaling
      for (std::int32_t j = 0; j < n; ++j) {
        a.entry.erase({j, 1});
        const auto above = a.entry.find({j, 0});
        if (above != a.entry.end())
          a.add(1, j, std::ldexp(above->second, row[1] - row[0]));
      }
    SolverOptions options = of_kind(FactorKind::kLu);
    if (draw(0, 2) == 0) options.precision = Precision::kSingle;
    options.prepare.scaling = static_cast<PrepareOptions::Scaling>(draw(0, 3));
    if (options.precision == Precision::kSingle)
      options.prepare.scaling = PrepareOptions::Scaling::kAuto;
    const bool bounded = draw(0, 2) == 0;
    if (draw(0, 1) == 0) options.delay_reserve = 0;
    Vector b(n);
    for (std::int32_t i = 0; i < n; ++i) b[i] = std::ldexp(draw(-9, 9), row[i]);
    const Answer answer =
        solve(a.matrix(false), options, b, 1, Operation::kPlain, bounded);
    if (answer.solution.doubts.any()) continue;
    ++trusted;
    EXPECT_FALSE(is_singular) << a.text();
    EXPECT_LE(strict_error(a, false, answer.x, b), 1e-10) << a.text();
  }
  EXPECT_GE(trusted, 10);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
