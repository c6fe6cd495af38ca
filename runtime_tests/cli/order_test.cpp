// espalier order: graphs of every format, what is told of the order, and interrupts.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/interrupt_search.h"
#include "cli/json_answer.h"
#include "cli/onnx_bytes.h"
#include "cli/program.h"

namespace espalier::cli_test {
namespace TEST_SOURCE {

using nlohmann::json;

std::string write(const TemporaryDirectory& directory, const std::string& name,
                  const std::string& text) {
  const std::string path = directory.path() + "/" + name;
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

// x -> a -> y (3), x -> b -> z (1), c reads both; a with a workspace of 4. First b, then
// a: b: 2 + 1, a: 2 + 1 + 3 + 4, then c: 3 + 1 + 1; first a: 2 + 3 + 4, then b 2 + 3 + 1.
constexpr const char* kJson = R"({
  "tensors": {"x": {"size": 2}, "y": {"size": 3}, "z": {"size": 1}, "r": {"size": 1}},
  "ops": [{"name": "b", "inputs": ["x"], "outputs": ["z"]},
          {"name": "a", "inputs": ["x"], "outputs": ["y"], "workspace": 4},
          {"name": "c", "inputs": ["y", "z"], "outputs": ["r"]}],
  "keep": ["r"]})";

TEST(Order, FindsTheLeastPeakOfAJsonGraph) {
  const TemporaryDirectory directory;
  const std::string schedule = directory.path() + "/order";
  const Outcome outcome =
      run({"order", write(directory, "g.JSON", kJson), "--json", "--schedule", schedule});
  const json report = answer_of(outcome);
  EXPECT_EQ(report["operators"], 3);
  EXPECT_EQ(report["tensors"], 4);
  EXPECT_EQ(report["tensor_bytes"], 7);
  EXPECT_EQ(report["initial_bytes"], 2);
  EXPECT_EQ(report["final_bytes"], 1);
  EXPECT_EQ(report["largest_operator_bytes"], 9);
  EXPECT_EQ(report["file_order"], true);
  EXPECT_EQ(report["file_order_bytes"], 10);
  EXPECT_EQ(report["least_bytes"], 9);
  EXPECT_EQ(report["lower_bound_bytes"], 9);
  EXPECT_EQ(report["proved"], true);
  EXPECT_EQ(report["gap"], 0.0);
  EXPECT_EQ(report["interrupted"], false);
  EXPECT_EQ(text_of(schedule), "a\nb\nc\n");
}

TEST(Order, ReadsDotInWhateverOrderItsNodesCome) {
  const TemporaryDirectory directory;
  const std::string path = write(
      directory, "g.dot", "digraph { c [size=1]; {a b} -> c; a [size=3 workspace=4] }");
  const Outcome outcome = run({"order", path, "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json report = json::parse(outcome.out);
  EXPECT_EQ(report["file_order"], false);
  EXPECT_EQ(report["least_bytes"], 7);
  EXPECT_EQ(run({"order", write(directory, "g.gv", "digraph {a}")}).status, 0);
}

// Two operators of work 3 that need 4 each while they run, and one that reads both.
constexpr const char* kTwoAtOnce = R"({
  "tensors": {"y": {"size": 1}, "z": {"size": 1}, "r": {"size": 1}},
  "ops": [{"name": "a", "outputs": ["y"], "workspace": 3, "work": 3},
          {"name": "b", "outputs": ["z"], "workspace": 3, "work": 3},
          {"name": "c", "inputs": ["y", "z"], "outputs": ["r"], "work": 1}],
  "keep": ["r"]})";

TEST(Order, SimulatesTheGraphOnWorkersInsideABound) {
  const TemporaryDirectory directory;
  const std::string path = write(directory, "g.json", kTwoAtOnce);
  const auto order = [&](const std::string& memory) {
    return run({"order", path, "--json", "--workers", "2", "--memory", memory});
  };
  const json tight = json::parse(order("min").out);
  EXPECT_EQ(tight["least_bytes"], 5);
  EXPECT_EQ(tight["bound_bytes"], 5);
  EXPECT_EQ(tight["peak_bytes"], 5);
  EXPECT_EQ(tight["makespan_flops"], 7.0);
  const json wide = json::parse(order("8B").out);
  EXPECT_EQ(wide["bound_bytes"], 8);
  EXPECT_EQ(wide["peak_bytes"], 8);
  EXPECT_EQ(wide["makespan_flops"], 4.0);
  EXPECT_EQ(wide["makespan_ratio"], 1.0);
  EXPECT_EQ(json::parse(order("none").out)["makespan_flops"], 4.0);
  const Outcome refused = order("4B");
  EXPECT_EQ(refused.status, 1);
  EXPECT_EQ(json::parse(refused.out)["feasible"], false);
  EXPECT_EQ(json::parse(refused.out)["least_bytes"], 5);
  EXPECT_EQ(json::parse(refused.out)["lower_bound_bytes"], 5);  // proved of every order
  EXPECT_EQ(json::parse(refused.out)["reason"], "impossible");
}

TEST(Order, PrintsATableForPeople) {
  const TemporaryDirectory directory;
  const Outcome outcome = run({"order", write(directory, "g.json", kJson)});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  for (const char* line :
       {"  operators  ", "  peak of the order in the file  10 B\n",
        "  peak of the best order found   9 B\n", "  proved the least"})
    EXPECT_NE(outcome.out.find(line), std::string::npos) << line << outcome.out;
}

TEST(Order, NamesFileLineAndValueOfBadInput) {
  const TemporaryDirectory directory;
  const auto expect_refused = [](const std::vector<std::string>& arguments,
                                 const std::string& message) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.status, 2) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find(message), std::string::npos) << outcome.err;
  };
  const std::string bad =
      write(directory, "bad.json", "{\"tensors\": {\"x\":\n{\"size\": -7}}}");
  expect_refused({"order", bad}, bad + ":2: tensor 'x': size: -7 is negative\n");
  const std::string good = write(directory, "g.json", kJson);
  expect_refused({"order", good, "--dim", "n=8"}, "--dim: only for ONNX models");
  expect_refused({"order", "--transformer", "tiny", "--dim", "n=8", "--free-weights"},
                 "--dim, --free-weights: only for ONNX models");
  expect_refused({"order", good, "--dim", "n"}, "'n' is not NAME=N");
  expect_refused({"order", good, "--dim", "n=-8"}, "'n=-8' is not NAME=N");
  expect_refused({"order", good, "--dim", "n=1", "--dim", "n=2"}, "'n' is given twice");
  expect_refused({"order", good, "--timeout", "-1"}, "--timeout");
  expect_refused({"order", good, "--schedule", "/nonexistent/order"}, "/nonexistent");
  expect_refused({"order", write(directory, "g.txt", "")}, "tell the format");
  expect_refused({"order", write(directory, "e.onnx", "")}, "e.onnx: ");
  expect_refused({"order", directory.path() + "/none.json"}, "cannot be read");
  expect_refused({"order"}, "GRAPH");
}

// x[n, 4] -> Relu -> y, in floats.
std::string onnx_model() {
  return onnx_bytes({.nodes = {{"Relu", "", {"x"}, {"y"}}},
                     .inputs = {{"x", {"n", "4"}}},
                     .weights = {},
                     .outputs = {{"y", {"n", "4"}}}});
}

TEST(Order, ReadsOnnxModelsWithTheirOpenDimensionsSet) {
  const TemporaryDirectory directory;
  const std::string path = write(directory, "g.onnx", onnx_model());
  const Outcome open = run({"order", path});
  if (open.err.find("built without ONNX") != std::string::npos)
    GTEST_SKIP() << "needs ONNX";
  EXPECT_EQ(open.status, 2);
  EXPECT_NE(open.err.find("input 'x': its dimension 0, 'n', is not known; give it with "
                          "--dim n=N"),
            std::string::npos)
      << open.err;
  const Outcome set = run({"order", path, "--dim", "n=8", "--json"});
  ASSERT_EQ(set.status, 0) << set.err;
  EXPECT_EQ(json::parse(set.out)["least_bytes"], 2 * 8 * 4 * 4);
  EXPECT_EQ(run({"order", path, "--dim", "m=8"}).status, 2);
}

// Pairs of random layers that no rule takes apart, with a search beyond any patience.
std::string hard_graph() {
  constexpr int kLayers = 40, kWidth = 30;
  std::string text = "digraph {\n";
  unsigned state = 1;
  const auto draw = [&state](unsigned most) {
    state = state * 1664525U + 1013904223U;
    return (state >> 8) % most;
  };
  for (int layer = 0; layer < kLayers; ++layer) {
    for (int i = 0; i < kWidth; ++i) {
      text += fmt::format("n{}_{} [size={}]\n", layer, i, 1 + draw(1000));
      for (int k = 0; layer > 0 && k < 3; ++k)
        text += fmt::format("n{}_{} -> n{}_{}\n", layer - 1, draw(kWidth), layer, i);
    }
  }
  return text + "}\n";
}

TEST(Order, GivesTheBestSoFarWhenTimeIsOver) {
  const TemporaryDirectory directory;
  const Outcome outcome = run({"order", write(directory, "hard.dot", hard_graph()),
                               "--timeout", "0.2", "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json report = json::parse(outcome.out);
  EXPECT_EQ(report["proved"], false);
  EXPECT_EQ(report["stopped"], true);
  EXPECT_GT(report["gap"], 0.0);
  EXPECT_GT(report["least_bytes"], report["lower_bound_bytes"]);
}

TEST(Order, GivesTheBestSoFarWhenInterrupted) {
  const TemporaryDirectory directory;
  const std::string schedule = directory.path() + "/order";
  const auto outcome =
      run_disturbed({"order", write(directory, "hard.dot", hard_graph()), "--timeout",
                     "100", "--json", "--schedule", schedule},
                    interrupt_search);
  ASSERT_TRUE(outcome.has_value()) << "it was over before it was seen to search";
  ASSERT_EQ(outcome->status, 0) << outcome->err << outcome->signal;
  const json report = json::parse(outcome->out);
  EXPECT_EQ(report["interrupted"], true);
  EXPECT_EQ(report["proved"], false);
  EXPECT_LT(report["search_seconds"], 60.0);
  std::ifstream file(schedule);
  std::string line;
  int lines = 0;
  while (std::getline(file, line)) ++lines;
  EXPECT_EQ(lines, 1200);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::cli_test
