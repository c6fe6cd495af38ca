#include <vector>

#include "solver/solve/grain_sums.h"
#include "solver/solve/paced_ask.h"
#include "solver/solve/triangular_solve.h"

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
std::int64_t place_entries(const FactorView<T>& view) {
  const std::int64_t rows = GrainSums<T>::most_rows(view.symbolic, view.tree.grains);
  constexpr std::int64_t kPlaces = sizeof(T) / sizeof(std::int32_t);
  return (rows + kPlaces - 1) / kPlaces;
}

}  // namespace

template <class T>
std::int64_t sequential_entries(const FactorView<T>& view, std::int32_t count) {
  const std::int64_t local = FrontSolve<T>(view, false).local_entries() * count;
  if (view.tree.grains.size() <= 1) return local;
  return local + place_entries(view) +
         GrainSums<T>::entries(view.symbolic, view.tree.grains) * count;
}

template <class T>
void solve_sequentially(const FactorView<T>& view, bool transposed, const Vectors<T>& b,
                        const Vectors<T>& x, const std::function<void()>& ask) {
  std::vector<T> work(static_cast<std::size_t>(sequential_entries(view, b.count)));
  solve_sequentially<T>(view, transposed, b, x, work, ask);
}

template <class T>
void solve_sequentially(const FactorView<T>& view, bool transposed, const Vectors<T>& b,
                        const Vectors<T>& x, std::span<T> work,
                        const std::function<void()>& ask) {
  const FrontSolve<T> solve(view, transposed);
  PacedAsk paced(ask);
  T* const local = work.data();
  T* const places = local + solve.local_entries() * b.count;
  const bool one = view.tree.grains.size() <= 1;
  GrainSums<T> sums(view.symbolic, b, one ? nullptr : places + place_entries(view),
                    reinterpret_cast<std::int32_t*>(places));
  const auto nodes = static_cast<std::int32_t>(view.tree.nodes.size());
  for (std::int32_t node = 0; node < nodes; ++node) {
    const NodeStorage<T> storage(view, node);
    for (const IndexRange& grain : view.tree.grains_of(view.tree.nodes[node])) {
      const AncestorRows<T> ancestors = one ? AncestorRows<T>{} : sums.open(grain);
      for (std::int32_t s = grain.begin; s < grain.end; ++s) {
        paced.before(solve.panel_entries(s) * b.count);
        solve.forward(s, storage.data(), b, ancestors, local);
      }
    }
  }
  for (std::int32_t node = nodes - 1; node >= 0; --node) {
    const NodeStorage<T> storage(view, node);
    const AssemblyTree::Node& fronts = view.tree.nodes[node];
    for (std::int32_t s = fronts.last_front; s >= fronts.first_front; --s) {
      paced.before(solve.panel_entries(s) * b.count);
      solve.backward(s, storage.data(), b, x, local);
    }
  }
}

#define ESPALIER_INSTANTIATE(T)                                                      \
  template class NodeStorage<T>;                                                     \
  template std::int64_t sequential_entries(const FactorView<T>&, std::int32_t);      \
  template void solve_sequentially(const FactorView<T>&, bool, const Vectors<T>&,    \
                                   const Vectors<T>&, const std::function<void()>&); \
  template void solve_sequentially(const FactorView<T>&, bool, const Vectors<T>&,    \
                                   const Vectors<T>&, std::span<T>,                  \
                                   const std::function<void()>&);
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
