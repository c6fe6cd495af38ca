#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "espalier/sequential/series_parallel/two_terminal.h"

namespace espalier {

/// A directed acyclic graph of tasks with sizes on its arcs [KLMU18]: every arc is a
/// buffer of its own, from the start of the task that writes it to the end of the one
/// task that reads it.
///
/// While task i runs, memory holds the arcs that enter it, execution_size(i), the arcs
/// that leave it, and every other arc that a finished task wrote and an unfinished one
/// will read. Not to be mixed with a task graph (task_graph.h), where a datum with many
/// readers is counted once; the two agree where each datum has one reader.
///
///   0 --4--> 1 --1--> 3     before 1 and 2:       4 + 5 = 9
///   0 --5--> 2 --2--> 3     while 1 runs first:   9 + 1 = 10
///
/// Several arcs may join the same two tasks. Immutable once built.
class EdgeWeightedDag {
 public:
  EdgeWeightedDag() = default;

  /// @param execution_sizes  a task each, bytes that are needed only while it runs
  /// @param arcs, arc_sizes  of the same length
  /// @throws InvalidInput  for an end out of range, a cycle (names a task on it), lengths
  ///                       that differ, a negative size; the message names the item
  /// @throws OverflowError when the sum of all sizes leaves the 64-bit range
  /// @par Cost  O(tasks + arcs)
  EdgeWeightedDag(std::span<const Bytes> execution_sizes, std::span<const Arc> arcs,
                  std::span<const Bytes> arc_sizes);

  [[nodiscard]] std::size_t size() const { return execution_.size(); }
  [[nodiscard]] bool empty() const { return execution_.empty(); }
  [[nodiscard]] std::span<const Arc> arcs() const { return arcs_; }
  [[nodiscard]] Bytes arc_size(std::size_t arc) const { return arc_size_[arc]; }
  [[nodiscard]] Bytes execution_size(TaskId task) const {
    return execution_[index(task)];
  }
  /// Sum of the arcs that enter.
  [[nodiscard]] Bytes input_size(TaskId task) const { return input_[index(task)]; }
  /// Sum of the arcs that leave.
  [[nodiscard]] Bytes output_size(TaskId task) const { return output_[index(task)]; }

 private:
  void check_cycles() const;

  std::vector<Bytes> execution_, arc_size_, input_, output_;
  std::vector<Arc> arcs_;
};

}  // namespace espalier
