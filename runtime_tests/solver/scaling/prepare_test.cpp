// The cases of one subject, which share their instances: over 300 lines.

#include "solver/scaling/prepare.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <sstream>
#include <vector>

#include "espalier/model/error.h"
#include "solver/matrix/kind_of.h"
#include "solver/matrix/permute.h"
#include "solver/refine/scaled_permutation.h"
#include "solver/scaling/scaling.h"
#include "solver/symbolic/block_form.h"

namespace espalier::solver {
namespace TEST_SOURCE {

using Ints = std::vector<std::int32_t>;
using Scaling = PrepareOptions::Scaling;

struct Dense {
  std::int32_t size;
  std::vector<double> value;
  double& operator()(std::int32_t i, std::int32_t j) { return value[i * size + j]; }
  double operator()(std::int32_t i, std::int32_t j) const { return value[i * size + j]; }
};

std::ostream& operator<<(std::ostream& out, const Dense& a) {
  for (std::int32_t i = 0; i < a.size; ++i) {
    for (std::int32_t j = 0; j < a.size; ++j) out << a(i, j) << ' ';
    out << '\n';
  }
  return out;
}

template <class Matrix>
Matrix stored(const Dense& a, bool lower_only) {
  Matrix matrix;
  matrix.size = a.size;
  matrix.column_start.assign(1, 0);
  for (std::int32_t j = 0; j < a.size; ++j) {
    for (std::int32_t i = lower_only ? j : 0; i < a.size; ++i) {
      if (a(i, j) == 0) continue;
      matrix.row.push_back(i);
      matrix.value.push_back(a(i, j));
    }
    matrix.column_start.push_back(static_cast<std::int64_t>(matrix.row.size()));
  }
  return matrix;
}

Dense dense(const SquareMatrix& matrix) {
  const SymmetricMatrix& lower = matrix.lower;
  Dense a{lower.size, std::vector<double>(lower.size * lower.size, 0.0)};
  for (std::int32_t j = 0; j < lower.size; ++j) {
    for (auto at = lower.column_start[j]; at < lower.column_start[j + 1]; ++at) {
      a(j, lower.row[at]) = matrix.symmetric() ? lower.value[at] : matrix.upper[at];
      a(lower.row[at], j) = lower.value[at];
    }
  }
  return a;
}

// With the entries between diagonal blocks.
Dense dense(const PreparedMatrix& prepared) {
  Dense a = dense(prepared.matrix);
  const GeneralMatrix& coupling = prepared.coupling;
  for (std::int32_t j = 0; j < coupling.size; ++j)
    for (auto at = coupling.column_start[j]; at < coupling.column_start[j + 1]; ++at)
      a(coupling.row[at], j) = coupling.value[at];
  return a;
}

struct Instance {
  Dense a;
  FactorKind kind;
  Scaling scaling;
  [[nodiscard]] InputMatrix matrix() const {
    if (kind == FactorKind::kLu) return stored<GeneralMatrix>(a, false);
    return stored<SymmetricMatrix>(a, true);
  }
};

Instance random_instance(std::mt19937& random) {
  constexpr Scaling kScalings[] = {Scaling::kAuto, Scaling::kNone, Scaling::kEquilibrate,
                                   Scaling::kMatching};
  const std::int32_t size = static_cast<std::int32_t>(random() % 12);
  Instance instance{{size, std::vector<double>(size * size, 0.0)},
                    static_cast<FactorKind>(random() % 3),
                    kScalings[random() % 4]};
  for (double& value : instance.a.value) {
    if (random() % 3 == 0) {
      value = std::exp2(std::uniform_real_distribution<>(-30, 30)(random));
    }
  }
  if (instance.kind != FactorKind::kLu) {
    for (std::int32_t i = 0; i < size; ++i) {
      for (std::int32_t j = 0; j < i; ++j) instance.a(i, j) = instance.a(j, i);
    }
  }
  return instance;
}

// B(i, j) = r(row_of(i)) A(row_of(i), j) c(j), from the parts of the result.
Dense by_definition(const Dense& a, const PreparedMatrix& prepared) {
  Dense b = a;
  for (std::int32_t i = 0; i < a.size; ++i) {
    for (std::int32_t j = 0; j < a.size; ++j) {
      const std::int32_t row = prepared.row_of.empty() ? i : prepared.row_of[i];
      b(i, j) = a(row, j);
      if (prepared.row_scale.empty()) continue;
      b(i, j) *= prepared.row_scale[row] * prepared.column_scale[j];
    }
  }
  return b;
}

TEST(Prepare, IsThePermutedScaledMatrixDigitByDigit) {
  std::mt19937 random(31);
  for (int k = 0; k < 2000; ++k) {
    const Instance instance = random_instance(random);
    const PreparedMatrix prepared =
        prepare(instance.matrix(), instance.kind, {instance.scaling});
    ASSERT_EQ(prepared.matrix.symmetric() && instance.a.size > 0 &&
                  !prepared.matrix.lower.row.empty(),
              instance.kind != FactorKind::kLu && instance.a.size > 0 &&
                  !prepared.matrix.lower.row.empty());
    ASSERT_EQ(dense(prepared).value, by_definition(instance.a, prepared).value)
        << instance.a;
    ASSERT_EQ(prepared.row_scale.size(), prepared.column_scale.size());
    for (double scale : prepared.row_scale) {
      int exponent = 0;
      ASSERT_EQ(std::frexp(scale, &exponent), 0.5) << scale;  // a power of two
    }
    if (instance.kind != FactorKind::kLu) {
      ASSERT_EQ(prepared.row_scale, prepared.column_scale);
    }
  }
}

TEST(Prepare, BringsLargeEntriesToTheDiagonalForLu) {
  // . 8 .      rows 1, 0, 2
  // 4 . 1
  // . 2 2
  const Dense a{3, {0, 8, 0, 4, 0, 1, 0, 2, 2}};
  const PreparedMatrix prepared =
      prepare(stored<GeneralMatrix>(a, false), FactorKind::kLu);
  EXPECT_EQ(prepared.row_of, (Ints{1, 0, 2}));
  EXPECT_EQ(prepared.structural_rank, 3);
  const Dense b = dense(prepared);
  for (std::int32_t k = 0; k < 3; ++k) {
    EXPECT_GE(b(k, k), 0.5);
    EXPECT_LE(b(k, k), 2);
  }
}

TEST(Prepare, PairsColumnsForLdlt) {
  const SymmetricMatrix matrix{2, {0, 1, 1}, {1}, {4096}};
  for (const bool exchanges : {false, true}) {
    const PreparedMatrix prepared = prepare(SymmetricMatrix(matrix), FactorKind::kLdlt,
                                            {.block_triangular = exchanges});
    EXPECT_EQ(prepared.partner, exchanges ? Ints{} : (Ints{1, 0}));
    EXPECT_EQ(prepared.row_of, exchanges ? (Ints{1, 0}) : Ints{});
    for (const double value : prepared.matrix.lower.value) {
      EXPECT_GE(value, 0.5);
      EXPECT_LE(value, 2);
    }
  }
}

TEST(Prepare, ScalesADefiniteMatrixOnlyWhenItsDiagonalIsWide) {
  EXPECT_TRUE(
      prepare(SymmetricMatrix{2, {0, 1, 2}, {0, 1}, {1, 1e7}}, FactorKind::kCholesky)
          .row_scale.empty());
  const PreparedMatrix wide = prepare(
      SymmetricMatrix{2, {0, 1, 2}, {0, 1}, {0x1p-20, 0x1p20}}, FactorKind::kCholesky);
  EXPECT_EQ(wide.row_scale, (std::vector<double>{0x1p10, 0x1p-10}));
  EXPECT_EQ(wide.matrix.lower.value, (std::vector<double>{1, 1}));
}

TEST(Prepare, TakesASymmetricMatrixForLuAndAGeneralOneThatIsSymmetric) {
  const Dense a{2, {3, 1, 1, 2}};
  EXPECT_EQ(
      dense(prepare(stored<SymmetricMatrix>(a, true), FactorKind::kLu, {Scaling::kNone})
                .matrix)
          .value,
      a.value);
  const PreparedMatrix ldlt =
      prepare(stored<GeneralMatrix>(a, false), FactorKind::kLdlt, {Scaling::kNone});
  EXPECT_TRUE(ldlt.matrix.symmetric());
  EXPECT_EQ(dense(ldlt.matrix).value, a.value);
}

TEST(Prepare, NamesTheEntriesThatAreNotSymmetric) {
  try {
    static_cast<void>(
        prepare(stored<GeneralMatrix>({2, {3, 1, 7, 2}}, false), FactorKind::kCholesky));
    FAIL();
  } catch (const InvalidInput& error) {
    EXPECT_STREQ(error.what(),
                 "Cholesky needs a symmetric matrix: entry (2, 1) is 7, (1, 2) is 1");
  }
}

TEST(Refill, GivesWhatPreparingWithTheSameTransformationGives) {
  std::mt19937 random(32);
  for (int k = 0; k < 1000; ++k) {
    Instance instance = random_instance(random);
    PreparedMatrix prepared =
        prepare(instance.matrix(), instance.kind, {instance.scaling});
    Ints order(instance.a.size);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    SquareMatrix target = permuted(prepared.matrix, order);
    GeneralMatrix coupling;
    if (prepared.coupling.size > 0)
      coupling = permuted(GeneralMatrix(prepared.coupling), order);

    for (double& value : instance.a.value) value *= static_cast<double>(1 + random() % 4);
    for (std::int32_t i = 0; instance.kind != FactorKind::kLu && i < instance.a.size;
         ++i) {
      for (std::int32_t j = 0; j < i; ++j) instance.a(i, j) = instance.a(j, i);
    }
    if (instance.a.size > 2) instance.a(0, 0) = 0;  // an entry may be missing
    refill(prepared, instance.matrix());
    refill(target, prepared, order, instance.matrix(), &coupling);
    ASSERT_EQ(dense(prepared).value, by_definition(instance.a, prepared).value)
        << instance.a;
    ASSERT_EQ(target.lower.value, permuted(prepared.matrix, order).lower.value);
    ASSERT_EQ(target.upper, permuted(prepared.matrix, order).upper);
    if (coupling.size > 0) {
      ASSERT_EQ(coupling.value, permuted(GeneralMatrix(prepared.coupling), order).value);
    }
  }
}

TEST(Refill, RefusesAnotherPattern) {
  PreparedMatrix prepared =
      prepare(SymmetricMatrix{2, {0, 1, 2}, {0, 1}, {1, 1}}, FactorKind::kCholesky);
  EXPECT_THROW(refill(prepared, SymmetricMatrix{2, {0, 1, 1}, {1}, {1}}), InvalidInput);
  EXPECT_THROW(refill(prepared, SymmetricMatrix{1, {0, 1}, {0}, {1}}), InvalidInput);
}

TEST(Prepare, TurnsRightHandSidesAndSolutions) {
  const Dense a{2, {0, 8, 4, 1}};
  const PreparedMatrix prepared =
      prepare(stored<GeneralMatrix>(a, false), FactorKind::kLu);
  const Dense b = dense(prepared);
  const std::vector<double> y = {3, -5};
  Symbolic natural;
  natural.permutation = {0, 1};
  const ScaledPermutation map(prepared, natural, Operation::kPlain);
  std::vector<double> x(2), c(2);
  map.solution_to_outer(y, x);
  const std::vector<double> ax = {8 * x[1], 4 * x[0] + x[1]};
  map.rhs_to_inner(ax, c);
  EXPECT_DOUBLE_EQ(c[0], b(0, 0) * y[0] + b(0, 1) * y[1]);
  EXPECT_DOUBLE_EQ(c[1], b(1, 0) * y[0] + b(1, 1) * y[1]);
}

TEST(KindOf, LooksAtTheDiagonalAndAtTwoByTwoMinors) {
  const auto kind = [](const Dense& a) {
    return kind_of(stored<SymmetricMatrix>(a, true));
  };
  EXPECT_EQ(kind({2, {2, 1, 1, 2}}), FactorKind::kCholesky);
  EXPECT_EQ(kind({2, {1, 2, 2, 1}}), FactorKind::kLdlt);
  EXPECT_EQ(kind({2, {1, 1, 1, 1}}), FactorKind::kLdlt);
  EXPECT_EQ(kind({2, {1, 0, 0, -1}}), FactorKind::kLdlt);
  EXPECT_EQ(kind({2, {0, 1, 1, 0}}), FactorKind::kLdlt);
  EXPECT_EQ(kind({0, {}}), FactorKind::kCholesky);
  EXPECT_EQ(kind_of(stored<GeneralMatrix>({2, {1, 2, 3, 4}}, false)), FactorKind::kLu);
}

// Powers of two beyond those of single precision, with any scaling that is asked for.
TEST(Prepare, BringsMatricesOfAnyMagnitudeToWhereSinglePrecisionHasThem) {
  for (const double scale : {0x1p-1000, 0x1p-60, 0x1p60, 0x1p1000})
    for (const FactorKind kind :
         {FactorKind::kCholesky, FactorKind::kLdlt, FactorKind::kLu})
      for (const Scaling scaling :
           {Scaling::kAuto, Scaling::kNone, Scaling::kEquilibrate, Scaling::kMatching}) {
        const Dense given{2, {4 * scale, scale, scale, 3 * scale}};
        const PreparedMatrix prepared =
            prepare(stored<SymmetricMatrix>(given, true), kind, {.scaling = scaling});
        const Dense b = dense(prepared.matrix);
        for (const double value : b.value) {
          EXPECT_LE(std::abs(value), 4) << scale << ' ' << int(kind) << int(scaling);
          EXPECT_GE(std::abs(value), 0.125) << scale << ' ' << int(kind) << int(scaling);
        }
      }
}

// Rows 0 and 1 have one entry, in column 0.
TEST(Prepare, KnowsTheStructuralRankWhateverTheScaling) {
  for (const Scaling scaling :
       {Scaling::kAuto, Scaling::kNone, Scaling::kEquilibrate, Scaling::kMatching})
    for (const FactorKind kind : {FactorKind::kLdlt, FactorKind::kLu}) {
      const auto rank_of = [&](const Dense& given) {
        return prepare(stored<SymmetricMatrix>(given, true), kind, {.scaling = scaling})
            .structural_rank;
      };
      EXPECT_EQ(rank_of({3, {0, 0, 1, 0, 0, 2, 1, 2, 3}}), 2);
      EXPECT_EQ(rank_of({3, {0, 4, 1, 4, 0, 2, 1, 2, 0}}), 3);
    }
}

TEST(Balance, KeepsProductsAndMakesTheLargestLogarithmLeast) {
  std::vector<double> row{0, -3, 1}, column{-996, -1000, -990};
  balance(row, column);
  EXPECT_EQ(row, (std::vector<double>{-499, -502, -498}));
  EXPECT_EQ(column, (std::vector<double>{-497, -501, -491}));
  balance({}, {});
}

TEST(Equilibration, BringsTheLargestEntriesNearOne) {
  const GeneralMatrix a = stored<GeneralMatrix>({2, {1e10, 1, 0, 1e-10}}, false);
  const ScalingLogs logs = equilibration(a);
  EXPECT_NEAR(logs.row[0] + logs.column[0] + std::log2(1e10), 0, 0.5);
  EXPECT_NEAR(std::max(logs.row[1] + logs.column[1] + std::log2(1e-10),
                       logs.row[0] + logs.column[1]),
              0, 0.5);
}

// However far entries are from each other, of symmetric matrices too.
TEST(Equilibration, BringsTheLargestEntryOfEachRowNearOne) {
  std::mt19937 random(3);
  std::uniform_int_distribution<int> exponent(-200, 200), size(1, 12);
  for (int instance = 0; instance < 50; ++instance) {
    const int n = size(random);
    Dense a{n, std::vector<double>(static_cast<std::size_t>(n) * n)};
    for (int i = 0; i < n; ++i)
      for (int j = 0; j <= i; ++j)
        if (i == j || random() % 3 == 0)
          a.value[i * n + j] = a.value[j * n + i] = std::ldexp(1, exponent(random));
    const ScalingLogs logs = equilibration(stored<GeneralMatrix>(a, false));
    for (int i = 0; i < n; ++i) {
      double largest = -INFINITY;
      for (int j = 0; j < n; ++j)
        largest = std::max(largest,
                           std::log2(a.value[i * n + j]) + logs.row[i] + logs.column[j]);
      EXPECT_NEAR(largest, 0, 2) << n << " row " << i;
      EXPECT_EQ(logs.row[i], logs.column[i]);
    }
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
