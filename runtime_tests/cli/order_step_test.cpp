// espalier order --training, --layout: what is said, what is written, and what is
// refused.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/program.h"

namespace espalier::cli_test {
namespace TEST_SOURCE {

using nlohmann::json;

json report_of(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "order");
  arguments.emplace_back("--json");
  const Outcome outcome = run(arguments);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  return json::parse(outcome.out);
}

std::size_t lines(const std::string& path) {
  std::ifstream file(path);
  return static_cast<std::size_t>(
      std::count(std::istreambuf_iterator<char>(file), {}, '\n'));
}

TEST(OrderStep, PlansGpt2XlWithoutAFile) {
  const json report =
      report_of({"--transformer", "gpt2-xl", "--training", "adam", "--layout"});
  EXPECT_EQ(report["parameters"], 1'557'611'200);
  EXPECT_EQ(report["state_bytes"], 8 * std::int64_t{1'557'611'200});
  EXPECT_EQ(report["proved"], true);
  EXPECT_EQ(report["fragmentation"], 0.0);
  EXPECT_EQ(report["capacity_bytes"], report["peak_bytes"]);
  EXPECT_EQ(report["capacity_bytes"], report["lower_bound_bytes"]);
  EXPECT_EQ(report["load_bytes"], report["peak_bytes"]);
}

TEST(OrderStep, WritesWhatTheOtherCommandsRead) {
  const TemporaryDirectory directory;
  const std::string at = directory.path() + "/";
  const json report =
      report_of({"--transformer", "tiny", "--training", "momentum", "--layout",
                 "--schedule", at + "order", "--offsets", at + "arena.csv",
                 "--save-graph", at + "graph.json", "--report", at + "page.html"});
  EXPECT_EQ(lines(at + "order"), report["operators"].get<std::size_t>());
  EXPECT_EQ(lines(at + "arena.csv"), report["buffers"].get<std::size_t>() + 1);
  EXPECT_GT(lines(at + "page.html"), 0U);
  const json again = report_of({at + "graph.json", "--layout"});
  EXPECT_EQ(again["capacity_bytes"], report["capacity_bytes"]);
  EXPECT_EQ(again["operators"], report["operators"]);
  const Outcome layout = run({"layout", at + "arena.csv", "--json"});
  ASSERT_EQ(layout.status, 0) << layout.err;
  EXPECT_EQ(json::parse(layout.out)["load_bytes"], report["peak_bytes"]);
}

TEST(OrderStep, TakesTheOptionsOfAStep) {
  const auto capacity = [](const std::vector<std::string>& more) {
    std::vector<std::string> all = {"--transformer", "tiny",    "--training",
                                    "adam",          "--batch", "4"};
    all.insert(all.end(), more.begin(), more.end());
    return report_of(all)["capacity_bytes"].get<std::int64_t>();
  };
  const std::int64_t least = capacity({});
  EXPECT_LE(least, capacity({"--updates", "immediate"}));
  EXPECT_LE(least, capacity({"--updates", "last"}));
  EXPECT_LE(least, capacity({"--inplace", "no", "--views", "copy"}));
  EXPECT_LE(capacity({"--split-weight-gradients"}), least);
  EXPECT_LT(least, capacity({"--keep-gradients"}));
  EXPECT_EQ(capacity({"--alignment", "4096"}) % 4096, 0);
}

TEST(OrderStep, RecomputesWhereTheBoundIsBelow) {
  const std::vector<std::string> question = {
      "--transformer", "layers=6,width=32,heads=2,sequence=64,vocabulary=16",
      "--training", "sgd"};
  const auto with = [&](const std::string& memory) {
    std::vector<std::string> all = question;
    all.insert(all.end(), {"--memory", memory});
    return all;
  };
  const json without = report_of(question);
  EXPECT_FALSE(without.contains("recomputed_operators"));
  const json least = report_of(with("min"));
  EXPECT_LT(least["capacity_bytes"], without["capacity_bytes"]);
  EXPECT_EQ(least["capacity_without_bytes"], without["capacity_bytes"]);
  EXPECT_GT(least["recomputed_operators"], 0);
  const json inside = report_of(with("x0.8"));
  EXPECT_LE(inside["capacity_bytes"].get<double>(),
            0.8 * without["capacity_bytes"].get<double>() + 1);
  EXPECT_LE(inside["recompute_overhead"], least["recompute_overhead"]);
  std::vector<std::string> small = with("1KiB");
  small.insert(small.begin(), "order");
  small.emplace_back("--json");
  const Outcome no = run(small);
  EXPECT_EQ(no.status, 1);
  EXPECT_EQ(json::parse(no.out)["least_bytes"], least["capacity_bytes"]);
}

TEST(OrderStep, AnAlignmentAsksForALayoutAndAGraphIsSavedWithoutOne) {
  const json aligned = report_of({"--transformer", "tiny", "--alignment", "4096"});
  EXPECT_EQ(aligned["input"], "tiny");
  EXPECT_EQ(aligned.at("capacity_bytes").get<std::int64_t>() % 4096, 0);
  const TemporaryDirectory directory;
  const std::string graph = directory.path() + "/graph.json";
  const json saved =
      report_of({"--transformer", "tiny", "--save-graph", graph, "--workers", "2"});
  EXPECT_EQ(saved["input"], "tiny");
  EXPECT_FALSE(saved.contains("capacity_bytes"));
  EXPECT_EQ(report_of({graph})["least_bytes"], saved["least_bytes"]);
}

TEST(OrderStep, RefusesWhatItCannotPlan) {
  const TemporaryDirectory directory;
  const std::string graph = directory.path() + "/g.json";
  std::ofstream(graph) << R"({"tensors": {}, "ops": [{"name": "a"}]})";
  const auto refused = [](const std::vector<std::string>& arguments,
                          const std::string& part) {
    std::vector<std::string> all = {"order"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const Outcome outcome = run(all);
    EXPECT_EQ(outcome.status, 2);
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
  };
  refused({graph, "--training", "sgd"}, "is no ONNX model");
  refused({graph, "--batch", "3"}, "--batch: only for ONNX models");
  refused({graph, "--training", "rmsprop"}, "none of sgd|momentum|adam");
  refused({"--transformer", "tiny", "--updates", "last"}, "--training");
  refused({"--transformer", "tiny", "--layout", "--workers", "2"}, "--workers");
  refused({"--transformer", "gpt5"}, "gpt5");
  refused({"--transformer", "tiny", graph}, "no file");
  refused({"--transformer", "tiny", "--training", "sgd", "--alignment", "0"},
          "--alignment");
}

}  // namespace TEST_SOURCE
}  // namespace espalier::cli_test
