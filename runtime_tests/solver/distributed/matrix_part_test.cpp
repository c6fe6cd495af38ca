#include "solver/matrix/matrix_part.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "solver/distributed/distribute.h"
#include "solver/distributed/row_exchange.h"
#include "solver/distributed/thread_communicators.h"
#include "solver/refine/condition.h"
#include "solver/refine/refine.h"
#include "solver/refine/residual.h"
#include "solver/support/square_systems.h"

namespace espalier::solver {
namespace TEST_SOURCE {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
using Vector = std::vector<double>;

// Every column at a random process.
std::vector<ColumnRange> random_ranges(std::mt19937& random, std::int32_t size,
                                       std::int32_t processes) {
  std::vector<ColumnRange> ranges;
  for (std::int32_t j = 0; j < size; ++j) {
    const std::int32_t owner = draw(random, 0, processes - 1);
    if (!ranges.empty() && ranges.back().owner == owner)
      ++ranges.back().end;
    else
      ranges.push_back({j, j + 1, owner});
  }
  return ranges;
}

std::vector<SquareMatrix> spread(const SquareMatrix& a,
                                 const std::vector<ColumnRange>& ranges,
                                 std::int32_t processes) {
  std::vector<SquareMatrix> parts(static_cast<std::size_t>(processes));
  for (SquareMatrix& part : parts) part.complex = a.complex;
  parts[0] = a;
  run_threads(processes, [&](Communicator& communicator) {
    distribute_columns(communicator, ranges, parts[communicator.rank()]);
  });
  return parts;
}

std::vector<SquareMatrix> spread(std::mt19937& random, const SquareMatrix& a,
                                 std::int32_t processes) {
  return spread(a, random_ranges(random, a.size(), processes), processes);
}

// Calls f(part, rank) as every process, and expects the same bits of all.
template <class F>
auto everywhere(const std::vector<SquareMatrix>& parts, const F& f) {
  using Result = decltype(f(MatrixPart(parts[0])));
  std::vector<Result> results(parts.size());
  run_threads(static_cast<std::int32_t>(parts.size()), [&](Communicator& communicator) {
    results[communicator.rank()] =
        f(matrix_part(parts[communicator.rank()], communicator));
  });
  for (const Result& result : results) EXPECT_EQ(result, results[0]);
  return results[0];
}

TEST(MatrixParts, GiveTheProductsOfTheWholeMatrix) {
  std::mt19937 random(1);
  for (int instance = 0; instance < 60; ++instance) {
    const std::int32_t n = draw(random, 0, 30);
    const SquareMatrix a = random_square(random, n);
    const Vector x = random_vector(random, n), b = random_vector(random, n);
    const auto parts = spread(random, a, draw(random, 1, 5));
    for (const Operation operation : {Operation::kPlain, Operation::kTransposed}) {
      Vector r(n), product(n), rounding(n);
      residual(a, operation, x, b, r);
      multiply(a, operation, x, product);
      residual_rounding(a, operation, x, b, rounding);
      const Vector r_of_parts = everywhere(parts, [&](const MatrixPart& part) {
        Vector result(n);
        residual(part, operation, x, b, result);
        return result;
      });
      const Vector product_of_parts = everywhere(parts, [&](const MatrixPart& part) {
        Vector result(n);
        multiply(part, operation, x, result);
        return result;
      });
      const Vector rounding_of_parts = everywhere(parts, [&](const MatrixPart& part) {
        Vector result(n);
        residual_rounding(part, operation, x, b, result);
        return result;
      });
      for (std::int32_t i = 0; i < n; ++i) {
        ASSERT_NEAR(r_of_parts[i], r[i], 4 * rounding[i]) << describe(a);
        ASSERT_NEAR(product_of_parts[i], product[i], 4 * rounding[i]) << describe(a);
        ASSERT_NEAR(rounding_of_parts[i], rounding[i], 1e-12 * rounding[i])
            << describe(a);
      }
    }
  }
}

TEST(MatrixParts, OfOneProcessGiveTheSameBits) {
  std::mt19937 random(2);
  for (int instance = 0; instance < 100; ++instance) {
    const std::int32_t n = draw(random, 0, 30);
    const SquareMatrix a = random_square(random, n);
    const Vector x = random_vector(random, n), b = random_vector(random, n);
    const auto parts = spread(random, a, 1);
    Vector r(n);
    ErrorMeasure measure(a, Operation::kPlain);
    const double error = measure(x, b, r).total();
    const auto [r_of_part, error_of_part] =
        everywhere(parts, [&](const MatrixPart& part) {
          Vector result(n);
          ErrorMeasure measure_part(part, Operation::kPlain);
          const double total = measure_part(x, b, result).total();
          return std::pair(result, total);
        });
    ASSERT_EQ(r_of_part, r);
    ASSERT_EQ(error_of_part, error);
  }
}

// Rows of real and complex matrices summed up one by one: the same operations in the same
// order.
TEST(MatrixParts, HaveTheBitsOfTheWholeMatrix) {
  std::mt19937 random(7);
  for (int instance = 0; instance < 80; ++instance) {
    const std::int32_t n = draw(random, 1, 40), processes = draw(random, 2, 5);
    SquareMatrix a = random_square(random, n);
    if (instance % 2 == 1) a = with_imaginary(random, a, instance % 4 == 1);
    const std::int32_t length = a.vector_size();
    const Vector x = random_vector(random, length), b = random_vector(random, length);
    const auto ranges = random_ranges(random, n, processes);
    const auto parts = spread(a, ranges, processes);
    for (const Operation operation : {Operation::kPlain, Operation::kTransposed}) {
      const auto results = [&](const MatrixPart& part) {
        Vector r(length), product(length), r_measured(length);
        residual(part, operation, x, b, r);
        multiply(part, operation, x, product);
        ErrorMeasure measure(part, operation);
        const double error = measure(x, b, r_measured).total();
        return std::tuple(r, product, r_measured, error);
      };
      const auto whole = results(a);
      run_threads(processes, [&](Communicator& communicator) {
        const std::int32_t me = communicator.rank();
        const std::vector<Bytes> bytes =
            RowExchange::bytes_under(communicator, ranges, parts[me]);
        RowExchange rows(communicator, ranges, parts[me]);
        if (bytes[me] != rows.bytes()) throw std::logic_error("other bytes");
        if (results(matrix_part(parts[me], communicator, &rows)) != whole)
          throw std::logic_error("other bits of " + describe(a));
      });
    }
  }
}

TEST(MatrixParts, MeasureTheSameErrors) {
  std::mt19937 random(3);
  for (int instance = 0; instance < 60; ++instance) {
    const std::int32_t n = draw(random, 1, 30);
    const SquareMatrix a = random_square(random, n);
    Vector x = random_vector(random, n);
    const Vector b = random_vector(random, n);
    if (instance % 10 == 0) x[draw(random, 0, n - 1)] = std::nan("");
    Vector r(n);
    const double error = ErrorMeasure(a, Operation::kPlain)(x, b, r).total();
    const double of_parts = everywhere(spread(random, a, 3), [&](const MatrixPart& part) {
      Vector result(n);
      return ErrorMeasure(part, Operation::kPlain)(x, b, result).total();
    });
    if (std::isfinite(error))
      ASSERT_NEAR(of_parts, error, 1e-13) << describe(a);
    else
      ASSERT_EQ(of_parts, error) << describe(a);
  }
}

// A solve of which every process has the same, too rough to be right at once.
BlockOperator rough(const Dense& inverse) {
  return [&](std::span<double> block, std::int32_t) { apply<float>(inverse, block); };
}

TEST(MatrixParts, AreRefinedToTheSameErrorsByEqualStepsEverywhere) {
  std::mt19937 random(4);
  for (int instance = 0; instance < 60; ++instance) {
    const std::int32_t n = draw(random, 1, 25), nrhs = draw(random, 1, 3);
    const SquareMatrix a = random_dominant(random, n);
    const auto parts = spread(random, a, draw(random, 1, 4));
    const Vector b = random_vector(random, n * nrhs);
    for (const Operation operation : {Operation::kPlain, Operation::kTransposed}) {
      const Dense inverse = inverse_of(dense_of(a, operation));
      const auto [x, steps, error] = everywhere(parts, [&](const MatrixPart& part) {
        Vector solution(b.size());
        const Refinement refinement =
            refine(part, b, solution, nrhs, rough(inverse), {.operation = operation});
        return std::tuple(solution, refinement.steps, refinement.backward_error);
      });
      EXPECT_GT(steps, 0);
      EXPECT_LE(error, 2 * kEpsilon) << describe(a);
      Vector r(n);
      for (std::int32_t c = 0; c < nrhs; ++c)
        EXPECT_LE(ErrorMeasure(a, operation)(std::span(x).subspan(c * n, n),
                                             std::span(b).subspan(c * n, n), r)
                      .total(),
                  4 * kEpsilon);
    }
  }
}

TEST(MatrixParts, AreOvercomeByGmresWhereTheSolveIsAnotherMatrixs) {
  std::mt19937 random(5);
  for (int instance = 0; instance < 30; ++instance) {
    const std::int32_t n = draw(random, 5, 25);
    const SquareMatrix a = random_dominant(random, n);
    Dense other = inverse_of(dense_of(a, Operation::kPlain));
    for (int k = 0; k < 2; ++k) {  // far from the inverse, along two directions
      const std::int32_t i = draw(random, 0, n - 1);
      for (std::int32_t j = 0; j < n; ++j) other(i, j) *= -40;
    }
    const Vector b = random_vector(random, n);
    const auto [x, steps, error] =
        everywhere(spread(random, a, 3), [&](const MatrixPart& part) {
          Vector solution(b.size());
          const BlockOperator solve = [&](std::span<double> block, std::int32_t) {
            apply<double>(other, block);
          };
          const Refinement refinement = refine(part, b, solution, 1, solve);
          return std::tuple(solution, refinement.gmres_steps, refinement.backward_error);
        });
    EXPECT_GT(steps, 0);
    EXPECT_LE(error, 1e-14) << describe(a);
  }
}

TEST(MatrixParts, HaveTheConditionOfTheWholeMatrix) {
  std::mt19937 random(6);
  for (int instance = 0; instance < 60; ++instance) {
    const std::int32_t n = draw(random, 1, 25);
    const SquareMatrix a = random_dominant(random, n);
    const Vector b = random_vector(random, n), y = random_vector(random, n);
    const Dense plain = inverse_of(dense_of(a, Operation::kPlain)),
                transposed = inverse_of(dense_of(a, Operation::kTransposed));
    const BlockOperator solve = [&](std::span<double> block, std::int32_t) {
      apply<double>(plain, block);
    };
    const BlockOperator solve_transposed = [&](std::span<double> block, std::int32_t) {
      apply<double>(transposed, block);
    };
    const auto estimate = [&](const MatrixPart& part) {
      Vector weights = b;
      const double norm = weigh_errors(part, y, weights, {});
      return estimate_errors(part, weights, norm, solve, solve_transposed);
    };
    const ErrorEstimate whole = estimate(a);
    const auto [condition, bound] =
        everywhere(spread(random, a, 3), [&](const MatrixPart& part) {
          const ErrorEstimate one = estimate(part);
          return std::pair(one.condition_1norm, one.forward_error_bound);
        });
    EXPECT_NEAR(condition, whole.condition_1norm, 1e-12 * whole.condition_1norm);
    EXPECT_NEAR(bound, whole.forward_error_bound, 1e-10 * whole.forward_error_bound);
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
