#include "solver/distributed/cluster_solve.h"

#include <algorithm>
#include <utility>

namespace espalier::solver {
namespace {

constexpr std::size_t kPiece = 8192;  // numbers that are summed at once in float
template <class T>
constexpr bool kConverts = sizeof(RealOf<T>) < sizeof(double);

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
    for (std::size_t s = 0; factor != nullptr && s < factor->delays.size(); ++s) {
      const auto front = static_cast<std::int32_t>(s);
      const FrontDelays<T>* const delays = factor->delays_of(front);
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
        if (!holds(symbolic, tree, distribution, child, process)) continue;
        message =
            std::max(message, std::ssize(symbolic.rows_of(c)) + More::of(more.out, c));
        if (out_start[child] >= 0) top = std::min(top, out_start[child]);
      }
      if (solves(symbolic, tree, distribution, node, process, more))
        add_vector(symbolic, tree, front, more, distribution.grid_of(node).rows > 1);
      if (!holds(symbolic, tree, distribution, node, process)) continue;
      out_start[node] = top;
      top += std::ssize(symbolic.rows_of(front));
      outs = std::max(outs, top);
    }
    message = std::max(message, vector + slots);
  }

 private:
  static bool holds(const Symbolic& symbolic, const AssemblyTree& tree,
                    const FrontDistribution& distribution, std::int32_t node,
                    std::int32_t process) {
    const auto holders = holders_of(tree, symbolic, distribution, node);
    return std::ranges::find(holders, process) != holders.end();
  }
  // Whether a process's column of the grid has blocks of a node's panel, of which more
  // come with delayed columns.
  static bool solves(const Symbolic& symbolic, const AssemblyTree& tree,
                     const FrontDistribution& distribution, std::int32_t node,
                     std::int32_t process, const More& more) {
    if (!distribution.takes_part(node, process)) return false;
    const std::int32_t front = tree.nodes[node].last_front;
    if (More::of(more.in, front) > 0) return true;
    for (std::int32_t k = 0; k < tree.panel(symbolic, front).blocks(); ++k) {
      const auto column = column_of(distribution, node, k);
      if (std::ranges::find(column, process) != column.end()) return true;
    }
    return false;
  }
  void add_vector(const Symbolic& symbolic, const AssemblyTree& tree, std::int32_t front,
                  const More& more, bool grid) {
    const Trapezoid panel = tree.panel(symbolic, front);
    const std::int64_t width = std::min<std::int64_t>(
        tree.block_width[front], panel.columns() + More::of(more.in, front));
    vector = std::max<std::int64_t>(vector, panel.rows() + More::of(more.in, front));
    block = std::max(block, width);
    slots = std::max(slots, More::of(more.slots, front));
    // What groups of rows do to a block comes from their processes.
    if (!grid) return;
    const auto in = static_cast<std::int32_t>(More::of(more.in, front));
    const Trapezoid all(panel.rows() + in, panel.columns() + in, tree.block_width[front]);
    const std::int32_t blocks =
        all.blocks() + tree.contribution(symbolic, front).blocks();
    const TileShape shape = tile_shape(tree, front, all.blocks(), blocks, false,
                                       all.blocks() - panel.blocks());
    message = std::max(message, width * shape.groups());
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

// Of nodes one after the other.
IndexRange columns_of(const Symbolic& symbolic, const AssemblyTree& tree,
                      IndexRange nodes) {
  if (nodes.begin == nodes.end) return {0, 0};
  const std::vector<std::int32_t>& first = symbolic.first_column;
  return {first[tree.nodes[nodes.begin].first_front],
          first[tree.nodes[nodes.end - 1].last_front + 1]};
}

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
      local_(view, runtime, count, read_limit,
             local_forest(view.tree, distribution, communicator.rank())) {
  Sizes sizes(view.symbolic, view.tree, distribution, communicator.rank(),
              More(&view.factor));
  space_ = {.count = count,
            .outs = PageBuffer(bytes_of<T>(sizes.outs, count)),
            .out_start = std::move(sizes.out_start),
            .vector = PageBuffer(bytes_of<T>(sizes.vector, count)),
            .message = PageBuffer(bytes_of<T>(sizes.message, count)),
            .block = PageBuffer(bytes_of<T>(sizes.block, count)),
            .slots = PageBuffer(bytes_of<T>(2 * sizes.slots, count)),
            .places = std::vector<std::int32_t>(static_cast<std::size_t>(sizes.message))};
  if (kConverts<T>) piece_.resize(kPiece);
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
  // Places, and the rows that go between a front and a child.
  const Bytes lists = 3 * sizes.message * static_cast<Bytes>(sizeof(std::int32_t)) +
                      std::ssize(tree.nodes) * static_cast<Bytes>(sizeof(std::int64_t)) +
                      (kConverts<T> ? kPiece * sizeof(double) : 0);
  const auto ranges =
      column_ranges(symbolic, tree, distribution).size() * sizeof(ColumnRange);
  return checked_add(bytes, lists + static_cast<Bytes>(ranges));
}

template <class T>
void ClusterSolve<T>::solve(bool transposed, const Vectors<T>& b, const Vectors<T>& x,
                            IndexRange nodes) {
  nodes.end = std::min(nodes.end, static_cast<std::int32_t>(view_.tree.nodes.size()));
  local_.forward(transposed, b, {}, {}, nodes);
  solve_shared(transposed, b, x, nodes);
  local_.backward(transposed, b, x, {}, nodes);
  assemble_solution(x, columns_of(view_.symbolic, view_.tree, nodes));
}

template <class T>
void ClusterSolve<T>::solve_local(bool transposed, const Vectors<T>& b,
                                  const Vectors<T>& x, IndexRange nodes) {
  local_.solve(transposed, b, x, {}, {}, nodes);
}

template <class T>
void ClusterSolve<T>::solve_shared(bool transposed, const Vectors<T>& b,
                                   const Vectors<T>& x, IndexRange nodes) {
  const Asleep workers(
      communicator_.size() > 1 && communicator_.has_own_runtime() ? &runtime_ : nullptr);
  SharedSolve<T>({view_, distribution_, communicator_, local_, space_}, transposed, b, x)
      .run(nodes);
}

// Every entry of x from its owner: a sum in which all other terms are -0, which added to
// any number leave its bits; of complex entries part by part.
template <class T>
void ClusterSolve<T>::assemble_solution(const Vectors<T>& solution, IndexRange columns) {
  using Real = RealOf<T>;
  if (communicator_.size() == 1) return;
  const auto first =
      std::ranges::upper_bound(ranges_, columns.begin, {}, &ColumnRange::end);
  for (std::int32_t v = 0; v < solution.count; ++v) {
    auto* const parts = reinterpret_cast<Real*>(solution.data + v * solution.stride);
    for (auto range = first; range != ranges_.end() && range->begin < columns.end;
         ++range)
      if (range->owner != communicator_.rank())
        std::fill(parts + kParts<T> * std::max(range->begin, columns.begin),
                  parts + kParts<T> * std::min(range->end, columns.end), Real{-0.0});
    const std::span<Real> x(
        parts + kParts<T> * columns.begin,
        kParts<T> * static_cast<std::size_t>(columns.end - columns.begin));
    if constexpr (!kConverts<T>) {
      communicator_.sum(x);
    } else {
      for (std::size_t at = 0; at < x.size(); at += kPiece) {
        const auto part = x.subspan(at, std::min(kPiece, x.size() - at));
        const auto piece = std::span(piece_).first(part.size());
        std::ranges::copy(part, piece.begin());
        communicator_.sum(piece);
        std::ranges::transform(piece, part.begin(),
                               [](double value) { return static_cast<Real>(value); });
      }
    }
  }
}

#define ESPALIER_INSTANTIATE(T) template class ClusterSolve<T>;
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
