#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "espalier/model/error.h"
#include "espalier/model/task_graph.h"

namespace espalier {

/// Operators that wait for each other.
class CycleError : public InvalidInput {
 public:
  CycleError(const std::string& message, TaskId task)
      : InvalidInput(message), task_(task) {}
  /// One of them.
  [[nodiscard]] TaskId task() const { return task_; }

 private:
  TaskId task_;
};

/// Builds a task graph, item by item, and refuses what is none:
///
///   TaskGraphBuilder builder;
///   const DatumId x = builder.add_datum("x", 4096);
///   const DatumId y = builder.add_datum("y", 1024);
///   const TaskId a = builder.add_task("a", 64);
///   builder.reads(a, x);
///   builder.writes(a, y);
///   builder.keep(y);
///   const TaskGraph graph = std::move(builder).build();
///
/// Ids count from 0 in the order of the calls. A name may be empty: unnamed. The first
/// error is thrown by the call that makes it; only cycles are found by build().
/// @par Cost  amortised O(1) a call; build() O(n + m + reads), and a factor O(log n) when
/// the ids are no topological order
class TaskGraphBuilder {
 public:
  /// @throws InvalidInput  for a negative size or a name that another datum has
  /// @throws OverflowError when the sum of all sizes and workspaces leaves the 64-bit
  ///                       range, so that no sum over the graph needs a check later on
  DatumId add_datum(std::string_view name, Bytes size);

  /// @param workspace  bytes that are in memory only while the operator runs
  /// @throws as add_datum(), InvalidInput for work that is negative or not finite, and
  ///         OverflowError when the sum of all work is above 1e250
  TaskId add_task(std::string_view name, Bytes workspace = 0, Flops work = 0);

  /// Reading a datum twice is reading it once. @throws InvalidInput for an unknown id
  void reads(TaskId task, DatumId datum);
  /// @throws InvalidInput for an unknown id or a datum that has a producer
  void writes(TaskId task, DatumId datum);
  /// The datum stays in memory to the end. @throws InvalidInput for an unknown id
  void keep(DatumId datum);

  [[nodiscard]] std::optional<DatumId> find_datum(std::string_view name) const;
  [[nodiscard]] std::optional<TaskId> find_task(std::string_view name) const;

  /// @throws CycleError, naming an operator on the cycle
  [[nodiscard]] TaskGraph build() &&;

 private:
  void check(TaskId task) const;
  void check(DatumId datum) const;
  void list_inputs();
  void list_outputs();
  void list_consumers();
  void sum_sizes();

  TaskGraph graph_;
  std::vector<std::pair<TaskId, DatumId>> reads_;
  Bytes total_ = 0;
  Flops total_work_ = 0;
};

}  // namespace espalier
