#pragma once

#include <iosfwd>
#include <span>
#include <string>

#include "espalier/model/task_graph.h"

namespace espalier {

/// Reads a computation graph (task_graph.h) from JSON:
///
///   {"tensors": {"x": {"size": 4096}, "y": {"size": 1024}},
///    "ops": [{"name": "conv1", "inputs": ["x"], "outputs": ["y"], "workspace": 64}],
///    "keep": ["y"]}
///
/// - "tensors": the data; size in bytes, an integer that is not negative.
/// - "ops": the operators in the order that the framework would run. All members may be
///   left out: no name, no inputs, no outputs, "workspace" 0 bytes, "work" 0 flops.
/// - "keep", optional: data that stay in memory to the end.
///
/// Members come in any order. What the format does not have is refused, so that a
/// misspelt member is no size of 0. Text is UTF-8.
///
/// @throws FileError with the line for anything else: no JSON, a name twice, a tensor
///         that is used and not declared, or written twice, a value that is negative, no
///         integer or out of range, a cycle, sizes whose sum leaves the 64-bit range,
///         works whose sum is above 1e250; also for a file that cannot be read or holds
///         no operator
/// @par Cost  O(text) time; memory for the graph, not for the text; no recursion
[[nodiscard]] TaskGraph read_graph_json(const std::string& path);
/// The same from a stream; `name` stands for the path in messages.
[[nodiscard]] TaskGraph read_graph_json(std::istream& in, const std::string& name);

/// Reads a graph from the DOT language [GKN15]:
///
///   digraph network {
///     node [workspace=64]             // of all nodes that come after it in the braces
///     conv [size=4096 work="1e6"]
///     relu [size=1024 keep=true]
///     conv -> relu -> {add; "next one"}
///   }
///
/// Every node is an operator that writes one datum of its own name; an edge goes from
/// there to an operator that reads it. Of a node's attributes `size` and `workspace`
/// (bytes, integers), `work` (flops) and `keep` (true or false) count, 0 and false when
/// left out; all others, and those of edges and graphs, are for drawing and skipped, as
/// are ports. Nodes are numbered as they are first named; named again, a node only takes
/// what is new. Identifiers may be quoted, numbers or HTML strings; comments are those of
/// the language. An edge between subgraphs stands for one edge a pair of their nodes, at
/// most 2^24; subgraphs lie at most 10000 deep inside one another.
///
/// @throws FileError with the line for anything else, undirected graphs among it, and as
///         read_graph_json()
/// @par Cost  O(text + edges) time, memory for the graph, no recursion
[[nodiscard]] TaskGraph read_graph_dot(const std::string& path);
[[nodiscard]] TaskGraph read_graph_dot(std::istream& in, const std::string& name);

/// Writes what read_graph_json() reads; the graph that it gives back is the same, except
/// that data without a name get one. A byte that is not UTF-8 is replaced. @throws
/// FileError
void write_graph_json(const std::string& path, const TaskGraph& graph);
void write_graph_json(std::ostream& out, const TaskGraph& graph);

/// Writes what read_graph_dot() reads. Nodes have the names of the operators.
/// @throws InvalidInput for a graph that the format does not have: an operator that does
///         not write one datum, a datum that no operator writes, a name that DOT cannot
///         quote (a backslash before a quote, an end of line or its own end); FileError
void write_graph_dot(const std::string& path, const TaskGraph& graph);
void write_graph_dot(std::ostream& out, const TaskGraph& graph);

/// Writes an order of operators, one name a line; those without a name by their number.
/// @throws FileError, also for a name with an end of line in it
void write_order(const std::string& path, const TaskGraph& graph,
                 std::span<const TaskId> order);

}  // namespace espalier
