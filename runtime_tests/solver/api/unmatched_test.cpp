// Variables that a maximum matching leaves out, of matrices that are singular by their
// patterns, through the solver.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "solver/api/solver.h"
#include "solver/support/dense_rows.h"
#include "solver/support/temporary_file.h"
#include "support/temporary_directory.h"

namespace espalier::solver {
namespace TEST_SOURCE {

std::vector<double> product(const InputMatrix& matrix, bool transposed,
                            const std::vector<double>& x) {
  const auto* const symmetric = std::get_if<SymmetricMatrix>(&matrix);
  const GeneralMatrix a =
      symmetric != nullptr ? expanded(*symmetric) : std::get<GeneralMatrix>(matrix);
  std::vector<double> y(x.size(), 0.0);
  for (std::int32_t j = 0; j < a.size; ++j)
    for (auto k = a.column_start[j]; k < a.column_start[j + 1]; ++k)
      (transposed ? y[j] : y[a.row[k]]) += a.value[k] * x[transposed ? a.row[k] : j];
  return y;
}

// What is solved with b = op(A) x of an x of whole numbers.
// @param others  whether another right-hand side is outside the range for certain
void expect_solves(Solver& solver, const InputMatrix& matrix, std::int32_t size,
                   bool others = true) {
  for (const Operation operation : {Operation::kPlain, Operation::kTransposed}) {
    const bool transposed = operation == Operation::kTransposed;
    std::vector<double> given(size);
    for (std::int32_t k = 0; k < size; ++k) given[k] = k % 7 - 3;
    const std::vector<double> b = product(matrix, transposed, given);
    std::vector<double> x = b;
    const Doubts doubts = solver.solve(x, 1, operation).doubts;
    EXPECT_TRUE(doubts.singular);
    EXPECT_FALSE(doubts.backward_error);
    const std::vector<double> left = product(matrix, transposed, x);
    for (std::int32_t k = 0; k < size; ++k) ASSERT_NEAR(left[k], b[k], 1e-9) << k;
    x.assign(size, 0.0);
    for (std::int32_t k = 0; k < size; ++k)
      x[k] = static_cast<double>(std::int64_t{k} * k % 11 + 1);
    if (!others) continue;
    EXPECT_TRUE(solver.solve(x, 1, operation).doubts.backward_error);
  }
}

// One variable with entries to all others, and nothing on the diagonal.
SymmetricMatrix star(std::int32_t size) {
  SymmetricMatrix matrix{.size = size, .column_start = {0}, .row = {}, .value = {}};
  for (std::int32_t k = 1; k < size; ++k) {
    matrix.row.push_back(k);
    matrix.value.push_back(k % 3 + 1);
  }
  matrix.column_start.resize(size + 1, size - 1);
  return matrix;
}

// Delayed to the root they would take 40 GB.
TEST(UnmatchedVariables, TakeNoMemory) {
  constexpr std::int32_t kSize = 50000;
  const SymmetricMatrix symmetric = star(kSize);
  for (const InputMatrix& matrix :
       {InputMatrix(symmetric), InputMatrix(expanded(symmetric))})
    for (const auto scaling :
         {PrepareOptions::Scaling::kAuto, PrepareOptions::Scaling::kEquilibrate,
          PrepareOptions::Scaling::kNone})
      for (const bool bounded : {false, true}) {
        SolverOptions options;
        options.prepare.scaling = scaling;
        Solver solver(InputMatrix(matrix), options);
        ASSERT_TRUE(solver.plan(bounded ? std::optional(solver.least()) : std::nullopt));
        const auto run = solver.factorise();
        ASSERT_TRUE(run);
        EXPECT_EQ(run->pivots.delayed, 0);
        EXPECT_EQ(run->pivots.perturbed, 0);
        EXPECT_EQ(solver.null_space(), kSize - 2);
        EXPECT_LE(run->allocated_peak, Bytes{16} << 20);
        EXPECT_EQ(solver.determinant().mantissa, 0);
        if (solver.kind() == FactorKind::kLdlt) {
          EXPECT_EQ(run->pivots.negative, 1);
        }
        expect_solves(solver, matrix, kSize);
      }
}

// Rank by elimination of whole numbers, small ones.
std::int32_t rank_of(const DenseRows& given) {
  std::vector<std::vector<long double>> a;
  for (const auto& row : given) a.emplace_back(row.begin(), row.end());
  std::size_t rank = 0;
  for (std::size_t j = 0; j < a.size(); ++j) {
    std::size_t best = rank;
    for (std::size_t i = rank; i < a.size(); ++i)
      if (std::abs(a[i][j]) > std::abs(a[best][j])) best = i;
    if (rank == a.size() || std::abs(a[best][j]) < 1e-9L) continue;
    std::swap(a[rank], a[best]);
    for (std::size_t i = rank + 1; i < a.size(); ++i) {
      const long double factor = a[i][j] / a[rank][j];
      for (std::size_t k = j; k < a.size(); ++k) a[i][k] -= factor * a[rank][k];
    }
    ++rank;
  }
  return static_cast<std::int32_t>(rank);
}

// Of a structural rank that is about half of the order.
DenseRows draw(std::mt19937& random, std::int32_t size, bool symmetric) {
  DenseRows a(size, std::vector<double>(size, 0.0));
  const auto hubs = 1 + static_cast<std::int32_t>(random() % (size / 3 + 1));
  for (std::int32_t i = 0; i < size; ++i)
    for (std::int32_t j = 0; j < (symmetric ? i + 1 : size); ++j)
      if (std::min(i, j) < hubs && random() % 3 == 0) {
        a[i][j] = static_cast<double>(random() % 5) - 2;
        if (symmetric) a[j][i] = a[i][j];
      }
  return a;
}

InputMatrix matrix_of(const DenseRows& a, bool symmetric) {
  const GeneralMatrix general = sparse(a);
  return symmetric ? InputMatrix(symmetrised(general).lower) : InputMatrix(general);
}

// Without a bound singular blocks are put together, inside one they are coupled.
TEST(UnmatchedVariables, LeaveTheRankAndTheNullSpace) {
  std::mt19937 random(279);
  for (int turn = 0; turn < 800; ++turn) {
    const bool symmetric = turn % 2 == 0, bounded = turn >= 400;
    const auto size = 3 + static_cast<std::int32_t>(random() % 20);
    const DenseRows a = draw(random, size, symmetric);
    const std::int32_t rank = rank_of(a);
    SCOPED_TRACE(fmt::format("instance {}", turn));
    SolverOptions options;
    options.prepare.few_unmatched = 0;
    options.runtime_flops = turn % 40 == 0 ? 0 : 1e9;
    Solver solver(matrix_of(a, symmetric), options);
    ASSERT_TRUE(solver.plan(bounded ? std::optional(solver.least()) : std::nullopt));
    ASSERT_TRUE(solver.factorise());
    ASSERT_EQ(solver.null_space(), size - rank);
    if (rank == size) continue;
    expect_solves(solver, matrix_of(a, symmetric), size);
    for (const Operation operation : {Operation::kPlain, Operation::kTransposed}) {
      const std::vector<double> basis = solver.null_space_basis(operation);
      ASSERT_EQ(std::ssize(basis), std::int64_t{size} * (size - rank));
      for (std::int32_t v = 0; v < size - rank; ++v) {
        const std::vector<double> left =
            product(sparse(a), operation == Operation::kTransposed,
                    {basis.begin() + v * size, basis.begin() + (v + 1) * size});
        for (const double each : left) ASSERT_NEAR(each, 0, 1e-9);
      }
    }
  }
}

// In core and out of core, by the calling thread and by workers, and from a file.
TEST(UnmatchedVariables, GiveTheSameBitsEverywhere) {
  const support::TemporaryDirectory directory;
  const TemporaryFile file("unmatched");
  for (const bool symmetric : {false, true}) {
    std::mt19937 random(280);
    const InputMatrix matrix = matrix_of(draw(random, 60, symmetric), symmetric);
    std::vector<double> first;
    const auto expect_same = [&](Solver& solver) {
      std::vector<double> x(60);
      for (std::size_t k = 0; k < x.size(); ++k)
        x[k] = std::sin(1.0 + static_cast<double>(k));
      (void)solver.solve(x, 1, Operation::kPlain);
      if (first.empty()) first = x;
      EXPECT_EQ(x, first);
    };
    for (const std::int32_t workers : {0, 1, 2})
      for (const std::string& out_of_core : {std::string(), directory.path()}) {
        SolverOptions options;
        options.prepare.few_unmatched = 0;
        options.workers = std::max(workers, 1);
        options.runtime_flops = workers > 0 ? 0 : 1e9;
        options.out_of_core = out_of_core;
        Solver solver(InputMatrix(matrix), options);
        ASSERT_FALSE(solver.analysis().form.coupling.unmatched.empty());
        ASSERT_TRUE(solver.plan(std::nullopt));
        ASSERT_TRUE(solver.factorise());
        expect_same(solver);
        solver.save(file.path());
        const auto loaded = Solver::load(file.path());
        expect_same(*loaded);
      }
  }
}

// Blocks of small whole numbers, one in two of which is singular, and a few entries under
// them; rows and columns out of order.
DenseRows draw_blocks(std::mt19937& random, std::int32_t size) {
  DenseRows a(size, std::vector<double>(size, 0.0));
  const auto number = [&random] { return static_cast<double>(random() % 5) - 2; };
  for (std::int32_t first = 0; first < size;) {
    const std::int32_t width =
        std::min(size - first, 2 + static_cast<std::int32_t>(random() % 4));
    for (std::int32_t i = first; i < first + width; ++i) {
      for (std::int32_t j = first; j < first + width; ++j) a[i][j] = number();
      for (std::int32_t j = 0; j < first; ++j)
        if (random() % 6 == 0) a[i][j] = number();
    }
    if (width > 1 && random() % 2 == 0)
      for (std::int32_t j = first; j < first + width; ++j)
        a[first + width - 1][j] = 2 * a[first][j];
    first += width;
  }
  std::ranges::shuffle(a, random);
  return a;
}

// What couples singular blocks has pivots of its own, inside a bound as without one, and
// in a file.
TEST(SingularBlocks, AreCoupledInsideABound) {
  std::mt19937 random(281);
  const TemporaryFile file("blocks");
  for (int turn = 0; turn < 200; ++turn) {
    const auto size = 4 + static_cast<std::int32_t>(random() % 40);
    const DenseRows a = draw_blocks(random, size);
    const std::int32_t rank = rank_of(a);
    SCOPED_TRACE(fmt::format("instance {}", turn));
    SolverOptions options;
    options.runtime_flops = turn % 20 == 0 ? 0 : 1e9;
    Solver solver(matrix_of(a, false), options);
    ASSERT_TRUE(solver.plan(solver.least() + (Bytes{1} << 20)));
    const auto run = solver.factorise();
    ASSERT_TRUE(run);
    EXPECT_EQ(run->pivots.perturbed, 0);
    ASSERT_EQ(solver.null_space(), size - rank);
    if (rank == size) continue;
    expect_solves(solver, matrix_of(a, false), size, false);
    std::vector<double> x(size, 1.0), y = x;
    (void)solver.solve(x, 1, Operation::kPlain);
    solver.save(file.path());
    const auto loaded = Solver::load(file.path());
    EXPECT_EQ(loaded->null_space(), size - rank);
    (void)loaded->solve(y, 1, Operation::kPlain);
    EXPECT_EQ(x, y);
  }
}

// Two singular blocks with a pivot between them, and a regular matrix that does not touch
// them: a solution that is zero there is zero, not rounding of the others.
TEST(SingularBlocks, LeaveOtherSystemsAlone) {
  const DenseRows singular{
      {0.3, 0.3, 0.7, 0.1}, {0.3, 0.3, 0.2, 0.9}, {0, 0, 0.6, 0.6}, {0, 0, 0.6, 0.6}},
      regular{{0.7, 0.1, 0.3}, {0.2, 0.9, 0.1}, {0.3, 0.1, 1.1}};
  const std::size_t first = singular.size(), all = first + regular.size();
  DenseRows a(all, std::vector<double>(all));
  for (std::size_t i = 0; i < all; ++i)
    for (std::size_t j = 0; j < all; ++j) {
      if (i < first && j < first) a[i][j] = singular[i][j];
      if (i >= first && j >= first) a[i][j] = regular[i - first][j - first];
    }
  Solver solver(matrix_of(a, false), {});
  ASSERT_TRUE(solver.plan(solver.least() + (Bytes{1} << 20)));
  ASSERT_TRUE(solver.factorise());
  ASSERT_EQ(solver.null_space(), 1);
  std::vector<double> x(all);
  for (std::size_t i = 0; i < first; ++i)
    x[i] = singular[i][0] + 2 * singular[i][2] - 3 * singular[i][3];
  const Solution solution = solver.solve(x);
  EXPECT_LE(solution.refinement.backward_error, 1e-14);
  for (std::size_t i = first; i < all; ++i) EXPECT_EQ(x[i], 0);
}

// A zero that was given may be another number later.
TEST(UnmatchedVariables, AreNoneWhereValuesMayMatchThem) {
  const GeneralMatrix general{3, {0, 2, 3, 4}, {0, 1, 0, 0}, {1, 0, 2, 3}};
  SolverOptions options;
  options.prepare.few_unmatched = 0;
  Solver solver(InputMatrix(general), options);
  EXPECT_EQ(solver.analysis().form.coupling.unmatched.size(), 0U);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
