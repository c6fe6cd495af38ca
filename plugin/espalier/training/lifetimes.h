#pragma once

#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "espalier/model/buffer_set.h"
#include "espalier/model/task_graph.h"

namespace espalier {

/// What a sequential order of a graph asks of a layout.
struct Lifetimes {
  BufferSet buffers;
  /// By buffer: the datum that it holds, or the operator whose workspace it is.
  std::vector<std::variant<DatumId, TaskId>> holds;
  /// By datum: its buffer; nothing for one without bytes.
  std::vector<std::optional<BufferId>> of_datum;
  /// By operator: the buffer of its workspace, if it has one.
  std::vector<std::optional<BufferId>> of_workspace;
};

/// The operator at position k runs during [k, k + 1). A datum is there from its producer
/// on, or from 0, to the end of its last reader, or of everything: memory as replay()
/// counts it, so that the load of the buffers is the peak of the order.
/// @throws InvalidInput when `order` is not each operator once
/// @par Cost  O(operators + data + reads)
[[nodiscard]] Lifetimes lifetimes(const TaskGraph& graph, std::span<const TaskId> order);

/// What a buffer is called in a file: the datum's name, or "OPERATOR/workspace".
[[nodiscard]] std::string buffer_name(const TaskGraph& graph, const Lifetimes& lifetimes,
                                      BufferId buffer);

}  // namespace espalier
