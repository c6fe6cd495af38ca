// Sessions of the C interface: analysed once, factored and solved often.
//
// The cases of one subject, which share their instances: over 300 lines.

#include <espalier_solver.h>
#include <gtest/gtest.h>
#include <starpu.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "solver/support/c_interface.h"
#include "solver/support/temporary_file.h"

namespace espalier::solver {
namespace TEST_SOURCE {

/// A unsymmetric matrix by compressed rows, diagonally dominant.
struct Rows {
  explicit Rows(std::int32_t n, unsigned seed) : order(n) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> value(-1, 1);
    for (std::int32_t i = 0; i < n; ++i) {
      for (std::int32_t j = 0; j < n; ++j) {
        if (i != j && random() % 4 != 0) continue;
        columns.push_back(j);
        values.push_back(i == j ? 2.0 * n : value(random));
      }
      starts.push_back(static_cast<std::int32_t>(columns.size()));
    }
  }
  [[nodiscard]] espalier_solver_input input() const {
    espalier_solver_input view = ESPALIER_SOLVER_INPUT_INIT;
    view.order = order;
    view.format = ESPALIER_SOLVER_ROWS;
    view.starts = starts.data();
    view.columns = columns.data();
    view.values = values.data();
    return view;
  }
  /// A x, or A^T x.
  [[nodiscard]] std::vector<double> times(const double* x, bool transposed) const {
    std::vector<double> result(order);
    for (std::int32_t i = 0; i < order; ++i)
      for (std::int32_t at = starts[i]; at < starts[i + 1]; ++at)
        result[transposed ? columns[at] : i] +=
            values[at] * x[transposed ? i : columns[at]];
    return result;
  }

  std::int32_t order;
  std::vector<std::int32_t> starts = {0}, columns;
  std::vector<double> values;
};

// Solutions of A x = b and A^T x = b for known x, in blocks with gaps.
void expect_solves(const Handle& solver, const Rows& matrix) {
  constexpr std::int32_t kColumns = 3;
  const std::int64_t n = matrix.order, ldb = n + 2, ldx = n + 5;
  for (const bool transposed : {false, true}) {
    std::vector<double> known(n * kColumns), b(ldb * kColumns, 77), x(ldx * kColumns, 55);
    std::iota(known.begin(), known.end(), 1.0);
    for (int k = 0; k < kColumns; ++k)
      std::ranges::copy(matrix.times(known.data() + k * n, transposed),
                        b.begin() + k * ldb);
    const std::vector<double> before = b;
    ASSERT_EQ(espalier_solver_solve_block(solver.get(), transposed, kColumns, b.data(),
                                          ldb, x.data(), ldx),
              0)
        << espalier_solver_last_error();
    EXPECT_EQ(b, before);
    ASSERT_EQ(espalier_solver_solve_block(solver.get(), transposed, kColumns, b.data(),
                                          ldb, b.data(), ldb),
              0);
    for (int k = 0; k < kColumns; ++k) {
      for (std::int64_t i = 0; i < n; ++i) {
        const double wanted = known[k * n + i];
        EXPECT_NEAR(x[k * ldx + i], wanted, 1e-12 * wanted);
        EXPECT_NEAR(b[k * ldb + i], wanted, 1e-12 * wanted);
      }
      EXPECT_EQ(x[k * ldx + n], 55);  // what lies between is left alone
      EXPECT_EQ(b[k * ldb + n], 77);
    }
  }
}

class Sessions : public testing::TestWithParam<std::int32_t> {
 protected:
  [[nodiscard]] static espalier_solver_options options() {
    espalier_solver_options result = ESPALIER_SOLVER_OPTIONS_INIT;
    result.runtime = GetParam();
    result.workers = GetParam() == ESPALIER_SOLVER_RUNTIME_STARPU ? 2 : 0;
    return result;
  }
};

TEST_P(Sessions, FactorAgainWithValuesAlone) {
  Rows matrix(40, 7);
  const espalier_solver_options chosen = options();
  const Handle solver = analyse(matrix.input(), &chosen);
  expect_error(espalier_solver_factorise_values(solver.get(), nullptr, 0), EINVAL,
               "plan first");
  ASSERT_EQ(espalier_solver_plan(solver.get(), 0), 0);
  ASSERT_EQ(espalier_solver_factorise(solver.get()), 0) << espalier_solver_last_error();
  expect_solves(solver, matrix);
  for (int round = 0; round < 3; ++round) {
    std::mt19937 random(round);
    for (double& value : matrix.values)
      value *= 0.5 + static_cast<double>(random() % 8) / 8;
    ASSERT_EQ(espalier_solver_factorise_values(solver.get(), matrix.values.data(),
                                               std::ssize(matrix.values)),
              0)
        << espalier_solver_last_error();
    expect_solves(solver, matrix);
  }
  expect_error(espalier_solver_factorise_values(solver.get(), matrix.values.data(), 3),
               EINVAL, "entries is 3");
  expect_solves(solver, matrix);  // the factor has stayed
  matrix.values[5] = HUGE_VAL;
  expect_error(espalier_solver_factorise_values(solver.get(), matrix.values.data(),
                                                std::ssize(matrix.values)),
               EINVAL, "values[5] is inf");
  double x[40] = {};
  expect_error(espalier_solver_solve(solver.get(), 0, 1, x), EINVAL, "factorise first");
}

TEST_P(Sessions, KeepTheLeastBound) {
  const Rows matrix(60, 3);
  const espalier_solver_options chosen = options();
  const Handle solver = analyse(matrix.input(), &chosen);
  std::int64_t least = 0;
  ASSERT_EQ(espalier_solver_least(solver.get(), &least, nullptr), 0);
  expect_error(espalier_solver_plan(solver.get(), least / 2), ENOMEM, "suffices");
  ASSERT_EQ(espalier_solver_plan(solver.get(), least), 0);
  ASSERT_EQ(espalier_solver_factorise(solver.get()), 0);
  const espalier_solver_statistics facts = statistics_of(solver);
  EXPECT_LE(facts.baseline_bytes + facts.factor_growth, least);
  expect_solves(solver, matrix);
}

TEST_P(Sessions, TellInertiaRankAndOrder) {
  // diag(2, -3, 5, -7) and a zero, in an order of our own.
  const std::int64_t rows[] = {1, 2, 3, 4, 5};
  const double values[] = {2, -3, 5, -7, 0};
  const std::int32_t order[] = {4, 2, 0, 1, 3};
  espalier_solver_input input = ESPALIER_SOLVER_INPUT_INIT;
  input.order = input.entries = 5;
  input.format = ESPALIER_SOLVER_TRIPLETS;
  input.symmetry = ESPALIER_SOLVER_SYMMETRIC;
  input.index_bits = 64;
  input.index_base = 1;
  input.rows = input.columns = rows;
  input.values = values;
  espalier_solver_options chosen = options();
  chosen.order = order;
  chosen.kind = ESPALIER_SOLVER_KIND_LDLT;
  const Handle solver = analyse(input, &chosen);
  ASSERT_EQ(espalier_solver_plan(solver.get(), INT64_MAX), 0);
  ASSERT_EQ(espalier_solver_factorise(solver.get()), 0);
  const espalier_solver_statistics facts = statistics_of(solver);
  EXPECT_EQ(facts.negative_pivots, 2);
  EXPECT_EQ(facts.singular, 1);
  EXPECT_EQ(facts.rank, 4);
  std::vector<std::int32_t> taken(5);
  ASSERT_EQ(espalier_solver_read_order(solver.get(), taken.data()), 0);
  std::ranges::sort(taken);
  EXPECT_EQ(taken, (std::vector<std::int32_t>{0, 1, 2, 3, 4}));
}

TEST_P(Sessions, AreEndedByTheirProgressFunction) {
  const Rows matrix(50, 9);
  const espalier_solver_options chosen = options();
  const Handle solver = analyse(matrix.input(), &chosen);
  ASSERT_EQ(espalier_solver_plan(solver.get(), 0), 0);
  int calls = 0;
  const auto stop = [](void* context, double done) {
    EXPECT_TRUE(done >= 0 && done <= 1) << done;
    return static_cast<int>(++*static_cast<int*>(context) > 0);
  };
  ASSERT_EQ(espalier_solver_set_progress(solver.get(), stop, &calls), 0);
  const int status = espalier_solver_factorise(solver.get());
  if (calls > 0)  // it may be done before it was asked
    expect_error(status, ECANCELED, "progress");
  ASSERT_EQ(espalier_solver_set_progress(solver.get(), nullptr, nullptr), 0);
  ASSERT_EQ(espalier_solver_factorise(solver.get()), 0);
  expect_solves(solver, matrix);
}

TEST_P(Sessions, LookAtErrorsFromWhenTheyAreAskedTo) {
  const Rows matrix(30, 1);
  espalier_solver_options chosen = options();
  chosen.no_refinement = 2;
  const Handle solver = analyse(matrix.input(), &chosen);
  ASSERT_EQ(espalier_solver_plan(solver.get(), 0), 0);
  ASSERT_EQ(espalier_solver_factorise(solver.get()), 0);
  const auto condition = [&] {
    std::vector<double> x(30, 1.0);
    EXPECT_EQ(espalier_solver_solve(solver.get(), 0, 1, x.data()), 0);
    espalier_solver_statistics facts{};
    facts.size = sizeof facts;
    EXPECT_EQ(espalier_solver_read_statistics(solver.get(), &facts), 0);
    return facts.condition_1norm;
  };
  EXPECT_EQ(condition(), 0);
  ASSERT_EQ(espalier_solver_set_refinement(solver.get(), 0, 1), 0);
  EXPECT_GE(condition(), 1);
  ASSERT_EQ(espalier_solver_set_refinement(solver.get(), 2, 0), 0);
  EXPECT_EQ(condition(), 0);
  expect_error(espalier_solver_set_refinement(solver.get(), 3, 0), EINVAL,
               "no_refinement is 3");
  expect_error(espalier_solver_set_refinement(nullptr, 0, 0), EINVAL, "solver");
}

TEST_P(Sessions, SolveWithoutLookingAtErrors) {
  const Rows matrix(30, 1);
  espalier_solver_options chosen = options();
  chosen.no_refinement = 2;
  const Handle solver = analyse(matrix.input(), &chosen);
  ASSERT_EQ(espalier_solver_plan(solver.get(), INT64_MAX), 0);
  ASSERT_EQ(espalier_solver_factorise(solver.get()), 0);
  expect_solves(solver, matrix);
  EXPECT_EQ(statistics_of(solver).backward_error, 0);
}

INSTANTIATE_TEST_SUITE_P(Runtimes, Sessions,
                         testing::Values(ESPALIER_SOLVER_RUNTIME_STARPU,
                                         ESPALIER_SOLVER_RUNTIME_NONE),
                         [](const auto& each) {
                           return each.param == ESPALIER_SOLVER_RUNTIME_NONE ? "Alone"
                                                                             : "StarPU";
                         });

TEST(SmallSystems, NeedNoStarPU) {
  const Rows small(20, 1);
  ASSERT_EQ(starpu_is_initialized(), 0);
  const Handle solver = analyse(small.input());
  EXPECT_EQ(starpu_is_initialized(), 0);
  espalier_solver_options options = ESPALIER_SOLVER_OPTIONS_INIT;
  options.runtime = ESPALIER_SOLVER_RUNTIME_STARPU;
  const Handle other = analyse(small.input(), &options);
  EXPECT_NE(starpu_is_initialized(), 0);
}

TEST(SessionArguments, AreNamedWhenTheyCannotBe) {
  const Rows matrix(4, 1);
  espalier_solver_input input = matrix.input();
  espalier_solver* none = nullptr;
  input.format = 7;
  expect_error(espalier_solver_analyse(&none, &input, nullptr), EINVAL, "input.format");
  expect_error(espalier_solver_analyse(&none, nullptr, nullptr), EINVAL, "input is NULL");
  input = matrix.input();
  expect_error(espalier_solver_analyse(nullptr, &input, nullptr), EINVAL, "solver");
  espalier_solver_options options = ESPALIER_SOLVER_OPTIONS_INIT;
  const std::int32_t twice[] = {0, 1, 1, 2}, beyond[] = {0, 1, 2, 4};
  options.order = twice;
  expect_error(espalier_solver_analyse(&none, &input, &options), EINVAL,
               "options.order[2] is 1");
  options.order = beyond;
  expect_error(espalier_solver_analyse(&none, &input, &options), EINVAL,
               "options.order[3] is 4");
  EXPECT_EQ(none, nullptr);

  const Handle solver = analyse(input);
  ASSERT_EQ(espalier_solver_plan(solver.get(), ESPALIER_SOLVER_MEMORY_AUTO), 0);
  ASSERT_EQ(espalier_solver_factorise(solver.get()), 0);
  double b[16] = {}, x[16] = {};
  const auto solve = [&](std::int32_t transposed, std::int32_t nrhs, const double* from,
                         std::int64_t ldb, double* to, std::int64_t ldx) {
    return espalier_solver_solve_block(solver.get(), transposed, nrhs, from, ldb, to,
                                       ldx);
  };
  expect_error(solve(2, 1, b, 4, x, 4), EINVAL, "transposed is 2");
  expect_error(solve(0, -1, b, 4, x, 4), EINVAL, "nrhs is -1");
  expect_error(solve(0, 1, nullptr, 4, x, 4), EINVAL, "b is NULL");
  expect_error(solve(0, 1, b, 4, nullptr, 4), EINVAL, "x is NULL");
  for (const std::int32_t nrhs : {1, 2}) {
    expect_error(solve(0, nrhs, b, 3, x, 4), EINVAL, "ldb is 3");
    expect_error(solve(0, nrhs, b, 4, x, -4), EINVAL, "ldx is -4");
    expect_error(solve(0, nrhs, b, 4, b, 5), EINVAL, "in place");
    expect_error(solve(0, nrhs, b, INT64_MAX, x, 4), EOVERFLOW, "");
  }
  b[1] = std::nan("");
  expect_error(solve(0, 1, b, 4, x, 4), EINVAL, "entry 1");
  const espalier_solver_matrix columns{};
  expect_error(espalier_solver_refactorise(solver.get(), &columns), EINVAL, "rows");
  expect_error(espalier_solver_read_order(solver.get(), nullptr), EINVAL, "order");
  expect_error(espalier_solver_set_progress(nullptr, nullptr, nullptr), EINVAL, "solver");
}

TEST(SessionArguments, OfVectorsThatOverlapAreRefused) {
  constexpr std::int32_t kOrder = 4;
  const Handle solver = factored(Rows(kOrder, 1).input());
  std::vector<double> all(40);
  const auto solve = [&](std::int32_t nrhs, int b, std::int64_t ldb, int x,
                         std::int64_t ldx) {
    return espalier_solver_solve_block(solver.get(), 0, nrhs, all.data() + b, ldb,
                                       all.data() + x, ldx);
  };
  for (int shift = 1; shift < kOrder; ++shift)
    for (const std::int32_t nrhs : {1, 3}) {
      expect_error(solve(nrhs, 0, 4, shift, 4), EINVAL, "x overlaps with b");
      expect_error(solve(nrhs, shift, 4, 0, 4), EINVAL, "x overlaps with b");
      expect_error(solve(nrhs, shift, 8, 0, 9), EINVAL, "x overlaps with b");
    }
  expect_error(solve(3, 0, 4, 4, 4), EINVAL, "vector 0 of x, from 0, with vector 1 of b");
  expect_error(solve(3, 20, 5, 4, 9), EINVAL,
               "vector 2 of x, from 0, with vector 0 of b");
  expect_error(espalier_solver_solve_part(solver.get(), ESPALIER_SOLVER_PART_L, 0, 2,
                                          all.data(), 4, all.data() + 1, 4),
               EINVAL, "x overlaps with b");
}

TEST(SessionArguments, OfVectorsThatStandBetweenEachOtherAreTaken) {
  const Rows matrix(4, 1);
  const Handle solver = factored(matrix.input());
  const std::vector<double> ones = matrix.times(std::vector(4, 1.0).data(), false);
  std::vector<double> all(40);  // b x b x b x
  for (const int k : {0, 8, 16}) std::ranges::copy(ones, all.begin() + k);
  ASSERT_EQ(
      espalier_solver_solve_block(solver.get(), 0, 3, all.data(), 8, all.data() + 4, 8),
      0)
      << espalier_solver_last_error();
  for (const int k : {0, 8, 16})
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(all[k + i], ones[i]);
      EXPECT_NEAR(all[k + 4 + i], 1, 1e-14);
    }
}

// Compiled when options ended with out_of_core and statistics before `advice`.
TEST(OlderCallers, GoOnWorking) {
  const Rows matrix(10, 4);
  const espalier_solver_input input = matrix.input();
  espalier_solver_options options = ESPALIER_SOLVER_OPTIONS_INIT;
  options.size = 64;
  const std::int32_t never_read = -7;
  options.order = &never_read;
  const Handle solver = analyse(input, &options);
  ASSERT_EQ(espalier_solver_plan(solver.get(), INT64_MAX), 0);
  ASSERT_EQ(espalier_solver_factorise(solver.get()), 0);
  espalier_solver_statistics facts{};
  facts.size = 208;
  facts.rank = 77;
  ASSERT_EQ(espalier_solver_read_statistics(solver.get(), &facts), 0);
  EXPECT_EQ(facts.order, 10);
  EXPECT_EQ(facts.rank, 77);  // behind what the caller has: left alone
  EXPECT_EQ(facts.size, 208u);
}

TEST(Bounds, AreReadAsPeopleWriteThem) {
  std::int64_t bound = 7;
  const auto read = [&](const char* text) {
    EXPECT_EQ(espalier_solver_parse_memory(text, &bound), 0) << text;
    return bound;
  };
  EXPECT_EQ(read("2GiB"), std::int64_t{2} << 30);
  EXPECT_EQ(read("min"), ESPALIER_SOLVER_MEMORY_LEAST);
  EXPECT_EQ(read("auto"), ESPALIER_SOLVER_MEMORY_AUTO);
  EXPECT_EQ(read("none"), INT64_MAX);
  for (const char* bad : {"", "0", "-1", "2 apples", "Min"})
    EXPECT_EQ(espalier_solver_parse_memory(bad, &bound), -EINVAL) << bad;
  expect_error(espalier_solver_parse_memory(nullptr, &bound), EINVAL, "text");
  expect_error(espalier_solver_parse_memory("1", nullptr), EINVAL, "bound");
  char source[12];
  ASSERT_EQ(espalier_solver_available_memory(&bound, source, sizeof source), 0);
  EXPECT_GT(bound, 0);
  EXPECT_GT(std::string(source).size(), 3u);
  EXPECT_EQ(espalier_solver_available_memory(&bound, nullptr, 0), 0);
  EXPECT_STREQ(espalier_solver_version(), "0.1.0");
}

// Rows are not transposed inside, so what is told of the matrix has to be.
// What is factored is the transposed matrix, and the file says so.
TEST(CSessions, SaveAMatrixByRowsAsItIs) {
  const Rows matrix(12, 5);
  const TemporaryFile file("", ".factor");
  {
    const Handle solver = factored(matrix.input());
    ASSERT_EQ(espalier_solver_save(solver.get(), file.path().c_str()), 0);
  }
  espalier_solver* loaded = nullptr;
  ASSERT_EQ(espalier_solver_load(&loaded, file.path().c_str(), nullptr), 0);
  expect_solves(Handle(loaded), matrix);
}

// Of the others' block (1 2 0; 2 4 0; 0 0 5), whatever the kept variables 3 and 4 are.
TEST(CSessions, TellsTheRankOfWhatIsEliminated) {
  const std::vector<std::int32_t> rows = {0, 1, 1, 2, 3, 3, 4, 4};
  const std::vector<std::int32_t> columns = {0, 0, 1, 2, 0, 3, 2, 4};
  const std::vector<double> values = {1, 2, 4, 5, 1, 7, 2, 9};
  const std::vector<std::int32_t> kept = {3, 4};
  espalier_solver_options options = ESPALIER_SOLVER_OPTIONS_INIT;
  options.schur = kept.data();
  options.schur_count = 2;
  const Handle solver =
      factored(triplets(5, ESPALIER_SOLVER_SYMMETRIC, rows, columns, values), &options);
  const espalier_solver_statistics facts = statistics_of(solver);
  EXPECT_EQ(facts.rank, 2);
  EXPECT_EQ(facts.structural_rank, 3);
  EXPECT_EQ(facts.singular, 1);
  EXPECT_EQ(statistics_of(
                factored(triplets(5, ESPALIER_SOLVER_SYMMETRIC, rows, columns, values)))
                .rank,
            5);
}

// The Laplacian of a triangle, as L L^T in single precision, whose pivots are rounding.
TEST(CSessions, OfASingularMatrixTheRankIsLessThanTheOrder) {
  const std::vector<std::int32_t> rows = {0, 1, 2, 1, 2, 2}, columns = {0, 0, 0, 1, 1, 2};
  const std::vector<double> values = {2, -1, -1, 2, -1, 2};
  espalier_solver_options options = ESPALIER_SOLVER_OPTIONS_INIT;
  options.precision = ESPALIER_SOLVER_SINGLE;
  for (const std::int32_t kind :
       {ESPALIER_SOLVER_KIND_AUTO, ESPALIER_SOLVER_KIND_CHOLESKY,
        ESPALIER_SOLVER_KIND_LDLT}) {
    options.kind = kind;
    const Handle solver =
        analyse(triplets(3, ESPALIER_SOLVER_SYMMETRIC, rows, columns, values), &options);
    ASSERT_EQ(espalier_solver_plan(solver.get(), INT64_MAX), 0);
    const int status = espalier_solver_factorise(solver.get());
    if (kind == ESPALIER_SOLVER_KIND_CHOLESKY && status == -EDOM) continue;
    ASSERT_EQ(status, 0);
    EXPECT_EQ(statistics_of(solver).singular, 1) << kind;
    EXPECT_EQ(statistics_of(solver).rank, 2) << kind;
  }
}

TEST(CSessions, TellsOfAMatrixByRowsWhatItTellsOfOneByColumns) {
  const Rows a(12, 5);
  const std::vector<std::int32_t> kept = {7, 2, 11};
  espalier_solver_options options = ESPALIER_SOLVER_OPTIONS_INIT;
  options.schur = kept.data();
  options.schur_count = 3;
  espalier_solver_input input = a.input();
  std::vector<std::int32_t> rows;
  for (std::int32_t i = 0; i < a.order; ++i)
    rows.insert(rows.end(), a.starts[i + 1] - a.starts[i], i);
  std::array<std::array<double, 12>, 2> block{};  // 3 x 3, leading 4
  std::array<double, 2> value{};
  for (int way = 0; way < 2; ++way) {
    if (way == 1) {
      input.format = ESPALIER_SOLVER_TRIPLETS;
      input.entries = std::ssize(rows);
      input.starts = nullptr;
      input.rows = rows.data();
    }
    const Handle solver = analyse(input, &options);
    expect_error(espalier_solver_read_schur(solver.get(), block[way].data(), 4), EINVAL,
                 "factorise");
    ASSERT_EQ(espalier_solver_plan(solver.get(), ESPALIER_SOLVER_MEMORY_LEAST), 0);
    ASSERT_EQ(espalier_solver_factorise(solver.get()), 0);
    expect_error(espalier_solver_read_schur(solver.get(), block[way].data(), 2), EINVAL,
                 "leading");
    ASSERT_EQ(espalier_solver_read_schur(solver.get(), block[way].data(), 4), 0);
    std::int64_t exponent = 0;
    ASSERT_EQ(espalier_solver_read_determinant(solver.get(), &value[way], &exponent), 0);
    value[way] = std::ldexp(value[way], static_cast<int>(exponent));
    double none = 0;
    EXPECT_EQ(espalier_solver_read_null_space(solver.get(), 0, &none, 12), 0);
  }
  EXPECT_NEAR(value[0], value[1], 1e-10 * std::abs(value[0]));
  for (int k = 0; k < 12; ++k) EXPECT_NEAR(block[0][k], block[1][k], 1e-12);
  EXPECT_NE(block[0][1], block[0][4]);  // not symmetric: (1, 0) and (0, 1)
  options.schur_count = -1;
  espalier_solver* none = nullptr;
  expect_error(espalier_solver_analyse(&none, &input, &options), EINVAL,
               "options.schur_count is -1");
  options.schur_count = 3;
  options.schur = nullptr;
  expect_error(espalier_solver_analyse(&none, &input, &options), EINVAL,
               "options.schur is NULL");
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
