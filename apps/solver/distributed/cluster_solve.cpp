// One sweep down and one up over the same parts and messages: over 300 lines.

#include "solver/distributed/cluster_solve.h"

#include <algorithm>
#include <utility>

#include "solver/distributed/vector_rows.h"

namespace espalier::solver {
namespace {

constexpr std::size_t kPiece = 8192;  // entries that are summed at once in float

// Where the rows below a node's panel are once it is done, on the way up; where those of
// x are needed first on the way down.
std::int32_t holder_of(const AssemblyTree& tree, const Symbolic& symbolic,
                       const FrontDistribution& distribution, std::int32_t node) {
  return distribution.owner_of(
      node, tree.panel(symbolic, tree.nodes[node].last_front).blocks() - 1);
}

// Whole subtrees: a node is local where all below it is.
std::vector<std::int8_t> local_forest(const AssemblyTree& tree,
                                      const FrontDistribution& distribution,
                                      std::int32_t process) {
  std::vector<std::int8_t> forest(tree.nodes.size());
  for (std::int32_t node = 0; node < std::ssize(tree.nodes); ++node)
    forest[node] =
        !distribution.shared(node) && distribution.takes_part(node, process) ? 1 : 0;
  return forest;
}

// What fronts have more than planned: columns that came to them, that they delay, slots.
struct More {
  std::vector<std::int32_t> in, out, slots;  // of each front; empty: none

  template <class T>
  explicit More(const Factor<T>* factor) {
    for (std::size_t s = 0; factor != nullptr && s < factor->front.size(); ++s) {
      const auto front = static_cast<std::int32_t>(s);
      const FrontDelays<T>* const delays = factor->front[s].delays.get();
      in.push_back(factor->delayed_in(front));
      out.push_back(factor->delayed_out(front));
      slots.push_back(delays != nullptr ? delays->slots() : 0);
    }
  }
  static std::int64_t of(const std::vector<std::int32_t>& counts, std::int32_t front) {
    return counts.empty() ? 0 : counts[front];
  }
};

// Entries for one vector at a process.
struct Sizes {
  std::int64_t vector = 0, message = 0, block = 0, outs = 0, slots = 0;
  std::vector<std::int64_t> out_start;  // of each node; -1: not here

  Sizes(const Symbolic& symbolic, const AssemblyTree& tree,
        const FrontDistribution& distribution, std::int32_t process, const More& more)
      : out_start(tree.nodes.size(), -1) {
    std::int64_t top = 0;
    for (std::int32_t node = 0; node < std::ssize(tree.nodes); ++node) {
      if (!distribution.shared(node)) continue;
      const std::int32_t front = tree.nodes[node].last_front;
      for (auto c = tree.first_child[front]; c >= 0; c = tree.next_sibling[c]) {
        const std::int32_t child = tree.node_of_front[c];
        if (holder_of(tree, symbolic, distribution, child) != process) continue;
        message =
            std::max(message, std::ssize(symbolic.rows_of(c)) + More::of(more.out, c));
        if (out_start[child] >= 0) top = std::min(top, out_start[child]);
      }
      if (solves(symbolic, tree, distribution, node, process, more))
        add_vector(symbolic, tree, front, more);
      if (holder_of(tree, symbolic, distribution, node) != process) continue;
      out_start[node] = top;
      top += std::ssize(symbolic.rows_of(front));
      outs = std::max(outs, top);
    }
    message = std::max(message, vector + slots);
  }

 private:
  // Whether a process has blocks of a node's panel, of which more come with delayed
  // columns.
  static bool solves(const Symbolic& symbolic, const AssemblyTree& tree,
                     const FrontDistribution& distribution, std::int32_t node,
                     std::int32_t process, const More& more) {
    const std::int32_t front = tree.nodes[node].last_front;
    const std::int32_t planned = tree.panel(symbolic, front).blocks();
    const auto runs = block_runs(distribution, node, planned, planned);
    return distribution.takes_part(node, process) &&
           (More::of(more.in, front) > 0 ||
            std::ranges::any_of(
                runs, [&](const BlockRun& run) { return run.owner == process; }));
  }
  void add_vector(const Symbolic& symbolic, const AssemblyTree& tree, std::int32_t front,
                  const More& more) {
    const Trapezoid panel = tree.panel(symbolic, front);
    vector = std::max<std::int64_t>(vector, panel.rows() + More::of(more.in, front));
    block = std::max<std::int64_t>(
        block, std::min<std::int64_t>(tree.block_width[front],
                                      panel.columns() + More::of(more.in, front)));
    slots = std::max(slots, More::of(more.slots, front));
  }
};

// The workers poll, where this thread needs a core.
class Asleep {
 public:
  explicit Asleep(const Runtime* runtime) : runtime_(runtime) {
    if (runtime_ != nullptr) runtime_->sleep();
  }
  ~Asleep() {
    if (runtime_ != nullptr) runtime_->wake();
  }
  Asleep(const Asleep&) = delete;
  Asleep& operator=(const Asleep&) = delete;

 private:
  const Runtime* runtime_;
};

template <class T>
Bytes bytes_of(std::int64_t entries, std::int32_t count) {
  return checked_mul(checked_mul(entries, count), sizeof(T));
}

}  // namespace

template <class T>
ClusterSolve<T>::ClusterSolve(const FactorView<T>& view,
                              const FrontDistribution& distribution,
                              Communicator& communicator, const Runtime& runtime,
                              std::int32_t count, Bytes read_limit)
    : view_(view),
      distribution_(distribution),
      communicator_(communicator),
      runtime_(runtime),
      ranges_(column_ranges(view.symbolic, view.tree, distribution)),
      count_(count),
      local_(view, runtime, count, read_limit,
             local_forest(view.tree, distribution, communicator.rank())) {
  Sizes sizes(view.symbolic, view.tree, distribution, communicator.rank(),
              More(&view.factor));
  outs_ = PageBuffer(bytes_of<T>(sizes.outs, count));
  vector_ = PageBuffer(bytes_of<T>(sizes.vector, count));
  message_ = PageBuffer(bytes_of<T>(sizes.message, count));
  block_ = PageBuffer(bytes_of<T>(sizes.block, count));
  slots_ = PageBuffer(bytes_of<T>(2 * sizes.slots, count));
  places_.resize(static_cast<std::size_t>(sizes.vector));
  out_start_ = std::move(sizes.out_start);
  if (sizeof(T) < sizeof(double)) piece_.resize(kPiece);
}

template <class T>
Bytes ClusterSolve<T>::footprint(const Symbolic& symbolic, const AssemblyTree& tree,
                                 const FrontDistribution& distribution,
                                 std::int32_t process, std::int32_t workers,
                                 std::int32_t count) {
  const Sizes sizes(symbolic, tree, distribution, process,
                    More(static_cast<const Factor<T>*>(nullptr)));
  Bytes bytes = TreeSolve<T>::footprint(symbolic, tree, workers, count,
                                        local_forest(tree, distribution, process));
  for (const std::int64_t entries :
       {sizes.outs, sizes.vector, sizes.message, sizes.block})
    bytes = checked_add(bytes, PageBuffer::footprint(bytes_of<T>(entries, count)));
  const Bytes lists = sizes.vector * static_cast<Bytes>(sizeof(std::int32_t)) +
                      std::ssize(tree.nodes) * static_cast<Bytes>(sizeof(std::int64_t)) +
                      (sizeof(T) < sizeof(double) ? kPiece * sizeof(double) : 0);
  const auto ranges =
      column_ranges(symbolic, tree, distribution).size() * sizeof(ColumnRange);
  return checked_add(bytes, lists + static_cast<Bytes>(ranges));
}

template <class T>
void ClusterSolve<T>::solve(bool transposed, const Vectors<T>& b, const Vectors<T>& x) {
  const FrontSolve<T> fronts(view_, transposed);
  fronts_ = &fronts;
  transposed_ = transposed;
  b_ = b;
  x_ = x;
  local_.forward(transposed, b);
  solve_shared();
  local_.backward(transposed, b, x);
  fronts_ = nullptr;
  assemble_solution();
}

template <class T>
void ClusterSolve<T>::solve_shared() {
  const Asleep workers(
      communicator_.size() > 1 && communicator_.has_own_runtime() ? &runtime_ : nullptr);
  const auto nodes = static_cast<std::int32_t>(view_.tree.nodes.size());
  for (std::int32_t node = 0; node < nodes; ++node)
    if (distribution_.shared(node)) forward(node);
  for (std::int32_t node = nodes - 1; node >= 0; --node)
    if (distribution_.shared(node)) backward(node);
}

template <class T>
std::int32_t ClusterSolve<T>::holder(std::int32_t node) const {
  return holder_of(view_.tree, view_.symbolic, distribution_, node);
}

// Before anybody waits for this process: reading takes its time.
template <class T>
std::optional<OwnPanels<T>> ClusterSolve<T>::own_panels(
    std::int32_t node, std::span<const BlockRun> runs) const {
  const auto mine = [&](const BlockRun& run) {
    return run.owner == communicator_.rank();
  };
  if (std::ranges::none_of(runs, mine)) return std::nullopt;
  return std::optional<OwnPanels<T>>(std::in_place, view_, distribution_, node,
                                     communicator_.rank());
}

template <class T>
std::vector<BlockRun> ClusterSolve<T>::runs_of(std::int32_t node) const {
  const std::int32_t s = front(node);
  return block_runs(distribution_, node, view_.tree.panel(view_.symbolic, s).blocks(),
                    view_.factor.panel(view_.symbolic, view_.tree, s).blocks());
}

template <class T>
void ClusterSolve<T>::open_front(std::int32_t node) {
  const std::int32_t s = front(node);
  const Trapezoid panel = view_.factor.panel(view_.symbolic, view_.tree, s);
  order_ = panel.rows();
  columns_ = panel.columns();
  slot_count_ = delays(s) != nullptr ? delays(s)->slots() : 0;
}

template <class T>
void ClusterSolve<T>::forward(std::int32_t node) {
  const std::int32_t s = front(node), me = communicator_.rank();
  const Trapezoid panel = view_.factor.panel(view_.symbolic, view_.tree, s);
  const auto runs = runs_of(node);
  const auto panels = own_panels(node, runs);
  open_front(node);
  begin_vector(node);
  for (std::size_t k = 0; k < runs.size(); ++k) {
    const auto [begin, end, owner] = runs[k];
    if (owner != me) continue;
    const std::int32_t first = panel.first(begin),
                       last = std::min(panel.first(end), columns_);
    if (k > 0)
      receive_from(first, fronts_->slots_before(s, begin), runs[k - 1].owner,
                   MessageTag::kForward);
    const Vectors<T> v = vector();
    fronts_->forward_blocks(s, panels->data(), begin, end, v, slot_vectors(),
                            block_.as<T>());
    from_vector(s, first, last, false, b_);
    if (k + 1 < runs.size()) {
      send_from(last, fronts_->slots_before(s, end), runs[k + 1].owner,
                MessageTag::kForward);
      continue;
    }
    keep_slots(s);
    copy_rows(v.data + last, v.stride, outs_.as<T>() + out_start_[node] * count_,
              order_ - last, order_ - last, b_.count);
  }
}

// At the first owner: the right-hand sides of the front's own rows, and what the children
// left.
template <class T>
void ClusterSolve<T>::begin_vector(std::int32_t node) {
  const std::int32_t s = front(node), to = distribution_.owner_of(node, 0);
  const std::int32_t own = view_.symbolic.pivots(s);
  if (to == communicator_.rank()) {
    const Vectors<T> v = vector();
    copy_rows(b_.data + view_.symbolic.first_column[s], b_.stride, v.data, v.stride, own,
              b_.count);
    for (std::int32_t k = 0; k < v.count; ++k)
      std::fill_n(v.data + k * v.stride + own, order_ - own, T{0});
  }
  std::int32_t place = own, number = 0;
  for (auto c = view_.tree.first_child[s]; c >= 0; c = view_.tree.next_sibling[c]) {
    take_out(view_.tree.node_of_front[c], s, to, place);
    place += delayed_by(s, number++);
  }
}

template <class T>
void ClusterSolve<T>::backward(std::int32_t node) {
  const std::int32_t s = front(node), me = communicator_.rank();
  const Symbolic& symbolic = view_.symbolic;
  const Trapezoid panel = view_.factor.panel(symbolic, view_.tree, s);
  const auto runs = runs_of(node);
  const auto panels = own_panels(node, runs);
  open_front(node);
  for (std::size_t k = runs.size(); k-- > 0;) {
    const auto [begin, end, owner] = runs[k];
    if (owner != me) continue;
    const std::int32_t first = panel.first(begin),
                       last = std::min(panel.first(end), columns_);
    const Vectors<T> v = vector();
    if (k + 1 < runs.size())
      receive_from(last, fronts_->slots_before(s, end), runs[k + 1].owner,
                   MessageTag::kBackward);
    else
      gather_rows(x_, symbolic.rows_of(s), v.data + columns_, v.stride);
    to_vector(s, b_, first, last);
    fronts_->backward_blocks(s, panels->data(), begin, end, b_, x_, v, slot_vectors(),
                             block_.as<T>());
    // The first owner has all of the front's rows now, for the children.
    from_vector(s, first, k == 0 ? columns_ : last, true, x_);
    if (k > 0)
      send_from(first, fronts_->slots_before(s, begin), runs[k - 1].owner,
                MessageTag::kBackward);
    else
      scatter_rows(v.data + columns_, v.stride, symbolic.rows_of(s), x_);
  }
  std::int32_t place = symbolic.pivots(s), number = 0;
  for (auto c = view_.tree.first_child[s]; c >= 0; c = view_.tree.next_sibling[c]) {
    pass_down(node, view_.tree.node_of_front[c], place);
    place += delayed_by(s, number++);
  }
}

// Every entry of x from its owner: a sum in which one term is not zero.
template <class T>
void ClusterSolve<T>::assemble_solution() {
  if (communicator_.size() == 1) return;
  const auto n = static_cast<std::size_t>(view_.symbolic.size);
  for (std::int32_t v = 0; v < x_.count; ++v) {
    const std::span<T> x(x_.data + v * x_.stride, n);
    for (const ColumnRange& range : ranges_)
      if (range.owner != communicator_.rank())
        std::fill(x.begin() + range.begin, x.begin() + range.end, T{0});
    if constexpr (sizeof(T) == sizeof(double)) {
      communicator_.sum(x);
    } else {
      for (std::size_t at = 0; at < n; at += kPiece) {
        const auto part = x.subspan(at, std::min(kPiece, n - at));
        const auto piece = std::span(piece_).first(part.size());
        std::ranges::copy(part, piece.begin());
        communicator_.sum(piece);
        std::ranges::transform(piece, part.begin(),
                               [](double value) { return static_cast<T>(value); });
      }
    }
  }
}

template class ClusterSolve<float>;
template class ClusterSolve<double>;

}  // namespace espalier::solver
