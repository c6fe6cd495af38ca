#include "solver/distributed/deal_out_delays.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "solver/memory/page_buffer.h"

namespace espalier::solver {
namespace {

// Bytes at each process of a front for so many columns that come from its children.
Bytes bytes_of_delayed(const Symbolic& symbolic, const AssemblyTree& tree,
                       std::int32_t front, std::int32_t strips, bool spilled,
                       std::int64_t count) {
  if (count == 0) return 0;
  const Trapezoid panel = tree.panel(symbolic, front);
  const std::int64_t order = panel.rows() + count, columns = panel.columns() + count;
  const Bytes page = PageBuffer::footprint(1);
  return tree.entry_bytes * (tree.sides() * count * (columns + 2 * order) + 6 * columns) +
         // Block columns begin and end inside pages; what is in the file is not planned
         // to stay in memory.
         2 * page * tree.sides() * (columns / tree.block_width[front] + 1) * strips +
         // Of more strips, what is left of a block column comes together.
         (strips > 1 ? tree.sides() * tree.entry_bytes * order * tree.block_width[front]
                     : 0) +
         (spilled ? tree.sides() * tree.entry_bytes * panel.entries() : 0);
}

// The most columns for which `bytes` are enough.
std::int64_t most_columns(const Symbolic& symbolic, const AssemblyTree& tree,
                          std::int32_t front, std::int32_t strips, bool spilled,
                          Bytes bytes) {
  std::int64_t low = 0, high = symbolic.size;
  while (low < high) {
    const std::int64_t middle = (low + high + 1) / 2;
    if (bytes_of_delayed(symbolic, tree, front, strips, spilled, middle) <= bytes)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

// Rows of all shared fronts that one process has parts of: the most.
double most_rows(const Symbolic& symbolic, const AssemblyTree& tree,
                 const FrontDistribution& distribution) {
  std::vector<double> rows(static_cast<std::size_t>(distribution.processes), 0);
  for (std::int32_t node = 0; node < std::ssize(tree.nodes); ++node) {
    if (!distribution.shared(node)) continue;
    const WorkerRange group = distribution.group[node];
    for (std::int32_t p = group.first; p < group.first + group.count; ++p)
      rows[p] += symbolic.front_order(tree.nodes[node].last_front);
  }
  return rows.empty() ? 0 : *std::max_element(rows.begin(), rows.end());
}

}  // namespace

void deal_out_delays(const Symbolic& symbolic, const AssemblyTree& tree,
                     const FrontDistribution& distribution, const PivotOptions& pivoting,
                     bool spilled, DelayReserve& reserve) {
  const double rows = most_rows(symbolic, tree, distribution);
  if (rows == 0 || pivoting.delay_reserve == 0) return;
  constexpr Bytes kNoLimit = std::numeric_limits<Bytes>::max();
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const bool limited = pivoting.delay_reserve != kNoLimit;
  const Bytes all = limited ? pivoting.delay_reserve / 2 : 0;
  std::map<std::int32_t, SharedDelays> fronts;
  for (std::int32_t node = 0; node < std::ssize(tree.nodes); ++node) {
    if (!distribution.shared(node)) continue;
    const std::int32_t front = tree.nodes[node].last_front;
    SharedDelays& own = fronts[front];
    own = {kNoLimit, static_cast<std::int32_t>(kMost)};
    if (!limited) continue;
    const double part = static_cast<double>(symbolic.front_order(front)) / rows;
    own.slots = static_cast<Bytes>(part * static_cast<double>(all)) / 2;
    std::int64_t children = 0;
    for (auto c = tree.first_child[front]; c >= 0; c = tree.next_sibling[c]) ++children;
    own.from_child = static_cast<std::int32_t>(
        most_columns(symbolic, tree, front, distribution.grid_of(node).strips(), spilled,
                     own.slots) /
        std::max<std::int64_t>(1, children));
  }
  reserve.deal_out(all, std::move(fronts));
}

}  // namespace espalier::solver
