#include "solver/distributed/distribute_fronts.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "solver/distributed/front_tiles.h"

namespace espalier::solver {
namespace {

// How much of `amount` each process receives so that the least loaded come level.
std::vector<double> level(std::span<const double> load, double amount) {
  std::vector<double> sorted(load.begin(), load.end());
  std::sort(sorted.begin(), sorted.end());
  double height = sorted[0], left = amount;
  for (std::size_t k = 0; k < sorted.size(); ++k) {
    const double next = k + 1 < sorted.size() ? sorted[k + 1] : height + left;
    const double step = std::min(next - height, left / static_cast<double>(k + 1));
    height += step;
    left -= step * static_cast<double>(k + 1);
    if (left <= 0) break;
  }
  std::vector<double> share;
  for (const double now : load) share.push_back(std::max(0.0, height - now));
  return share;
}

class Assignment {
 public:
  Assignment(const Symbolic& symbolic, const AssemblyTree& tree,
             FrontDistribution& distribution, FrontGrids grids)
      : symbolic_(symbolic),
        tree_(tree),
        distribution_(distribution),
        grids_(grids),
        kept_(static_cast<std::size_t>(distribution.processes), 0) {
    for (std::size_t i = 0; i < tree.nodes.size(); ++i)
      if (!distribution.shared(static_cast<std::int32_t>(i)))
        kept_[distribution.group[i].first] +=
            static_cast<double>(tree.nodes[i].factor_bytes);
  }

  // The tiles of a shared node; its children's have been given.
  void give(std::int32_t node) {
    const std::vector<double> before = kept_;
    give_columns(node);
    if (grids_ == FrontGrids::kNever || !find_grid(node)) return;
    kept_ = before;
    const FrontTiles tiles(symbolic_, tree_, distribution_, tree_.nodes[node].last_front);
    add_tiles(tiles, 0, tiles.panels(), kept_);
  }

 private:
  // Whole block columns, dealt out in turn.
  void give_columns(std::int32_t node) {
    const std::int32_t front = tree_.nodes[node].last_front;
    distribution_.owner[node].reserve(
        static_cast<std::size_t>(tree_.panel(symbolic_, front).blocks() +
                                 tree_.contribution(symbolic_, front).blocks()));
    std::vector<double> load = kept_;
    deal_out(node, tree_.panel(symbolic_, front), load, kept_);
    load = kept_;
    if (const auto parent = tree_.tasks.parent(task_id(node)))
      for (const TaskId sibling : tree_.tasks.children(*parent))
        add_contribution(static_cast<std::int32_t>(index(sibling)), load);
    std::vector<double> waiting(load.size(), 0);
    deal_out(node, tree_.contribution(symbolic_, front), load, waiting);
  }

  // Whether a grid takes the place of the block columns' owners.
  bool find_grid(std::int32_t node) {
    const TileShape shape =
        tile_shape(symbolic_, tree_, tree_.nodes[node].last_front, true);
    const std::int32_t processes = distribution_.group[node].count;
    const bool always = grids_ == FrontGrids::kAlways;
    // By volume everyone has a tile on the diagonal, and none is left out.
    if (shape.groups() < (always ? 2 : processes)) return false;
    double least = 0.75 * static_cast<double>(bytes_of(node));
    std::optional<FrontGrid> best;
    std::vector<std::int32_t> best_owner = distribution_.owner[node];
    if (distribution_.grid.empty()) distribution_.grid.resize(tree_.nodes.size());
    for (std::int32_t rows = 2; rows <= processes; ++rows) {
      if (processes % rows != 0 || (always && rows < processes / rows)) continue;
      lay_grid(node, rows, shape);
      const auto bytes = static_cast<double>(bytes_of(node));
      if (always ? !best : bytes <= least) {
        least = bytes;
        best = distribution_.grid[node];
        best_owner = distribution_.owner[node];
      }
    }
    distribution_.grid[node] = best.value_or(FrontGrid());
    distribution_.owner[node] = std::move(best_owner);
    return best.has_value();
  }

  [[nodiscard]] Bytes bytes_of(std::int32_t node) const {
    return most_panel_bytes(symbolic_, tree_, distribution_, node);
  }

  void lay_grid(std::int32_t node, std::int32_t rows, const TileShape& shape) {
    FrontGrid& grid = distribution_.grid[node];
    grid = {.rows = rows, .strip = {}};
    for (std::int32_t row = 0; row < shape.groups(); ++row)
      grid.strip.push_back(shape.first_block(row));
    const std::int32_t columns = distribution_.grid_columns(node);
    for (std::int32_t b = 0; b < shape.blocks; ++b)
      distribution_.owner[node][b] =
          distribution_.group[node].first + grid.strip_of(b) / rows % columns;
  }

  // What each process has of block columns [first, last).
  void add_tiles(const FrontTiles& tiles, std::int32_t first, std::int32_t last,
                 std::vector<double>& load) const {
    for (std::int32_t b = first; b < last; ++b)
      for (std::int32_t s = tiles.strip_of(b); s < tiles.strips(); ++s) {
        const auto [begin, end] = tiles.bytes(s, b, 0);
        load[tiles.owner(s, b)] += static_cast<double>(tree_.sides() * (end - begin));
      }
  }

  [[nodiscard]] double bytes(const Trapezoid& layout, std::int32_t block) const {
    return static_cast<double>(tree_.sides() * tree_.entry_bytes) *
           layout.leading(block) * layout.width(block);
  }

  // What each process has of a node's contribution block, as far as that is decided.
  void add_contribution(std::int32_t node, std::vector<double>& load) const {
    if (!distribution_.shared(node)) {
      load[distribution_.group[node].first] +=
          static_cast<double>(tree_.nodes[node].contribution_bytes);
      return;
    }
    const std::int32_t front = tree_.nodes[node].last_front;
    const std::int32_t blocks = tree_.panel(symbolic_, front).blocks() +
                                tree_.contribution(symbolic_, front).blocks();
    if (std::ssize(distribution_.owner[node]) < blocks) return;
    const FrontTiles tiles(symbolic_, tree_, distribution_, front);
    add_tiles(tiles, tiles.panels(), tiles.blocks(), load);
  }

  // Each block to the process that is furthest behind its part of what was dealt out: in
  // turn, but less to who has more.
  void deal_out(std::int32_t node, const Trapezoid& layout, std::span<const double> load,
                std::vector<double>& given) {
    const WorkerRange group = distribution_.group[node];
    double all = 0;
    for (std::int32_t b = 0; b < layout.blocks(); ++b) all += bytes(layout, b);
    const std::vector<double> part =
        level(load.subspan(static_cast<std::size_t>(group.first),
                           static_cast<std::size_t>(group.count)),
              all);
    std::vector<double> dealt(part.size(), 0);
    double done = 0;
    for (std::int32_t b = 0; b < layout.blocks(); ++b) {
      const double size = bytes(layout, b);
      done += size;
      std::size_t best = 0;
      double most = -all - 1;
      for (std::size_t k = 0; k < part.size(); ++k) {
        const double behind = part[k] * (done / all) - dealt[k];
        if (behind > most) {
          most = behind;
          best = k;
        }
      }
      dealt[best] += size;
      const auto process = group.first + static_cast<std::int32_t>(best);
      given[process] += size;
      distribution_.owner[node].push_back(process);
    }
  }

  const Symbolic& symbolic_;
  const AssemblyTree& tree_;
  FrontDistribution& distribution_;
  FrontGrids grids_;
  std::vector<double> kept_;  // bytes of panels that each process will have in the end
};

}  // namespace

Bytes most_panel_bytes(const Symbolic& symbolic, const AssemblyTree& tree,
                       const FrontDistribution& distribution, std::int32_t node) {
  const FrontTiles tiles(symbolic, tree, distribution, tree.nodes[node].last_front);
  const WorkerRange group = distribution.group[node];
  Bytes most = 0;
  for (std::int32_t p = group.first; p < group.first + group.count; ++p) {
    Bytes received = 0;
    for (std::int32_t k = 0; k < tiles.panels(); ++k)
      for (const std::int32_t strip : tiles.needed_strips(p, k)) {
        const auto [begin, end] = tiles.bytes(strip, k, 0);
        received += tree.sides() * (end - begin);
      }
    most = std::max(most, received);
  }
  return most;
}

FrontDistribution distribute_fronts(const Symbolic& symbolic, const AssemblyTree& tree,
                                    std::int32_t processes,
                                    std::vector<WorkerRange> groups, FrontGrids grids) {
  FrontDistribution distribution;
  distribution.processes = processes;
  distribution.group = std::move(groups);
  distribution.owner.resize(tree.nodes.size());
  Assignment assignment(symbolic, tree, distribution, grids);
  for (std::size_t i = 0; i < tree.nodes.size(); ++i)  // children first
    if (const auto node = static_cast<std::int32_t>(i); distribution.shared(node))
      assignment.give(node);
  return distribution;
}

}  // namespace espalier::solver
