// Matrices that are solved in block triangular form, through the solver.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>
#include <random>

#include "solver/api/solver.h"
#include "solver/matrix/grid.h"
#include "solver/support/dense_rows.h"
#include "solver/support/temporary_file.h"
#include "support/temporary_directory.h"

namespace espalier::solver {
namespace TEST_SOURCE {

// Blocks of one to four with entries above them, under two permutations.
struct Instance {
  DenseRows a;
  std::int32_t blocks = 0;
};

Instance draw_instance(std::mt19937& random, std::int32_t size) {
  const auto draw = [&](std::int32_t first, std::int32_t last) {
    return std::uniform_int_distribution(first, last)(random);
  };
  const auto value = [&] { return std::uniform_real_distribution(-1.0, 1.0)(random); };
  std::vector<std::int32_t> row(size), column(size);
  std::iota(row.begin(), row.end(), 0);
  std::iota(column.begin(), column.end(), 0);
  std::shuffle(row.begin(), row.end(), random);
  std::shuffle(column.begin(), column.end(), random);
  Instance instance{DenseRows(size, std::vector<double>(size, 0.0))};
  for (std::int32_t first = 0; first < size; ++instance.blocks) {
    const std::int32_t end = std::min(size, first + draw(1, 4));
    for (std::int32_t i = first; i < end; ++i) {
      instance.a[row[i]][column[i]] = 3 + value();
      if (end - first > 1)
        instance.a[row[i]][column[i + 1 < end ? i + 1 : first]] = 1 + 0.1 * value();
      for (std::int32_t k = end < size ? draw(0, 3) : 0; k > 0; --k)
        instance.a[row[i]][column[draw(end, size - 1)]] = value();
    }
    first = end;
  }
  return instance;
}

// Gaussian elimination with row pivoting.
std::vector<long double> solve_densely(const DenseRows& given, std::vector<long double> b,
                                       bool transposed) {
  const std::size_t n = b.size();
  std::vector<std::vector<long double>> a(n, std::vector<long double>(n));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) a[i][j] = transposed ? given[j][i] : given[i][j];
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t best = k;
    for (std::size_t i = k; i < n; ++i)
      if (std::abs(a[i][k]) > std::abs(a[best][k])) best = i;
    std::swap(a[k], a[best]);
    std::swap(b[k], b[best]);
    for (std::size_t i = k + 1; i < n; ++i) {
      const long double factor = a[i][k] / a[k][k];
      for (std::size_t j = k; j < n; ++j) a[i][j] -= factor * a[k][j];
      b[i] -= factor * b[k];
    }
  }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t j = k + 1; j < n; ++j) b[k] -= a[k][j] * b[j];
    b[k] /= a[k][k];
  }
  return b;
}

void expect_solves(Solver& solver, const DenseRows& a, std::mt19937& random) {
  const std::size_t n = a.size();
  for (const Operation operation : {Operation::kPlain, Operation::kTransposed}) {
    std::vector<double> x(2 * n);
    for (double& each : x) each = std::uniform_real_distribution(-1.0, 1.0)(random);
    const std::vector<double> b = x;
    const Solution solution = solver.solve(x, 2, operation);
    EXPECT_FALSE(solution.doubts.any());
    EXPECT_LE(solution.refinement.backward_error, 1e-14);
    for (std::size_t v = 0; v < 2; ++v) {
      const std::vector<long double> expected =
          solve_densely(a, {b.begin() + v * n, b.begin() + (v + 1) * n},
                        operation == Operation::kTransposed);
      long double most = 0;
      for (const long double each : expected) most = std::max(most, std::abs(each));
      for (std::size_t i = 0; i < n; ++i)
        ASSERT_LE(std::abs(x[v * n + i] - expected[i]), 1e-9L * most) << i;
    }
  }
}

TEST(BlockForm, SolvesAsDenseEliminationDoes) {
  std::mt19937 random(92);
  for (int turn = 0; turn < 60; ++turn)
    for (const Precision precision : {Precision::kDouble, Precision::kSingle}) {
      const Instance instance = draw_instance(random, 2 + turn / 2);
      SCOPED_TRACE(fmt::format("order {}, instance {}", instance.a.size(), turn));
      SolverOptions options;
      options.precision = precision;
      options.runtime_flops = turn % 20 == 0 ? 0 : 1e9;
      Solver solver(sparse(instance.a), options);
      ASSERT_EQ(solver.kind(), FactorKind::kLu);
      const BlockForm& form = solver.analysis().form;
      if (form.empty()) continue;  // no entries were drawn between the blocks
      ASSERT_EQ(std::ssize(form.blocks), instance.blocks);
      for (const bool bounded : {false, true}) {
        ASSERT_TRUE(solver.plan(bounded ? std::optional(solver.memory().needed())
                                        : std::nullopt));
        ASSERT_TRUE(solver.factorise());
        expect_solves(solver, instance.a, random);
      }
    }
}

// Grids one after the other, whose entries are not symmetric, and entries between them.
GeneralMatrix coupled_grids(std::int32_t blocks, const GridShape& each) {
  const SymmetricMatrix grid = make_grid(each);
  const std::int32_t n = grid.size;
  std::vector<std::map<std::int32_t, double>> columns(blocks * n);
  for (std::int32_t b = 0; b < blocks; ++b)
    for (std::int32_t j = 0; j < n; ++j) {
      for (auto k = grid.column_start[j]; k < grid.column_start[j + 1]; ++k) {
        columns[b * n + j][b * n + grid.row[k]] = grid.value[k];
        columns[b * n + grid.row[k]][b * n + j] = grid.value[k] * (1 + 0.1 * (j % 3));
      }
      if (b > 0) columns[b * n + j][b * n - 1 - j] = 0.5;
    }
  GeneralMatrix matrix{.size = blocks * n, .column_start = {0}, .row = {}, .value = {}};
  for (const auto& column : columns) {
    for (const auto& [row, value] : column) {
      matrix.row.push_back(row);
      matrix.value.push_back(value);
    }
    matrix.column_start.push_back(std::ssize(matrix.row));
  }
  return matrix;
}

// Panels are read from the file block by block then.
TEST(BlockForm, HasTheSameBitsOutOfCore) {
  const support::TemporaryDirectory directory;
  const auto solutions = [&](const std::string& out_of_core) {
    SolverOptions options;
    options.out_of_core = out_of_core;
    options.refine = false;
    options.analysis.ordering = OrderingKind::kNested;  // whatever takes least memory
    Solver solver(coupled_grids(3, {20, 20, 20}), options);
    EXPECT_EQ(solver.analysis().form.blocks.size(), 3);
    EXPECT_TRUE(
        solver.plan(out_of_core.empty() ? solver.least() : solver.least_out_of_core()));
    EXPECT_TRUE(solver.factorise());
    EXPECT_EQ(solver.spilled().bytes_written > 0, !out_of_core.empty());
    std::vector<double> x(solver.analysis().symbolic.size);
    std::iota(x.begin(), x.end(), 1.0);
    (void)solver.solve(x, 1, Operation::kPlain);
    (void)solver.solve(x, 1, Operation::kTransposed);
    return x;
  };
  EXPECT_EQ(solutions(directory.path()), solutions(""));
}

// Blocks of several nodes by workers, or all by the calling thread, and in between blocks
// of one unknown.
TEST(BlockForm, HasTheSameBitsOnWorkers) {
  GeneralMatrix matrix = coupled_grids(2, {16, 16, 16});
  for (std::int32_t k = 0; k < 40; ++k) {  // each needs the one before, the first a grid
    matrix.row.push_back(matrix.size - 1);
    matrix.value.push_back(0.5);
    matrix.row.push_back(matrix.size++);
    matrix.value.push_back(3 + k);
    matrix.column_start.push_back(std::ssize(matrix.row));
  }
  for (const Precision precision : {Precision::kDouble, Precision::kSingle}) {
    const auto solutions = [&](std::int32_t workers, Flops runtime_flops) {
      SolverOptions options;
      options.precision = precision;
      options.refine = false;
      options.workers = workers;
      options.runtime_flops = runtime_flops;
      Solver solver(GeneralMatrix(matrix), options);
      EXPECT_EQ(solver.analysis().form.blocks.size(), 42);
      EXPECT_EQ(solver.without_runtime(), runtime_flops > 0);
      EXPECT_TRUE(solver.plan(std::nullopt));
      EXPECT_TRUE(solver.factorise());
      std::vector<double> x(2 * static_cast<std::size_t>(matrix.size));
      std::iota(x.begin(), x.end(), 1.0);
      (void)solver.solve(x, 2, Operation::kPlain);
      (void)solver.solve(x, 2, Operation::kTransposed);
      return x;
    };
    const std::vector<double> alone = solutions(1, 1e18);
    EXPECT_EQ(solutions(1, 0), alone);
    EXPECT_EQ(solutions(2, 0), alone);
  }
}

TEST(BlockForm, TakesNewValuesAndKeepsThemInFiles) {
  std::mt19937 random(93);
  Instance instance = draw_instance(random, 40);
  const TemporaryFile file;
  Solver solver(sparse(instance.a), {});
  ASSERT_FALSE(solver.analysis().form.empty());
  for (auto& row : instance.a)
    for (double& each : row) each *= 1 + 0.1 * static_cast<double>(random() % 7);
  solver.replace_values(sparse(instance.a));
  ASSERT_TRUE(solver.plan(std::nullopt));
  ASSERT_TRUE(solver.factorise());
  expect_solves(solver, instance.a, random);
  solver.save(file.path());
  const auto loaded = Solver::load(file.path());
  ASSERT_EQ(loaded->analysis().form.blocks.size(), solver.analysis().form.blocks.size());
  expect_solves(*loaded, instance.a, random);
  DenseRows outside = instance.a;
  for (std::size_t i = 0; i < outside.size(); ++i)
    for (double& each : outside[i])
      if (each == 0) each = 1;
  EXPECT_THROW(solver.replace_values(sparse(outside)), InvalidInput);
}

// Lower triangular with `entries` a row below the diagonal.
GeneralMatrix triangle(std::int32_t size, std::int32_t entries) {
  std::mt19937 random(94);
  GeneralMatrix columns{.size = size, .column_start = {0}, .row = {}, .value = {}};
  for (std::int32_t i = 0; i < size; ++i) {  // by rows, transposed below
    std::vector<std::int32_t> row;
    for (std::int32_t k = 0; k < entries && i > 0; ++k)
      row.push_back(std::uniform_int_distribution(0, i - 1)(random));
    std::ranges::sort(row);
    row.erase(std::unique(row.begin(), row.end()), row.end());
    for (const std::int32_t j : row) {
      columns.row.push_back(j);
      columns.value.push_back(0.25);
    }
    columns.row.push_back(i);
    columns.value.push_back(2);
    columns.column_start.push_back(std::ssize(columns.row));
  }
  return transposed(columns);
}

TEST(BlockForm, FillsNothingInTriangles) {
  for (const std::int32_t entries : {1, 4}) {
    Solver solver(triangle(20'000, entries), {});
    EXPECT_EQ(solver.analysis().symbolic.factor_entries, 20'000);
    ASSERT_TRUE(solver.plan(solver.memory().needed()));
    ASSERT_TRUE(solver.factorise());
    for (const Operation operation : {Operation::kPlain, Operation::kTransposed}) {
      std::vector<double> x = solver.apply_to_ones(operation);
      EXPECT_FALSE(solver.solve(x, 1, operation).doubts.any());
      for (const double each : x) ASSERT_NEAR(each, 1, 1e-9);
    }
  }
}

// A zero pivot in a block of two, and no entry at all where one is needed.
TEST(BlockForm, DoubtsSingularMatrices) {
  const DenseRows singular = {{1, 2, 1, 0}, {2, 4, 0, 1}, {0, 0, 3, 0}, {0, 0, 1, 2}};
  const DenseRows structurally = {{1, 1, 1}, {0, 0, 2}, {0, 0, 3}};
  for (const DenseRows& a : {singular, structurally})
    for (const bool bounded : {false, true}) {
      Solver solver(sparse(a), {});
      ASSERT_TRUE(
          solver.plan(bounded ? std::optional(solver.memory().least()) : std::nullopt));
      ASSERT_TRUE(solver.factorise());
      EXPECT_TRUE(solver.singular());
      std::vector<double> x(a.size(), 1.0);
      EXPECT_TRUE(solver.solve(x).doubts.singular);
    }
  // A solution exists, and is found where there is room to factor all at once.
  Solver solver(sparse(singular), {});
  ASSERT_TRUE(solver.plan(std::nullopt));
  ASSERT_TRUE(solver.factorise());
  EXPECT_EQ(solver.null_space(), 1);
  std::vector<double> x = solver.apply_to_ones();
  const std::vector<double> b = x;
  (void)solver.solve(x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double product =
        std::inner_product(x.begin(), x.end(), singular[i].begin(), 0.0);
    EXPECT_NEAR(product, b[i], 1e-12);
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
