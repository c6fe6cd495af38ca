#include "solver/scaling/scaling.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "espalier/model/numbers.h"
#include "solver/matrix/largest_modulus.h"

namespace espalier::solver {
namespace {

constexpr double kMostLog = 500;
constexpr int kSteps = 5, kMostSteps = 30;
constexpr double kNearOne = 1;
constexpr double kFarFromOne = 1e15;
// Of double: 2^e is the number whose exponent field holds e and the bias.
constexpr std::int64_t kBias = 1023;
constexpr int kMantissaBits = 52;

double diagonal_entry(const SymmetricMatrix& matrix, std::int32_t column) {
  const std::int64_t at = matrix.column_start[column];
  const bool stored = at < matrix.column_start[column + 1] && matrix.row[at] == column;
  return stored ? matrix.value[at] : 0;
}

// Takes half of each largest logarithm from the scale.
// @return the largest modulus that is left of them
double halve_into(std::vector<double>& scale, const std::vector<double>& largest) {
  double left = 0;
  for (std::size_t k = 0; k < scale.size(); ++k) {
    if (largest[k] == -kInfinity) continue;
    scale[k] -= largest[k] / 2;
    left = std::max(left, std::abs(largest[k] / 2));
  }
  return left;
}

}  // namespace

std::vector<double> powers_of_two(std::span<const double> logs) {
  std::vector<double> result;
  result.reserve(logs.size());
  for (double log : logs) {
    const auto exponent =
        static_cast<std::int64_t>(std::round(std::clamp(log, -kMostLog, kMostLog)));
    result.push_back(std::bit_cast<double>((kBias + exponent) << kMantissaBits));
  }
  return result;
}

ScalingLogs equilibration(const GeneralMatrix& matrix) {
  std::vector<double> log(matrix.value.size());
  std::transform(matrix.value.begin(), matrix.value.end(), log.begin(),
                 [](double value) { return std::log2(std::abs(value)); });
  ScalingLogs result{std::vector<double>(matrix.size, 0.0),
                     std::vector<double>(matrix.size, 0.0)};
  std::vector<double> row_max, column_max;
  double farthest = kInfinity;
  for (int step = 0; step < kSteps || (farthest > kNearOne && step < kMostSteps);
       ++step) {
    row_max.assign(matrix.size, -kInfinity);
    column_max.assign(matrix.size, -kInfinity);
    for (std::int32_t column = 0; column < matrix.size; ++column) {
      for (auto at = matrix.column_start[column]; at < matrix.column_start[column + 1];
           ++at) {
        const double scaled =
            log[at] + result.row[matrix.row[at]] + result.column[column];
        row_max[matrix.row[at]] = std::max(row_max[matrix.row[at]], scaled);
        column_max[column] = std::max(column_max[column], scaled);
      }
    }
    farthest =
        std::max(halve_into(result.row, row_max), halve_into(result.column, column_max));
  }
  return result;
}

void balance(std::span<double> row_log, std::span<double> column_log) {
  double least = kInfinity, most = -kInfinity;  // of row_log and −column_log
  for (const double log : row_log) {
    least = std::min(least, log);
    most = std::max(most, log);
  }
  for (const double log : column_log) {
    least = std::min(least, -log);
    most = std::max(most, -log);
  }
  if (row_log.empty()) return;
  const double shift = -std::round((least + most) / 2);
  for (double& log : row_log) log += shift;
  for (double& log : column_log) log -= shift;
}

double uniform_log(std::span<const double> values) {
  const double largest = largest_modulus(values);
  const bool far = largest > kFarFromOne || largest < 1 / kFarFromOne;
  return far && largest > 0 ? -std::log2(largest) : 0;
}

std::vector<double> unit_diagonal_logs(const SymmetricMatrix& matrix) {
  std::vector<double> result(matrix.size, 0.0);
  for (std::int32_t column = 0; column < matrix.size; ++column) {
    const double diagonal = diagonal_entry(matrix, column);
    if (diagonal > 0) result[column] = -std::log2(diagonal) / 2;
  }
  return result;
}

double diagonal_spread(const SymmetricMatrix& matrix) {
  if (matrix.size == 0) return 1;
  double least = kInfinity, most = 0;
  for (std::int32_t column = 0; column < matrix.size; ++column) {
    const double modulus = std::abs(diagonal_entry(matrix, column));
    least = std::min(least, modulus);
    most = std::max(most, modulus);
  }
  return least == 0 ? kInfinity : most / least;
}

}  // namespace espalier::solver
