// espalier shard: answers, files and refusals.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/json_answer.h"
#include "cli/program.h"

namespace espalier::cli_test {
namespace TEST_SOURCE {

using nlohmann::json;

constexpr const char* kTwoNodes =
    R"({"problem": {"name": "two", "nodes": {"intervals": [[0, 2], [1, 3]],
    "costs": [[0, 3], [1, 1]], "usages": [[4, 2], [4, 3]]},
    "edges": {"nodes": [[0, 1]], "costs": [[0, 5, 7, 1]]}, "usage_limit": 7}})";

TEST(Shard, ProvesTheLeastCostAndWritesTheChoice) {
  const TemporaryFile file(kTwoNodes);
  const TemporaryDirectory directory;
  const std::string out = directory.path() + "/choice.json";
  const Outcome outcome = run({"shard", file.path(), "--json", "--solution", out});
  const json report = answer_of(outcome);
  EXPECT_EQ(report["cost"], 5);
  EXPECT_EQ(report["lower_bound"], 5);
  EXPECT_EQ(report["proved"], true);
  EXPECT_EQ(report["memory_bytes"], 5);
  EXPECT_TRUE(report["seconds"].is_number());
  EXPECT_EQ(text_of(out), "[1,1]\n");
}

TEST(Shard, TheLimitCanBeGiven) {
  const TemporaryFile file(kTwoNodes);
  const Outcome roomy = run({"shard", file.path(), "--memory", "8", "--json"});
  ASSERT_EQ(roomy.status, 0) << roomy.err;
  EXPECT_EQ(json::parse(roomy.out)["cost"], 1);
  const Outcome none = run({"shard", file.path(), "--memory", "4", "--json"});
  EXPECT_EQ(none.status, 1);
  EXPECT_NE(none.err.find("no choice is allowed within 4 B (4 bytes): none holds less "
                          "than 5 B (5 bytes)"),
            std::string::npos)
      << none.err;
  EXPECT_EQ(json::parse(none.out)["reason"], "impossible");
}

TEST(Shard, TakesNoOptionThatWouldDoNothing) {
  const TemporaryFile file(kTwoNodes);
  for (const auto& words : {std::vector<std::string>{file.path(), "--mesh", "2x2"},
                            {file.path(), "--training", "adam"},
                            {file.path(), "--rate", "1e14"},
                            {"--transformer", "gpt2", "--rounds", "3"},
                            {"none.onnx", "--layers", "3"}}) {
    std::vector<std::string> all = words;
    all.insert(all.begin(), "shard");
    const Outcome outcome = run(all);
    EXPECT_EQ(outcome.status, 2) << outcome.out;
    EXPECT_NE(outcome.err.find(": only for "), std::string::npos) << outcome.err;
  }
}

TEST(Shard, SaysWhereNoBoundHelps) {
  const TemporaryFile file(
      R"({"problem": {"name": "none", "nodes": {"intervals": [[0, 2]],
      "costs": [[1000000000000000000]], "usages": [[4]]},
      "edges": {"nodes": [], "costs": []}, "usage_limit": 9}})");
  const Outcome none = run({"shard", file.path(), "--json"});
  EXPECT_EQ(none.status, 1);
  EXPECT_NE(none.err.find("no choice is allowed, whatever the bound is"),
            std::string::npos)
      << none.err;
  EXPECT_FALSE(json::parse(none.out).contains("least_bytes"));
}

TEST(Shard, RefusesWhatItCannotRead) {
  const TemporaryFile file(R"({"problem": {"nodes": {"costs": [[0, -1]]}}})");
  const Outcome outcome = run({"shard", file.path()});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.err,
            "espalier: " + file.path() + ": node 0: the cost -1 is negative\n");
  EXPECT_EQ(run({"shard", file.path() + ".none"}).status, 2);
  EXPECT_EQ(run({"shard"}).status, 2);
  EXPECT_EQ(run({"shard", file.path(), "--timeout", "soon"}).status, 2);
  EXPECT_EQ(run({"shard", file.path(), "--memory", "much"}).status, 2);
  EXPECT_EQ(run({"shard", file.path(), "--transformer", "gpt2"}).status, 2);
}

TEST(Shard, PlansATransformer) {
  const std::vector<std::string> command = {
      "shard", "--transformer", "gpt2-xl", "--mesh", "8x8", "--batch", "512", "--json"};
  const Outcome fastest = run(command);
  ASSERT_EQ(fastest.status, 0) << fastest.err;
  const json report = json::parse(fastest.out);
  EXPECT_EQ(report["devices"], 64);
  EXPECT_EQ(report["distinct_parts"], 3);
  EXPECT_EQ(report["proved"], true);
  std::vector<std::string> bounded = command;
  bounded.insert(bounded.end(), {"--memory", "24GB"});
  const Outcome smaller = run(bounded);
  ASSERT_EQ(smaller.status, 0) << smaller.err;
  const json fits = json::parse(smaller.out);
  EXPECT_LE(fits["memory_bytes"], 24'000'000'000);
  EXPECT_GE(fits["cost"], report["cost"]);
  EXPECT_LE(fits["lower_bound"], fits["cost"]);
  bounded.back() = "1MB";
  EXPECT_EQ(run(bounded).status, 1);
  EXPECT_EQ(run({"shard", "--transformer", "gpt5"}).status, 2);
  EXPECT_EQ(run({"shard", "--transformer", "gpt2", "--mesh", "8y8"}).status, 2);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::cli_test
