// Inside the steps that take long: matchings, passes over the factor, and how often hosts
// of the C interface are asked.

#include <espalier_solver.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "espalier/model/clock.h"
#include "solver/api/solver.h"
#include "solver/matrix/general_matrix.h"
#include "solver/matrix/grid.h"
#include "solver/scaling/matching.h"
#include "solver/support/c_interface.h"

namespace espalier::solver {
namespace TEST_SOURCE {

/// Not an exception of the standard library.
struct Enough {
  double done;
};

// A matching is sought column by column. No column's largest entry helps where others
// want the same row.
GeneralMatrix crowded(std::int32_t size) {
  std::mt19937 random(7);
  GeneralMatrix matrix;
  matrix.size = size;
  matrix.column_start = {0};
  for (std::int32_t column = 0; column < size; ++column) {
    std::vector<std::int32_t> rows = {(column + 11) % size};
    for (int k = 0; k < 4; ++k)
      rows.push_back(static_cast<std::int32_t>(random() % static_cast<unsigned>(size)));
    std::ranges::sort(rows);
    rows.erase(std::ranges::unique(rows).begin(), rows.end());
    for (const std::int32_t row : rows) {
      matrix.row.push_back(row);
      matrix.value.push_back(1 + static_cast<double>(random() % 1000));
    }
    matrix.column_start.push_back(std::ssize(matrix.row));
  }
  return matrix;
}

TEST(CancelledMatching, MayEndAtAnyColumn) {
  const GeneralMatrix matrix = crowded(2000);
  int calls = 0, last = 0;
  const auto ask = [&] {
    if (++calls == last) throw Enough{static_cast<double>(calls)};
  };
  const Matching expected = maximum_product_matching(matrix, ask);
  const int all = calls;
  ASSERT_GT(all, 5);
  SolverOptions options;
  options.analysis.interrupt = ask;
  for (last = 1; last <= all; last += last < 5 ? 1 : all / 5) {
    calls = 0;
    EXPECT_THROW((void)maximum_product_matching(matrix, ask), Enough) << last;
    calls = 0;
    EXPECT_THROW((void)Solver(matrix, options), Enough) << last;
    EXPECT_EQ(calls, last);
  }
  last = 0;
  EXPECT_EQ(maximum_product_matching(matrix, ask).row_of_column, expected.row_of_column);
}

// Between fronts of one pass: in blocks, in single precision, and by LU in block form.
enum class Factor { kWhole, kSingle, kBlocks, kStarpu };

class CancelledPass : public testing::TestWithParam<Factor> {
 protected:
  static InputMatrix matrix() {
    SymmetricMatrix whole = make_grid({17, 17, 17});
    if (GetParam() != Factor::kBlocks) return whole;
    // Two of them, one of which feeds the other.
    const GeneralMatrix one = expanded(whole);
    GeneralMatrix two = one;
    two.size = 2 * one.size;
    for (std::int32_t column = 0; column < one.size; ++column) {
      for (auto at = one.column_start[column]; at < one.column_start[column + 1]; ++at) {
        two.row.push_back(one.size + one.row[at]);
        two.value.push_back(one.value[at]);
      }
      two.column_start.push_back(std::ssize(two.row));
    }
    two.row.insert(two.row.begin() + two.column_start[1], one.size);
    two.value.insert(two.value.begin() + two.column_start[1], 0.5);
    for (std::size_t k = 1; k < two.column_start.size(); ++k) ++two.column_start[k];
    return two;
  }
  static SolverOptions options() {
    SolverOptions options;
    options.workers = GetParam() == Factor::kStarpu ? 2 : 1;
    options.runtime_flops = GetParam() == Factor::kStarpu ? 0 : 1e18;
    if (GetParam() == Factor::kSingle) options.precision = Precision::kSingle;
    return options;
  }
};

TEST_P(CancelledPass, LeavesTheFactor) {
  constexpr std::int32_t kVectors = 7;
  Solver solver(matrix(), options());
  ASSERT_EQ(solver.analysis().form.empty(), GetParam() != Factor::kBlocks);
  ASSERT_TRUE(solver.plan(std::nullopt));
  ASSERT_TRUE(solver.factorise());
  const std::vector<double> ones = solver.apply_to_ones();
  std::vector<double> b;
  for (int k = 0; k < kVectors; ++k) b.insert(b.end(), ones.begin(), ones.end());
  std::size_t calls = 0, last = 0;
  const auto solved = [&] {
    calls = 0;
    std::vector<double> x = b;
    (void)solver.solve(x, kVectors, Operation::kPlain, {}, [&](double done) {
      EXPECT_EQ(done, 0);  // all are solved for together
      if (++calls == last) throw Enough{done};
    });
    return x;
  };
  const std::vector<double> expected = solved();
  for (const double each : expected) EXPECT_NEAR(each, 1, 1e-10);
  const std::size_t all = calls;
  if (GetParam() != Factor::kStarpu) {
    EXPECT_GT(all, 10);
  }
  for (last = 1; last <= all; ++last) {
    EXPECT_THROW((void)solved(), Enough) << last;
    EXPECT_EQ(calls, last);
  }
  last = 0;
  EXPECT_EQ(solved(), expected);
}

// Threads that share a system ask where the calling one is in a piece: how often is a
// matter of luck, and that it has none would be bad luck.
TEST(CancelledPassOfThreads, LeavesTheFactor) {
  SolverOptions options;
  options.workers = 2;
  options.runtime_flops = 1e18;
  Solver solver(make_grid({17, 17, 17}), options);
  ASSERT_TRUE(solver.plan(std::nullopt));
  ASSERT_TRUE(solver.factorise());
  const std::vector<double> ones = solver.apply_to_ones();
  std::vector<double> expected = ones;
  (void)solver.solve(expected, 1);
  int thrown = 0;
  for (int tries = 0; tries < 50 && thrown < 3; ++tries) {
    std::vector<double> x = ones;
    try {
      (void)solver.solve(x, 1, Operation::kPlain, {},
                         [](double done) { throw Enough{done}; });
      EXPECT_EQ(x, expected);
    } catch (const Enough&) {
      ++thrown;
    }
  }
  EXPECT_EQ(thrown, 3);
  std::vector<double> x = ones;
  (void)solver.solve(x, 1);
  EXPECT_EQ(x, expected);
}

std::string name_of(Factor factor) {
  constexpr std::array kNames = {"Whole", "Single", "Blocks", "OnStarPU"};
  return kNames[static_cast<std::size_t>(factor)];
}

INSTANTIATE_TEST_SUITE_P(Factors, CancelledPass,
                         testing::Values(Factor::kWhole, Factor::kSingle, Factor::kBlocks,
                                         Factor::kStarpu),
                         [](const auto& each) { return name_of(each.param); });

// What a host of the C interface is asked.
struct Asked {
  int last = 0, calls = 0;
};

int until_last(void* context, double /*done*/) {
  auto& asked = *static_cast<Asked*>(context);
  return ++asked.calls == asked.last ? 1 : 0;
}

espalier_solver_input input_of(const SymmetricMatrix& a,
                               const std::vector<std::int32_t>& start) {
  espalier_solver_input input = ESPALIER_SOLVER_INPUT_INIT;
  input.order = a.size;
  input.index_bits = 32;
  input.symmetry = ESPALIER_SOLVER_SYMMETRIC;
  input.starts = start.data();
  input.rows = a.row.data();
  input.values = a.value.data();
  return input;
}

// As often as it comes to that: 20 times a second.
TEST(CancelledInC, AnalysesCanBeRepeated) {
  const SymmetricMatrix a = make_grid({32, 32, 32});
  const std::vector<std::int32_t> start(a.column_start.begin(), a.column_start.end());
  const espalier_solver_input input = input_of(a, start);
  Asked asked;
  espalier_solver_options options = ESPALIER_SOLVER_OPTIONS_INIT;
  options.ordering = ESPALIER_SOLVER_ORDERING_NESTED;
  options.workers = 1;
  options.progress = until_last;
  options.progress_context = &asked;
  for (int last = 1; last <= 4; ++last) {
    asked = {last % 4};  // not, at last
    espalier_solver* solver = nullptr;
    const int status = espalier_solver_analyse(&solver, &input, &options);
    const Handle handle(solver);
    if (asked.last > 0 && asked.calls >= last) {
      expect_error(status, ECANCELED, "ended the call");
      EXPECT_EQ(solver, nullptr);
      continue;
    }
    ASSERT_EQ(status, 0);
    ASSERT_EQ(espalier_solver_plan(solver, INT64_MAX), 0);
    ASSERT_EQ(espalier_solver_factorise(solver), 0);
    std::vector<double> x(static_cast<std::size_t>(a.size), 1);
    EXPECT_EQ(espalier_solver_solve(solver, 0, 1, x.data()), 0);
  }
}

// However many passes there are.
TEST(CancelledInC, IsAskedTwentyTimesASecondAtMost) {
  const SymmetricMatrix a = make_grid({4, 4, 1});
  const std::vector<std::int32_t> start(a.column_start.begin(), a.column_start.end());
  const espalier_solver_input input = input_of(a, start);
  espalier_solver* solver = nullptr;
  ASSERT_EQ(espalier_solver_analyse(&solver, &input, nullptr), 0);
  const Handle handle(solver);
  Asked asked;
  ASSERT_EQ(espalier_solver_set_progress(solver, until_last, &asked), 0);
  ASSERT_EQ(espalier_solver_plan(solver, INT64_MAX), 0);
  ASSERT_EQ(espalier_solver_factorise(solver), 0);
  EXPECT_EQ(asked.calls, 1);
  constexpr std::int32_t kVectors = 50'000;
  std::vector<double> x(std::size_t{16} * kVectors, 1);
  asked = {};
  const auto begin = Clock::now();
  ASSERT_EQ(espalier_solver_solve(solver, 0, kVectors, x.data()), 0);
  EXPECT_GE(asked.calls, 1);
  EXPECT_LE(asked.calls, 1 + since(begin) / 0.05);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
