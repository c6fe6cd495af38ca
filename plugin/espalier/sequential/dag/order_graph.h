#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "espalier/model/task_graph.h"
#include "espalier/sequential/dag/search_budget.h"

namespace espalier {

/// What gave the order.
enum class OrderMethod : std::uint8_t {
  kTree,            ///< liu_traversal(): the graph is an in-forest
  kProfiles,        ///< dominant schedules of independent pieces, merged
  kSeriesParallel,  ///< series_parallel_order()
  kGreedy,          ///< a greedy order; no search was needed, or possible
  kSearch,          ///< search over downsets
};
[[nodiscard]] std::string_view name(OrderMethod method);

/// A sequential order of a graph and what is known of the best one.
struct GraphOrder {
  std::vector<TaskId> order;
  Bytes least_bytes = 0;        ///< the peak of `order`: a bound that suffices
  Bytes lower_bound_bytes = 0;  ///< no order needs less
  OrderMethod method = OrderMethod::kGreedy;
  std::int64_t states = 0;  ///< downsets at which the searches had a choice
  bool stopped = false;     ///< a limit or the caller ended the search

  [[nodiscard]] bool proved() const { return least_bytes == lower_bound_bytes; }
  /// (least_bytes − lower_bound_bytes) / lower_bound_bytes; 0 when proved.
  [[nodiscard]] double gap() const;
};

/// A sequential order of any computation graph that needs the least memory, or the best
/// one that was found inside limits, with a lower bound.
///
///   in-forests                        liu_traversal(), exact
///   pieces that do not touch          dominant_profile() of each, merged: exact
///   otherwise
///     regions with two ends become paths (linearise.h)
///     what remains is cut at the tasks that every order runs at the same time, and at a
///     downset of least level
///     each piece gets greedy orders and memory_lower_bound(); where these differ,
///     series_parallel_order() is asked, and if it has no proof,
///     bounded searches of the pieces between the two (least_peak.h), until they meet,
///     the most demanding piece first
///
/// A piece is not searched beyond what another one needs anyway. With one datum read by
/// several operators the problem is strongly NP-hard, for out-trees already, so a proof
/// is not promised; `proved()` tells.
///
/// Deterministic as long as neither time nor caller ends the search.
/// @par Cost  near linear where the graph decomposes; else as limited, at least that of
///            the greedy orders
/// @par Test  OrderGraph.MatchesBruteForceOnSmallGraphs
[[nodiscard]] GraphOrder order_graph(const TaskGraph& graph,
                                     const OrderLimits& limits = {});

}  // namespace espalier
