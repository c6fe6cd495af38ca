#pragma once

#include <optional>
#include <span>
#include <vector>

#include "espalier/model/task_tree.h"

namespace espalier {

/// What is in memory while a sequential order of a tree is at its peak: every byte once,
/// by what it is and by what it waits for.
///
///      root (f=1 m=1)          order a, b, root: at the peak b runs,
///      /            \            execution 4, output 3          of b itself
///   a (f=2 m=0)   b (f=3 m=4)    waiting {root: a, 2 bytes}     9 in all
///
/// Symbols as in TaskTree: f output, m execution, r retained.
struct PeakParts {
  /// Outputs of tasks that have ended, which one task has yet to read.
  struct Waiting {
    std::optional<TaskId> reader;  ///< none: outputs of roots, kept to the end
    std::vector<TaskId> outputs;   ///< in the order in which they came about
    Bytes bytes = 0;               ///< sum of their f
  };
  TaskId task{};          ///< runs at the peak: the first to reach it
  Bytes execution = 0;    ///< its m; may be negative
  Bytes output = 0;       ///< its f
  Bytes retained = 0;     ///< its r
  Bytes kept_before = 0;  ///< r of all tasks that ran before it
  /// First what `task` reads, then what waits for the tasks on its path to the root,
  /// then what waits elsewhere, by increasing reader, and the outputs of roots last.
  /// Readers that nothing waits for are left out.
  std::vector<Waiting> waiting;

  /// The peak of the order.
  [[nodiscard]] Bytes total() const;
};

/// @param order  each task once, children before parents
/// @return nothing for a tree without tasks
/// @throws InvalidInput as replay()
/// @par Cost  O(n log n)
/// @par Test  PeakParts.AddUpToThePeak
[[nodiscard]] std::optional<PeakParts> peak_parts(const TaskTree& tree,
                                                  std::span<const TaskId> order);

}  // namespace espalier
