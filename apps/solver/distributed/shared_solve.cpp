#include "solver/distributed/shared_solve.h"

#include <algorithm>

#include "solver/distributed/vector_rows.h"

namespace espalier::solver {

std::int32_t holder_of(const AssemblyTree& tree, const Symbolic& symbolic,
                       const FrontDistribution& distribution, std::int32_t node) {
  return distribution.owner_of(
      node, tree.panel(symbolic, tree.nodes[node].last_front).blocks() - 1);
}

template <class T>
void SharedSolve<T>::run() {
  const auto nodes = static_cast<std::int32_t>(view_.tree.nodes.size());
  for (std::int32_t node = 0; node < nodes; ++node)
    if (distribution_.shared(node)) forward(node);
  for (std::int32_t node = nodes - 1; node >= 0; --node)
    if (distribution_.shared(node)) backward(node);
}

template <class T>
typename SharedSolve<T>::Open SharedSolve<T>::open(std::int32_t node) const {
  const std::int32_t front = view_.tree.nodes[node].last_front;
  return {.node = node,
          .front = front,
          .panel = view_.factor.panel(view_.symbolic, view_.tree, front),
          .slots = delays(front) != nullptr ? delays(front)->slots() : 0};
}

template <class T>
std::vector<BlockRun> SharedSolve<T>::runs_of(const Open& at) const {
  return block_runs(distribution_, at.node,
                    view_.tree.panel(view_.symbolic, at.front).blocks(),
                    at.panel.blocks());
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
  if (std::ranges::none_of(runs, [&](const BlockRun& run) { return run.owner == me; }))
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
  for (std::size_t k = 0; k < runs.size(); ++k) {
    const auto [begin, end, owner] = runs[k];
    if (owner != communicator_.rank()) continue;
    const std::int32_t first = at.panel.first(begin),
                       last = std::min(at.panel.first(end), at.panel.columns());
    if (k > 0)
      receive_from(at, first, fronts_.slots_before(at.front, begin), runs[k - 1].owner,
                   MessageTag::kForward);
    fronts_.forward_blocks(at.front, panels->data(), begin, end, vector(at), slots(at),
                           space_.block.template as<T>());
    from_vector(at, first, last, false, b_);
    if (k + 1 < runs.size())
      send_from(at, last, fronts_.slots_before(at.front, end), runs[k + 1].owner,
                MessageTag::kForward);
    else
      keep_out(at);
  }
}

// At the first owner: the right-hand sides of the front's own rows, and what the children
// left.
template <class T>
void SharedSolve<T>::begin_vector(const Open& at) const {
  if (distribution_.owner_of(at.node, 0) == communicator_.rank()) {
    const std::int32_t own = view_.symbolic.pivots(at.front);
    const Vectors<T> v = vector(at);
    copy_rows(b_.data + view_.symbolic.first_column[at.front], b_.stride, v.data,
              v.stride, own, b_.count);
    for (std::int32_t k = 0; k < v.count; ++k)
      std::fill_n(v.data + k * v.stride + own, v.stride - own, T{0});
  }
  for_each_child(at, [&](const Child& child) { take_out(at, child); });
}

// What the children left in the rows below the panel goes from the first owner to the
// last, and what the panel does to these rows is summed up by itself and added to it
// there: as one process does.
template <class T>
void SharedSolve<T>::pass_on_sums(const Open& at) const {
  const std::int32_t first = distribution_.owner_of(at.node, 0), last = holder(at.node);
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
  keep_slots(at);
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
  for (std::size_t k = runs.size(); k-- > 0;) {
    const auto [begin, end, owner] = runs[k];
    if (owner != communicator_.rank()) continue;
    const std::int32_t first = at.panel.first(begin),
                       last = std::min(at.panel.first(end), columns);
    if (k + 1 < runs.size())
      receive_from(at, last, fronts_.slots_before(at.front, end), runs[k + 1].owner,
                   MessageTag::kBackward);
    else
      gather_rows(x_, rows, v.data + columns, v.stride);
    to_vector(at, b_, first, last);
    fronts_.backward_blocks(at.front, panels->data(), begin, end, b_, x_, v, slots(at),
                            space_.block.template as<T>());
    // The first owner has all of the front's rows now, for the children.
    from_vector(at, first, k == 0 ? columns : last, true, x_);
    if (k > 0)
      send_from(at, first, fronts_.slots_before(at.front, begin), runs[k - 1].owner,
                MessageTag::kBackward);
    else
      scatter_rows(v.data + columns, v.stride, rows, x_);
  }
  for_each_child(at, [&](const Child& child) { pass_down(at, child); });
}

#define ESPALIER_INSTANTIATE(T) template class SharedSolve<T>;
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
