#pragma once

// Random systems, distributions of them, and a factor as each process would have it.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "solver/distributed/columns.h"
#include "solver/distributed/front_distribution.h"
#include "solver/distributed/front_tiles.h"
#include "solver/distributed/own_panels.h"
#include "solver/runtime/factorise.h"
#include "solver/support/square_systems.h"

namespace espalier::solver {

enum class Sharing { kRandom, kAll, kNone };

/// Rows of it that divide the processes of a group, and strips that end with tiles.
inline FrontGrid random_grid(std::mt19937& random, const Symbolic& symbolic,
                             const AssemblyTree& tree, std::int32_t front,
                             const WorkerRange& group) {
  FrontGrid grid;
  const TileShape shape = tile_shape(symbolic, tree, front, false);
  if (shape.groups() < 2 || draw(random, 0, 3) == 0) return grid;
  do grid.rows = draw(random, 1, group.count);
  while (group.count % grid.rows != 0);
  grid.strip.push_back(0);
  for (std::int32_t row = 1; row < shape.groups(); ++row)
    if (draw(random, 0, 3) > 0) grid.strip.push_back(row * shape.group);
  return grid;
}

/// @param may_share  of each node: only single fronts
/// @param grids      fronts may be cut into strips of rows, on grids of several rows
inline FrontDistribution random_distribution(std::mt19937& random,
                                             const Symbolic& symbolic,
                                             const AssemblyTree& tree,
                                             std::int32_t processes, Sharing sharing,
                                             const std::vector<bool>& may_share,
                                             bool grids = false) {
  FrontDistribution distribution;
  distribution.processes = processes;
  distribution.panels_at_once = draw(random, 1, 2);
  if (grids) distribution.grid.resize(tree.nodes.size());
  distribution.group.resize(tree.nodes.size());
  distribution.owner.resize(tree.nodes.size());
  for (auto node = std::ssize(tree.nodes) - 1; node >= 0; --node) {
    const std::int32_t front = tree.nodes[node].last_front;
    const std::int32_t above = symbolic.parent[front];
    const WorkerRange from = above >= 0 ? distribution.group[tree.node_of_front[above]]
                                        : WorkerRange{0, processes};
    WorkerRange& group = distribution.group[node];
    group = from;
    if (sharing == Sharing::kRandom) {
      group.count = draw(random, 1, from.count);
      group.first = from.first + draw(random, 0, from.count - group.count);
    }
    if (!may_share[node] || sharing == Sharing::kNone)
      group = {group.first + draw(random, 0, group.count - 1), 1};
    if (group.count == 1) continue;
    const std::int32_t blocks = tree.panel(symbolic, front).blocks() +
                                tree.contribution(symbolic, front).blocks();
    if (grids)
      distribution.grid[node] = random_grid(random, symbolic, tree, front, group);
    const std::int32_t columns =
        distribution.grid_columns(static_cast<std::int32_t>(node));
    for (std::int32_t k = 0; k < blocks; ++k)
      distribution.owner[node].push_back(group.first + draw(random, 0, columns - 1));
  }
  return distribution;
}

inline std::string describe(const FrontDistribution& distribution) {
  std::string text = fmt::format("{} processes;", distribution.processes);
  for (std::size_t node = 0; node < distribution.group.size(); ++node)
    text += fmt::format(
        " {}+{}[{}]{}x[{}]", distribution.group[node].first,
        distribution.group[node].count, fmt::join(distribution.owner[node], ","),
        distribution.grid_of(static_cast<std::int32_t>(node)).rows,
        fmt::join(distribution.grid_of(static_cast<std::int32_t>(node)).strip, ","));
  return text;
}

template <class T>
std::unique_ptr<FrontDelays<T>> copy_of(const FrontDelays<T>& from) {
  auto to = std::make_unique<FrontDelays<T>>();
  to->delayed_in = from.delayed_in;
  to->tail_eliminated = from.tail_eliminated;
  to->from_child = from.from_child;
  to->rows_in = from.rows_in;
  to->columns_in = from.columns_in;
  to->row_order = from.row_order;
  to->column_order = from.column_order;
  to->d = from.d;
  to->eliminated = from.eliminated;
  to->slot_row = from.slot_row;
  to->slot_column = from.slot_column;
  to->passed = from.passed;
  to->tail = from.tail;
  to->tail_row_order = from.tail_row_order;
  to->tail_column_order = from.tail_column_order;
  to->tail_d = from.tail_d;
  return to;
}

template <class T>
struct DistributedSystem {
  /// @param in_tiles  every front is a node, in tiles
  /// @param width     of blocks, at least; 0: drawn
  DistributedSystem(SquareMatrix&& matrix, FactorKind kind, std::mt19937& random,
                    Bytes delay_reserve = 0, bool in_tiles = false,
                    std::int32_t width = 0)
      : analysis(analyse(std::move(matrix), random_analysis(random))),
        options(random_assembly(random)) {
    options.kind = kind;
    options.entry_bytes = sizeof(T);
    options.block_width = width > 0 ? width : draw(random, 1, 12);
    if (in_tiles) {
      options.tiled_order = 1;
      options.subtree_fraction = options.subtree_floor = options.chain_floor = 0;
    }
    tree = build_assembly_tree(analysis.symbolic, options);
    pivoting.perturbation = 1e-3;
    pivoting.delay_reserve = delay_reserve;
    if (delay_reserve > 0) pivoting.threshold = 0.3;
    auto result =
        factorise_sequentially<T>({analysis.symbolic, analysis.permuted, tree, pivoting},
                                  tree.tasks.postorder(), report);
    if (result) factor = std::move(*result);
    factored = result.has_value();
  }

  [[nodiscard]] FactorView<T> view() const { return {analysis.symbolic, tree, factor}; }
  [[nodiscard]] std::int32_t size() const { return analysis.symbolic.size; }

  /// Of each node: one front. @param tiled  cut into tiles by one process too
  [[nodiscard]] std::vector<bool> may_share(bool tiled = false) const {
    std::vector<bool> result;
    for (const AssemblyTree::Node& node : tree.nodes)
      result.push_back(node.first_front == node.last_front && (node.tiled || !tiled));
    return result;
  }

  /// What a process has of the factor; what it has not is not a number.
  [[nodiscard]] Factor<T> part(const FrontDistribution& distribution,
                               std::int32_t process) const {
    Factor<T> part(analysis.symbolic, tree);
    for (std::int32_t front = 0; front < analysis.symbolic.fronts(); ++front) {
      part.offset[front] = factor.offset[front];
      const FrontDelays<T>* const delays = factor.delays_of(front);
      if (delays == nullptr) continue;
      part.delays[front] = copy_of(*delays);
      part.delays[front]->panel = part_of_panel(distribution, tree.node_of_front[front],
                                                process, delays->panel, front);
    }
    note_strips(analysis.symbolic, tree, distribution, part);
    for (std::int32_t node = 0; node < std::ssize(tree.nodes); ++node)
      part.storage[node] = part_of_panel(
          distribution, node, process, factor.storage[node], tree.nodes[node].last_front);
    const auto ranges = column_ranges(analysis.symbolic, tree, distribution);
    std::fill(part.d.begin(), part.d.end(), std::numeric_limits<T>::quiet_NaN());
    for (const ColumnRange& range : ranges) {
      if (range.owner != process) continue;
      const auto copy = [&](const auto& from, auto& to, std::int64_t width) {
        if (!from.empty())
          std::copy(from.begin() + width * range.begin, from.begin() + width * range.end,
                    to.begin() + width * range.begin);
      };
      copy(factor.row_order, part.row_order, 1);
      copy(factor.column_order, part.column_order, 1);
      copy(factor.d, part.d, 2);
    }
    return part;
  }

  Analysis analysis;
  AssemblyOptions options;
  AssemblyTree tree;
  PivotOptions pivoting;
  FactorReport report;
  Factor<T> factor;
  bool factored = false;

 private:
  [[nodiscard]] PageBuffer part_of_panel(const FrontDistribution& distribution,
                                         std::int32_t node, std::int32_t process,
                                         const PageBuffer& whole,
                                         std::int32_t front) const {
    if (!distribution.takes_part(node, process) || whole.size() == 0) return {};
    PageBuffer mine(whole.size());
    const auto entries = static_cast<std::int64_t>(whole.size() / sizeof(T));
    if (!distribution.shared(node)) {
      std::copy_n(whole.as<T>(), entries, mine.as<T>());
      return mine;
    }
    std::fill_n(mine.as<T>(), entries, std::numeric_limits<T>::quiet_NaN());
    const FrontTiles tiles(analysis.symbolic, tree, distribution, front,
                           factor.delayed_in(front));
    for (std::int32_t k = 0; k < tiles.panels(); ++k)
      for (std::int32_t strip = 0; strip < tiles.strips(); ++strip)
        if (tiles.has(process, strip, k)) copy_tile(tiles, strip, k, whole, mine);
    return mine;
  }

  // From where the rows of a block column stand together.
  void copy_tile(const FrontTiles& tiles, std::int32_t strip, std::int32_t block,
                 const PageBuffer& whole, const PageBuffer& mine) const {
    const Trapezoid& panel = tiles.panel();
    const TilePlace tile = tiles.place(strip, block);
    for (std::int32_t side = 0; side < tree.sides(); ++side)
      for (std::int32_t j = 0; j < panel.width(block); ++j) {
        const std::int64_t before = side * panel.entries();
        std::copy_n(whole.as<T>() + before + panel.offset(block) +
                        std::int64_t{j} * panel.leading(block) +
                        (tile.begin - panel.first(block)),
                    tile.rows(),
                    mine.as<T>() + before + tile.offset + std::int64_t{j} * tile.rows());
      }
  }
};

/// Symmetric or on both sides, as the kind asks for.
inline SquareMatrix of_kind(SquareMatrix a, FactorKind kind) {
  if (kind == FactorKind::kLu && a.symmetric()) a.upper = a.lower.value;
  if (kind != FactorKind::kLu) a.upper.clear();
  return a;
}

}  // namespace espalier::solver
