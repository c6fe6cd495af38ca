#pragma once

#include <vector>

#include "espalier/model/error.h"
#include "espalier/sequential/out_of_core/out_of_core_plan.h"

namespace espalier {

enum class OutOfCoreMethod {
  kPostOrderMinIO,  ///< post_order_min_io()
  kLiu,             ///< liu_traversal()
  kRecExpand,       ///< rec_expand() with two expansions a task
  kFullRecExpand    ///< rec_expand() with as many as it takes
};

/// An order by the method, and what leaves memory in it by furthest_in_future().
///
/// The methods minimise, each in its way, the bytes of outputs that leave memory and have
/// to come back: they work on stream_retained(tree), in which what nobody reads again is
/// no burden once its task has ended. A direct solver wants just that: factors go to the
/// file once and in passing, contribution blocks cost two transfers and stop the work.
/// Where the tree retains something, or has several roots, such data are written, too, as
/// far as they must; with a bound near what the whole tree needs in memory, an order that
/// holds little in all may then write less. So the method's order is compared with a
/// second one, best_postorder() or liu_traversal() of the tree as it is, and the plan
/// that moves fewer bytes is returned (ties: the first).
///
/// @return the plan, or Infeasible for a bound below least_out_of_core()
/// @throws OverflowError  as rec_expand()
/// @par Cost  O(n log n), and see rec_expand()
/// @par Test  PlanOutOfCore.*
[[nodiscard]] Expected<OutOfCorePlan> plan_out_of_core(const TaskTree& tree, Bytes bound,
                                                       OutOfCoreMethod method);

/// PostOrderMinIO: the postorder in which the fewest bytes of outputs leave memory
/// [AGL10]. With S_i the least peak of a postorder of i's subtree, A_i = min(M, S_i) and
/// the children c_1 … c_k of i in visiting order, what has to leave in i's subtree is
///   V_i = max(0, max_j ( A_{c_j} + f_{c_1} + … + f_{c_{j-1}} ) - M) + sum_j V_{c_j}:
/// a subtree that runs next to its elder siblings' outputs pushes out of these what does
/// not fit beside its A. Visiting children by decreasing A_c - f_c minimises the maximum.
///
/// Exact, among postorders, for the bytes that are read back when nothing is retained or
/// `tree` is a stream_retained() one.
///
/// @param bound  at least least_out_of_core(tree)
/// @par Cost  O(n log n)
/// @par Test  PostOrderMinIO.MatchesBruteForceOverPostorders
[[nodiscard]] std::vector<TaskId> post_order_min_io(const TaskTree& tree, Bytes bound);

/// The tree in which retained data and outputs of roots are execution memory: gone when
/// the task has ended. O(n).
[[nodiscard]] TaskTree stream_retained(const TaskTree& tree);

}  // namespace espalier
