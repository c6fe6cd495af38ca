#pragma once

#include <cstddef>
#include <vector>

#include "espalier/sequential/out_of_core/out_of_core_plan.h"

namespace espalier {

struct RecExpandOptions {
  /// Expansions at each task: 2 is RecExpand, kUnlimited is FullRecExpand.
  std::size_t expansions = 2;
  /// Subtrees of more nodes are contracted once they have been dealt with; see below.
  /// At least 2; 0: chosen by the number of tasks.
  std::size_t window = 0;

  static constexpr std::size_t kUnlimited = static_cast<std::size_t>(-1);
};

/// An order for few bytes written under a bound, RecExpand or FullRecExpand [MMSV17].
///
/// Liu's traversal knows nothing of the disk. These heuristics tell it what leaves memory
/// by putting that into the tree. Bottom-up, at each task r, as long as the best order of
/// r's subtree needs more than the bound, and at most `expansions` times:
///
///   run the subtree in Liu's order with furthest_in_future();
///   of the tasks whose output leaves, take the task i whose parent comes last
///     (ties: most bytes t, then the largest id);
///   put a chain in the place of i:    i ──f_i──► write ──f_i-t──► read ──f_i──► parent
///
/// where `write` and `read` need f_i bytes to run, and no more. Liu's order of the
/// expanded tree, without what was put in, is the answer.
///
/// FullRecExpand stops at r, too, when it has made as many expansions there as the
/// subtree has nodes: nothing proves that it ends.
///
/// Retained sizes and outputs of roots must be 0: see stream_retained().
///
/// Against the literature: subtrees that fit in the bound by a sum over siblings are not
/// looked at; and a subtree of more than `window` nodes is contracted, after it has been
/// dealt with, to a chain with one node for each hill and valley of its memory under
/// furthest_in_future(). Without evictions that loses nothing, since Liu's order
/// never stops elsewhere; with them, the order inside is settled and the bytes that leave
/// at a valley are a mixture. Of more than window / 2 valleys every second one is given
/// up, again and again. The window is all of the tree up to some thousands of tasks, and
/// never less than some tens.
///
/// @param bound  at least least_out_of_core(tree)
/// @return each task once, children first
/// @throws OverflowError when the sizes of an expanded subtree sum beyond 2^63 - 1
/// @par Cost  2 + `expansions` times O(n log n + n window) at most, with a small factor:
///            most subtrees need no look, and most profiles are short. Without a limit
///            of expansions nothing better than O(n^2 log n) is proved.
/// @par Test  RecExpand.*
[[nodiscard]] std::vector<TaskId> rec_expand(const TaskTree& tree, Bytes bound,
                                             const RecExpandOptions& options = {});

}  // namespace espalier
