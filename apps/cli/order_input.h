#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "cli/cli_types.h"
#include "espalier/model/operator_graph.h"
#include "espalier/model/task_graph.h"

namespace espalier::cli {

/// A file with a computation graph, and what its reading depends on.
struct GraphSource {
  std::string file;
  std::map<std::string, std::int64_t>
      dimensions;                     ///< of ONNX models: values of open ones
  bool free_weights = false;          ///< of ONNX models: each after its last reader
  std::optional<std::int64_t> batch;  ///< of ONNX models and transformers
  std::string transformer;            ///< instead of a file
};

/// A file by its place, whose name and help are given, --transformer, --batch and --dim.
void add_model(CLI::App& app, GraphSource& source, const std::string& place,
               const std::string& help);

/// The same with the argument GRAPH, and --free-weights.
void add_graph(CLI::App& app, GraphSource& source);

/// What can be told before anything is read. @throws Refused
void check(const GraphSource& source);

/// Whether the operators are known, not only sizes: by the name of the file.
[[nodiscard]] bool is_model(const GraphSource& source);

/// Reads the graph in the format that the name's ending says, in any case: .onnx, .json,
/// .dot or .gv.
/// @throws FileError as the readers, for another ending, and for ONNX where it was not
///         built
/// @pre check() passes
[[nodiscard]] TaskGraph read_graph(const GraphSource& source);

/// What is read, for people.
[[nodiscard]] std::string title(const GraphSource& source);

/// The operators of an ONNX model or of a transformer.
/// @throws FileError as read_graph(), and for a format without operators
[[nodiscard]] OperatorGraph read_model(const GraphSource& source);

}  // namespace espalier::cli
