#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "espalier/model/plan.h"

namespace espalier::report {

/// One line of the outline of a tree: a subtree, or several that are too small to have
/// lines of their own.
struct OutlineRow {
  enum class Kind : std::uint8_t {
    kTask,  ///< the subtree of `task`
    kPath,  ///< the same; the lines below it are the children of `last`, some tasks down
    kRest   ///< `subtrees` further children of the line above, `task` the largest
  };
  std::int32_t parent = -1;  ///< line; -1: a root
  Kind kind = Kind::kTask;
  TaskId task{};
  TaskId last{};                 ///< kTask, kRest: as `task`
  std::int64_t path_length = 1;  ///< tasks from `task` to `last`
  std::int64_t subtrees = 1;
  // Of the subtree; of kRest the sums, but the largest peak.
  std::int64_t tasks = 0;
  Flops work = 0;
  Bytes peak = 0;              ///< in its best postorder, on its own
  Bytes held = 0;              ///< of what is in memory at the peak of the run
  Seconds start = 0, end = 0;  ///< first start and last end in the run
  WorkerRange workers;         ///< of `task`; of kRest the hull of all
};

struct OutlineOptions {
  std::size_t most_rows = 1500;
  std::size_t most_children =
      12;  ///< with a line each, where the tree is not shown whole
};

/// The tree in at most `most_rows` lines (and one more for each line with children).
///
/// A tree of at most that many tasks is shown whole. Of a larger one those subtrees have
/// lines that matter most, by the largest of three parts: of all work, of what is held
/// at the peak, and subtree peak over the largest. A task whose other children are
/// together below a thousandth of work and of what is held, and of at most half its
/// peak, goes on in the one that remains: such tasks make one line, a path.
///
/// Lines are in the order in which they were opened: a parent before its children, and
/// children by decreasing weight.
///
/// @param held  by task, as HoldingBuilder says
/// @par Cost  O(n log n), no recursion
/// @par Test  Outline.LinesBelowALineAddUpToIt
[[nodiscard]] std::vector<OutlineRow> outline(const Plan& plan,
                                              std::span<const Bytes> held,
                                              const OutlineOptions& options = {});

/// A subtree that holds memory, and how much.
struct SubtreeHolding {
  TaskId task{};
  Bytes bytes = 0;
};

/// The smallest subtree that holds more than half of all that is held, and those below
/// its root, by what they hold: none of them holds more than half.
struct MainHolder {
  SubtreeHolding subtree;
  std::vector<SubtreeHolding> below;  ///< at most three, none that holds nothing
};
/// @return nothing, when no subtree does
[[nodiscard]] std::optional<MainHolder> main_holder(const TaskTree& tree,
                                                    std::span<const Bytes> held);

}  // namespace espalier::report
