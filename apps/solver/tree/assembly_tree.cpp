// One tree with all that its costs follow from: over 300 lines.

#include "solver/tree/assembly_tree.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include "espalier/model/error.h"
#include "espalier/sequential/tree/tree_orders.h"
#include "solver/memory/page_buffer.h"
#include "solver/symbolic/front_cost.h"
#include "solver/tree/extend_add.h"
#include "solver/tree/front_storage.h"

namespace espalier::solver {
namespace {

// Block columns of a compressed front that are in full: enough tiles to update.
constexpr std::int32_t kAhead = 4;

// Of others, those that are assembled at once: as many as there is room for.
constexpr std::array<std::int32_t, 3> kWindows = {8, 4, 2};

// Of panels and of the stack before them, so that one gives way to the other.
constexpr Bytes kWorthATurn = Bytes{1} << 20;

constexpr std::int32_t kMostAssembled = 4;

// Few enough blocks that a tile is worth a task and BLAS runs at its rate, enough of them
// to keep workers busy and to be dealt out among processes, who receive blocks or parts
// of them in memory of their own.
std::int32_t tile_width(std::int32_t order, const AssemblyOptions& options) {
  constexpr std::int32_t kBlocks = 24, kWidest = 448;
  const std::int32_t wanted = order / kBlocks;
  return std::clamp((wanted + 31) / 32 * 32, options.block_width,
                    std::max(options.block_width, kWidest));
}

void link_children(const Symbolic& symbolic, AssemblyTree& tree) {
  const auto fronts = static_cast<std::size_t>(symbolic.fronts());
  std::vector<std::int32_t> first_child(fronts, -1), next_sibling(fronts, -1);
  for (std::int32_t s = symbolic.fronts() - 1; s >= 0; --s) {
    const std::int32_t parent = symbolic.parent[s];
    if (parent < 0) continue;
    next_sibling[s] = first_child[parent];
    first_child[parent] = s;
  }
  tree.first_child = std::move(first_child);
  tree.next_sibling = std::move(next_sibling);
}

// One node of all, whose fronts stay as those of many are.
void join_nodes(const Symbolic& symbolic, AssemblyTree& tree) {
  tree.node_of_front = std::vector<std::int32_t>(symbolic.parent.size(), 0);
  tree.nodes.clear();
  if (symbolic.fronts() > 0)
    tree.nodes.push_back({.first_front = 0, .last_front = symbolic.fronts() - 1});
}

// What fronts cost, and which of them go together.
struct Costs {
  std::vector<Flops> subtree;  // of each front and all below it
  std::vector<Flops> until;    // of the fronts before each
  std::vector<Flops> beside;   // … of which others could do so much at the same time
  Flops small, tiny;           // one task: a subtree; a stretch of a chain …
  Flops most_below;            // … that has no more below it …
  bool little;                 // … or beside it, where the factor is small

  Costs(const Symbolic& symbolic, const AssemblyOptions& options, std::int32_t sides)
      : subtree(subtree_costs(symbolic, sides)), until(costs_until(symbolic, sides)) {
    const Flops all = until.back();
    // What is inside a subtree that one task runs is not compressed.
    const double fraction = (options.low_rank ? 0.05 : 1) * options.subtree_fraction;
    small = std::max(fraction * all,
                     one_task_limit(all, options.subtree_floor, options.subtree_most,
                                    options.subtree_least));
    tiny = std::min(options.chain_floor, small);
    // What is one task has all that is below it on one process.
    most_below =
        options.processes == 1 ? all : options.chain_most * all / options.processes;
    little = options.processes > 1 &&
             symbolic.factor_entries <= options.chain_bytes / options.entry_bytes / sides;
    if (little) measure_beside(symbolic);
  }

  [[nodiscard]] bool goes_together(std::int32_t first, std::int32_t parent) const {
    return until[parent + 1] - until[first] <= tiny &&
           (subtree[parent] <= most_below || (little && beside[parent] <= most_below));
  }

 private:
  // Along the child with the most work; others count that are worth a process.
  void measure_beside(const Symbolic& symbolic) {
    const auto worth = [this](Flops work) { return work > tiny ? work : 0; };
    std::vector<Flops> heaviest(subtree.size(), 0), along(subtree.size(), 0);
    beside.assign(subtree.size(), 0);
    for (std::int32_t s = 0; s < symbolic.fronts(); ++s) {
      beside[s] += along[s];
      const std::int32_t parent = symbolic.parent[s];
      if (parent < 0) continue;
      if (subtree[s] > heaviest[parent]) {
        beside[parent] += worth(heaviest[parent]);
        heaviest[parent] = subtree[s];
        along[parent] = beside[s];
      } else {
        beside[parent] += worth(subtree[s]);
      }
    }
  }
};

// A front is the last of a grain unless its parent's whole subtree is small, and then the
// last of a node unless all from the node's first front to the parent is tiny: parts of
// long chains, which end elsewhere on several processes. Fronts that are cut into tiles
// are in no chain: how a front is cut does not follow from where chains end.
void group_fronts(const Symbolic& symbolic, const AssemblyOptions& options,
                  AssemblyTree& tree) {
  const Costs cost(symbolic, options, tree.sides());
  const auto is_large = [&](std::int32_t s) {
    return cost.subtree[s] > cost.small && symbolic.pivots(s) > 0 &&
           symbolic.front_order(s) >= options.tiled_order;
  };
  const auto is_chain = [&](std::int32_t first, std::int32_t s, std::int32_t parent) {
    return cost.goes_together(first, parent) && !is_large(parent) && !is_large(s);
  };
  const auto fronts = static_cast<std::size_t>(symbolic.fronts());
  std::vector<std::int32_t> node_of_front(fronts), width(fronts, options.block_width);
  std::vector<std::int8_t> is_tiled(fronts, 0);
  std::vector<IndexRange> grains;
  std::int32_t first = 0;
  for (std::int32_t s = 0; s < symbolic.fronts(); ++s) {
    const std::int32_t parent = symbolic.parent[s];
    node_of_front[s] = static_cast<std::int32_t>(tree.nodes.size());
    if (parent >= 0 && cost.subtree[parent] <= cost.small) continue;
    grains.push_back({grains.empty() ? 0 : grains.back().end, s + 1});
    if (parent >= 0 && is_chain(first, s, parent)) continue;
    AssemblyTree::Node node{.first_front = first, .last_front = s};
    node.tiled = is_large(s);
    is_tiled[s] = node.tiled ? 1 : 0;
    node.low_rank =
        options.low_rank && node.tiled && symbolic.pivots(s) >= kLowRankPivots;
    if (node.low_rank)
      width[s] = kLowRankWidth;
    else if (node.tiled)
      width[s] = tile_width(symbolic.front_order(s), options);
    tree.nodes.push_back(node);
    first = s + 1;
  }
  tree.node_of_front = std::move(node_of_front);
  tree.block_width = std::move(width);
  tree.is_tiled = std::move(is_tiled);
  tree.grains = std::move(grains);
}

// Whether a front of a grain joins the one before.
bool joins(const Symbolic& symbolic, const AssemblyTree& tree, const IndexRange& grain,
           std::int32_t s) {
  if (s <= grain.begin || s + 1 == grain.end || tree.first_child[s] >= 0 ||
      symbolic.parent[s] < 0 || symbolic.parent[s] != symbolic.parent[s - 1])
    return false;
  const auto rows = symbolic.rows_of(s), before = symbolic.rows_of(s - 1);
  // Few rows mostly: a loop, not a call that compares bytes.
  const auto same = [](std::int32_t a, std::int32_t b) { return a == b; };
  return !rows.empty() && std::ranges::equal(rows, before, same);
}

void find_joined(const Symbolic& symbolic, AssemblyTree& tree) {
  tree.joins_previous.resize(symbolic.parent.size());
  for (const IndexRange& grain : tree.grains)
    for (std::int32_t s = grain.begin; s < grain.end; ++s)
      tree.joins_previous[s] = joins(symbolic, tree, grain, s);
}

// Where a block column is put together, and the lists of a LowRankPanel. Beside it all
// that is together has whole pages, of which the last column of either part may save
// nothing, the others what is above their diagonals.
Bytes low_rank_bytes(const Symbolic& symbolic, const AssemblyTree& tree,
                     std::int32_t front) {
  constexpr Bytes kPerTile =
      sizeof(std::int32_t) + sizeof(std::int8_t) + sizeof(std::int64_t);
  const std::int64_t order = symbolic.front_order(front);
  const std::int32_t width = tree.block_width[front];
  const std::int64_t blocks = order / width + 2;
  const Bytes page = PageBuffer::footprint(1);
  const Bytes saved =
      (std::int64_t{width} * width - packed_diagonal(width).entries()) * tree.entry_bytes;
  const Bytes pages = 2 * page + blocks * std::max<Bytes>(0, page - saved);
  return checked_add(PageBuffer::footprint(checked_mul(order * width, tree.entry_bytes)),
                     pages + blocks * (kPerTile * blocks + sizeof(PageBuffer)));
}

void measure_blocks(const Symbolic& symbolic, const AssemblyOptions& options,
                    const AssemblyTree& tree, AssemblyTree::Node& node) {
  std::int64_t factor_entries = 0;
  for (std::int32_t s = node.first_front; s <= node.last_front; ++s)
    factor_entries += tree.panel_entries(symbolic, s);
  node.factor_bytes =
      PageBuffer::footprint(checked_mul(factor_entries, tree.entry_bytes));
  node.contribution_bytes = PageBuffer::footprint(checked_mul(
      tree.contribution_entries(symbolic, node.last_front), tree.entry_bytes));
  const std::int32_t last = node.last_front;
  // What is submitted when it is ready.
  const TileShape shape = tile_shape(symbolic, tree, last, true);
  const Bytes beside = node.low_rank ? low_rank_bytes(symbolic, tree, last) : 0;
  const std::int64_t tasks = node.tiled ? 1 + shape.most_ready() : 1;
  node.runtime_bytes =
      PageBuffer::footprint(tasks * options.bytes_per_task + beside +
                            (node.tiled ? shape.blocks * options.bytes_per_block : 0));
}

// What a front takes that is in memory at once with all of its children.
Bytes whole_need(const AssemblyTree& tree, const AssemblyTree::Node& node) {
  Bytes need = checked_add(node.factor_bytes, node.contribution_bytes);
  for (auto c = tree.first_child[node.last_front]; c >= 0; c = tree.next_sibling[c])
    if (c < node.first_front)
      need = checked_add(need, tree.nodes[tree.node_of_front[c]].contribution_bytes);
  return need;
}

Bytes scratch_bytes(const AssemblyTree& tree, const AssemblyTree::Node& node) {
  return PageBuffer::footprint(
      checked_add(checked_mul(node.stack_entries, tree.entry_bytes),
                  checked_mul(node.index_entries, sizeof(std::int32_t))));
}

// Whole pages of the stack that what is left of it does not touch.
Bytes beyond(const AssemblyTree& tree, const AssemblyTree::Node& node,
             std::int64_t left) {
  const Bytes page = PageBuffer::footprint(1);
  return std::max<Bytes>(0, node.stack_entries * tree.entry_bytes / page * page -
                                PageBuffer::footprint(left * tree.entry_bytes));
}

bool may_turn(const AssemblyTree& tree, const AssemblyTree::Node& node) {
  return std::min(node.factor_bytes, scratch_bytes(tree, node)) >= kWorthATurn;
}

// Where in a node of all fronts the stack gives way to the panels: where that saves most,
// if it is worth the calls to the system.
void choose_turn(const Symbolic& symbolic, const AssemblyTree& tree,
                 AssemblyTree::Node& node) {
  const Bytes page = PageBuffer::footprint(1);
  std::vector<std::int64_t> tops;  // entries of the stack at each front
  tops.reserve(static_cast<std::size_t>(node.last_front - node.first_front) + 1);
  measure_stack(symbolic, tree, node, &tops);
  std::int64_t left = 0, panels = 0;  // at most, and of the fronts, after front s
  for (std::int32_t s = node.last_front; s-- > node.first_front;) {
    left = std::max(left, tops[s + 1 - node.first_front]);
    panels += tree.panel_entries(symbolic, s + 1);
    const Bytes early = node.factor_bytes - panels * tree.entry_bytes / page * page;
    const Bytes saved = std::min(node.factor_bytes - early, beyond(tree, node, left));
    if (saved < kWorthATurn || saved <= node.saved_bytes) continue;
    node.early_last = s;
    node.late_stack_entries = left;
    node.early_factor_bytes = early;
    node.saved_bytes = saved;
  }
}

// Of the tiled fronts, the most that one needs.
Bytes largest_need(const AssemblyTree& tree) {
  Bytes largest = 0;
  for (const AssemblyTree::Node& node : tree.nodes)
    if (node.tiled) largest = std::max(largest, whole_need(tree, node));
  return largest;
}

void choose_by_blocks(const Symbolic& symbolic, const AssemblyOptions& options,
                      AssemblyTree& tree) {
  const Bytes largest = largest_need(tree);
  for (AssemblyTree::Node& node : tree.nodes)
    node.by_blocks = node.tiled && static_cast<double>(whole_need(tree, node)) >=
                                       options.whole_part * static_cast<double>(largest);
  for (AssemblyTree::Node& node : tree.nodes)
    node.low_rank_contribution = node.low_rank && symbolic.parent[node.last_front] >= 0 &&
                                 static_cast<double>(node.contribution_bytes) >=
                                     options.low_rank_part * static_cast<double>(largest);
}

AssemblyTree::Profile whole_profile(const AssemblyTree& tree,
                                    const AssemblyTree::Node& node) {
  AssemblyTree::Profile profile;
  profile.own = {checked_add(node.factor_bytes, node.contribution_bytes)};
  for (auto c = tree.first_child[node.last_front]; c >= 0; c = tree.next_sibling[c]) {
    const std::int32_t child = tree.node_of_front[c];
    profile.children.push_back({child, {tree.nodes[child].contribution_bytes}});
  }
  return profile;
}

// The same starts with each block cut into slices.
std::vector<std::int32_t> cut(const std::vector<std::int32_t>& starts,
                              std::int32_t slices) {
  std::vector<std::int32_t> result;
  for (std::size_t b = 0; b + 1 < starts.size(); ++b)
    for (std::int32_t part = 0; part < slices; ++part)
      result.push_back(starts[b] + slice_start(starts[b + 1] - starts[b], part, slices));
  result.push_back(starts.back());
  return result;
}

// Workers that a tiled front can keep busy.
double front_workers(const Symbolic& symbolic, const AssemblyTree& tree,
                     std::int32_t front) {
  const std::vector<std::int32_t> start = block_starts(symbolic, tree, front);
  const TileShape shape = tile_shape(symbolic, tree, front, false);
  const auto width = [&](std::int32_t block) -> Flops {
    return start[block + 1] - start[block];
  };
  // Rows of a task in its column, and flops of them: front_flops() counts two as one.
  const auto rows = [&](const TileTask& task) -> Flops {
    const std::int32_t begin = std::max(shape.first_block(task.row), task.column);
    const std::int32_t end = shape.first_block(task.row + 1);
    return start[end] - start[begin];
  };
  return parallelism(shape, [&](const TileTask& task) -> Flops {
    const Flops wide = width(task.column);
    switch (task.kind) {
      case TileTask::Kind::kAssemble:
        return kFlopsPerAssembledEntry * wide / shape.slices *
               (start[shape.blocks] - start[task.column]);
      case TileTask::Kind::kFactor:
        return wide * wide * (rows(task) - 2 * wide / 3);
      case TileTask::Kind::kSolve:
        return wide * wide * rows(task);
      case TileTask::Kind::kUpdate:
        return (shape.sources_end(task.column, task.source) - task.source) *
               width(task.source) * wide *
               (2 * rows(task) - (task.row == shape.group_of(task.column) ? wide : 0));
      case TileTask::Kind::kAccept:
      case TileTask::Kind::kFinish:
      case TileTask::Kind::kAdd:
      case TileTask::Kind::kTake:
      case TileTask::Kind::kPutBack:
        break;
    }
    return 0;
  });
}

AssemblyTree::Profile profile_of(const Symbolic& symbolic, const AssemblyTree& tree,
                                 const AssemblyTree::Node& node) {
  if (!node.tiled) return {};
  if (!node.by_blocks) return whole_profile(tree, node);
  AssemblyTree::Profile profile;
  const std::int32_t s = node.last_front;
  const Trapezoid panel = tree.panel(symbolic, s);
  const Trapezoid contribution = tree.contribution(symbolic, s);
  const std::vector<std::int32_t> start = block_starts(symbolic, tree, s);
  const TileShape shape = tile_shape(symbolic, tree, s, true);
  const std::vector<std::int32_t> first = cut(start, shape.slices);
  const auto slices = static_cast<std::int32_t>(first.size()) - 1;
  const Bytes page = PageBuffer::footprint(1), sides = tree.sides();
  for (std::int32_t j = 0; j < slices; ++j) {
    const std::int32_t column = first[std::min(j + shape.window, slices)];
    const std::int64_t entries =
        panel.entries_before(column) +
        contribution.entries_before(std::max(0, column - panel.columns()));
    profile.own.push_back(checked_mul(
        sides, checked_add(checked_mul(entries, tree.entry_bytes), 2 * page)));
  }
  for (auto c = tree.first_child[s]; c >= 0; c = tree.next_sibling[c]) {
    const Trapezoid layout = tree.contribution(symbolic, c);
    std::vector<std::int32_t> positions(symbolic.rows_of(c).size());
    relative_indices(symbolic, c, s, positions);
    auto& child = profile.children.emplace_back();
    child.first = tree.node_of_front[c];
    const AssemblyTree::Node& of_child = tree.nodes[child.first];
    const Bytes all = of_child.contribution_bytes;
    for (std::int32_t j = 0; j < slices; ++j) {
      const std::int32_t used = rows_before(positions, first[j]);
      const Bytes drained = std::max<Bytes>(
          0, of_child.read_before(layout, used) * tree.entry_bytes - page);
      child.second.push_back(all - sides * drained);
    }
  }
  return profile;
}

// The same, at most, when memory comes and goes in units. Where a unit has the end of one
// side and the start of the other it comes with whichever is first. Of a compressed
// front a unit stays as long as a block column in it does, of which there are `ahead` at
// once with an end on either side.
AssemblyTree::Profile in_units(const AssemblyTree& tree, const AssemblyTree::Node& node,
                               AssemblyTree::Profile profile, Bytes unit) {
  const Bytes whole = checked_add(node.factor_bytes, node.contribution_bytes);
  const Bytes more = checked_mul(2 * tree.sides() - 1, unit);
  const Bytes stay = node.low_rank ? checked_mul(2 * kAhead, unit) : 0;
  for (Bytes& own : profile.own)
    own = checked_add(std::min(whole, checked_add(own, more)), stay);
  for (auto& [child, left] : profile.children)
    for (Bytes& bytes : left)
      bytes = std::min(tree.nodes[child].contribution_bytes, bytes + tree.sides() * unit);
  return profile;
}

// What a tiled front needs at once, with the contribution blocks of its children that are
// in memory.
Bytes tiled_need(const AssemblyTree& tree, const AssemblyTree::Node& node,
                 const AssemblyTree::Profile& profile, Bytes fixed) {
  Bytes need = checked_add(node.factor_bytes, node.contribution_bytes);
  for (std::size_t j = 0; j < profile.own.size(); ++j)
    need = std::max(need, need_at(tree, profile, j));
  return checked_add(need, fixed);
}

Task describe(const Symbolic& symbolic, const AssemblyTree& tree,
              const AssemblyTree::Node& node, const AssemblyTree::Profile& profile) {
  Task task;
  for (std::int32_t s = node.first_front; s <= node.last_front; ++s)
    task.work += node.part * front_cost(symbolic, s, tree.sides());
  const std::int32_t last = node.last_front;
  task.execution_size =
      checked_add(scratch_bytes(tree, node), node.runtime_bytes) - node.saved_bytes;
  if (node.tiled) {
    // All of it less what the task is charged for by its sizes and those of its children.
    task.execution_size = tiled_need(tree, node, profile, task.execution_size) -
                          node.factor_bytes - node.contribution_bytes;
    for (const auto& [child, bytes] : profile.children)
      if (tree.nodes[child].contribution_at < 0)
        task.execution_size -= tree.nodes[child].contribution_bytes;
  }
  Bytes& factor = node.factor_at < 0 ? task.retained_size : task.execution_size;
  factor = checked_add(factor, node.factor_bytes);
  Bytes& contribution = node.contribution_at < 0 ? task.output_size : task.execution_size;
  contribution = checked_add(contribution, node.contribution_bytes);
  if (symbolic.parent[last] >= 0)
    task.parent = static_cast<TaskId>(tree.node_of_front[symbolic.parent[last]]);
  return task;
}

// Fronts of those by blocks take their memory at once, or in units and for more block
// columns at a time, and compressed ones give theirs back in units, where the sequential
// order has room for that under the peak that it has anyway.
void take_more_where_it_fits(const Symbolic& symbolic, const AssemblyOptions& options,
                             AssemblyTree& tree) {
  const auto goes_by_parts = [](const AssemblyTree::Node& node) {
    return node.by_blocks || node.low_rank;
  };
  if (std::ranges::none_of(tree.nodes, goes_by_parts)) return;
  const double most =
      std::max(options.fitting_part * static_cast<double>(largest_need(tree)),
               4.0 * static_cast<double>(options.unit));
  const Traversal order = sequential_order(tree.tasks, OrderKind::kLiu);
  Bytes held = 0;  // after the task
  for (const TaskId task : order.order) {
    const Bytes children = tree.tasks.input_size(task);
    held += tree.tasks.retained_size(task) + tree.tasks.output_size(task) - children;
    AssemblyTree::Node& node = tree.nodes[index(task)];
    if (!goes_by_parts(node)) continue;
    const auto take = [&](AssemblyTree::Profile profile) {
      const Bytes beside = describe(symbolic, tree, node, profile).execution_size;
      if (held + children + beside > order.peak) return false;
      tree.profile[index(task)] = std::move(profile);
      return true;
    };
    if (!node.low_rank && static_cast<double>(whole_need(tree, node)) <= most &&
        take(whole_profile(tree, node))) {
      node.by_blocks = false;
      continue;
    }
    for (const std::int32_t window : kWindows) {
      if (node.low_rank && window > kAhead) continue;
      node.window = window;
      if (!take(in_units(tree, node, profile_of(symbolic, tree, node), options.unit)))
        continue;
      node.unit = options.unit;
      break;
    }
  }
  describe_tasks(symbolic, tree);
}

}  // namespace

std::vector<std::int32_t> block_starts(const Symbolic& symbolic, const AssemblyTree& tree,
                                       std::int32_t front, std::int32_t delayed) {
  const Trapezoid panel = tree.panel(symbolic, front, delayed);
  const Trapezoid contribution = tree.contribution(symbolic, front);
  std::vector<std::int32_t> start;
  for (std::int32_t b = 0; b < panel.blocks(); ++b) start.push_back(panel.first(b));
  for (std::int32_t b = 0; b < contribution.blocks(); ++b)
    start.push_back(panel.columns() + contribution.first(b));
  start.push_back(panel.rows());
  return start;
}

Bytes need_at(const AssemblyTree& tree, const AssemblyTree::Profile& profile,
              std::size_t entry) {
  Bytes need = profile.own[entry];
  for (const auto& [child, bytes] : profile.children)
    if (tree.nodes[child].contribution_at < 0) need = checked_add(need, bytes[entry]);
  return need;
}

TileShape tile_shape(const AssemblyTree& tree, std::int32_t front, std::int32_t panels,
                     std::int32_t blocks, bool may_delay, std::int32_t extra) {
  constexpr std::int32_t kColumnsPerSlice = 96, kMostSlices = 4;
  constexpr std::int32_t kTileRows = 256, kNarrow = 64, kBatch = 8;
  const AssemblyTree::Node& node = tree.nodes[tree.node_of_front[front]];
  const bool low_rank = node.low_rank;
  const Flops width = tree.block_width[front];
  const std::int32_t slices =
      std::clamp(tree.block_width[front] / kColumnsPerSlice, 1, kMostSlices);
  // BLAS copies the columns that a tile is updated by once for each tile, and is as fast
  // as on whole block columns from some hundred rows on. Columns of a few entries, which
  // only small examples have, are as good in tiles of a few.
  const Flops rows = width < kNarrow ? 0 : kTileRows;
  const Flops high = std::max(std::ceil(tree.tile_flops / (2 * width * width * width)),
                              std::ceil(rows / width));
  const std::int32_t most = std::max(1, blocks - extra);
  // A front that one task runs is not cut where processes share it, either.
  const bool uncut = !tree.is_tiled[front];
  return {.panels = panels,
          .blocks = blocks,
          .group = low_rank ? 1
                   : uncut
                       ? std::max(1, blocks)
                       : static_cast<std::int32_t>(std::clamp(high, 1.0, Flops(most))),
          .extra = uncut ? 0 : extra,
          .slices = slices,
          // What is in memory in any case is assembled as soon as someone has time.
          .window = (node.by_blocks ? node.window : std::max(1, blocks)) * slices,
          .ahead = low_rank ? kAhead : 0,
          .batch = low_rank ? kBatch : 1,
          .tested = low_rank || tree.kind != FactorKind::kCholesky,
          .has_tail = may_delay && tree.kind != FactorKind::kCholesky};
}

TileShape tile_shape(const Symbolic& symbolic, const AssemblyTree& tree,
                     std::int32_t front, bool may_delay) {
  const std::int32_t panels = tree.panel(symbolic, front).blocks();
  return tile_shape(tree, front, panels,
                    panels + tree.contribution(symbolic, front).blocks(), may_delay);
}

std::span<const IndexRange> AssemblyTree::grains_of(const Node& node) const {
  const auto first =
      std::ranges::lower_bound(grains, node.first_front, {}, &IndexRange::begin);
  const auto last = std::lower_bound(
      first, grains.end(), node.last_front,
      [](const IndexRange& grain, std::int32_t front) { return grain.begin <= front; });
  return {first, last};
}

void measure_stack(const Symbolic& symbolic, const AssemblyTree& tree,
                   AssemblyTree::Node& node, std::vector<std::int64_t>* tops) {
  std::int64_t top = 0;
  for (std::int32_t s = node.first_front; s <= node.last_front; ++s) {
    std::int64_t children = 0, indices = 0;
    for (std::int32_t c = tree.first_child[s]; c >= 0; c = tree.next_sibling[c]) {
      const Trapezoid block = tree.contribution(symbolic, c);
      if (c >= node.first_front && !tree.is_joined(c))
        children += tree.sides() * block.entries();
      indices = node.tiled ? indices + block.rows()
                           : std::max<std::int64_t>(indices, block.rows());
    }
    if (s < node.last_front && !tree.joins_previous[s])
      top += tree.contribution_entries(symbolic, s);
    if (tops != nullptr) tops->push_back(top);
    node.stack_entries = std::max(node.stack_entries, top);
    node.index_entries = std::max(node.index_entries, indices);
    top -= children;
  }
}

AssemblyTree build_assembly_tree(const Symbolic& symbolic,
                                 const AssemblyOptions& options) {
  AssemblyTree tree;
  tree.kind = options.kind;
  tree.entry_bytes = options.entry_bytes;
  tree.tile_flops = options.tile_flops;
  tree.window = std::clamp(options.workers / options.processes, 1, kMostAssembled);
  link_children(symbolic, tree);
  group_fronts(symbolic, options, tree);
  find_joined(symbolic, tree);
  if (options.whole) join_nodes(symbolic, tree);
  for (AssemblyTree::Node& node : tree.nodes) {
    measure_blocks(symbolic, options, tree, node);
    measure_stack(symbolic, tree, node);
    if (options.whole && may_turn(tree, node)) choose_turn(symbolic, tree, node);
  }
  choose_by_blocks(symbolic, options, tree);
  for (const AssemblyTree::Node& node : tree.nodes)
    tree.profile.push_back(profile_of(symbolic, tree, node));
  describe_tasks(symbolic, tree);
  take_more_where_it_fits(symbolic, options, tree);
  for (const AssemblyTree::Node& node : tree.nodes)
    tree.max_workers.push_back(node.tiled ? front_workers(symbolic, tree, node.last_front)
                                          : 1);
  return tree;
}

void describe_tasks(const Symbolic& symbolic, AssemblyTree& tree) {
  std::vector<Task> tasks;
  tasks.reserve(tree.nodes.size());
  for (const AssemblyTree::Node& node : tree.nodes)
    tasks.push_back(describe(symbolic, tree, node, tree.profile[tasks.size()]));
  tree.tasks = TaskTree(tasks);
}

}  // namespace espalier::solver
