// The readers of computation graphs in JSON and DOT.

#include <sstream>

#include "espalier/io/graph_io.h"
#include "espalier/model/error.h"
#include "espalier/model/replay_graph.h"
#include "fuzz/fuzz_target.h"

namespace espalier::fuzz {
namespace {

std::string json(const TaskGraph& graph) {
  std::ostringstream out;
  write_graph_json(out, graph);
  return out.str();
}

void check(const TaskGraph& graph) {
  const Bytes peak = replay(graph, graph.topological_order()).peak;
  require(peak >= graph.initial_bytes() && peak >= graph.final_bytes(),
          "the peak is at least what is there at both ends");
}

void run_json(std::string_view bytes) {
  std::istringstream in{std::string(bytes)};
  const TaskGraph graph = read_graph_json(in, "g");
  check(graph);
  const std::string text = json(graph);
  std::istringstream again(text);
  require(json(read_graph_json(again, "g")) == text, "a graph that is written is read");
}

void run_dot(std::string_view bytes) {
  std::istringstream in{std::string(bytes)};
  const TaskGraph graph = read_graph_dot(in, "g");
  check(graph);
  std::stringstream text;
  write_graph_dot(text, graph);
  const TaskGraph read = read_graph_dot(text, "g");
  require(json(read) == json(graph), "a graph that is written is read");
}

std::vector<std::string> json_seeds() {
  return {
      R"({"tensors": {"x": {"size": 4096}, "y": {"size": 1024}},
 "ops": [{"name": "conv1", "inputs": ["x"], "outputs": ["y"], "workspace": 64}],
 "keep": ["y"]})",
      R"({"ops": [{"name": "a", "outputs": ["x", "y"]}, {"inputs": ["x", "w"], "work": 1e3},
 {"name": "c", "inputs": ["x", "y"], "outputs": ["z"]}],
 "tensors": {"w": {"size": 1}, "x": {"size": 2}, "y": {"size": 0}, "z": {"size": 7}}})"};
}

std::vector<std::string_view> json_words() {
  return {"\"tensors\"", "\"ops\"",     "\"keep\"", "\"size\"",
          "\"inputs\"",  "\"outputs\"", "\"name\"", "\"workspace\"",
          "\"work\"",    "\"x\"",       "\"y\"",    "{",
          "}",           "[",           "]",        ":",
          ",",           "\\u0000",     "-1",       "9223372036854775807",
          "1e308",       "null",        "\n",       "\\"};
}

std::vector<std::string> dot_seeds() {
  return {
      "digraph network {\n  node [workspace=64]  // all\n  conv [size=4096 "
      "work=\"1e6\"]\n"
      "  relu [size=1024 keep=true]\n  conv -> relu -> {add; \"next one\"}\n}\n",
      "# c\nstrict digraph{a:p:ne->{b c}->{d->e; subgraph s {f}} [x=y] /* - */ "
      "rankdir=LR "
      "<h<b>> -> -1.5 \"q\\\"\" + \"r\\\ns\"[size=2,workspace=1;]}"};
}

std::vector<std::string_view> dot_words() {
  return {"digraph", "subgraph",
          "node",    "edge",
          "graph",   "strict",
          "->",      "--",
          "{",       "}",
          "[",       "]",
          "size=",   "workspace=",
          "work=",   "keep=true",
          "\"",      "\\\"",
          "\\",      "/*",
          "*/",      "//",
          "#",       "<",
          ">",       "+",
          "\n",      ";",
          ",",       ":",
          "=",       "a",
          "b",       "9223372036854775807"};
}

}  // namespace

Target graph_json_target() { return {"graph_json", json_seeds, json_words, run_json}; }
Target graph_dot_target() { return {"graph_dot", dot_seeds, dot_words, run_dot}; }

}  // namespace espalier::fuzz
