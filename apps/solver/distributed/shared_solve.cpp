#include "solver/distributed/shared_solve.h"

#include <algorithm>

#include "solver/distributed/vector_rows.h"

namespace espalier::solver {

std::vector<std::int32_t> column_of(const FrontDistribution& distribution,
                                    std::int32_t node, std::int32_t block) {
  std::vector<std::int32_t> processes;
  for (std::int32_t row = 0; row < distribution.grid_of(node).rows; ++row)
    processes.push_back(distribution.tile_owner(node, row, block));
  return processes;
}

std::vector<std::int32_t> holders_of(const AssemblyTree& tree, const Symbolic& symbolic,
                                     const FrontDistribution& distribution,
                                     std::int32_t node) {
  return column_of(distribution, node,
                   tree.panel(symbolic, tree.nodes[node].last_front).blocks() - 1);
}

template <class T>
void SharedSolve<T>::run(IndexRange nodes) {
  for (std::int32_t node = nodes.begin; node < nodes.end; ++node)
    if (distribution_.shared(node)) forward(node);
  for (std::int32_t node = nodes.end - 1; node >= nodes.begin; --node)
    if (distribution_.shared(node)) backward(node);
}

template <class T>
typename SharedSolve<T>::Open SharedSolve<T>::open(std::int32_t node) const {
  const std::int32_t front = view_.tree.nodes[node].last_front;
  const std::int32_t columns = distribution_.grid_columns(node);
  return {.node = node,
          .front = front,
          .panel = view_.factor.panel(view_.symbolic, view_.tree, front),
          .slots = delays(front) != nullptr ? delays(front)->slots() : 0,
          .planned = view_.tree.panel(view_.symbolic, front).blocks(),
          .grid_rows = distribution_.grid_of(node).rows,
          .mine = (communicator_.rank() - distribution_.group[node].first) / columns};
}

// Successive blocks of one column of the grid; `owner` is its first process.
template <class T>
std::vector<BlockRun> SharedSolve<T>::runs_of(const Open& at) const {
  const std::int32_t panels = at.panel.blocks();
  if (at.grid_rows == 1) return block_runs(distribution_, at.node, at.planned, panels);
  std::vector<BlockRun> runs;
  for (std::int32_t k = 0; k < panels; ++k) {
    const std::int32_t owner =
        distribution_.first_owner_of(at.node, k, at.planned, panels);
    if (!runs.empty() && runs.back().owner == owner)
      ++runs.back().end;
    else
      runs.push_back({k, k + 1, owner});
  }
  return runs;
}

// The process of this one's row of the grid.
template <class T>
std::int32_t SharedSolve<T>::owner_in_run(const Open& at, const BlockRun& run) const {
  return run.owner + at.mine * distribution_.grid_columns(at.node);
}

template <class T>
std::vector<std::int32_t> SharedSolve<T>::column_at(const Open& at,
                                                    std::int32_t block) const {
  const std::int32_t first =
      distribution_.first_owner_of(at.node, block, at.planned, at.panel.blocks());
  std::vector<std::int32_t> processes;
  for (std::int32_t row = 0; row < at.grid_rows; ++row)
    processes.push_back(first + row * distribution_.grid_columns(at.node));
  return processes;
}

// Rows of a front's that a row of the grid solves for or updates.
template <class T>
std::vector<IndexRange> SharedSolve<T>::rows_at(const Open& at, std::int32_t row,
                                                IndexRange of) const {
  const auto strips = view_.factor.strips_of(at.front);
  if (strips.empty()) return row == 0 ? std::vector{of} : std::vector<IndexRange>();
  std::vector<IndexRange> ranges;
  for (std::size_t s = 0; s + 1 < strips.size(); ++s) {
    const IndexRange rows{std::max(of.begin, strips[s]), std::min(of.end, strips[s + 1])};
    if (rows.begin < rows.end && grid_row(at.node, at.front, strips[s]) == row)
      ranges.push_back(rows);
  }
  return ranges;
}

template <class T>
template <class Part>
void SharedSolve<T>::for_each_child(const Open& at, const Part& part) const {
  const AssemblyTree& tree = view_.tree;
  Child child;
  child.place = view_.symbolic.pivots(at.front);
  for (auto c = tree.first_child[at.front]; c >= 0; c = tree.next_sibling[c]) {
    child.node = tree.node_of_front[c];
    child.front = c;
    part(child);
    child.place += delayed_by(at, child.number++);
  }
}

// Before anybody waits for this process: reading takes its time.
template <class T>
std::optional<OwnPanels<T>> SharedSolve<T>::own_panels(
    const Open& at, std::span<const BlockRun> runs) const {
  const std::int32_t me = communicator_.rank();
  if (!distribution_.takes_part(at.node, me) ||
      std::ranges::none_of(
          runs, [&](const BlockRun& run) { return owner_in_run(at, run) == me; }))
    return std::nullopt;
  return std::optional<OwnPanels<T>>(std::in_place, view_, distribution_, at.node, me);
}

template <class T>
void SharedSolve<T>::forward(std::int32_t node) {
  const Open at = open(node);
  const auto runs = runs_of(at);
  const auto panels = own_panels(at, runs);
  begin_vector(at);
  pass_on_sums(at);
  if (is_narrow(at)) {
    if (panels) forward_narrow(at, panels->data());
    return;
  }
  for (std::size_t k = 0; panels && k < runs.size(); ++k) {
    const BlockRun& run = runs[k];
    if (owner_in_run(at, run) != communicator_.rank()) continue;
    const std::int32_t first = at.panel.first(run.begin),
                       last = std::min(at.panel.first(run.end), at.panel.columns());
    if (k > 0)
      receive_from(at, first, slots_along(at, run.begin), owner_in_run(at, runs[k - 1]),
                   MessageTag::kForward);
    forward_run(at, run, panels->data());
    for (const auto& [begin, end] : own_rows(at, {first, last}))
      from_vector(at, begin, end, false, b_);
    if (k + 1 == runs.size()) {
      keep_out(at);
      continue;
    }
    send_from(at, last, slots_along(at, run.end), owner_in_run(at, runs[k + 1]),
              MessageTag::kForward);
    if (owner_at(at, run.end - 1) == communicator_.rank())
      send_slots(at, run.end, communicator_.rank(), owner_at(at, run.end),
                 MessageTag::kForward);
  }
}

// By loops, as one process does: all of the front is at the owner of its one block
// column, and so is what the children left.
template <class T>
void SharedSolve<T>::forward_narrow(const Open& at, const T* panel) const {
  const auto rows = view_.symbolic.rows_of(at.front);
  from_vector(at, 0, at.panel.columns(), false, b_);
  const AncestorRows<T> ancestors{view_.symbolic.first_column[at.front + 1],
                                  rows,
                                  space_.places.data(),
                                  {out(at.node), std::ssize(rows), b_.count}};
  fronts_.forward(at.front, panel, b_, ancestors, vector(at).data);
}

// At the first owners: the right-hand sides of the front's own rows, and what the
// children left.
template <class T>
void SharedSolve<T>::begin_vector(const Open& at) const {
  const auto first = column_of(distribution_, at.node, 0);
  if (std::ranges::find(first, communicator_.rank()) != first.end()) {
    const std::int32_t own = view_.symbolic.pivots(at.front);
    const Vectors<T> v = vector(at);
    copy_rows(b_.data + view_.symbolic.first_column[at.front], b_.stride, v.data,
              v.stride, own, b_.count);
    for (std::int32_t k = 0; k < v.count; ++k)
      std::fill_n(v.data + k * v.stride + own, v.stride - own, T{0});
  }
  for_each_child(at, [&](const Child& child) {
    for (const Passage& passage : passages(at, child)) take_out(at, child, passage);
  });
}

// What the children left in the rows below the panel goes from the first owner to the
// last, and what the panel does to these rows is summed up by itself and added to it
// there: as one process does.
template <class T>
void SharedSolve<T>::pass_on_sums(const Open& at) const {
  if (!distribution_.takes_part(at.node, communicator_.rank())) return;
  const std::int32_t first = column_of(distribution_, at.node, 0)[at.mine];
  const std::int32_t last = holders(at.node)[at.mine];
  const std::int32_t me = communicator_.rank(), columns = at.panel.columns();
  const Vectors<T> v = vector(at);
  const std::int64_t rows = v.stride - columns;
  if (rows == 0 || (me != first && me != last)) return;
  const std::span<T> sums =
      me == last ? std::span(out(at.node), static_cast<std::size_t>(rows * v.count))
                 : message(rows);
  if (me != first) return receive(communicator_, sums, first, MessageTag::kForward);
  copy_rows(v.data + columns, v.stride, sums.data(), rows, rows, v.count);
  for (std::int32_t k = 0; k < v.count; ++k)
    std::fill_n(v.data + k * v.stride + columns, rows, T{0});
  if (me != last)
    send(communicator_, std::span<const T>(sums), last, MessageTag::kForward);
}

// At the last owner, for the parent's turn.
template <class T>
void SharedSolve<T>::keep_out(const Open& at) const {
  if (owner_at(at, at.panel.blocks() - 1) == communicator_.rank()) keep_slots(at);
  const Vectors<T> v = vector(at);
  const std::int64_t rows = v.stride - at.panel.columns();
  T* sum = out(at.node);
  for (std::int32_t k = 0; k < v.count; ++k) {
    const T* const below = v.data + k * v.stride + at.panel.columns();
    for (std::int64_t i = 0; i < rows; ++i) *sum++ += below[i];
  }
}

template <class T>
void SharedSolve<T>::backward(std::int32_t node) {
  const Open at = open(node);
  const auto rows = view_.symbolic.rows_of(at.front);
  const auto runs = runs_of(at);
  const auto panels = own_panels(at, runs);
  const std::int32_t columns = at.panel.columns();
  const Vectors<T> v = vector(at);
  const bool narrow = is_narrow(at);
  if (panels && narrow) fronts_.backward(at.front, panels->data(), b_, x_, v.data);
  for (std::size_t k = narrow ? 0 : runs.size(); panels && k-- > 0;) {
    const BlockRun& run = runs[k];
    if (owner_in_run(at, run) != communicator_.rank()) continue;
    const std::int32_t first = at.panel.first(run.begin),
                       last = std::min(at.panel.first(run.end), columns);
    if (k + 1 < runs.size())
      receive_from(at, last, slots_along(at, run.end), owner_in_run(at, runs[k + 1]),
                   MessageTag::kBackward);
    else
      gather_rows(x_, rows, v.data + columns, v.stride);
    backward_run(at, run, panels->data());
    // The first owners have all of the front's rows now, for the children.
    for (const auto& [begin, end] : own_rows(at, {first, k == 0 ? columns : last}))
      from_vector(at, begin, end, true, x_);
    if (k > 0) {
      send_from(at, first, slots_along(at, run.begin), owner_in_run(at, runs[k - 1]),
                MessageTag::kBackward);
      if (owner_at(at, run.begin) == communicator_.rank())
        send_slots(at, run.begin, communicator_.rank(), owner_at(at, run.begin - 1),
                   MessageTag::kBackward);
      continue;
    }
    for (const auto& [begin, end] : own_rows(at, {columns, at.panel.rows()}))
      scatter_rows(v.data + begin, v.stride, rows.subspan(begin - columns, end - begin),
                   x_);
  }
  for_each_child(at, [&](const Child& child) {
    for (const Passage& passage : passages(at, child)) pass_down(at, child, passage);
  });
}

#define ESPALIER_INSTANTIATE(T) template class SharedSolve<T>;
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
