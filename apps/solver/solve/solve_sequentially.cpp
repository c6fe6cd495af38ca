#include <vector>

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

template <class T>
void solve_sequentially(const FactorView<T>& view, bool transposed, const Vectors<T>& b,
                        const Vectors<T>& x, const std::function<void()>& ask) {
  const std::int64_t entries = FrontSolve<T>(view, transposed).local_entries();
  std::vector<T> local(static_cast<std::size_t>(entries * b.count));
  solve_sequentially<T>(view, transposed, b, x, local, ask);
}

template <class T>
void solve_sequentially(const FactorView<T>& view, bool transposed, const Vectors<T>& b,
                        const Vectors<T>& x, std::span<T> local,
                        const std::function<void()>& ask) {
  const FrontSolve<T> solve(view, transposed);
  PacedAsk paced(ask);
  const auto nodes = static_cast<std::int32_t>(view.tree.nodes.size());
  for (std::int32_t node = 0; node < nodes; ++node) {
    const NodeStorage<T> storage(view, node);
    const AssemblyTree::Node& fronts = view.tree.nodes[node];
    for (std::int32_t s = fronts.first_front; s <= fronts.last_front; ++s) {
      paced.before(solve.panel_entries(s) * b.count);
      solve.forward(s, storage.data(), b, {}, local.data());
    }
  }
  for (std::int32_t node = nodes - 1; node >= 0; --node) {
    const NodeStorage<T> storage(view, node);
    const AssemblyTree::Node& fronts = view.tree.nodes[node];
    for (std::int32_t s = fronts.last_front; s >= fronts.first_front; --s) {
      paced.before(solve.panel_entries(s) * b.count);
      solve.backward(s, storage.data(), b, x, local.data());
    }
  }
}

#define ESPALIER_INSTANTIATE(T)                                                      \
  template class NodeStorage<T>;                                                     \
  template void solve_sequentially(const FactorView<T>&, bool, const Vectors<T>&,    \
                                   const Vectors<T>&, const std::function<void()>&); \
  template void solve_sequentially(const FactorView<T>&, bool, const Vectors<T>&,    \
                                   const Vectors<T>&, std::span<T>,                  \
                                   const std::function<void()>&);
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
