#include <algorithm>
#include <vector>

#include "solver/solve/sequential_sweep.h"

namespace espalier::solver {

template <class T>
NodeStorage<T>::NodeStorage(const FactorView<T>& view, std::int32_t node)
    : copy_(bytes_to_read(view, node)) {
  const PageBuffer& resident = view.factor.storage[node];
  data_ = copy_.size() > 0 ? copy_.template as<T>() : resident.template as<T>();
  if (copy_.size() > 0)
    view.factor.file->read(view.tree.nodes[node].factor_at,
                           {copy_.data(), static_cast<std::size_t>(copy_.size())});
}

template <class T>
Bytes NodeStorage<T>::bytes_to_read(const FactorView<T>& view, std::int32_t node) {
  const AssemblyTree::Node& fronts = view.tree.nodes[node];
  return fronts.factor_at >= 0 ? fronts.factor_bytes : 0;
}

namespace {

// Of a stretch of places in entries.
template <class T>
std::int64_t place_entries(const Symbolic& symbolic, const AssemblyTree& tree) {
  if (tree.grains.size() <= 1) return 0;
  const std::int64_t rows = GrainSums<T>::most_rows(symbolic, tree.grains);
  constexpr std::int64_t kPlaces = sizeof(T) / sizeof(std::int32_t);
  return (rows + kPlaces - 1) / kPlaces;
}

template <class T>
std::int64_t grain_entries(const Symbolic& symbolic, const AssemblyTree& tree,
                           std::int32_t count) {
  if (tree.grains.size() <= 1) return 0;
  return place_entries<T>(symbolic, tree) +
         GrainSums<T>::entries(symbolic, tree.grains) * count;
}

// Of which fronts are made; one, of which they may be a part: nothing is summed up apart.
std::span<const IndexRange> grains_of(const AssemblyTree& tree, IndexRange fronts) {
  const std::span<const IndexRange> all(tree.grains.begin(), tree.grains.end());
  const auto first = std::ranges::upper_bound(all, fronts.begin, {}, &IndexRange::end);
  const auto last = std::lower_bound(
      first, all.end(), fronts.end,
      [](const IndexRange& grain, std::int32_t front) { return grain.begin < front; });
  return {first, last};
}

}  // namespace

template <class T>
std::int64_t SequentialSweep<T>::entries(const FactorView<T>& view, std::int32_t count) {
  return FrontSolve<T>(view, false).local_entries() * count +
         grain_entries<T>(view.symbolic, view.tree, count);
}

template <class T>
std::int64_t SequentialSweep<T>::planned_entries(const Symbolic& symbolic,
                                                 const AssemblyTree& tree,
                                                 std::int32_t count) {
  std::int64_t local = 0;
  for (std::int32_t s = 0; s < symbolic.fronts(); ++s)
    local = std::max(local, FrontSolve<T>::local_entries(symbolic.front_order(s),
                                                         tree.block_width[s], 0));
  return local * count + grain_entries<T>(symbolic, tree, count);
}

template <class T>
SequentialSweep<T>::SequentialSweep(const FactorView<T>& view, bool transposed,
                                    const Vectors<T>& b, const Vectors<T>& x,
                                    std::span<T> work, PacedAsk& ask)
    : view_(view),
      solve_(view, transposed),
      b_(b),
      x_(x),
      sums_(view.symbolic, b, work.data() + place_entries<T>(view.symbolic, view.tree),
            reinterpret_cast<std::int32_t*>(work.data())),
      local_(work.data() + grain_entries<T>(view.symbolic, view.tree, b.count)),
      ask_(ask) {}

template <class T>
const T* SequentialSweep<T>::panels_of(std::int32_t front) {
  const std::int32_t node = view_.tree.node_of_front[front];
  if (node != node_) {
    release();
    storage_.emplace(view_, node);
    node_ = node;
  }
  return storage_->data();
}

template <class T>
void SequentialSweep<T>::forward(IndexRange fronts) {
  const std::span<const IndexRange> grains = grains_of(view_.tree, fronts);
  if (grains.size() <= 1) return forward(fronts, {});
  for (const IndexRange& grain : grains) forward(grain, sums_.open(grain));
}

template <class T>
void SequentialSweep<T>::forward(IndexRange fronts, const AncestorRows<T>& ancestors) {
  for (std::int32_t s = fronts.begin; s < fronts.end; ++s) {
    ask_.before(solve_.panel_entries(s) * b_.count);
    solve_.forward(s, panels_of(s), b_, ancestors, local_);
  }
}

template <class T>
void SequentialSweep<T>::backward(IndexRange fronts) {
  for (std::int32_t s = fronts.end - 1; s >= fronts.begin; --s) {
    ask_.before(solve_.panel_entries(s) * b_.count);
    solve_.backward(s, panels_of(s), b_, x_, local_);
  }
}

template <class T>
void solve_sequentially(const FactorView<T>& view, bool transposed, const Vectors<T>& b,
                        const Vectors<T>& x, const std::function<void()>& ask) {
  std::vector<T> work(
      static_cast<std::size_t>(SequentialSweep<T>::entries(view, b.count)));
  solve_sequentially<T>(view, transposed, b, x, work, ask);
}

template <class T>
void solve_sequentially(const FactorView<T>& view, bool transposed, const Vectors<T>& b,
                        const Vectors<T>& x, std::span<T> work,
                        const std::function<void()>& ask) {
  PacedAsk paced(ask);
  SequentialSweep<T> sweep(view, transposed, b, x, work, paced);
  const IndexRange all{0, view.symbolic.fronts()};
  sweep.forward(all);
  sweep.backward(all);
}

#define ESPALIER_INSTANTIATE(T)                                                      \
  template class NodeStorage<T>;                                                     \
  template class SequentialSweep<T>;                                                 \
  template void solve_sequentially(const FactorView<T>&, bool, const Vectors<T>&,    \
                                   const Vectors<T>&, const std::function<void()>&); \
  template void solve_sequentially(const FactorView<T>&, bool, const Vectors<T>&,    \
                                   const Vectors<T>&, std::span<T>,                  \
                                   const std::function<void()>&);
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
