#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>

#include "espalier/model/task_graph.h"

namespace espalier {

struct OnnxOptions {
  /// The first extent of the inputs, whatever the model says (set_batch.h).
  std::optional<std::int64_t> batch = {};
  /// Values of dimensions that the model leaves open: by the dimension's name, "batch",
  /// or by tensor and axis from 0, "boxes:1". Not negative.
  std::map<std::string, std::int64_t> dimensions = {};
  /// Initializers and constants stay in memory to the end, for the next run; else each is
  /// freed after its last reader.
  bool keep_weights = true;
};

/// Reads the computation graph of an ONNX model, the graph of operators at its top level.
///
/// - An operator is a node, in the order of the file. Its name is the node's, or made of
///   type and number ("Conv_3") where the node has none or one that was there before. It
///   has no workspace and no work: the format does not tell.
/// - Constants are no operators: what they hold is in memory from the start, as are graph
///   inputs and initializers. Graph outputs are kept.
/// - Sizes are those of dense tensors: the product of the dimensions, times the size of
///   an element, 4-bit elements two a byte. Shapes come from the model and from the
///   shape inference of the onnx library. A sparse initializer is its values and indices.
/// - If, Loop, Scan and all others with graphs inside are one operator, which reads what
///   the graphs inside take from outside; memory that they need inside is not counted.
/// - Views such as those of Reshape and Identity are counted as copies.
///
/// The library runs in a child process, so that its crash is a FileError; the caller has
/// to be allowed to fork.
///
/// Weights are not needed: external data are not opened.
///
/// @throws FileError naming the tensor and its operator for a shape that stays unknown
///         (and what to set), strings, sequences and other values that are no tensor, a
///         tensor that is read and never written or that is written twice, a cycle, a
///         size or a sum of sizes beyond 2^63 - 1; also for a file that is no model, and
///         for `dimensions` that the model does not have
/// @par Cost  that of the onnx library; the file is held in memory (at most 2 GiB)
[[nodiscard]] TaskGraph read_graph_onnx(const std::string& path,
                                        const OnnxOptions& options = {});
/// The same from a stream; `name` stands for the path in messages.
[[nodiscard]] TaskGraph read_graph_onnx(std::istream& in, const std::string& name,
                                        const OnnxOptions& options = {});

}  // namespace espalier
