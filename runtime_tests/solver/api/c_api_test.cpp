// The cases of one subject, which share their instances: over 300 lines.

#include <espalier_solver.h>
#include <gtest/gtest.h>
#include <starpu.h>

#include <cerrno>
#include <cmath>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include "solver/support/c_interface.h"
#include "solver/support/temporary_file.h"

namespace espalier::solver {
namespace TEST_SOURCE {

/// 2 -1 on the diagonals, order 4; general: the upper one is -0.5.
struct Tridiagonal {
  explicit Tridiagonal(bool is_symmetric) : symmetric(is_symmetric) {
    for (std::int32_t j = 0; j < 4; ++j) {
      if (!symmetric && j > 0) add(j - 1, -0.5);
      add(j, 2);
      if (j < 3) add(j + 1, -1);
      start.push_back(static_cast<std::int64_t>(rows.size()));
    }
  }
  void add(std::int32_t row, double value) {
    rows.push_back(row);
    values.push_back(value);
  }
  [[nodiscard]] espalier_solver_matrix view() const {
    return {4, symmetric ? ESPALIER_SOLVER_SYMMETRIC : ESPALIER_SOLVER_GENERAL,
            start.data(), rows.data(), values.data()};
  }

  bool symmetric;
  std::vector<std::int64_t> start = {0};
  std::vector<std::int32_t> rows;
  std::vector<double> values;
};

Handle create(const espalier_solver_matrix& matrix,
              const espalier_solver_options* options = nullptr) {
  espalier_solver* solver = nullptr;
  EXPECT_EQ(espalier_solver_create(&solver, &matrix, options), 0)
      << espalier_solver_last_error();
  return Handle(solver);
}

void refuse_matrix(const espalier_solver_matrix& matrix, const char* word) {
  auto* solver = reinterpret_cast<espalier_solver*>(&expect_error);
  expect_error(espalier_solver_create(&solver, &matrix, nullptr), EINVAL, word);
  EXPECT_EQ(solver, nullptr);
}

void refuse_options(const espalier_solver_options& options, const char* word) {
  espalier_solver* solver = nullptr;
  const Tridiagonal matrix(true);
  const espalier_solver_matrix view = matrix.view();
  expect_error(espalier_solver_create(&solver, &view, &options), EINVAL, word);
  expect_error(espalier_solver_load(&solver, "none", &options), EINVAL, word);
}

TEST(CInterface, SolvesByEveryKindInBothPrecisions) {
  for (const std::int32_t kind : {0, 1, 2, 3})
    for (const std::int32_t precision : {0, 1}) {
      const Tridiagonal matrix(kind != ESPALIER_SOLVER_KIND_LU);
      espalier_solver_options options = ESPALIER_SOLVER_OPTIONS_INIT;
      options.kind = kind;
      options.precision = precision;
      options.estimate_errors = 1;
      const Handle solver = create(matrix.view(), &options);
      ASSERT_EQ(espalier_solver_plan(solver.get(), 0), 0);
      ASSERT_EQ(espalier_solver_factorise(solver.get()), 0);
      const double upper = kind == ESPALIER_SOLVER_KIND_LU ? -0.5 : -1;
      for (const std::int32_t transposed : {0, 1}) {
        // A times 1 2 3 4, and -1 times that.
        const double below = transposed != 0 ? upper : -1;
        const double above = transposed != 0 ? -1 : upper;
        std::vector<double> b = {2 + 2 * above, 4 + below + 3 * above,
                                 6 + 2 * below + 4 * above, 8 + 3 * below};
        for (int i = 0; i < 4; ++i) b.push_back(-b[i]);
        ASSERT_EQ(espalier_solver_solve(solver.get(), transposed, 2, b.data()), 0)
            << espalier_solver_last_error();
        for (int i = 0; i < 8; ++i)
          EXPECT_NEAR(b[i], i < 4 ? i + 1 : 3 - i, 1e-14) << kind << precision;
      }
      espalier_solver_statistics facts{};
      facts.size = sizeof facts;
      ASSERT_EQ(espalier_solver_read_statistics(solver.get(), &facts), 0);
      EXPECT_EQ(facts.order, 4);
      EXPECT_EQ(facts.kind, std::max(kind, 1));
      EXPECT_EQ(facts.precision, precision);
      EXPECT_EQ(facts.failed_column, -1);
      EXPECT_LE(facts.backward_error, 1e-15);
      EXPECT_GT(facts.condition_1norm, 1);
      EXPECT_GT(facts.peak_resident, facts.baseline_bytes / 2);
    }
}

TEST(CInterface, TakesEveryOrdering) {
  for (std::int32_t ordering = 0; ordering <= ESPALIER_SOLVER_ORDERING_NESTED;
       ++ordering) {
    const Tridiagonal matrix(true);
    espalier_solver_options options = ESPALIER_SOLVER_OPTIONS_INIT;
    options.ordering = ordering;
    const Handle solver = create(matrix.view(), &options);
    ASSERT_EQ(espalier_solver_plan(solver.get(), 0), 0);
    ASSERT_EQ(espalier_solver_factorise(solver.get()), 0);
    std::vector<double> b = {0, 0, 0, 5};  // A times 1 2 3 4
    ASSERT_EQ(espalier_solver_solve(solver.get(), 0, 1, b.data()), 0) << ordering;
    for (int i = 0; i < 4; ++i) EXPECT_NEAR(b[i], i + 1, 1e-14) << ordering;
  }
}

TEST(CInterface, NamesWhatIsWrongWithAMatrix) {
  const Tridiagonal good(true);
  Tridiagonal bad = good;
  espalier_solver_matrix view = good.view();
  view.order = -1;
  refuse_matrix(view, "matrix.order is -1");
  view = good.view();
  view.storage = 2;
  refuse_matrix(view, "matrix.storage is 2");
  view = good.view();
  view.column_start = nullptr;
  refuse_matrix(view, "column_start is NULL");
  view = good.view();
  view.rows = nullptr;
  refuse_matrix(view, "rows is NULL");
  view = good.view();
  view.values = nullptr;
  refuse_matrix(view, "values is NULL");
  bad.start[0] = 1;
  refuse_matrix(bad.view(), "column_start[0] is 1");
  for (const std::int64_t start :
       {std::int64_t{-1}, std::int64_t{6}, std::numeric_limits<std::int64_t>::max(),
        std::numeric_limits<std::int64_t>::min()}) {
    bad = good;
    bad.start[1] = start;
    refuse_matrix(bad.view(), "column 0");
  }
  bad = good;
  bad.rows[1] = 4;
  refuse_matrix(bad.view(), "row 4 is not in 0 … 3");
  bad.rows[1] = 0;
  refuse_matrix(bad.view(), "row 0 comes after row 0");
  bad = good;
  bad.rows[2] = 0;  // above the diagonal of column 1
  refuse_matrix(bad.view(), "row 0 is not in 1 … 3");
  bad = good;
  bad.values[1] = std::nan("");
  refuse_matrix(bad.view(), "entry (1, 0) is nan");
  espalier_solver* solver = nullptr;
  expect_error(espalier_solver_create(&solver, nullptr, nullptr), EINVAL, "matrix");
  view = good.view();
  expect_error(espalier_solver_create(nullptr, &view, nullptr), EINVAL, "solver");
}

TEST(CInterface, NamesWhatIsWrongWithOptions) {
  const auto with = [](auto set) {
    espalier_solver_options options = ESPALIER_SOLVER_OPTIONS_INIT;
    set(options);
    return options;
  };
  refuse_options(with([](auto& o) { o.size = 8; }), "options.size is 8");
  refuse_options(with([](auto& o) { o.kind = 4; }), "options.kind is 4");
  refuse_options(with([](auto& o) { o.precision = -1; }), "options.precision");
  refuse_options(with([](auto& o) { o.scaling = 4; }), "options.scaling");
  refuse_options(with([](auto& o) { o.ordering = 7; }), "options.ordering is 7");
  refuse_options(with([](auto& o) { o.workers = -1; }), "workers");
  refuse_options(with([](auto& o) { o.workers = 1 << 30; }), "workers");
  refuse_options(with([](auto& o) { o.estimate_errors = 2; }), "estimate_errors");
  refuse_options(with([](auto& o) { o.no_refinement = 3; }), "no_refinement");
  refuse_options(with([](auto& o) { o.front_grids = 3; }), "front_grids");
  refuse_options(with([](auto& o) { o.runtime = 4; }), "options.runtime is 4");
  refuse_options(with([](auto& o) { o.pivot_threshold = std::nan(""); }), "threshold");
  refuse_options(with([](auto& o) { o.pivot_threshold = 1.5; }), "pivot_threshold");
  refuse_options(with([](auto& o) { o.delay_reserve = -1; }), "delay_reserve");
  refuse_options(with([](auto& o) {
                   o.runtime = ESPALIER_SOLVER_RUNTIME_NONE;
                   o.low_rank = 1e-8;
                 }),
                 "options.runtime: fronts are compressed (options.low_rank) on StarPU");
  refuse_options(with([](auto& o) { o.out_of_core = ""; }),
                 "options.out_of_core is \"\": not the name of a directory");
}

TEST(CInterface, RefusesCallsOutOfTurn) {
  const Tridiagonal matrix(true);
  const Handle handle = create(matrix.view());
  espalier_solver* const solver = handle.get();
  std::vector<double> b(4, 1);
  const TemporaryFile file;
  const espalier_solver_matrix view = matrix.view();
  const auto refuse_factor = [&] {
    expect_error(espalier_solver_solve(solver, 0, 1, b.data()), EINVAL, "first");
    expect_error(espalier_solver_save(solver, file.path().c_str()), EINVAL, "first");
  };
  expect_error(espalier_solver_factorise(solver), EINVAL, "plan first");
  expect_error(espalier_solver_refactorise(solver, &view), EINVAL, "plan first");
  refuse_factor();
  ASSERT_EQ(espalier_solver_plan(solver, INT64_MAX), 0);
  refuse_factor();
  ASSERT_EQ(espalier_solver_factorise(solver), 0);
  expect_error(espalier_solver_solve(solver, 2, 1, b.data()), EINVAL, "transposed is 2");
  expect_error(espalier_solver_solve(solver, 0, -1, b.data()), EINVAL, "nrhs is -1");
  expect_error(espalier_solver_solve(solver, 0, 1, nullptr), EINVAL, "vectors is NULL");
  b[2] = HUGE_VAL;
  expect_error(espalier_solver_solve(solver, 0, 1, b.data()), EINVAL, "entry 2");
  EXPECT_EQ(espalier_solver_solve(solver, 0, 0, nullptr), 0);
  expect_error(espalier_solver_save(solver, nullptr), EINVAL, "path is NULL");
  expect_error(espalier_solver_save(solver, "/nowhere/factor"), EIO, "/nowhere/factor");
  ASSERT_EQ(espalier_solver_plan(solver, 0), 0);  // gives the factor up
  refuse_factor();
  espalier_solver_statistics facts{};
  expect_error(espalier_solver_read_statistics(solver, &facts), EINVAL, "size is 0");
  expect_error(espalier_solver_read_statistics(solver, nullptr), EINVAL, "statistics");
}

TEST(CInterface, RefusesNullSolvers) {
  const Tridiagonal matrix(true);
  const espalier_solver_matrix view = matrix.view();
  std::int64_t bytes = 0;
  double b = 0;
  espalier_solver_statistics facts{};
  expect_error(espalier_solver_least(nullptr, &bytes, &bytes), EINVAL, "solver is NULL");
  expect_error(espalier_solver_plan(nullptr, 0), EINVAL, "solver is NULL");
  expect_error(espalier_solver_factorise(nullptr), EINVAL, "solver is NULL");
  expect_error(espalier_solver_refactorise(nullptr, &view), EINVAL, "solver is NULL");
  expect_error(espalier_solver_solve(nullptr, 0, 1, &b), EINVAL, "solver is NULL");
  expect_error(espalier_solver_save(nullptr, "x"), EINVAL, "solver is NULL");
  expect_error(espalier_solver_load(nullptr, "x", nullptr), EINVAL, "solver is NULL");
  expect_error(espalier_solver_read_statistics(nullptr, &facts), EINVAL, "solver is NUL");
  espalier_solver_destroy(nullptr);
}

TEST(CInterface, HasSeveralSolversOfTheSameWorkers) {
  const Tridiagonal matrix(true);
  const espalier_solver_matrix view = matrix.view();
  espalier_solver* second = nullptr;
  espalier_solver_options options = ESPALIER_SOLVER_OPTIONS_INIT;
  options.workers = 1;
  options.runtime = ESPALIER_SOLVER_RUNTIME_STARPU;
  {
    const Handle first = create(view, &options);
    const Handle other = create(view, &options);
    for (espalier_solver* const solver : {first.get(), other.get()}) {
      ASSERT_EQ(espalier_solver_plan(solver, INT64_MAX), 0);
      ASSERT_EQ(espalier_solver_factorise(solver), 0) << espalier_solver_last_error();
      double b[4] = {1, 1, 1, 1};
      ASSERT_EQ(espalier_solver_solve(solver, 0, 1, b), 0);
      EXPECT_NEAR(b[0], 2, 1e-14);
    }
    options.workers = 2;
    expect_error(espalier_solver_create(&second, &view, &options), EBUSY, "1 workers");
  }
  ASSERT_EQ(starpu_init(nullptr), 0);
  expect_error(espalier_solver_create(&second, &view, &options), EBUSY, "StarPU runs");
  EXPECT_NE(create(view), nullptr);  // small: without StarPU
  starpu_shutdown();
  EXPECT_NE(create(view, &options), nullptr);
}

TEST(CInterface, RefusesABoundBelowTheLeast) {
  const Handle solver = create(Tridiagonal(true).view());
  std::int64_t in_core = 0, out_of_core = 0;
  ASSERT_EQ(espalier_solver_least(solver.get(), &in_core, &out_of_core), 0);
  EXPECT_EQ(out_of_core, -1);
  EXPECT_GT(in_core, 0);
  expect_error(espalier_solver_least(solver.get(), nullptr, nullptr), EINVAL, "in_core");
  expect_error(espalier_solver_plan(solver.get(), in_core / 2), ENOMEM, "suffices");
  expect_error(espalier_solver_plan(solver.get(), -2), EINVAL, "bound of -2");
  expect_error(espalier_solver_factorise(solver.get()), EINVAL, "plan first");
  ASSERT_EQ(espalier_solver_plan(solver.get(), in_core), 0);
  ASSERT_EQ(espalier_solver_factorise(solver.get()), 0);
}

TEST(CInterface, NamesTheColumnThatIsNotPositive) {
  Tridiagonal matrix(true);
  matrix.values[4] = -1;  // (2, 2)
  espalier_solver_options options = ESPALIER_SOLVER_OPTIONS_INIT;
  options.kind = ESPALIER_SOLVER_KIND_CHOLESKY;
  options.ordering = ESPALIER_SOLVER_ORDERING_NATURAL;
  const Handle solver = create(matrix.view(), &options);
  ASSERT_EQ(espalier_solver_plan(solver.get(), 0), 0);
  expect_error(espalier_solver_factorise(solver.get()), EDOM, "column 2");
  espalier_solver_statistics facts{};
  facts.size = sizeof facts;
  ASSERT_EQ(espalier_solver_read_statistics(solver.get(), &facts), 0);
  EXPECT_EQ(facts.failed_column, 2);
  double b[4] = {1, 1, 1, 1};
  expect_error(espalier_solver_solve(solver.get(), 0, 1, b), EINVAL, "factorise first");
  matrix.values[4] = 2;
  const espalier_solver_matrix view = matrix.view();
  ASSERT_EQ(espalier_solver_refactorise(solver.get(), &view), 0);
  ASSERT_EQ(espalier_solver_solve(solver.get(), 0, 1, b), 0);
  EXPECT_NEAR(b[0], 2, 1e-14);
  EXPECT_NEAR(b[1], 3, 1e-14);
}

TEST(CInterface, SaysWhyASolutionIsNotToBeTrusted) {
  // [1 2; 2 4] and b outside its range, then inside; then another matrix.
  const std::int64_t starts[] = {0, 2, 4};
  const std::int32_t rows[] = {0, 1, 0, 1};
  double values[] = {1, 2, 2, 4};
  const espalier_solver_matrix matrix{2, ESPALIER_SOLVER_GENERAL, starts, rows, values};
  const Handle solver = create(matrix);
  ASSERT_EQ(espalier_solver_plan(solver.get(), 0), 0);
  ASSERT_EQ(espalier_solver_factorise(solver.get()), 0);
  const auto doubts_of = [&](double first, double second) {
    double b[] = {first, second};
    EXPECT_EQ(espalier_solver_solve(solver.get(), 0, 1, b), 0);
    espalier_solver_statistics facts{};
    facts.size = sizeof facts;
    EXPECT_EQ(espalier_solver_read_statistics(solver.get(), &facts), 0);
    return facts.doubts;
  };
  EXPECT_EQ(doubts_of(1, 0),
            ESPALIER_SOLVER_DOUBT_SINGULAR + ESPALIER_SOLVER_DOUBT_BACKWARD_ERROR);
  EXPECT_EQ(doubts_of(1, 2), ESPALIER_SOLVER_DOUBT_SINGULAR);
  values[3] = 5;
  ASSERT_EQ(espalier_solver_refactorise(solver.get(), &matrix), 0);
  EXPECT_EQ(doubts_of(1, 0), 0);
}

TEST(CInterface, GivesTheFactorUpWhenValuesDoNotFit) {
  const Tridiagonal matrix(true);
  const Handle handle = create(matrix.view());
  espalier_solver* const solver = handle.get();
  ASSERT_EQ(espalier_solver_plan(solver, 0), 0);
  ASSERT_EQ(espalier_solver_factorise(solver), 0);
  Tridiagonal other = matrix;
  other.rows[1] = 3;  // (3, 0) is outside the pattern
  espalier_solver_matrix view = other.view();
  EXPECT_EQ(espalier_solver_refactorise(solver, &view), -EINVAL);
  double b[4] = {1, 1, 1, 1};
  expect_error(espalier_solver_solve(solver, 0, 1, b), EINVAL, "factorise first");
  expect_error(espalier_solver_factorise(solver), EINVAL, "did not fit");
  view = matrix.view();
  ASSERT_EQ(espalier_solver_refactorise(solver, &view), 0);
  ASSERT_EQ(espalier_solver_solve(solver, 0, 1, b), 0);
  EXPECT_NEAR(b[0], 2, 1e-14);
}

TEST(CInterface, LoadsWhatItSavedAndRefusesOtherFiles) {
  const Tridiagonal matrix(false);
  const TemporaryFile file;
  {
    const Handle solver = create(matrix.view());
    ASSERT_EQ(espalier_solver_plan(solver.get(), INT64_MAX), 0);
    ASSERT_EQ(espalier_solver_factorise(solver.get()), 0);
    ASSERT_EQ(espalier_solver_save(solver.get(), file.path().c_str()), 0);
  }
  espalier_solver* loaded = nullptr;
  ASSERT_EQ(espalier_solver_load(&loaded, file.path().c_str(), nullptr), 0)
      << espalier_solver_last_error();
  const Handle handle(loaded);
  double b[4] = {1.5, 0.5, 0.5, 1};  // A times ones
  ASSERT_EQ(espalier_solver_solve(loaded, 0, 1, b), 0);
  for (const double x : b) EXPECT_NEAR(x, 1, 1e-14);
  expect_error(espalier_solver_factorise(loaded), EINVAL, "plan first");
  ASSERT_EQ(espalier_solver_plan(loaded, INT64_MAX), 0);
  ASSERT_EQ(espalier_solver_factorise(loaded), 0);
}

TEST(CInterface, NamesTheFileThatCannotBeLoaded) {
  const TemporaryFile foreign("not a factorisation of any kind, but text", ".txt");
  auto* solver = reinterpret_cast<espalier_solver*>(&expect_error);
  expect_error(espalier_solver_load(&solver, foreign.path().c_str(), nullptr), EIO,
               foreign.path().c_str());
  EXPECT_EQ(solver, nullptr);
  expect_error(espalier_solver_load(&solver, "/nowhere/file", nullptr), EIO,
               "/nowhere/file");
  expect_error(espalier_solver_load(&solver, nullptr, nullptr), EINVAL, "path is NULL");
  expect_error(espalier_solver_load(&solver, "", nullptr), EIO, "'': cannot be opened");
  EXPECT_NE(create(Tridiagonal(true).view()), nullptr);  // the process is free again
}

TEST(CInterface, KeepsErrorsOfThreadsApart) {
  expect_error(espalier_solver_plan(nullptr, 0), EINVAL, "solver is NULL");
  std::thread([] { EXPECT_STREQ(espalier_solver_last_error(), ""); }).join();
  EXPECT_STREQ(espalier_solver_last_error(), "solver is NULL");
}

// A caller that was compiled with a later version, which has more fields.
TEST(CInterface, TakesLargerStructsWhoseRestIsZero) {
  const Tridiagonal matrix(true);
  const espalier_solver_matrix view = matrix.view();
  struct Larger {
    espalier_solver_options options = ESPALIER_SOLVER_OPTIONS_INIT;
    std::int64_t later = 0;
  } larger;
  larger.options.size = sizeof larger;
  espalier_solver* solver = nullptr;
  larger.later = 1;
  expect_error(espalier_solver_create(&solver, &view, &larger.options), EINVAL,
               "options.size is 152 and byte 144 is not zero");
  larger.later = 0;
  const Handle handle = create(view, &larger.options);
  struct LargerFacts {
    espalier_solver_statistics facts{};
    std::int64_t later = 7;
  } facts;
  facts.facts.size = sizeof facts;
  ASSERT_EQ(espalier_solver_read_statistics(handle.get(), &facts.facts), 0);
  EXPECT_EQ(facts.facts.order, 4);
  EXPECT_EQ(facts.facts.size, sizeof facts);
  EXPECT_EQ(facts.later, 0);
  facts.facts.size = sizeof facts.facts - 4;
  expect_error(espalier_solver_read_statistics(handle.get(), &facts.facts), EINVAL,
               "no version had that");
}

TEST(CInterface, TakesAMatrixOfOrderZero) {
  const std::int64_t start = 0;
  const Handle solver = create({0, ESPALIER_SOLVER_GENERAL, &start, nullptr, nullptr});
  ASSERT_EQ(espalier_solver_plan(solver.get(), 0), 0);
  ASSERT_EQ(espalier_solver_factorise(solver.get()), 0) << espalier_solver_last_error();
  EXPECT_EQ(espalier_solver_solve(solver.get(), 0, 3, nullptr), 0);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
