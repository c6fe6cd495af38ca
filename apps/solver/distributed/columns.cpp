#include "solver/distributed/columns.h"

#include <fmt/format.h>

#include <algorithm>

#include "espalier/model/error.h"

namespace espalier::solver {
namespace {

void check_shared(const Symbolic& symbolic, const AssemblyTree& tree,
                  const FrontDistribution& distribution, std::int32_t node) {
  const AssemblyTree::Node& fronts = tree.nodes[node];
  if (fronts.first_front != fronts.last_front)
    throw Error(fmt::format("shared node {} has {} fronts", node,
                            fronts.last_front - fronts.first_front + 1));
  const auto& owner = distribution.owner[static_cast<std::size_t>(node)];
  const std::int64_t blocks = tree.panel(symbolic, fronts.last_front).blocks() +
                              tree.contribution(symbolic, fronts.last_front).blocks();
  if (std::ssize(owner) != blocks)
    throw Error(fmt::format("shared node {}: {} owners of {} blocks", node, owner.size(),
                            blocks));
  for (const std::int32_t process : owner)
    if (!distribution.takes_part(node, process))
      throw Error(
          fmt::format("shared node {}: owner {} is not in its group", node, process));
}

void append(std::vector<ColumnRange>& ranges, const ColumnRange& next) {
  if (!ranges.empty() && ranges.back().owner == next.owner)
    ranges.back().end = next.end;
  else
    ranges.push_back(next);
}

}  // namespace

std::vector<ColumnRange> column_ranges(const Symbolic& symbolic, const AssemblyTree& tree,
                                       const FrontDistribution& distribution) {
  std::vector<ColumnRange> ranges;
  for (std::int32_t node = 0; node < std::ssize(tree.nodes); ++node) {
    const AssemblyTree::Node& fronts = tree.nodes[node];
    const std::int32_t begin = symbolic.first_column[fronts.first_front];
    if (!distribution.shared(node)) {
      append(ranges, {begin, symbolic.first_column[fronts.last_front + 1],
                      distribution.group[static_cast<std::size_t>(node)].first});
      continue;
    }
    check_shared(symbolic, tree, distribution, node);
    const Trapezoid panel = tree.panel(symbolic, fronts.last_front);
    for (const BlockRun& run :
         block_runs(distribution, node, panel.blocks(), panel.blocks()))
      append(ranges,
             {begin + panel.first(run.begin),
              begin + std::min(panel.first(run.end), panel.columns()), run.owner});
  }
  return ranges;
}

std::int32_t owner_of_column(std::span<const ColumnRange> ranges, std::int32_t column) {
  return std::upper_bound(
             ranges.begin(), ranges.end(), column,
             [](std::int32_t c, const ColumnRange& range) { return c < range.end; })
      ->owner;
}

std::vector<BlockRun> block_runs(const FrontDistribution& distribution, std::int32_t node,
                                 std::int32_t planned, std::int32_t panel_blocks) {
  std::vector<BlockRun> runs;
  for (std::int32_t k = 0; k < panel_blocks; ++k) {
    const std::int32_t owner = distribution.owner_of(node, k, planned, panel_blocks);
    if (!runs.empty() && runs.back().owner == owner)
      ++runs.back().end;
    else
      runs.push_back({k, k + 1, owner});
  }
  return runs;
}

}  // namespace espalier::solver
