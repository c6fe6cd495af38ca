#include "solver/distributed/cluster_determinant.h"

#include <algorithm>
#include <complex>
#include <vector>

#include "solver/distributed/own_panels.h"
#include "solver/solve/determinant.h"

namespace espalier::solver {
namespace {

// The pivots that one process has.
template <class T>
class OwnPivots {
 public:
  OwnPivots(const FactorView<T>& view, const FrontDistribution& distribution,
            std::int32_t process)
      : view_(view), distribution_(distribution), process_(process) {
    if (view.tree.kind == FactorKind::kLu)
      column_of_row_.resize(static_cast<std::size_t>(view.symbolic.inner()));
  }

  void take(std::int32_t node) {
    const AssemblyTree::Node& fronts = view_.tree.nodes[node];
    if (!distribution_.takes_part(node, process_)) return;
    if (distribution_.shared(node)) {
      const OwnPanels<T> panels(view_, distribution_, node, process_);
      return take(fronts.last_front, panels.data(), own_blocks(node));
    }
    const NodeStorage<T> storage(view_, node);
    for (std::int32_t s = fronts.first_front; s <= fronts.last_front; ++s)
      take(s, storage.data(), {});
  }

  [[nodiscard]] Determinant product() const { return product_; }
  // L U: of rows whose pivot is here; 0 for others.
  [[nodiscard]] const std::vector<std::int32_t>& columns() const {
    return column_of_row_;
  }

 private:
  void take(std::int32_t front, const T* storage, const BlockChoice& chosen) {
    multiply_pivots(view_, front, storage, chosen, product_);
    if (!column_of_row_.empty()) pair_columns(view_, front, chosen, column_of_row_);
  }

  [[nodiscard]] BlockChoice own_blocks(std::int32_t node) const {
    const std::int32_t front = view_.tree.nodes[node].last_front;
    const std::int32_t planned = view_.tree.panel(view_.symbolic, front).blocks();
    const std::int32_t panels =
        view_.factor.panel(view_.symbolic, view_.tree, front).blocks();
    return [this, node, planned, panels](std::int32_t block) {
      return distribution_.owner_of(node, block, planned, panels) == process_;
    };
  }

  const FactorView<T>& view_;
  const FrontDistribution& distribution_;
  std::int32_t process_;
  Determinant product_;
  std::vector<std::int32_t> column_of_row_;
};

// What each row has at one process, at all of them.
std::vector<std::int32_t> at_all(Communicator& communicator,
                                 const std::vector<std::int32_t>& here) {
  std::vector<double> sums(here.begin(), here.end());
  communicator.sum(sums);
  return {sums.begin(), sums.end()};
}

// In the order of the processes.
Determinant product_of_all(Communicator& communicator, const Determinant& here) {
  const std::vector<double> real = communicator.gather_all(here.phase.real()),
                            imaginary = communicator.gather_all(here.phase.imag());
  Determinant result;
  for (const double mantissa : communicator.gather_all(here.mantissa))
    result.multiply(mantissa);
  for (std::size_t k = 0; k < real.size(); ++k) {
    result.phase *= std::complex<double>(real[k], imaginary[k]);
    result.phase /= std::abs(result.phase);
  }
  if (result.mantissa != 0) result.exponent += communicator.sum(here.exponent);
  return result;
}

}  // namespace

template <class T>
Determinant determinant(const FactorView<T>& view, const FrontDistribution& distribution,
                        Communicator& communicator) {
  OwnPivots<T> own(view, distribution, communicator.rank());
  together(communicator, [&] {
    for (std::int32_t node = 0; node < std::ssize(view.tree.nodes); ++node)
      own.take(node);
  });
  Determinant result = product_of_all(communicator, own.product());
  if (parity(at_all(communicator, own.columns())) < 0) result.multiply(-1);
  return result;
}

#define ESPALIER_INSTANTIATE(T)                                                    \
  template Determinant determinant(const FactorView<T>&, const FrontDistribution&, \
                                   Communicator&);
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
