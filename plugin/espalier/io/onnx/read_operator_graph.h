#pragma once

#include <iosfwd>
#include <string>

#include "espalier/io/onnx/read_graph_onnx.h"
#include "espalier/model/operator_graph.h"

namespace espalier {

/// Reads an ONNX model with all that running it needs, the graph of operators at its top
/// level. read_graph_onnx() is what it says of sizes and orders.
///
/// - Operators keep types, domains, attributes and the positions of inputs and outputs.
///   Constants are no operators: what they hold are tensors of role kConstant.
/// - Initializers are kConstant, too: which of them are parameters is the question of
///   training (fold_constants.h). Their values are shared, not copied, and external data
///   are read from their file when somebody wants them.
/// - Tensors come in the order initializers, sparse initializers, inputs, then what the
///   nodes write. Those that the model gives out are kept, weights as the options say.
///
/// @throws as read_graph_onnx(), but for cycles
[[nodiscard]] OperatorGraph read_operator_graph(const std::string& path,
                                                const OnnxOptions& options = {});
/// The same from a stream; `name` stands for the path in messages.
[[nodiscard]] OperatorGraph read_operator_graph(std::istream& in, const std::string& name,
                                                const OnnxOptions& options = {});

}  // namespace espalier
