#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <sstream>

#include "espalier/io/graph_io.h"
#include "espalier/model/error.h"
#include "espalier/model/graph_builder.h"
#include "support/describe_graph.h"
#include "support/error_message.h"

namespace espalier {
namespace TEST_SOURCE {

using support::describe_named;

TaskGraph from_dot(const std::string& text) {
  std::istringstream in(text);
  return read_graph_dot(in, "g");
}

std::string dot_error(const std::string& text) {
  return support::error_message<FileError>([&] { return from_dot(text); });
}

std::string to_dot(const TaskGraph& graph) {
  std::ostringstream out;
  write_graph_dot(out, graph);
  return out.str();
}

// What each node reads: "a(b c) …" for b -> a and c -> a.
std::string edges(const std::string& text) {
  const TaskGraph graph = from_dot(text);
  std::string list;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    list += fmt::format("{}{}(", i == 0 ? "" : " ", graph.name(task_id(i)));
    for (const DatumId datum : graph.inputs(task_id(i)))
      list += fmt::format("{}{}", list.back() == '(' ? "" : " ", graph.name(datum));
    list += ')';
  }
  return list;
}

TEST(ReadGraphDot, ReadsTheExampleOfItsHeader) {
  EXPECT_EQ(
      describe_named(from_dot("digraph network {\n"
                              "  node [workspace=64]  // of all that come after it\n"
                              "  conv [size=4096 work=\"1e6\"]\n"
                              "  relu [size=1024 keep=true]\n"
                              "  conv -> relu -> {add; \"next one\"}\n"
                              "}\n")),
      "conv 4096\nrelu 1024 kept\nadd 0\nnext one 0\n"
      "conv 64 1000000: -> conv\nrelu 64 0: conv -> relu\n"
      "add 64 0: relu -> add\nnext one 64 0: relu -> next one\n");
}

TEST(ReadGraphDot, ReadsChainsPortsAndSubgraphs) {
  EXPECT_EQ(edges("digraph{a->b->c}"), "a() b(a) c(b)");
  EXPECT_EQ(edges("strict digraph x{a->b a->b;;a}"), "a() b(a)");
  EXPECT_EQ(edges("digraph{a:p:ne->b:q}"), "a() b(a)");
  EXPECT_EQ(edges("digraph{{a b}->c}"), "a() b() c(a b)");
  EXPECT_EQ(edges("digraph{a->{b c}->{d->e}->f}"),
            "a() b(a) c(a) d(b c) e(d b c) f(d e)");
  EXPECT_EQ(edges("digraph{subgraph s{a; subgraph{b{c}}}->d}"), "a() b() c() d(a b c)");
  EXPECT_EQ(edges("digraph{a->{}->b}"), "a() b()");
  EXPECT_EQ(edges("digraph{a->{b->{c d}} e}"), "a() b(a) c(b a) d(b a) e()");
}

TEST(ReadGraphDot, ReadsEveryKindOfIdentifier) {
  EXPECT_EQ(edges("digraph{-1.5->.5->7->_x\xC3\xA9->\"a b\"}"),
            "-1.5() .5(-1.5) 7(.5) _x\xC3\xA9(7) a b(_x\xC3\xA9)");
  EXPECT_EQ(edges("digraph{\"a\\\"b\\\\\" -> \"c\\n\" -> \"d\\\ne\" -> \"f\" + \"g\"}"),
            "a\"b\\\\() c\\n(a\"b\\\\) de(c\\n) fg(de)");
  EXPECT_EQ(edges("digraph{<b>-><<i>x</i>>}"), "b() <i>x</i>(b)");
  EXPECT_EQ(edges("DiGraph{\"node\"->\"graph\"}"), "node() graph(node)");
}

TEST(ReadGraphDot, SkipsCommentsAndWhatIsForDrawing) {
  EXPECT_EQ(edges("# 1 \"file\"\n/* a -> b * / **/digraph{rankdir=LR//x\n"
                  "size=\"7,5\" graph[size=\"7,5\"]edge[size=x;weight=2,]\n"
                  "a[label=<<b>a</b>>,shape=box][color=red]a->b[size=y]}"
                  "\n# the end"),
            "a() b(a)");
}

TEST(ReadGraphDot, DefaultsHoldInsideTheirBracesForNodesToCome) {
  const TaskGraph graph = from_dot(
      "digraph{a node[size=1]b{node[size=2 keep=true]c a}d node[size=3]b e[keep=false]}");
  EXPECT_EQ(describe_named(graph).substr(0, 25), "a 0\nb 1\nc 2 kept\nd 1\ne 3\n");
}

TEST(ReadGraphDot, NamesTheLineOfEveryFault) {
  const auto inside = [](const std::string& text) {
    return dot_error("digraph {\n" + text + "}");
  };
  EXPECT_EQ(dot_error(""), "g: is empty");
  EXPECT_EQ(dot_error("digraph {}"), "g: holds no operator");
  EXPECT_EQ(dot_error("graph {}"), "g:1: is an undirected graph; a digraph is needed");
  EXPECT_EQ(dot_error("strict {}"), "g:1: '{' where 'digraph' was expected");
  EXPECT_EQ(dot_error("digraph {a} b"),
            "g:1: 'b' where the end of the file was expected");
  EXPECT_EQ(dot_error("digraph {a\n"),
            "g:1: the end of the file where a statement or '}' was expected");
  EXPECT_EQ(inside("a -- b"), "g:2: '--' is an edge without a direction");
  EXPECT_EQ(inside("a ->\n"), "g:3: '}' where a node or a subgraph was expected");
  EXPECT_EQ(inside("a -> ;"), "g:2: ';' where a node or a subgraph was expected");
  EXPECT_EQ(inside("a [size]"), "g:2: ']' where '=' was expected");
  EXPECT_EQ(inside("a [size="), "g:2: '}' where a value was expected");
  EXPECT_EQ(inside("{a} [size=4]"), "g:2: '[' where a statement or '}' was expected");
  EXPECT_EQ(inside("node"), "g:2: '}' where '[' was expected");
  EXPECT_EQ(inside("subgraph a"), "g:2: '}' where '{' was expected");
  EXPECT_EQ(inside("a ! b"), "g:2: '!' is not of the DOT language");
  EXPECT_EQ(inside("a / b"), "g:2: '/' begins no comment");
  EXPECT_EQ(inside("\"a\" + b"), "g:2: '+' is not followed by a quoted string");
  EXPECT_EQ(inside("1e6"),
            "g:2: number '1' runs into a letter; names and numbers such as \"1e6\" need "
            "quotes");
  EXPECT_EQ(inside("-a"), "g:2: '-' is not a number");
  EXPECT_EQ(inside("\"a\n\n"), "g:2: the string does not end");
  EXPECT_EQ(inside("<a\n\n"), "g:2: the HTML string does not end");
  EXPECT_EQ(inside("\n/* a\n"), "g:3: the comment does not end");
  EXPECT_EQ(inside("\"\""), "g:2: a node has no name");
}

TEST(ReadGraphDot, NamesTheValueOfEveryFault) {
  const auto attribute = [](const std::string& text) {
    return dot_error("digraph {\na [" + text + "]}");
  };
  EXPECT_EQ(attribute("size=-4"), "g:2: size '-4' is negative");
  EXPECT_EQ(attribute("size=4.5"), "g:2: size '4.5' is not an integer");
  EXPECT_EQ(attribute("size=\"\""), "g:2: size '' is not an integer");
  EXPECT_EQ(attribute("size=9223372036854775808"),
            "g:2: size '9223372036854775808' is out of range");
  EXPECT_EQ(attribute("workspace=x"), "g:2: workspace 'x' is not an integer");
  EXPECT_EQ(attribute("work=nan"), "g:2: work 'nan' is not a number");
  EXPECT_EQ(attribute("work=\"1e999\""), "g:2: work '1e999' is out of range");
  EXPECT_EQ(attribute("keep=1"), "g:2: keep '1' is neither true nor false");
}

TEST(ReadGraphDot, RefusesCyclesAndSumsBeyondTheRange) {
  EXPECT_EQ(dot_error("digraph {\na -> b\nb -> a}"),
            "g:2: operator 'a' waits for its own output: the graph has a cycle");
  EXPECT_EQ(dot_error("digraph {\n\na -> a}"),
            "g:3: operator 'a' waits for its own output: the graph has a cycle");
  EXPECT_EQ(dot_error("digraph {a [size=9223372036854775807]\nb [size=1]}"),
            "g:2: the sum of all sizes leaves the 64-bit range");
}

TEST(ReadGraphDot, NeedsNoStackForDeepNesting) {
  const std::string most(10'000, '{'), closed(10'000, '}');
  EXPECT_EQ(edges("digraph" + most + "a" + closed), "a()");
  EXPECT_EQ(dot_error("digraph" + std::string(1'000'000, '{')),
            "g:1: more than 10000 subgraphs inside one another");
  EXPECT_EQ(
      edges("digraph{" + std::string(1'000'000, '<') + std::string(1'000'000, '>') + "}")
          .size(),
      2 * 999'999 + 2);
}

TEST(ReadGraphDot, RefusesEdgesThatStandForTooMany) {
  std::string nodes;
  for (int i = 0; i < 5000; ++i) nodes += fmt::format("n{} ", i);
  EXPECT_EQ(dot_error("digraph {{" + nodes + "}->{" + nodes + "}}"),
            "g:1: an edge between subgraphs of 5000 and 5000 nodes stands for more than "
            "16777216 edges");
}

TEST(WriteGraphDot, GivesBackWhatWasRead) {
  std::mt19937 random(37);
  const auto draw = [&](int last) {
    return std::uniform_int_distribution<int>(0, last)(random);
  };
  const std::vector<std::string> letters = {"a",   "b", " ", "\"", "\\\\",
                                            "\\n", "{", "<", "\n", "\xC3\xA9"};
  for (int instance = 0; instance < 2000; ++instance) {
    TaskGraphBuilder builder;
    for (int i = 0; i <= draw(9); ++i) {
      const std::string name =
          fmt::format("{}{}{}", letters[draw(9)], i, letters[draw(9)]);
      const TaskId task = builder.add_task(name, draw(3), draw(3) * 0.1);
      const DatumId datum = builder.add_datum(name, draw(9));
      builder.writes(task, datum);
      if (draw(4) == 0) builder.keep(datum);
      for (int k = draw(2); k > 0 && i > 0; --k)
        builder.reads(task, datum_id(static_cast<std::size_t>(draw(i - 1))));
    }
    const TaskGraph graph = std::move(builder).build();
    const std::string text = to_dot(graph);
    EXPECT_EQ(describe_named(from_dot(text)), describe_named(graph)) << text;
  }
}

TEST(WriteGraphDot, RefusesWhatTheFormatDoesNotHave) {
  const auto refusal = [](TaskGraphBuilder&& builder) -> std::string {
    return support::error_message<InvalidInput>(
        [&] { return to_dot(std::move(builder).build()); });
  };
  TaskGraphBuilder no_output, no_producer, bad_name;
  (void)no_output.add_task("a");
  EXPECT_EQ(refusal(std::move(no_output)),
            "operator 'a' writes 0 data; in DOT every node writes one");
  (void)no_producer.add_datum("x", 1);
  EXPECT_EQ(refusal(std::move(no_producer)),
            "datum 'x' has no producer; in DOT a node writes every datum");
  bad_name.writes(bad_name.add_task("a\\"), bad_name.add_datum("x", 1));
  EXPECT_EQ(refusal(std::move(bad_name)), "'a\\': DOT has no way to write the name");
}

}  // namespace TEST_SOURCE
}  // namespace espalier
