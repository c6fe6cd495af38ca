// espalier solve, as users run it: inside a bound, or a clear answer why not.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cli/program.h"
#include "cli/solving.h"

namespace espalier::cli_test {
namespace TEST_SOURCE {

using nlohmann::json;

TEST(Solve, KeepsTheLeastBoundOfAGrid) {
  const Outcome outcome = solve({"--grid", "12x12x12", "--memory", "min"});
  expect_solved(outcome);
  const json report = object(outcome);
  for (const char* key :
       {"peak_bytes", "bound_bytes", "least_bytes", "peak_rss_bytes",
        "baseline_rss_bytes", "factor_rss_bytes", "factor_flops", "factor_seconds",
        "analyse_seconds", "solve_seconds", "backward_error", "tasks", "workers"})
    EXPECT_TRUE(report.contains(key) && report[key].is_number()) << key;
  EXPECT_EQ(report["scheduler"], "espalier");
  EXPECT_EQ(report["workers"], 2);
  EXPECT_EQ(report["size"], 1728);
  EXPECT_EQ(report["bound_kept"], true);
  EXPECT_EQ(report["bound_bytes"], report["least_bytes"]);
  EXPECT_LE(report["peak_rss_bytes"], report["bound_bytes"]);
  EXPECT_LE(report["peak_bytes"], report["booked_peak_bytes"]);
  EXPECT_LE(report["forward_error"], 1e-10);
}

TEST(Solve, NeedsNoBound) {
  const Outcome outcome = solve({"--grid", "20x20"});
  expect_solved(outcome);
  EXPECT_FALSE(object(outcome).contains("bound_bytes"));
}

TEST(Solve, NamesALeastBoundThatANewRunKeeps) {
  for (int round = 0; round < 4; ++round) {
    const Outcome refused = solve({"--grid", "14x14x14", "--memory", "1MiB"});
    EXPECT_EQ(refused.status, 1) << refused.err;
    const json answer = object(refused);
    EXPECT_EQ(answer["feasible"], false);
    EXPECT_EQ(answer["bound_bytes"], 1 << 20);
    const auto least = answer.value("least_bytes", std::int64_t{0});
    EXPECT_NE(refused.err.find(std::to_string(least)), std::string::npos) << refused.err;

    const Outcome kept = solve({"--grid", "14x14x14", "--memory", std::to_string(least)});
    expect_solved(kept);
    EXPECT_LE(object(kept)["peak_rss_bytes"], least);
    EXPECT_EQ(object(kept)["bound_kept"], true);
  }
}

TEST(Solve, ReadsRightHandSidesAndWritesSolutions) {
  const TemporaryFile matrix(
      matrix_text(3, {"1 1 4", "2 1 2", "2 2 5", "3 2 1", "3 3 3"}));
  // A (1 2 3) and A (1 0 -1)
  const TemporaryFile rhs(
      "%%MatrixMarket matrix array real general\n3 2\n8\n15\n11\n4\n1\n-3\n");
  const TemporaryFile out("");
  expect_solved(solve({matrix.path(), "--rhs", rhs.path(), "--out", out.path()}));
  const std::vector<double> expected = {1, 2, 3, 1, 0, -1}, x = array_values(out.text());
  ASSERT_EQ(x.size(), expected.size()) << out.text();
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], expected[i], 1e-15) << i;

  // What was written is itself a right-hand side.
  expect_solved(solve({matrix.path(), "--rhs", out.path()}));
}

TEST(Solve, KeepsTheLeastBoundInEveryOrder) {
  for (const char* order : {"liu", "postorder", "parallel"}) {
    const Outcome outcome =
        solve({"--grid", "20x20x12", "--order", order, "--memory", "min"});
    expect_solved(outcome);
    EXPECT_EQ(object(outcome)["order"], order);
    EXPECT_EQ(object(outcome)["bound_kept"], true) << order;
  }
}

struct Indefinite {
  const char* why;
  std::vector<std::string> entries;
  int column;
};

TEST(Solve, NamesTheColumnOfTheFileThatIsNotPositiveDefinite) {
  const std::vector<Indefinite> cases = {
      {"negative", {"1 1 4", "2 2 4", "3 3 -4", "4 4 4"}, 3},
      {"zero", {"1 1 4", "2 2 0", "3 3 4", "4 4 4"}, 2},
      {"empty row", {"1 1 4", "2 2 4", "3 3 4"}, 4},
      {"off the diagonal", {"1 1 1", "3 3 1", "2 2 9", "3 1 2", "4 4 1"}, 3}};
  for (const Indefinite& each : cases) {
    const TemporaryFile matrix(matrix_text(4, each.entries));
    const Outcome outcome =
        solve({matrix.path(), "--kind", "spd", "--ordering", "natural"});
    EXPECT_EQ(outcome.status, 1) << each.why << ": " << outcome.err;
    EXPECT_NE(outcome.err.find(fmt::format("column {}\n", each.column)),
              std::string::npos)
        << each.why << ": " << outcome.err;
    EXPECT_NE(outcome.err.find(matrix.path()), std::string::npos) << outcome.err;
    EXPECT_EQ(object(outcome)["positive_definite"], false);
    EXPECT_EQ(object(outcome)["failed_column"], each.column) << each.why;
  }
}

TEST(Solve, NamesTheColumnOfTheFileUnderEveryOrdering) {
  std::vector<std::string> entries;
  for (int i = 1; i <= 60; ++i) {
    entries.push_back(fmt::format("{} {} {}", i, i, i == 37 ? -4 : 4));
    if (i < 60) entries.push_back(fmt::format("{} {} -1", i + 1, i));
  }
  const TemporaryFile matrix(matrix_text(60, entries));
  for (const char* ordering : {"nd", "metis", "scotch", "amd", "natural", "auto"}) {
    const Outcome outcome =
        solve({matrix.path(), "--kind", "spd", "--ordering", ordering});
    if (outcome.status == 2) continue;  // built without the library
    EXPECT_EQ(outcome.status, 1) << outcome.err;
    EXPECT_EQ(object(outcome)["failed_column"], 37) << ordering;
  }
}

TEST(Solve, TakesMatricesAtTheExtremes) {
  std::vector<std::string> disconnected;
  for (int i = 1; i <= 40; i += 2) {
    disconnected.push_back(fmt::format("{} {} 2", i, i));
    disconnected.push_back(fmt::format("{} {} 1", i + 1, i));
    disconnected.push_back(fmt::format("{} {} 3", i + 1, i + 1));
  }
  std::vector<std::string> diagonal;
  for (int i = 1; i <= 30; ++i)
    diagonal.push_back(fmt::format("{} {} {}e{}", i, i, i, 20 * (i % 5) - 40));
  const std::vector<std::pair<int, std::vector<std::string>>> cases = {
      {0, {}}, {1, {"1 1 7"}}, {30, diagonal}, {40, disconnected}};
  for (const auto& [size, entries] : cases) {
    const TemporaryFile matrix(matrix_text(size, entries));
    for (const char* memory : {"min", "none"}) {
      SCOPED_TRACE(fmt::format("order {}, memory {}", size, memory));
      expect_solved(solve({matrix.path(), "--memory", memory}));
    }
  }
}

// A hundred thousand trees or leaves, of a page and a task each, would not fit, be slow
// and be more mappings than the system allows.
TEST(Solve, KeepsTheBoundOfVeryManySmallLeaves) {
  Entries diagonal{100'000, {}};
  for (int i = 0; i < diagonal.size; ++i) diagonal.add(i, i, 2);
  for (const Entries& matrix :
       {diagonal, arrow(100'000), points_and_cameras(60'000, 300)}) {
    const TemporaryFile file(matrix.text("symmetric"));
    const Outcome outcome = solve({file.path(), "--memory", "min"});
    expect_solved(outcome);
    const json report = object(outcome);
    EXPECT_EQ(report["bound_kept"], true);
    EXPECT_LE(report["peak_rss_bytes"], report["bound_bytes"]);
    EXPECT_LE(report["nodes"], 5000);
    EXPECT_LE(report["peak_bytes"], 40 << 20);
  }
}

TEST(Solve, BlamesBadFilesOnTheirLine) {
  const std::string general = "%%MatrixMarket matrix coordinate real general\n";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {general + "2 3 1\n1 1 4\n", ":2: "},             // not square
      {matrix_text(2, {"1 1 4", "2 2 nan"}), ":4: "},   // not a number
      {matrix_text(2, {"1 1 4", "2 2 inf"}), ":4: "},   //
      {matrix_text(2, {"1 1 4", "3 2 1"}), ":4: "},     // out of range
      {general + "2 2 4\n1 1 4\n2 2 4\n", " 2 of 4 "},  // truncated
      {"%%MatrixMarket matrix coordinate complex symmetric\n1 1 1\n1 1 2\n", ":3: "},
      {"", ""}};
  for (const auto& [text, place] : cases) {
    SCOPED_TRACE(text);
    const TemporaryFile matrix(text);
    expect_refused({matrix.path()}, {matrix.path(), place});
  }
  expect_refused({"/nosuch/matrix.mtx"}, {"/nosuch/matrix.mtx"});
}

TEST(Solve, BlamesBadRightHandSidesOnTheirLine) {
  const std::string header = "%%MatrixMarket matrix array real general\n";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {header + "3 1\n1\n2\n3\n", ":2: "},     // not of the matrix' order
      {header + "4 1\n1\nx\n3\n4\n", ":4: "},  //
      {header + "4 1\n1\n2\n", " 2 of 4 "}};
  for (const auto& [text, place] : cases) {
    SCOPED_TRACE(text);
    const TemporaryFile rhs(text);
    expect_refused({"--grid", "4", "--rhs", rhs.path()}, {rhs.path(), place});
  }
  expect_refused({"--grid", "4", "--rhs", "/nosuch/rhs"}, {"/nosuch/rhs"});
}

TEST(Solve, RunsUnderStarPUsOwnSchedulersWithoutABound) {
  for (const char* scheduler : {"lws", "prio", "eager"}) {
    const Outcome outcome = solve({"--grid", "12x12", "--scheduler", scheduler});
    expect_solved(outcome);
    EXPECT_EQ(object(outcome)["scheduler"], scheduler);
  }
  expect_refused({"--grid", "5", "--scheduler", "nosuch"}, {"nosuch", "espalier", "lws"});
  expect_refused({"--grid", "5", "--scheduler", "lws", "--memory", "min"}, {"lws"});
  expect_refused({"--grid", "5", "--out", "/no/such/place/x.mtx"},
                 {"/no/such/place/x.mtx"});
  const Outcome crowd = run({"solve", "--grid", "5", "--workers", "100000"});
  EXPECT_EQ(crowd.status, 2);
  EXPECT_NE(crowd.err.find("workers is 100000: this build of StarPU has from 1 to"),
            std::string::npos)
      << crowd.err;
}

TEST(Solve, RefusesInputsThatContradict) {
  expect_refused({}, {"--grid"});
  expect_refused({"a.mtx", "--grid", "5"}, {"--grid"});
  const Outcome outcome = run({"solve", "--grid", "5", "--workers", "0"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("--workers"), std::string::npos) << outcome.err;
}

}  // namespace TEST_SOURCE
}  // namespace espalier::cli_test
