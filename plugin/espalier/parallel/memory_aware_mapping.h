#pragma once

#include <cstdint>
#include <vector>

#include "espalier/model/error.h"
#include "espalier/model/schedule.h"
#include "espalier/model/task_tree.h"
#include "espalier/model/traversal.h"

namespace espalier {

/// Precedence beyond the tree's, by barriers 0 … barriers-1, none of them without a task
/// on either side: the tasks t with waits[t] = b start after all s with signals[s] = b
/// have ended. -1: no barrier. Only leaves wait. O(n) whatever the tree.
struct Serialisation {
  std::int32_t barriers = 0;
  std::vector<std::int32_t> waits, signals;
};

/// How children are grouped and what their subtrees may use.
enum class GroupRule {
  kAllOrNothing,  ///< all at once or one by one; budgets in proportion to work
  kProportional,  ///< groups; budgets in proportion to work
  kNeed           ///< groups; budgets by need
};

struct MemoryAwareMapping {
  Mapping mapping;
  Serialisation serialisation;
  /// no execution that honours tree and barriers ever has more in memory; <= the bound
  Bytes guaranteed_peak = 0;
};

/// Memory-aware mapping [ABGLR16] for memory shared by all workers: the proportional
/// mapping wherever memory allows siblings to run at once, groups of siblings one after
/// the other on all of their parent's workers where it does not.
///
/// With A the peak of a subtree in best postorder, W its work, left(c) = f_c + all r in
/// the subtree of c, and D the most that a subtree can hold under any timing (D_i =
/// max(sum of the children's D, what i itself needs)), each task has a budget, the roots
/// share the bound, and A_i <= budget(i) holds on the way down:
///   - the children, in best postorder, are cut into the longest groups that fit; a group
///     starts when the one before has ended, and has what is available to it,
///       S = budget(i) - sum of left(c) in the groups before;
///   - kNeed: a group fits when its sum of A <= S. What S has beyond that goes to its
///     subtrees up to their D, in proportion to D - A: to those wider than one worker,
///     then, if any is left, to the others;
///   - kProportional, as published: each member's budget is S W_c / (sum of W in the
///     group), equal parts where there is no work, and a group fits when no budget is
///     below its A. A member alone has all of S;
///   - kAllOrNothing, the simplest form of the same: one group if all children fit in it,
///     else one by one;
///   - the groups of a task no wider than one worker have one member each when its budget
///     is less than its D: parallelism is of no use there, memory is elsewhere.
/// By induction no subtree ever exceeds its budget, whatever the timing. A must be
/// postorder peaks: with Liu's the invariant breaks at the first serialised group.
///
/// With kNeed nothing is serialised when bound >= sum of the roots' D; the mapping is
/// then proportional().
///
/// @param postorder  best_postorder(tree)
/// @throws InvalidInput for workers < 1 or a bound below the peak of `postorder`
/// @par Cost  O(n log n)
/// @par Test  MemoryAwareMapping.HoldsTheBoundUnderAnyTiming
[[nodiscard]] MemoryAwareMapping memory_aware(const TaskTree& tree,
                                              const Traversal& postorder,
                                              std::int32_t workers, Bytes bound,
                                              GroupRule rule = GroupRule::kNeed);

/// The same with kNeed, for a caller without the postorder.
/// @return the mapping, or Infeasible when the bound is below the best postorder's peak,
///         which is then its least_bytes
[[nodiscard]] Expected<MemoryAwareMapping> memory_aware(const TaskTree& tree,
                                                        std::int32_t workers,
                                                        Bytes bound);

}  // namespace espalier
