#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "espalier/layout/layout.h"
#include "espalier/model/layout.h"
#include "espalier/model/task_graph.h"
#include "espalier/model/validate.h"
#include "espalier/sequential/dag/order_graph.h"
#include "espalier/training/lifetimes.h"

namespace espalier {

/// An order of a graph's operators, and where all that they need lies in one arena.
struct Arrangement {
  GraphOrder order;
  Lifetimes lifetimes;  ///< of order.order
  Layout layout;        ///< of lifetimes.buffers
  int rounds = 0;       ///< orders that were laid out

  /// No order and layout need less: the bound of all orders.
  [[nodiscard]] Bytes lower_bound_bytes() const { return order.lower_bound_bytes; }
  [[nodiscard]] bool proved() const {
    return layout.capacity_bytes == lower_bound_bytes();
  }
  /// What the layout takes above the peak, of the peak.
  [[nodiscard]] double fragmentation() const;
};

struct ArrangeLimits {
  OrderLimits order;
  LayoutOptions layout;
  /// Orders of the same peak to be tried where a layout does not reach it.
  int most_rounds = 8;
};

/// Order and layout together [SWS+23]: the order of least peak (order_graph()), its
/// lifetimes, a layout of these. While the layout takes more than the peak, what ends at
/// its top is produced later or read for the last time earlier where that does not raise
/// the peak, and the layout is sought again; the best is the answer.
///
/// Without alignment a layout of the peak of an order that is proved to be the least is
/// itself the least there is.
/// @throws as layout()
/// @par Test  Arrange.*
[[nodiscard]] Arrangement arrange(const TaskGraph& graph,
                                  const ArrangeLimits& limits = {});

/// The layout of a given order, without a search for a better one.
[[nodiscard]] Arrangement arrange_in_order(const TaskGraph& graph,
                                           std::vector<TaskId> order,
                                           const LayoutOptions& options = {});

/// Whether the arrangement keeps what it says: the order is one, each datum and workspace
/// has room for as long as the graph needs it, no two at once share a byte, and the peak
/// and the capacity are those named. Shares no code with the planners: memory is painted
/// byte range by byte range, operator after operator.
/// @par Cost  O((operators + data + reads) log data)
[[nodiscard]] Violations validate(const TaskGraph& graph, const Arrangement& arrangement,
                                  Bytes alignment = 1);

}  // namespace espalier
