#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <map>
#include <string>

#include "espalier/model/task_graph.h"

namespace espalier::cli {

/// A file with a computation graph, and what its reading depends on.
struct GraphSource {
  std::string file;
  std::map<std::string, std::int64_t>
      dimensions;             ///< of ONNX models: values of open ones
  bool free_weights = false;  ///< of ONNX models: each after its last reader
};

/// The argument GRAPH, --dim and --free-weights.
void add_graph(CLI::App& app, GraphSource& source);

/// Reads the graph in the format that the name's ending says, in any case: .onnx, .json,
/// .dot or .gv.
/// @throws FileError as the readers, for another ending, for options that the format does
///         not have, and for ONNX where it was not built
[[nodiscard]] TaskGraph read_graph(const GraphSource& source);

}  // namespace espalier::cli
