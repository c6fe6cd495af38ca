#include "espalier/io/graph_io.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>

#include "espalier/model/error.h"
#include "espalier/model/graph_builder.h"
#include "espalier/model/replay_graph.h"
#include "support/describe_graph.h"
#include "support/error_message.h"
#include "support/random_graphs.h"

namespace espalier {
namespace TEST_SOURCE {

using support::describe_named;

TaskGraph from_json(const std::string& text) {
  std::istringstream in(text);
  return read_graph_json(in, "g");
}

std::string json_error(const std::string& text) {
  return support::error_message<FileError>([&] { return from_json(text); });
}

std::string to_json(const TaskGraph& graph) {
  std::ostringstream out;
  write_graph_json(out, graph);
  return out.str();
}

// One operator with these members beside {"x", "y"}; the operator is on line 2.
std::string with_operator(const std::string& members) {
  return "{\"tensors\": {\"x\": {\"size\": 4}, \"y\": {\"size\": 2}},\n \"ops\": [{" +
         members + "}]}";
}

TEST(ReadGraphJson, ReadsTheExampleOfItsHeader) {
  const TaskGraph graph = from_json(
      R"({"tensors": {"x": {"size": 4096}, "y": {"size": 1024}},
          "ops": [{"name": "conv1", "inputs": ["x"], "outputs": ["y"],
                   "workspace": 64}],
          "keep": ["y"]})");
  EXPECT_EQ(describe_named(graph), "x 4096\ny 1024 kept\nconv1 64 0: x -> y\n");
  EXPECT_EQ(replay(graph, graph.topological_order()).peak, 4096 + 1024 + 64);
}

TEST(ReadGraphJson, TakesMembersInAnyOrderAndUnnamedOperators) {
  const TaskGraph graph = from_json(
      "\xEF\xBB\xBF"
      R"({"keep": ["y"], "ops": [{"outputs": ["y"], "work": 1.5e6, "inputs": ["x", "x"]},
          {}], "tensors": {"x": {"size": 1}, "y": {"size": 9223372036854775806}}})");
  EXPECT_EQ(describe_named(graph),
            "y 9223372036854775806 kept\nx 1\n 0 1500000: x -> y\n"
            " 0 0: -> \n");
}

TEST(ReadGraphJson, NamesTheLineOfWhatIsNoJson) {
  EXPECT_EQ(json_error(""), "g: is empty");
  EXPECT_EQ(json_error("{\"tensors\": {},\n\"ops\": [\n"),
            "g:2: syntax error while parsing value - unexpected end of input; expected "
            "'[', '{', or a literal");
  EXPECT_EQ(json_error("{}\n}"),
            "g:2: syntax error while parsing value - unexpected '}'; expected end of "
            "input");
  EXPECT_NE(json_error("{\"tensors\": {\"\xff\": 1}}").find("ill-formed UTF-8"),
            std::string::npos);
  EXPECT_NE(json_error(with_operator("\"work\": 1e999")).find("1e999"),
            std::string::npos);
}

TEST(ReadGraphJson, RefusesWhatTheFormatDoesNotHave) {
  EXPECT_EQ(json_error("[]"), "g:1: the graph: an array is not what belongs here");
  EXPECT_EQ(json_error("7"), "g:1: the graph: 7 is not what belongs here");
  EXPECT_EQ(json_error("{\n\"tensor\": {}}"),
            "g:2: member 'tensor' is not one of tensors, ops, keep");
  EXPECT_EQ(json_error("{\"tensors\": []}"),
            "g:1: 'tensors': an array is not what belongs here");
  EXPECT_EQ(json_error("{\"tensors\": {}, \"tensors\": {}}"),
            "g:1: 'tensors' is given twice");
  EXPECT_EQ(json_error("{\"tensors\": {\"x\": 4}}"),
            "g:1: tensor 'x': 4 is not what belongs here");
  EXPECT_EQ(json_error("{\"tensors\": {\"x\": {\"size\": {}}}}"),
            "g:1: tensor 'x': size: an object is not what belongs here");
  EXPECT_EQ(json_error("{\"ops\": [null]}"), "g:1: ops: null is not what belongs here");
  EXPECT_EQ(json_error(with_operator("\"worksapce\": 4")),
            "g:2: member 'worksapce' is not one of name, inputs, outputs, workspace, "
            "work");
  EXPECT_EQ(json_error(with_operator("\"name\": \"a\", \"inputs\": [\"x\", 1]")),
            "g:2: operator 'a': inputs: 1 is not what belongs here");
  EXPECT_EQ(json_error(with_operator("\"inputs\": [[]]")),
            "g:2: an operator's inputs: an array is not what belongs here");
}

TEST(ReadGraphJson, NamesTheLineAndTheValueOfEveryFault) {
  EXPECT_EQ(json_error("{\"tensors\": {\"x\": {\"size\":\n-4\n}}}"),
            "g:2: tensor 'x': size: -4 is negative");
  EXPECT_EQ(json_error("{\"tensors\": {\"x\": {\"size\": 4.5}}}"),
            "g:1: tensor 'x': size: 4.5 is not an integer");
  EXPECT_EQ(json_error("{\"tensors\": {\"x\": {\"size\": 9223372036854775808}}}"),
            "g:1: tensor 'x': size: 9223372036854775808 is out of range");
  EXPECT_EQ(json_error("{\"tensors\": {\"x\": {\"size\": 99999999999999999999}}}"),
            "g:1: tensor 'x': size: 99999999999999999999 is out of range");
  EXPECT_EQ(json_error("{\"tensors\": {\"x\": {}\n}}"), "g:1: tensor 'x' has no size");
  EXPECT_EQ(json_error("{\"tensors\": {\"x\": {\"size\": 1},\n\"x\": {\"size\": 1}}}"),
            "g:2: tensor 'x' is that of line 1 already");
  EXPECT_EQ(json_error(with_operator("\"workspace\": -1")),
            "g:2: an operator's workspace: -1 is negative");
  EXPECT_EQ(json_error(with_operator("\"work\": -0.5")),
            "g:2: an operator's work: -0.5 is negative");
  EXPECT_EQ(json_error(with_operator("\"inputs\": [\"\"]")),
            "g:2: an operator's inputs: a tensor has no name");
  EXPECT_EQ(json_error(with_operator("\"inputs\": [\"z\"]")),
            "g:2: tensor 'z' is used, but not among the tensors");
  EXPECT_EQ(json_error(with_operator("\"name\": \"a\"},\n{\"name\": \"a\"")),
            "g:3: operator 'a' is that of line 2 already");
  EXPECT_EQ(json_error(with_operator("\"name\": \"a\", \"outputs\": [\"y\"]},\n"
                                     "{\"name\": \"b\", \"outputs\": [\"y\"]")),
            "g:3: datum 'y' is written by operator 'a' and by operator 'b'");
  EXPECT_EQ(json_error(with_operator("\"inputs\": [\"x\"], \"outputs\": [\"y\"]},\n"
                                     "{\"name\": \"b\", \"inputs\": [\"y\"], "
                                     "\"outputs\": [\"x\"]")),
            "g:2: operator 0 waits for its own output: the graph has a cycle");
  EXPECT_EQ(json_error("{\"tensors\": {}, \"ops\": []}"), "g: holds no operator");
}

TEST(ReadGraphJson, RefusesSumsBeyondTheRange) {
  EXPECT_EQ(json_error("{\"tensors\": {\"x\": {\"size\": 9223372036854775807},\n"
                       "\"y\": {\"size\": 1}}, \"ops\": [{}]}"),
            "g:2: the sum of all sizes leaves the 64-bit range");
  EXPECT_EQ(json_error(with_operator("\"workspace\": 9223372036854775802")),
            "g:2: the sum of all sizes leaves the 64-bit range");
  EXPECT_EQ(json_error(with_operator("\"work\": 1e308")),
            "g:2: the sum of all work is above 1e+250");
}

TEST(ReadGraphJson, CutsLongNamesInMessages) {
  const std::string name(5'000'000, 'a');
  EXPECT_LT(json_error("{\"" + name + "\": 1}").size(), 200);
  EXPECT_LT(json_error("{\"tensors\": \"" + name).size(), 400);
}

TEST(ReadGraphJson, NeedsNoStackForDeepNesting) {
  EXPECT_EQ(json_error(std::string(1'000'000, '[')),
            "g:1: the graph: an array is not what belongs here");
}

TEST(ReadGraphJson, ReadsATruncatedFileAsAnError) {
  const std::string text = to_json(from_json(with_operator(
      "\"name\": \"a\", \"inputs\": [\"x\"], \"outputs\": [\"y\"], \"workspace\": 12")));
  for (std::size_t length = 0; length + 2 < text.size(); ++length)
    EXPECT_NE(json_error(text.substr(0, length)), "no error") << length;
}

TEST(ReadGraphJson, RefusesFilesThatCannotBeRead) {
  EXPECT_THROW((void)read_graph_json("/nonexistent/graph"), FileError);
  EXPECT_THROW((void)read_graph_json("/"), FileError);
}

TEST(WriteGraphJson, GivesBackWhatWasRead) {
  std::mt19937 random(31);
  for (int instance = 0; instance < 2000; ++instance) {
    const TaskGraph graph = support::random_graph(
        random, {.tasks = 1 + static_cast<std::size_t>(instance) % 12});
    const std::string text = to_json(graph);  // data without names get some
    const TaskGraph read = from_json(text);
    EXPECT_EQ(support::describe(read), support::describe(graph)) << text;
    EXPECT_EQ(to_json(read), text);
  }
}

TEST(WriteGraphJson, KeepsEveryName) {
  TaskGraphBuilder builder;
  (void)builder.add_datum("", 1);
  (void)builder.add_datum("#0", 2);
  (void)builder.add_datum("a\n\"b\\\t", 3);
  (void)builder.add_task("\xC3\xA9\x01");
  const TaskGraph graph = std::move(builder).build();
  EXPECT_EQ(describe_named(from_json(to_json(graph))),
            "#0# 1\n#0 2\na\n\"b\\\t 3\n\xC3\xA9\x01 0 0: -> \n");
}

TEST(WriteGraphJson, WritesLargeGraphs) {
  TaskGraphBuilder builder;
  for (std::size_t i = 0; i < 200'000; ++i) {
    builder.writes(builder.add_task(fmt::format("task{}", i)),
                   builder.add_datum(fmt::format("datum{}", i), 1 << 20));
    if (i > 0) builder.reads(task_id(i), datum_id(i - 1));
  }
  const TaskGraph graph = std::move(builder).build();
  EXPECT_TRUE(describe_named(from_json(to_json(graph))) == describe_named(graph));
}

TEST(WriteGraphJson, RefusesAPathThatCannotBeWritten) {
  EXPECT_THROW(write_graph_json("/nonexistent/graph", TaskGraph()), FileError);
}

TEST(WriteOrder, WritesOneNameALine) {
  TaskGraphBuilder builder;
  (void)builder.add_task("first");
  (void)builder.add_task("");
  const TaskGraph graph = std::move(builder).build();
  const std::string path = testing::TempDir() + "espalier_graph_order";
  write_order(path, graph, std::vector<TaskId>{task_id(1), task_id(0)});
  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "1\nfirst\n");
  std::remove(path.c_str());

  TaskGraphBuilder two_lines;
  (void)two_lines.add_task("a\nb");
  EXPECT_THROW(write_order("/dev/null", std::move(two_lines).build(),
                           std::vector<TaskId>{task_id(0)}),
               FileError);
}

}  // namespace TEST_SOURCE
}  // namespace espalier
