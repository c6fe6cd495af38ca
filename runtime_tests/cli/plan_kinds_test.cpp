// espalier plan of matrices of every kind: the tree that solve factors.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/program.h"
#include "cli/solving.h"

namespace espalier::cli_test {
namespace TEST_SOURCE {

using nlohmann::json;

Outcome plan(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "plan");
  arguments.insert(arguments.end(), {"--workers", "2", "--json"});
  return run(arguments);
}

// A grid of n x n: convection beside diffusion, or with both signs on the diagonal.
std::string grid_text(int n, bool general) {
  Entries matrix{n * n, {}};
  for (int i = 0; i < n * n; ++i) {
    matrix.add(i, i, general || i % 3 != 0 ? 4.5 : -4.5);
    for (const int j : {i % n + 1 < n ? i + 1 : n * n, i + n}) {
      if (j >= n * n) continue;
      matrix.add(j, i, -1);
      if (general) matrix.add(i, j, -0.25);
    }
  }
  return matrix.text(general ? "general" : "symmetric");
}

// Sizes of the trees agree with what solve says of the same matrix, on the runtime: by
// itself it solves these without, in one node.
json expect_the_tree_of_solve(const std::vector<std::string>& words) {
  std::vector<std::string> on_runtime = words;
  on_runtime.insert(on_runtime.end(), {"--scheduler", "lws"});
  const Outcome planned = plan(words), solved = solve(on_runtime);
  EXPECT_EQ(planned.status, 0) << planned.err;
  EXPECT_EQ(solved.status, 0) << solved.err;
  json tree = object(planned);
  const json system = object(solved);
  EXPECT_EQ(tree["tasks"], system["nodes"]);
  for (const char* key : {"kind", "size", "ordering", "ordering_taken"})
    EXPECT_EQ(tree[key], system[key]) << key;
  return tree;
}

TEST(PlanKinds, AreFoundFromTheMatrix) {
  const TemporaryFile symmetric(grid_text(70, false)), general(grid_text(70, true));
  EXPECT_EQ(expect_the_tree_of_solve({"--grid", "70x70"})["kind"], "spd");
  EXPECT_EQ(expect_the_tree_of_solve({symmetric.path()})["kind"], "symmetric");
  EXPECT_EQ(expect_the_tree_of_solve({general.path()})["kind"], "general");
}

TEST(PlanKinds, LuTakesTheMemoryOfTwoTriangles) {
  const auto bytes = [](const char* kind) {
    const json tree = expect_the_tree_of_solve({"--grid", "14x14x14", "--kind", kind});
    EXPECT_EQ(tree["kind"], kind);
    EXPECT_EQ(tree["feasible"], true);
    return tree.value("least_bytes", 0.0);
  };
  const double spd = bytes("spd"), ldlt = bytes("symmetric"), lu = bytes("general");
  EXPECT_GE(ldlt, spd);
  EXPECT_GT(lu, 1.5 * spd);
  EXPECT_LT(lu, 2.5 * ldlt);
}

TEST(PlanKinds, TheMatchingDecidesTheTreeToo) {
  // Rows of a cycle in another order: without a matching, no diagonal and more fill.
  Entries matrix{300, {}};
  for (int i = 0; i < 300; ++i) {
    matrix.add((i * 7 + 5) % 300, i, 9);
    matrix.add((i * 7 + 12) % 300, i, 1);
  }
  const TemporaryFile file(matrix.text("general"));
  expect_the_tree_of_solve({file.path()});
}

TEST(PlanKinds, TheOrderingThatWasTakenGivesTheSameTree) {
  // Cheap enough for minimum degree, and too large for it.
  for (const char* grid : {"12x12x12", "26x26x26"}) {
    SCOPED_TRACE(grid);
    const json by_itself = object(plan({"--grid", grid, "--ordering", "auto"}));
    EXPECT_EQ(by_itself["ordering"], "auto");
    const std::string taken = by_itself.value("ordering_taken", "");
    const json asked = object(plan({"--grid", grid, "--ordering", taken}));
    EXPECT_EQ(asked["ordering"], taken);
    for (const char* key : {"tasks", "work_flops", "least_bytes", "ordering_taken"})
      EXPECT_EQ(by_itself[key], asked[key]) << key;
  }
}

TEST(PlanKinds, ReadsRutherfordBoeing) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/two.rua";
  std::ofstream(path) << fmt::format("{:<72}{:<8}\n", "two by two", "TWO")
                      << fmt::format("{:14}{:14}{:14}{:14}\n", 3, 1, 1, 1)
                      << fmt::format("{:<14}{:14}{:14}{:14}{:14}\n", "rua", 2, 2, 3, 0)
                      << fmt::format("{:<16}{:<16}{:<20}\n", "(26I3)", "(26I3)",
                                     "(4E20.12)")
                      << "  1  3  4\n  1  2  2\n"
                      << fmt::format("{:20.12E}{:20.12E}{:20.12E}\n", 4.0, 1.0, 3.0);
  const json report = object(plan({path}));
  EXPECT_EQ(report["kind"], "general");
  EXPECT_EQ(report["size"], 2);
}

TEST(PlanKinds, RefusesAKindThatTheMatrixIsNotOf) {
  const TemporaryFile matrix(
      "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 4\n2 2 4\n2 1 1\n");
  for (const char* kind : {"spd", "symmetric"}) {
    const Outcome outcome = plan({matrix.path(), "--kind", kind});
    EXPECT_EQ(outcome.status, 2);
    expect_says(outcome, matrix.path());
    expect_says(outcome, fmt::format("--kind {}", kind));
    expect_says(outcome, "(2, 1) is 1");
  }
  EXPECT_EQ(plan({matrix.path(), "--kind", "general"}).status, 0);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::cli_test
