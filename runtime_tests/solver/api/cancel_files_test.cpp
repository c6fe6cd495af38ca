// Solves with parts of a factor, saves and loads that their progress function ends.

#include <espalier_solver.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "solver/api/solver.h"
#include "solver/matrix/grid.h"
#include "solver/support/c_interface.h"
#include "support/temporary_directory.h"

namespace espalier::solver {
namespace TEST_SOURCE {

/// Not an exception of the standard library.
struct Enough {};

// A factor of several MiB.
constexpr std::int32_t kSide = 18;

class CancelledFile : public testing::Test {
 protected:
  CancelledFile() : solver_(make_grid({kSide, kSide, kSide}), options()) {
    EXPECT_TRUE(solver_.plan(std::nullopt));
    EXPECT_TRUE(solver_.factorise());
  }

  static SolverOptions options() {
    SolverOptions options;
    options.runtime_flops = 1e18;
    return options;
  }

  [[nodiscard]] std::string path() const { return directory_.path() + "/factor"; }
  [[nodiscard]] std::size_t files() const {
    using Iterator = std::filesystem::directory_iterator;
    return static_cast<std::size_t>(std::distance(Iterator(directory_.path()), {}));
  }
  [[nodiscard]] std::string content() const {
    std::ifstream in(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  // Ends the call at each of its questions in turn, with what must hold then; at last it
  // is not ended.
  // @return how often it asks
  static int at_each_question(
      const std::function<void(const std::function<void(double)>&)>& call,
      const std::function<void()>& ended) {
    int calls = 0, last = 0;
    double before = 0;
    const auto progress = [&](double done) {
      EXPECT_GE(done, calls == 0 ? 0 : before);
      EXPECT_LE(done, 1);
      before = done;
      if (++calls == last) throw Enough{};
    };
    call(progress);
    const int all = calls;
    for (last = 1; last <= all; ++last) {
      calls = 0;
      EXPECT_THROW(call(progress), Enough) << last;
      EXPECT_EQ(calls, last);
      ended();
    }
    last = calls = 0;
    call(progress);
    EXPECT_EQ(calls, all);
    return all;
  }

  support::TemporaryDirectory directory_;
  Solver solver_;
};

TEST_F(CancelledFile, OfASaveIsTheOlderOne) {
  const int asked =
      at_each_question([this](const auto& progress) { solver_.save(path(), progress); },
                       [this, before = std::string()]() mutable {
                         if (before.empty()) before = content();
                         EXPECT_EQ(files(), 1U);
                         EXPECT_EQ(content(), before);
                       });
  EXPECT_GE(asked, 3);
  EXPECT_GE(asked, static_cast<int>(std::filesystem::file_size(path()) >> 20));
}

TEST_F(CancelledFile, OfALoadIsReadAgain) {
  solver_.save(path());
  const std::vector<double> ones = solver_.apply_to_ones();
  const int asked = at_each_question(
      [&](const auto& progress) {
        const auto loaded = Solver::load(path(), options(), progress);
        std::vector<double> b = ones;
        (void)loaded->solve(b);
        EXPECT_TRUE(
            std::ranges::all_of(b, [](double x) { return std::abs(x - 1) < 1e-10; }));
      },
      [] {});
  EXPECT_GE(asked, 3);
}

TEST_F(CancelledFile, OrAHalfOfASolve) {
  constexpr std::int32_t kVectors = 3;
  const std::vector<double> given(
      static_cast<std::size_t>(kVectors) * kSide * kSide * kSide, 1);
  std::vector<double> expected = given;
  solver_.solve_part(FactorPart::kL, expected, kVectors);
  for (const Operation operation : {Operation::kPlain, Operation::kTransposed}) {
    std::vector<double> b;
    const int asked = at_each_question(
        [&](const auto& progress) {
          b = operation == Operation::kPlain ? given : expected;
          solver_.solve_part(FactorPart::kL, b, kVectors, operation, progress);
        },
        [] {});
    EXPECT_GE(asked, 4);
    if (operation == Operation::kPlain) {
      EXPECT_EQ(b, expected);
    }
  }
}

// What a host of the C interface is asked.
struct AskedOfFiles {
  int last = 0, calls = 0;
};

int until_the_last(void* context, double /*done*/) {
  auto& asked = *static_cast<AskedOfFiles*>(context);
  return ++asked.calls == asked.last ? 1 : 0;
}

TEST_F(CancelledFile, OrThatOfTheCInterface) {
  solver_.save(path());
  const std::string before = content();
  AskedOfFiles asked{1};
  espalier_solver_options options = ESPALIER_SOLVER_OPTIONS_INIT;
  options.progress = until_the_last;
  options.progress_context = &asked;
  espalier_solver* solver = nullptr;
  expect_error(espalier_solver_load(&solver, path().c_str(), &options), ECANCELED,
               "ended the call");
  EXPECT_EQ(solver, nullptr);
  EXPECT_EQ(asked.calls, 1);
  asked = {};
  ASSERT_EQ(espalier_solver_load(&solver, path().c_str(), &options), 0);
  const Handle handle(solver);
  EXPECT_GE(asked.calls, 1);
  asked = {1};
  expect_error(espalier_solver_save(solver, path().c_str()), ECANCELED, "ended the call");
  EXPECT_EQ(content(), before);
  asked = {1};
  std::vector<double> x(std::size_t{kSide} * kSide * kSide, 1);
  expect_error(espalier_solver_solve_part(solver, ESPALIER_SOLVER_PART_L, 0, 1, x.data(),
                                          std::ssize(x), x.data(), std::ssize(x)),
               ECANCELED, "ended the call");
  asked = {};
  EXPECT_EQ(espalier_solver_save(solver, path().c_str()), 0);
  EXPECT_EQ(content(), before);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
