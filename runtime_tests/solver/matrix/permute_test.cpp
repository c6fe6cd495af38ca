#include "solver/matrix/permute.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <map>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "solver/support/random_matrices.h"

namespace espalier::solver {
namespace TEST_SOURCE {

using Ints = std::vector<std::int32_t>;

// Every entry by its place, row * size + column.
std::vector<double> dense(const SquareMatrix& matrix) {
  const SymmetricMatrix& lower = matrix.lower;
  std::vector<double> result(static_cast<std::size_t>(lower.size) * lower.size, 0.0);
  for (std::int32_t column = 0; column < lower.size; ++column) {
    for (auto at = lower.column_start[column]; at < lower.column_start[column + 1];
         ++at) {
      const double above = matrix.symmetric() ? lower.value[at] : matrix.upper[at];
      result[column * lower.size + lower.row[at]] = above;
      result[lower.row[at] * lower.size + column] = lower.value[at];
    }
  }
  return result;
}

// Both triangles, by row and column.
std::map<std::pair<std::int32_t, std::int32_t>, std::complex<double>> complex_entries(
    const SquareMatrix& matrix) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::complex<double>> entries;
  for (std::int32_t j = 0; j < matrix.size(); ++j)
    for (auto k = matrix.lower.column_start[j]; k < matrix.lower.column_start[j + 1];
         ++k) {
      entries[{matrix.lower.row[k], j}] = matrix.entry<std::complex<double>>(k);
      entries[{j, matrix.lower.row[k]}] = matrix.opposite<std::complex<double>>(k);
    }
  return entries;
}

// 1 2 .                    7 . .
// 4 5 6   with the rows    6 5 4     by hand: 6 is opposite to 0, 2 to 4
// . . 7   in the order     . 2 1
//         2, 1, 0 is
TEST(Permute, MovesAnEntryThatChangesSidesWithItsOpposite) {
  const SquareMatrix matrix{{3, {0, 2, 4, 5}, {0, 1, 1, 2, 2}, {1, 4, 5, 0, 7}},
                            {1, 2, 5, 6, 7}};
  const SquareMatrix result = permuted(matrix, Ints{2, 1, 0});
  EXPECT_EQ(result.lower.column_start, (std::vector<std::int64_t>{0, 2, 4, 5}));
  EXPECT_EQ(result.lower.row, (Ints{0, 1, 1, 2, 2}));
  EXPECT_EQ(result.lower.value, (std::vector<double>{7, 6, 5, 2, 1}));
  EXPECT_EQ(result.upper, (std::vector<double>{7, 0, 5, 4, 1}));
}

TEST(Permute, EqualsTheDensePermutation) {
  std::mt19937 random(20);
  for (int instance = 0; instance < 500; ++instance) {
    SquareMatrix matrix{random_matrix(random, 30), {}};
    const std::int32_t size = matrix.size();
    if (instance % 2 == 0) {
      matrix.upper = matrix.lower.value;
      for (std::int32_t column = 0; column < size; ++column) {
        for (auto at = matrix.lower.column_start[column];
             at < matrix.lower.column_start[column + 1]; ++at) {
          if (matrix.lower.row[at] != column) matrix.upper[at] *= 3;
        }
      }
    }
    Ints order(size);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);

    const SquareMatrix result = permuted(matrix, order);
    ASSERT_EQ(result.symmetric(), matrix.symmetric()) << describe(matrix.lower);
    const std::vector<double> before = dense(matrix), after = dense(result);
    for (std::int32_t i = 0; i < size; ++i) {
      for (std::int32_t j = 0; j < size; ++j) {
        ASSERT_EQ(after[i * size + j], before[order[i] * size + order[j]])
            << describe(matrix.lower) << " at " << i << ", " << j;
      }
      ASSERT_TRUE(
          std::is_sorted(result.lower.row.begin() + result.lower.column_start[i],
                         result.lower.row.begin() + result.lower.column_start[i + 1]));
    }
  }
}

// So many entries are sorted column by column. A path of three million entries whose
// vertices change places with those that they are 1 apart from modulo a prime.
TEST(Permute, SortsMillionsOfEntries) {
  constexpr std::int32_t kSize = 1'000'003;
  SquareMatrix matrix{{kSize, {0}, {}, {}}, {}};
  SymmetricMatrix& lower = matrix.lower;
  for (std::int32_t j = 0; j < kSize; ++j) {
    for (std::int32_t i = j; i < std::min(j + 3, kSize); ++i) {
      lower.row.push_back(i);
      lower.value.push_back(i + 0.5 * j);
    }
    lower.column_start.push_back(std::ssize(lower.row));
  }
  Ints order(kSize);
  for (std::int32_t k = 0; k < kSize; ++k)
    order[k] = static_cast<std::int32_t>(std::int64_t{k} * 3571 % kSize);
  const SquareMatrix result = permuted(matrix, order);
  for (std::int32_t j = 0; j < kSize; ++j)
    for (auto k = result.lower.column_start[j]; k < result.lower.column_start[j + 1];
         ++k) {
      const std::int32_t row = result.lower.row[k];
      const auto [low, high] = std::minmax(order[row], order[j]);
      ASSERT_LE(high - low, 2);
      ASSERT_EQ(result.lower.value[k], high + 0.5 * low);
      ASSERT_TRUE(k == result.lower.column_start[j] || result.lower.row[k - 1] < row);
    }
  ASSERT_EQ(std::ssize(result.lower.row), std::ssize(lower.row));
}

// A complex matrix is a real one and an imaginary one, moved alike; there and back again
// it is what it was.
TEST(Permute, MovesComplexNumbers) {
  std::mt19937 random(21);
  for (const ComplexSymmetry symmetry :
       {ComplexSymmetry::kGeneral, ComplexSymmetry::kSymmetric,
        ComplexSymmetry::kHermitian})
    for (int instance = 0; instance < 100; ++instance) {
      SquareMatrix matrix{random_matrix(random, 20), {}};
      matrix.complex = symmetry;
      const auto draw_all = [&](std::size_t count) {
        std::vector<double> values(count);
        for (double& each : values) each = static_cast<double>(random() % 19) - 9;
        return values;
      };
      const std::size_t entries = matrix.lower.value.size();
      matrix.lower_imaginary = draw_all(entries);
      if (symmetry == ComplexSymmetry::kGeneral) {
        matrix.upper = draw_all(entries);
        matrix.upper_imaginary = draw_all(entries);
      }
      for (std::int32_t j = 0; j < matrix.size(); ++j)
        for (auto k = matrix.lower.column_start[j]; k < matrix.lower.column_start[j + 1];
             ++k) {
          if (matrix.lower.row[k] != j) continue;
          if (symmetry == ComplexSymmetry::kHermitian) matrix.lower_imaginary[k] = 0;
          if (symmetry != ComplexSymmetry::kGeneral) continue;
          matrix.upper[k] = matrix.lower.value[k];
          matrix.upper_imaginary[k] = matrix.lower_imaginary[k];
        }
      Ints order(matrix.size());
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), random);
      const SquareMatrix result = permuted(matrix, order);
      ASSERT_EQ(result.complex, matrix.complex);
      const auto before = complex_entries(matrix), after = complex_entries(result);
      ASSERT_EQ(before.size(), after.size());
      for (const auto& [place, value] : after)
        ASSERT_EQ(value, before.at({order[place.first], order[place.second]}));
      const SquareMatrix back = permuted(result, inverse_permutation(order));
      ASSERT_EQ(complex_entries(back), before);
    }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
