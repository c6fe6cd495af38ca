// ShardingProblem and its JSON: what is refused, and what each message names.

#include "espalier/model/sharding_problem.h"

#include <gtest/gtest.h>

#include <algorithm>

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "espalier/io/iopddl_json.h"
#include "espalier/model/error.h"
#include "espalier/model/replay_sharding.h"
#include "espalier/model/validate_sharding.h"

namespace espalier {
namespace TEST_SOURCE {

constexpr const char* kExample =
    R"({"problem": {"name": "two", "nodes": {"intervals": [[0, 2], [1, 3]],
    "costs": [[0, 3], [1, 1]], "usages": [[4, 2], [4, 3]]},
    "edges": {"nodes": [[1, 0]], "costs": [[0, 7, 5, 1e18]]}, "usage_limit": 6},
    "solution": {"cost": [1, {"a": null}], "edges": 3}, "x": [[1]]})";

ShardingProblem problem_of(const std::string& text) {
  std::istringstream in(text);
  return read_iopddl(in, "f.json");
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string refusal(const std::string& text) {
  try {
    (void)problem_of(text);
  } catch (const FileError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Iopddl, ReadsTheFormat) {
  const ShardingProblem problem = problem_of(kExample);
  ASSERT_EQ(problem.nodes().size(), 2u);
  EXPECT_EQ(problem.nodes()[1], (ShardingNode{1, 3, {1, 1}, {4, 3}}));
  ASSERT_EQ(problem.edges().size(), 1u);
  EXPECT_EQ(problem.edges()[0], (ShardingEdge{1, 0, {0, 7, 5, kForbidden}}));
  EXPECT_EQ(problem.limit(), 6);
}

TEST(Iopddl, ReadsAProblemWithoutMemory) {
  const ShardingProblem problem =
      problem_of(R"({"problem": {"nodes": {"costs": [[1]]}, "usage_limit": null}})");
  EXPECT_EQ(problem.nodes()[0], (ShardingNode{0, 0, {1}, {0}}));
}

// What stands in the example, what in its place, and what is said of it.
void expect_refusals(const std::vector<std::vector<std::string>>& cases) {
  for (const std::vector<std::string>& one : cases) {
    std::string message = refusal(replaced(kExample, one[0], one[1]));
    std::ranges::replace(message, '\'', '"');
    EXPECT_EQ(message, one[2]);
  }
}

TEST(Iopddl, NamesLimitsAndUsagesThatItRefuses) {
  expect_refusals(
      {{"\"usage_limit\": 6", "\"usage_limit\": -6", "f.json: the limit -6 is negative"},
       {"\"usage_limit\": 6", "\"usage_limit\": 6.5",
        "f.json: problem.usage_limit: 6.5 is not an integer"},
       {"\"usage_limit\": 6", "\"usage_limit\": [6]",
        "f.json: problem.usage_limit: a list is not what belongs here"},
       {"\"usage_limit\": 6", "\"usage_limit\": 99999999999999999999",
        "f.json: problem.usage_limit: 99999999999999999999 is out of range"},
       {"\"usage_limit\": 6", "\"usage_limit\": 18446744073709551615",
        "f.json: problem.usage_limit: 18446744073709551615 is out of range"},
       {"\"usage_limit\": 6", "\"limit\": 6",
        "f.json: problem.limit is no member of the format"},
       {"\"usage_limit\": 6", "\"usage_limit\": 6, \"usage_limit\": 7",
        "f.json: problem.usage_limit is given twice"},
       {"[4, 3]", "[4, \"x\"]",
        "f.json: problem.nodes.usages[1][1]: \"x\" is not what belongs here"},
       {"[4, 3]", "[4, null]",
        "f.json: problem.nodes.usages[1][1]: null is not what belongs here"},
       {"[4, 3]", "[4, [3]]",
        "f.json: problem.nodes.usages[1][1]: a list is not what belongs here"},
       {"[4, 3]", "{}",
        "f.json: problem.nodes.usages[1]: an object is not what belongs here"},
       {"[4, 3]", "[4]", "f.json: node 1 has 1 usages for 2 strategies"},
       {"[4, 3]", "[4, -3]", "f.json: node 1: the usage -3 is negative"},
       {"[4, 3]", "[4, 9223372036854775807]",
        "f.json: node 1: with its usage 9223372036854775807 the sum of all usages leaves "
        "the 64-bit range"}});
}

TEST(Iopddl, NamesNodesAndEdgesThatItRefuses) {
  expect_refusals(
      {{", [4, 3]", "",
        "f.json: problem.nodes.usages has 1 entries, problem.nodes.costs has 2"},
       {"[1, 3]", "[1, 3, 4]",
        "f.json: problem.nodes.intervals[1] has 3 entries instead of two"},
       {"[0, 3]", "[]", "f.json: node 0 has no strategies"},
       {"[0, 3]", "[0, -3]", "f.json: node 0: the cost -3 is negative"},
       {"[0, 3]", "[0, 999999999999999999]",
        "f.json: node 1: with its largest cost 1 the sum of all largest costs reaches "
        "1000000000000000000"},
       {"[[1, 0]]", "[[1, 2]]",
        "f.json: problem.edges.nodes[0]: there is no node 2 among 2"},
       {"[[1, 0]]", "[[-1, 0]]",
        "f.json: problem.edges.nodes[0]: there is no node -1 among 2"},
       {"[[1, 0]]", "[[1, 1]]", "f.json: edge 0 joins node 1 to itself"},
       {"7, 5, 1e18", "7, 5", "f.json: edge 0 has 3 costs for 4 pairs of strategies"},
       {"\"usages\": [[4, 2], [4, 3]]", "\"name\": 1",
        "f.json: problem.nodes.name is no member of the format"},
       {", \"usages\": [[4, 2], [4, 3]]", "",
        "f.json: problem.nodes.usages is missing"}});
}

TEST(Iopddl, NamesTheLineOfWhatIsNoJson) {
  EXPECT_EQ(refusal(""), "f.json: is empty");
  EXPECT_EQ(refusal("[]"), "f.json: the file: a list is not what belongs here");
  EXPECT_EQ(refusal("7"), "f.json: the file: 7 is not what belongs here");
  EXPECT_EQ(refusal("{}"), "f.json: problem.nodes.costs is missing");
  EXPECT_EQ(refusal(R"({"problem": 3})"), "f.json: problem: 3 is not what belongs here");
  EXPECT_EQ(refusal("{\n\n,}").substr(0, 22), "f.json:3: syntax error");
  const std::string text = kExample;
  for (std::size_t size = 1; size < text.size(); ++size)
    ASSERT_NE(refusal(text.substr(0, size)), "accepted") << size;
}

ShardingChoice example_choice() {
  ShardingChoice choice;
  choice.found = true;
  choice.strategies = {1, 0};
  choice.cost = 11;
  choice.lower_bound = 3;
  choice.memory_bytes = 6;
  return choice;
}

TEST(ShardingProblem, IsReplayedAndValidated) {
  const ShardingProblem problem = problem_of(kExample);
  const ShardingChoice choice = example_choice();
  const ShardingFigures figures = replay_sharding(problem, choice.strategies);
  EXPECT_EQ(figures.cost, 3 + 1 + 7);
  EXPECT_EQ(figures.memory_bytes, 6);
  EXPECT_EQ(validate(problem, choice), Violations());
  ShardingChoice full = choice;
  full.strategies = {0, 0};
  full.cost = 1;
  full.lower_bound = 0;
  full.memory_bytes = 8;
  EXPECT_EQ(validate(problem, full), Violations{"time 1: 8 held, the limit is 6"});
  EXPECT_THROW((void)replay_sharding(problem, std::vector<std::int32_t>{0}),
               InvalidInput);
  EXPECT_THROW((void)replay_sharding(problem, std::vector<std::int32_t>{0, 2}),
               InvalidInput);
}

TEST(ShardingProblem, IsRefusedByTheValidatorWhenChanged) {
  const ShardingProblem problem = problem_of(kExample);
  const ShardingChoice choice = example_choice();
  const auto complaint = [&](auto&& change) {
    ShardingChoice wrong = choice;
    change(wrong);
    const Violations violations = validate(problem, wrong);
    return violations.empty() ? std::string() : violations.front();
  };
  EXPECT_EQ(complaint([](auto& wrong) { wrong.cost = 10; }),
            "the cost is 10, the choice costs 11");
  EXPECT_EQ(complaint([](auto& wrong) { wrong.lower_bound = 12; }),
            "the lower bound 12 is above the cost 11");
  EXPECT_EQ(complaint([](auto& wrong) { wrong.memory_bytes = 7; }),
            "the memory is 7, the choice holds 6");
  EXPECT_EQ(complaint([](auto& wrong) {
              wrong.strategies = {0, 2};
            }),
            "node 1: strategy 2 is none of its 2");
  EXPECT_EQ(complaint([](auto& wrong) { wrong.strategies = {0}; }),
            "1 strategies for 2 nodes");
  EXPECT_EQ(complaint([](auto& wrong) {
              wrong.strategies = {1, 1};
            }),
            "edge 0: what is chosen is not allowed");
  EXPECT_EQ(complaint([](auto& wrong) {
              wrong.strategies = {0, 0};
            }),
            "the cost is 11, the choice costs 1");
}

}  // namespace TEST_SOURCE
}  // namespace espalier
