// What a solver keeps of a matrix, by the heap's own count: the numbers once, whoever
// gives them, and from C the pattern once more, for other values without a pattern.

#include <espalier/solver/solver.h>
#include <espalier_solver.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "support/sanitized.h"

namespace espalier::solver {
namespace TEST_SOURCE {

constexpr bool kCounts = !support::kSanitized;  // their heaps do not

std::int64_t heap() {
  const auto info = mallinfo2();
  return static_cast<std::int64_t>(info.uordblks + info.hblkhd);
}

constexpr std::int32_t kOrder = 2560, kBlock = 64;
constexpr std::int64_t kEntries = std::int64_t{kOrder} * kBlock;

// Dense blocks along the diagonal: so many entries a column that nothing else counts.
GeneralMatrix blocks() {
  GeneralMatrix matrix{.size = kOrder, .column_start = {0}, .row = {}, .value = {}};
  matrix.row.reserve(kEntries);
  matrix.value.reserve(kEntries);
  for (std::int32_t j = 0; j < kOrder; ++j) {
    const std::int32_t first = j / kBlock * kBlock;
    for (std::int32_t i = first; i < first + kBlock; ++i) {
      matrix.row.push_back(i);
      matrix.value.push_back(i == j ? 2 * kBlock : 1.0 / (1 + i - first));
    }
    matrix.column_start.push_back(static_cast<std::int64_t>(matrix.row.size()));
  }
  return matrix;
}

// As nearly every matrix its columns are put in another order.
std::vector<std::int32_t> backwards() {
  std::vector<std::int32_t> order(kOrder);
  for (std::int32_t k = 0; k < kOrder; ++k) order[k] = kOrder - 1 - k;
  return order;
}

// Of the caller's 12: a number and a row.
double bytes_per_entry(std::int64_t bytes) {
  return static_cast<double>(bytes) / static_cast<double>(kEntries);
}

TEST(Copies, OfAMatrixThatIsHandedOverThereIsOne) {
  if (!kCounts) GTEST_SKIP() << "under a sanitizer";
  const std::int64_t before = heap();
  SolverOptions options;
  options.analysis.order = backwards();
  Solver solver(blocks(), options);
  EXPECT_LE(bytes_per_entry(heap() - before), 12.0);
  ASSERT_TRUE(solver.plan(solver.least()));
  EXPECT_LE(bytes_per_entry(heap() - before), 12.0);
  std::vector<double> b = solver.apply_to_ones();
  ASSERT_TRUE(solver.factorise());
  EXPECT_FALSE(solver.solve(b).doubts.any());
  solver.release_factor();
  b = {};
  EXPECT_LE(bytes_per_entry(heap() - before), 12.0) << "after solving";
}

TEST(Copies, FromCOnlyThePatternIsThereTwice) {
  if (!kCounts) GTEST_SKIP() << "under a sanitizer";
  const GeneralMatrix matrix = blocks();
  std::vector<std::int64_t> rows(matrix.row.begin(), matrix.row.end());
  const std::vector<std::int32_t> order = backwards();
  espalier_solver_options options = ESPALIER_SOLVER_OPTIONS_INIT;
  options.order = order.data();
  for (const int bits : {32, 64}) {
    std::vector<std::int32_t> starts(matrix.column_start.begin(),
                                     matrix.column_start.end());
    espalier_solver_input input = ESPALIER_SOLVER_INPUT_INIT;
    input.order = kOrder;
    input.format = ESPALIER_SOLVER_COLUMNS;
    input.symmetry = ESPALIER_SOLVER_WHOLE_OR_GENERAL;
    input.index_bits = bits;
    input.entries = kEntries;
    input.starts = bits == 32 ? static_cast<const void*>(starts.data())
                              : static_cast<const void*>(matrix.column_start.data());
    input.rows = bits == 32 ? static_cast<const void*>(matrix.row.data())
                            : static_cast<const void*>(rows.data());
    input.values = matrix.value.data();
    const std::int64_t before = heap();
    espalier_solver* solver = nullptr;
    ASSERT_EQ(espalier_solver_analyse(&solver, &input, &options), 0)
        << espalier_solver_last_error();
    EXPECT_LE(bytes_per_entry(heap() - before), 12.0 + 4.0) << bits << " bits";
    std::int64_t least = 0;
    ASSERT_EQ(espalier_solver_least(solver, &least, nullptr), 0);
    ASSERT_EQ(espalier_solver_plan(solver, least), 0) << espalier_solver_last_error();
    ASSERT_EQ(espalier_solver_factorise_values(solver, matrix.value.data(), kEntries), 0)
        << espalier_solver_last_error();
    std::vector<double> x(kOrder, 1.0);
    EXPECT_EQ(espalier_solver_solve(solver, 0, 1, x.data()), 0);
    // The factor is dense blocks of two triangles, 8 bytes for an entry of the matrix.
    EXPECT_LE(bytes_per_entry(heap() - before), 12.0 + 4.0 + 8.0) << bits << " bits";
    espalier_solver_destroy(solver);
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
