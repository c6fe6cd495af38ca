// The options of espalier solve that choose how: each once, and what is refused.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/program.h"
#include "cli/solving.h"

namespace espalier::cli_test {
namespace TEST_SOURCE {

using nlohmann::json;

// a_ij = 1 / (i + j - 1): of condition 10^17 and more for the order 13.
std::string hilbert(int n) {
  std::vector<std::string> entries;
  for (int j = 1; j <= n; ++j)
    for (int i = j; i <= n; ++i)
      entries.push_back(fmt::format("{} {} {}", i, j, 1.0 / (i + j - 1)));
  return matrix_text(n, entries);
}

// A grid of n x n with a diagonal far smaller than what is beside it.
std::string small_pivots(int n) {
  std::vector<std::string> entries;
  for (int i = 1; i <= n * n; ++i) {
    entries.push_back(fmt::format("{} {} 1e-3", i, i));
    if (i % n != 0) entries.push_back(fmt::format("{} {} -1", i + 1, i));
    if (i + n <= n * n)
      entries.push_back(fmt::format("{} {} {}", i + n, i, -0.3 - 0.01 * (i * 7 % 10)));
  }
  return matrix_text(n * n, entries);
}

TEST(SolveOptions, NamesTheScalingThatWasUsed) {
  const TemporaryFile matrix(
      matrix_text(4, {"1 1 1e6", "2 1 2e3", "2 2 9", "3 3 -1e-4", "4 3 1e-3", "4 4 1"}));
  const auto used = [&](const char* kind, const char* scaling) {
    const Outcome outcome = solve({matrix.path(), "--kind", kind, "--scaling", scaling});
    expect_solved(outcome);
    return object(outcome).value("scaling", "");
  };
  for (const char* kind : {"symmetric", "general"}) {
    EXPECT_EQ(used(kind, "auto"), "matching") << kind;
    EXPECT_EQ(used(kind, "none"), "none") << kind;
    EXPECT_EQ(used(kind, "equilibrate"), "equilibrate") << kind;
    EXPECT_EQ(used(kind, "matching"), "matching") << kind;
  }
}

TEST(SolveOptions, ThePivotThresholdDecidesWhatIsDelayed) {
  const TemporaryFile matrix(small_pivots(30));
  for (const char* kind : {"symmetric", "general"}) {
    const auto delayed = [&](const char* threshold) {
      const Outcome outcome = solve({matrix.path(), "--kind", kind, "--scaling", "none",
                                     "--pivot-threshold", threshold});
      expect_solved(outcome);
      return object(outcome).value("delayed_pivots", -1);
    };
    const int few = delayed("1e-12"), many = delayed("0.5");
    EXPECT_EQ(few, 0) << kind;
    EXPECT_GT(many, few) << kind;
  }
}

TEST(SolveOptions, TheDelayReserveIsPartOfTheBound) {
  const TemporaryFile matrix(small_pivots(30));
  const auto report = [&](const char* reserve) {
    const Outcome outcome =
        solve({matrix.path(), "--kind", "symmetric", "--scaling", "none", "--memory",
               "min", "--delay-reserve", reserve});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(object(outcome)["bound_kept"], true);
    return object(outcome);
  };
  const json without = report("0"), with = report("8MiB");
  EXPECT_GE(with.value("reserve_bytes", std::int64_t{0}),
            without.value("reserve_bytes", std::int64_t{0}) + (8 << 20));
  EXPECT_EQ(without["delayed_pivots"], 0);
  EXPECT_GT(with["delayed_pivots"], 0);
  EXPECT_EQ(with["not_delayed_pivots"], 0);
  EXPECT_GT(report("1KiB")["not_delayed_pivots"], 0);
}

TEST(SolveOptions, WithoutRefinementTheErrorIsStillMeasured) {
  const Outcome rough =
      solve({"--grid", "10x10x10", "--precision", "single", "--no-refine"});
  EXPECT_EQ(rough.status, 0) << rough.err;
  EXPECT_EQ(object(rough)["refinement_steps"], 0);
  EXPECT_GT(object(rough)["backward_error"], 1e-10);  // single precision
  EXPECT_LT(object(rough)["backward_error"], 1e-5);

  const Outcome refined = solve({"--grid", "10x10x10", "--precision", "single"});
  expect_solved(refined);
  EXPECT_GT(object(refined)["refinement_steps"], 0);
}

TEST(SolveOptions, EstimatesTheConditionOfADiagonal) {
  const TemporaryFile matrix(matrix_text(3, {"1 1 1", "2 2 0.001", "3 3 -0.5"}));
  for (const char* kind : {"symmetric", "general"}) {
    const Outcome outcome = solve({matrix.path(), "--kind", kind, "--estimate-errors"});
    expect_solved(outcome);
    EXPECT_NEAR(object(outcome).value("condition_1norm", 0.0), 1000, 1e-6) << kind;
    EXPECT_LE(object(outcome)["forward_error_bound"], 1e-14) << kind;
  }
  EXPECT_FALSE(object(solve({matrix.path()})).contains("condition_1norm"));
}

TEST(SolveOptions, WarnsOfErrorsAsLargeAsTheSolution) {
  const TemporaryFile matrix(hilbert(13));
  const Outcome outcome = solve({matrix.path(), "--estimate-errors"});
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  expect_says(outcome, "not to be trusted");
  EXPECT_EQ(object(outcome)["trusted"], false);
  EXPECT_GT(object(outcome)["condition_1norm"], 1e15);
}

TEST(SolveOptions, SaysWhichOrderingItTook) {
  const json small = object(solve({"--grid", "12x12x12", "--ordering", "auto"}));
  EXPECT_EQ(small["ordering"], "auto");
  // A factor by minimum degree of so small a grid costs next to nothing.
  EXPECT_EQ(small["ordering_taken"], "amd");

  const json asked = object(solve({"--grid", "12x12", "--ordering", "natural"}));
  EXPECT_EQ(asked["ordering_taken"], "natural");
}

TEST(SolveOptions, AutoIsWhatALimitLeaves) {
  const json report = object(solve({"--grid", "10x10", "--memory", "auto"}));
  EXPECT_GT(report["bound_bytes"], report["least_bytes"]);
  EXPECT_FALSE(report["bound_source"].get<std::string>().empty());
  EXPECT_TRUE(report["bound_kept"]);
}

TEST(SolveOptions, BadValuesAreNamed) {
  expect_refused({"--grid", "5", "--kind", "hermitian"}, {"--kind", "hermitian"});
  expect_refused({"--grid", "5", "--precision", "half"}, {"--precision", "half"});
  expect_refused({"--grid", "5", "--scaling", "magic"}, {"--scaling", "magic"});
  for (const char* threshold : {"0", "-1", "1.5", "nan", "x"})
    expect_refused({"--grid", "5", "--pivot-threshold", threshold},
                   {"--pivot-threshold", threshold});
  expect_refused({"--grid", "5", "--memory", "min", "--delay-reserve", "much"},
                 {"--delay-reserve", "much"});
  expect_refused({"--grid", "5", "--memory", "min", "--out-of-core", "/no/such"},
                 {"--out-of-core", "/no/such"});
  expect_refused({"--grid", "5", "--memory", "min", "--out-of-core", "/dev/null"},
                 {"--out-of-core", "/dev/null", "not a directory"});
}

TEST(SolveOptions, RefusesCombinationsWithoutSense) {
  expect_refused({"--grid", "5", "--out-of-core", "."}, {"--out-of-core", "--memory"});
  expect_refused({"--grid", "5", "--memory", "none", "--out-of-core", "."},
                 {"--out-of-core", "--memory"});
  expect_refused({"--grid", "5", "--delay-reserve", "1MiB"},
                 {"--delay-reserve 1.0 MiB", "--memory"});
  expect_refused({"--grid", "5", "--kind", "spd", "--pivot-threshold", "0.1"},
                 {"--pivot-threshold 0.1", "--kind spd"});
  expect_refused({"--grid", "5", "--kind", "spd", "--scaling", "matching"},
                 {"--scaling matching", "--kind spd"});
  expect_refused(
      {"--grid", "5", "--kind", "spd", "--memory", "min", "--delay-reserve", "1MiB"},
      {"--delay-reserve", "--kind spd"});
  expect_refused({"--grid", "5", "--front-grids", "always"}, {"--front-grids", "--kind"});
  expect_refused({"--grid", "5", "--front-grids", "often"}, {"'often'", "volume"});
}

TEST(SolveOptions, RefusesKindsThatTheMatrixIsNotOf) {
  const TemporaryFile matrix(
      "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 4\n2 2 4\n2 1 1\n");
  for (const char* kind : {"spd", "symmetric"})
    expect_refused({matrix.path(), "--kind", kind},
                   {matrix.path(), fmt::format("--kind {}", kind), "(2, 1) is 1"});
}

// The same factor each time, with and without a bound; what is reported is of the last.
TEST(SolveOptions, FactorisesSeveralTimes) {
  for (const char* memory : {"none", "min"}) {
    const Outcome once =
        solve({"--grid", "12x12x12", "--kind", "spd", "--memory", memory});
    const Outcome often = solve(
        {"--grid", "12x12x12", "--kind", "spd", "--memory", memory, "--repeat", "3"});
    expect_solved(once);
    expect_solved(often);
    EXPECT_EQ(object(often).value("factorisations", 0), 3);
    EXPECT_GT(object(often).value("first_factor_seconds", 0.0), 0);
    EXPECT_FALSE(object(once).contains("first_factor_seconds"));
    EXPECT_EQ(object(often)["backward_error"], object(once)["backward_error"]);
    EXPECT_EQ(object(often)["tasks"], object(once)["tasks"]);
  }
}

// The second one of so few operations is not timed.
TEST(SolveOptions, ARateIsThatOfATime) {
  const Outcome outcome = solve({"--grid", "4x4", "--repeat", "3"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out.find("inf"), std::string::npos) << outcome.out;
}

TEST(SolveOptions, RefusesToFactoriseNever) {
  for (const char* times : {"0", "-1", "x"}) {
    const Outcome outcome = solve({"--grid", "4x4", "--repeat", times});
    EXPECT_NE(outcome.status, 0) << times;
    EXPECT_NE(outcome.err.find("--repeat"), std::string::npos) << outcome.err;
  }
}

// --out-of-core goes without compression.
TEST(SolveOptions, AdviseWhatGoesWithLowRank) {
  const Outcome outcome =
      solve({"--grid", "9x9x9", "--low-rank", "1e-8", "--memory", "1MiB"});
  EXPECT_EQ(outcome.status, 1);
  expect_says(outcome, "without --low-rank, --out-of-core DIR may do with less");
}

}  // namespace TEST_SOURCE
}  // namespace espalier::cli_test
