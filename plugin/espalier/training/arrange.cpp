#include "espalier/training/arrange.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "espalier/model/replay_graph.h"
#include "espalier/training/shift_order.h"

namespace espalier {
namespace {

void lay_out(const TaskGraph& graph, const LayoutOptions& options, Arrangement& found) {
  found.lifetimes = lifetimes(graph, found.order.order);
  found.layout = layout(found.lifetimes.buffers, options);
}

}  // namespace

double Arrangement::fragmentation() const {
  if (order.least_bytes == 0) return 0;
  return static_cast<double>(layout.capacity_bytes - order.least_bytes) /
         static_cast<double>(order.least_bytes);
}

Arrangement arrange(const TaskGraph& graph, const ArrangeLimits& limits) {
  Arrangement best;
  best.order = order_graph(graph, limits.order);
  lay_out(graph, limits.layout, best);
  best.rounds = 1;
  Arrangement now = best;
  while (best.rounds < limits.most_rounds &&
         now.layout.capacity_bytes > now.layout.load_bytes && !now.layout.stopped) {
    auto shifted = shift_order(graph, now.order.order, now.lifetimes, now.layout);
    if (!shifted) break;
    now.order.order = std::move(*shifted);
    lay_out(graph, limits.layout, now);
    const int rounds = best.rounds + 1;
    if (now.layout.capacity_bytes < best.layout.capacity_bytes) best = now;
    best.rounds = rounds;
  }
  return best;
}

Arrangement arrange_in_order(const TaskGraph& graph, std::vector<TaskId> order,
                             const LayoutOptions& options) {
  Arrangement found;
  found.order.least_bytes = replay(graph, order).peak;
  for (const TaskId task : order)
    found.order.lower_bound_bytes =
        std::max(found.order.lower_bound_bytes, graph.memory_requirement(task));
  found.order.order = std::move(order);
  lay_out(graph, options, found);
  found.rounds = 1;
  return found;
}

}  // namespace espalier
