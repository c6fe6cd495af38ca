#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/model/id_vector.h"
#include "espalier/model/name_table.h"
#include "espalier/model/task_tree.h"
#include "espalier/model/units.h"

namespace espalier {

/// Index of a datum in its graph: 0 … m-1.
enum class DatumId : std::int32_t {};

[[nodiscard]] constexpr DatumId datum_id(std::size_t position) {
  return static_cast<DatumId>(position);
}

/// A computation graph: operators that read and write data, without cycles.
///
/// A datum has a size, counted once, one producer or none, and any number of readers.
///   - Without a producer it is in memory from the start; otherwise from the start of its
///     producer on.
///   - It is freed when its last reader has ended (its producer, when nothing reads it);
///     a datum that is kept, and one that nothing writes or reads, stays to the end.
///   - While an operator runs, its inputs, its outputs and its workspace are in memory.
///
///      x (5, from the start)        memory before 'a':      5
///        |                          while 'a' runs:         5 + 2 + 1 = 8
///      a (workspace 1) --> y (2)    after 'a', x is freed:  2
///        y --> b --> z (3, kept)    while 'b' runs: 2 + 3,  at the end: 3
///
/// A task tree is the case of one reader a datum. Operators are tasks: ids of both start
/// at 0 and follow the order in which they were added (graph_builder.h), the order that
/// the framework would run. Immutable once built, and without answers.
class TaskGraph {
 public:
  /// The graph without operators and data.
  TaskGraph() = default;

  [[nodiscard]] std::size_t size() const { return workspace_.size(); }
  [[nodiscard]] bool empty() const { return workspace_.empty(); }
  [[nodiscard]] std::size_t data() const { return size_.size(); }

  /// Empty: unnamed.
  [[nodiscard]] std::string_view name(TaskId task) const {
    return task_names_.name(index(task));
  }
  [[nodiscard]] std::string_view name(DatumId datum) const {
    return datum_names_.name(index(datum));
  }
  [[nodiscard]] Bytes workspace(TaskId task) const { return workspace_[index(task)]; }
  [[nodiscard]] Flops work(TaskId task) const { return work_[index(task)]; }
  /// What the operator reads, each datum once, in the order given.
  [[nodiscard]] std::span<const DatumId> inputs(TaskId task) const {
    return list(inputs_, first_input_, index(task));
  }
  [[nodiscard]] std::span<const DatumId> outputs(TaskId task) const {
    return list(outputs_, first_output_, index(task));
  }

  [[nodiscard]] Bytes size(DatumId datum) const { return size_[index(datum)]; }
  [[nodiscard]] bool kept(DatumId datum) const { return kept_[index(datum)]; }
  [[nodiscard]] std::optional<TaskId> producer(DatumId datum) const {
    const std::int32_t task = producer_[index(datum)];
    return task < 0 ? std::nullopt : std::optional(static_cast<TaskId>(task));
  }
  /// Its readers, by increasing id.
  [[nodiscard]] std::span<const TaskId> consumers(DatumId datum) const {
    return list(consumers_, first_consumer_, index(datum));
  }
  /// Whether it is still in memory when all operators have run.
  [[nodiscard]] bool stays(DatumId datum) const {
    return kept(datum) || (producer_[index(datum)] < 0 && consumers(datum).empty());
  }

  /// Bytes of the data without a producer: in memory before anything runs.
  [[nodiscard]] Bytes initial_bytes() const { return initial_bytes_; }
  /// Bytes of the data that stay: in memory when all operators have run.
  [[nodiscard]] Bytes final_bytes() const { return final_bytes_; }
  /// Bytes of inputs, outputs and workspace: what the operator needs all on its own.
  [[nodiscard]] Bytes memory_requirement(TaskId task) const;

  /// Every operator once, after those that write what it reads: the order of the ids when
  /// that is one, else of all such orders the first one, comparing ids.
  [[nodiscard]] std::span<const TaskId> topological_order() const { return order_; }

 private:
  friend class TaskGraphBuilder;

  template <class T>
  static std::span<const T> list(const std::vector<T>& items,
                                 const std::vector<std::size_t>& first, std::size_t i) {
    return std::span(items).subspan(first[i], first[i + 1] - first[i]);
  }

  NameTable task_names_, datum_names_;
  std::vector<Bytes> workspace_, size_;
  std::vector<Flops> work_;
  std::vector<bool> kept_;
  std::vector<std::int32_t> producer_;                                    // -1: none
  std::vector<std::size_t> first_input_, first_output_, first_consumer_;  // offsets
  std::vector<DatumId> inputs_, outputs_;
  std::vector<TaskId> consumers_, order_;
  Bytes initial_bytes_ = 0, final_bytes_ = 0;
};

/// "operator 'conv1'", or "operator 7" when it has no name.
[[nodiscard]] std::string label(const TaskGraph& graph, TaskId task);
/// "datum 'weights'", or "datum 7" when it has no name.
[[nodiscard]] std::string label(const TaskGraph& graph, DatumId datum);

}  // namespace espalier
