#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "solver/distributed/front_distribution.h"
#include "solver/symbolic/symbolic.h"
#include "solver/tree/assembly_tree.h"

namespace espalier::solver {

/// Columns [begin, end) of the permuted matrix, of the solution and of the right-hand
/// side, which one process owns.
struct ColumnRange {
  std::int32_t begin = 0, end = 0;
  std::int32_t owner = 0;
  friend bool operator==(const ColumnRange&, const ColumnRange&) = default;
};

/// All columns in order, as few ranges as there can be: those of a local node belong to
/// its process, those of a shared node to the owners of the blocks of its panel.
/// @throws Error when a shared node is not a single front, or the owners of its blocks
///         are not as many as the blocks or not in its group
/// @par Cost  O(nodes + panel blocks of shared nodes)
[[nodiscard]] std::vector<ColumnRange> column_ranges(
    const Symbolic& symbolic, const AssemblyTree& tree,
    const FrontDistribution& distribution);

/// All columns at process 0.
[[nodiscard]] inline std::vector<ColumnRange> at_first_process(std::int32_t size) {
  return {{0, size, 0}};
}

/// @param ranges  of all columns, in order
/// @par Cost  O(log ranges)
[[nodiscard]] std::int32_t owner_of_column(std::span<const ColumnRange> ranges,
                                           std::int32_t column);

/// Successive panel blocks [begin, end) of a shared front that have one owner.
struct BlockRun {
  std::int32_t begin = 0, end = 0;
  std::int32_t owner = 0;
};

/// In order, as few as there can be.
/// @param planned  panel blocks without columns that its children delayed
[[nodiscard]] std::vector<BlockRun> block_runs(const FrontDistribution& distribution,
                                               std::int32_t node, std::int32_t planned,
                                               std::int32_t panel_blocks);

}  // namespace espalier::solver
