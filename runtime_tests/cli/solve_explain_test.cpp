// espalier solve --explain: its parts add up to the figures that are printed, to the
// byte.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "cli/program.h"
#include "cli/solving.h"
#include "report/html.h"

namespace espalier::cli_test {
namespace TEST_SOURCE {

using nlohmann::json;

std::int64_t sum_of(const json& list, const char* key) {
  return std::accumulate(
      list.begin(), list.end(), std::int64_t{0},
      [&](std::int64_t sum, const json& each) { return sum + each.value(key, 0LL); });
}

std::int64_t part(const json& figure, const std::string& key) {
  for (const json& each : figure["parts"])
    if (each["part"] == key) return each["bytes"];
  ADD_FAILURE() << key << " in " << figure.dump(1);
  return 0;
}

// The chain of fronts adds up, and where fronts decide it is the parts that are fronts.
void expect_chain(const json& figure) {
  const json& chain = figure["chain"];
  ASSERT_FALSE(chain.empty());
  const std::int64_t children = sum_of(chain, "children_bytes");
  const std::int64_t own = figure["own_bytes"], all = figure["chain_bytes"];
  EXPECT_EQ(own + children, all);
  EXPECT_EQ(figure["factor_before_bytes"].get<std::int64_t>() + all,
            figure["fronts_bytes"]);
  for (const json& front : chain)
    EXPECT_EQ(sum_of(front["children"], "bytes"), front["children_bytes"])
        << front.dump(1);
  if (figure["phase"] != "factorisation") return;
  EXPECT_EQ(part(figure, "front_factor") + part(figure, "front_contribution") +
                part(figure, "front_working"),
            own);
  EXPECT_EQ(part(figure, "front_children"), chain.front()["children_bytes"]);
  EXPECT_EQ(part(figure, "front_children") + part(figure, "waiting"), children);
  EXPECT_EQ(part(figure, "factor_before"), figure["factor_before_bytes"]);
}

// Each figure of "explain" is the printed one of its name, and the sum of its parts.
// @return the phases, by figure
std::vector<std::string> expect_explained(const json& report) {
  std::vector<std::string> phases;
  for (const json& figure : report["explain"]) {
    EXPECT_EQ(report[figure["figure"].get<std::string>()], figure["bytes"])
        << figure.dump(1);
    EXPECT_EQ(sum_of(figure["parts"], "bytes"), figure["bytes"]) << figure.dump(1);
    if (figure.contains("chain")) expect_chain(figure);
    phases.push_back(figure["phase"]);
  }
  return phases;
}

json explained(std::vector<std::string> arguments) {
  arguments.push_back("--explain");
  const Outcome outcome = solve(arguments);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  return object(outcome);
}

TEST(SolveExplain, PartsAddUpToTheFigureOfEveryKind) {
  const auto expect_parts = [](const char* grid, const char* kind) {
    SCOPED_TRACE(fmt::format("{} {}", grid, kind));
    const json report = explained({"--grid", grid, "--kind", kind, "--memory", "min"});
    EXPECT_EQ(expect_explained(report).size(), 2U);
    EXPECT_TRUE(report["explain"][0].contains("chain"));
  };
  expect_parts("14x14x14", "auto");  // which goes the way of "spd"
  // In the calling thread, and on StarPU.
  for (const char* grid : {"14x14x14", "36x36x36"})
    for (const char* kind : {"spd", "symmetric", "general"}) expect_parts(grid, kind);
}

TEST(SolveExplain, PartsAddUpForEveryOrderAndPrecision) {
  for (const char* order : {"liu", "postorder", "parallel"})
    for (const char* precision : {"double", "single"}) {
      SCOPED_TRACE(fmt::format("{} {}", order, precision));
      const json report = explained({"--grid", "36x36x36", "--order", order,
                                     "--precision", precision, "--memory", "x1.2"});
      EXPECT_EQ(expect_explained(report).size(), 2U);
    }
}

TEST(SolveExplain, PartsAddUpOutOfCoreAndNothingSpilledIsCounted) {
  const TemporaryDirectory directory;
  const json report = explained(
      {"--grid", "16x16x16", "--memory", "min", "--out-of-core", directory.path()});
  EXPECT_EQ(expect_explained(report).size(), 3U);
  const json &in_core = report["explain"][0], &out_of_core = report["explain"][1];
  EXPECT_EQ(out_of_core["figure"], "out_of_core_least_bytes");
  EXPECT_LT(out_of_core["bytes"], in_core["bytes"]);
  EXPECT_EQ(out_of_core["factor_before_bytes"], 0);
  EXPECT_LT(out_of_core["fronts_bytes"], in_core["fronts_bytes"]);
}

TEST(SolveExplain, WithoutABoundToo) {
  EXPECT_EQ(expect_explained(explained({"--grid", "20x20"})).size(), 2U);
}

TEST(SolveExplain, OfAJobThatIsRefused) {
  const Outcome outcome = solve({"--grid", "14x14x14", "--memory", "1MiB", "--explain"});
  EXPECT_EQ(outcome.status, 1);
  const json report = object(outcome);
  EXPECT_EQ(expect_explained(report).size(), 1U);
}

TEST(SolveExplain, OnAPageToo) {
  const TemporaryFile page("");
  const Outcome outcome = run({"solve", "--grid", "14x14x14", "--memory", "min",
                               "--workers", "2", "--report", page.path(), "--json"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const json data = json::parse(report::embedded_data(page.text()), nullptr, false);
  EXPECT_EQ(data["kind"], "memory");
  ASSERT_EQ(data["explain"].size(), 2U);
  EXPECT_EQ(data["explain"][0]["bytes"], object(outcome)["least_bytes"]);
  EXPECT_FALSE(object(outcome).contains("explain"));
}

TEST(SolveExplain, SaysForPeopleWhatItSaysInJson) {
  const Outcome outcome = run(
      {"solve", "--grid", "36x36x36", "--memory", "min", "--workers", "2", "--explain"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  for (const char* words :
       {"Why this much memory: least bound that suffices",
        "Why this much memory: peak of the process", "resident before the first front",
        "the fronts alone, at their peak", "    front ", "      block of front "})
    EXPECT_NE(outcome.out.find(words), std::string::npos) << words << outcome.out;
}

}  // namespace TEST_SOURCE
}  // namespace espalier::cli_test
