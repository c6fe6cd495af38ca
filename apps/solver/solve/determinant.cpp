#include "solver/solve/determinant.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace espalier::solver {
namespace {

// The pivots of a factor, front by front.
template <class T>
class Pivots {
 public:
  Pivots(const FactorView<T>& view, Determinant& product)
      : view_(view), product_(product) {}

  void take(std::int32_t front, const T* storage, const BlockChoice& chosen) {
    const Factor<T>& factor = view_.factor;
    const FrontDelays<T>* const delays = factor.delays_of(front);
    const Trapezoid layout = factor.panel(view_.symbolic, view_.tree, front);
    const T* const panel = factor.panel_data(front, storage);
    for (std::int32_t k = 0; k < layout.blocks(); ++k) {
      if (chosen && !chosen(k)) continue;
      const std::int32_t first = layout.first(k);
      const std::int32_t count =
          delays != nullptr ? delays->eliminated[k] : layout.width(k);
      DiagonalWork<T> work;
      const auto [diagonal, leading] =
          diagonal_block(factor.low_rank_of(front), layout, panel, k, work);
      take_block(diagonal, factor.leading(front, first, leading), count,
                 d_of(front, first));
    }
    if (delays == nullptr || delays->slots() == 0) return;
    if (!has_tail(view_, front, chosen)) return;
    const std::int32_t rows = layout.rows() - layout.columns();
    take_block(delays->tail[0].data(), delays->slots() + rows, delays->tail_eliminated,
               delays->tail_d.data());
  }

 private:
  [[nodiscard]] bool moved(std::int32_t front) const {
    return view_.factor.delayed_in(front) > 0;
  }
  // From column `first` of a front's panel on; null: the kind has none.
  [[nodiscard]] const T* d_of(std::int32_t front, std::int64_t first) const {
    if (view_.tree.kind != FactorKind::kLdlt) return nullptr;
    if (moved(front)) return view_.factor.delays_of(front)->d.data() + 2 * first;
    return view_.factor.d.data() + 2 * (view_.symbolic.first_column[front] + first);
  }

  void take_block(const T* diagonal, std::int64_t leading, std::int32_t count,
                  const T* d) {
    for (std::int32_t k = 0; k < count; ++k) {
      if (view_.tree.kind == FactorKind::kLdlt) {
        const auto here = widened(d[2 * k]), beside = widened(d[2 * k + 1]);
        if (beside == Wide<T>(0)) {
          product_.multiply(here);
        } else {
          take_pair(here, beside, widened(d[2 * k + 2]));
          ++k;
        }
        continue;
      }
      const auto pivot = widened(diagonal[k + k * leading]);
      product_.multiply(pivot);
      if (view_.tree.kind == FactorKind::kCholesky) product_.multiply(pivot);
    }
  }

  // Of [a b; b c] as b (a (c / b) - b): b is its largest entry, nearly.
  void take_pair(double a, double b, double c) {
    product_.multiply(b);
    product_.multiply(std::fma(a, c / b, -b));
  }
  // Of [a b'; b c], b' = b or its conjugate, as b (a (c / b) - b').
  template <class Complex>
  void take_pair(Complex a, Complex b, Complex c) {
    product_.multiply(b);
    product_.multiply(std::complex<double>(a * (c / b) - across(b)));
  }

  const FactorView<T>& view_;
  Determinant& product_;
};

}  // namespace

void Determinant::multiply(double factor) {
  int given = 0, carried = 0;
  mantissa = std::frexp(mantissa * std::frexp(factor, &given), &carried);
  exponent = mantissa == 0 ? 0 : exponent + given + carried;
}

void Determinant::multiply(std::complex<double> factor) {
  int given = 0;
  const double largest = std::max(std::abs(factor.real()), std::abs(factor.imag()));
  std::frexp(largest, &given);
  const std::complex<double> scaled(std::ldexp(factor.real(), -given),
                                    std::ldexp(factor.imag(), -given));
  const double modulus = std::abs(scaled);
  multiply(modulus);
  if (modulus == 0) return;
  exponent += given;
  phase *= scaled / modulus;
  phase /= std::abs(phase);
}

double Determinant::log_modulus() const {
  if (mantissa == 0) return -std::numeric_limits<double>::infinity();
  return std::log(std::abs(mantissa)) + static_cast<double>(exponent) * std::log(2.0);
}

int parity(std::span<const std::int32_t> permutation) {
  std::vector<bool> seen(permutation.size(), false);
  bool odd = false;
  for (std::size_t i = 0; i < permutation.size(); ++i)
    for (auto at = i; !seen[at]; at = static_cast<std::size_t>(permutation[at])) {
      seen[at] = true;
      if (static_cast<std::size_t>(permutation[at]) != i) odd = !odd;
    }
  return odd ? -1 : 1;
}

template <class T>
void multiply_pivots(const FactorView<T>& view, std::int32_t front, const T* storage,
                     const BlockChoice& chosen, Determinant& product) {
  Pivots<T>(view, product).take(front, storage, chosen);
}

template <class T>
Determinant determinant(const FactorView<T>& view) {
  Determinant product;
  const auto nodes = static_cast<std::int32_t>(view.tree.nodes.size());
  for (std::int32_t node = 0; node < nodes; ++node) {
    const NodeStorage<T> storage(view, node);
    const AssemblyTree::Node& fronts = view.tree.nodes[node];
    for (std::int32_t s = fronts.first_front; s <= fronts.last_front; ++s)
      multiply_pivots(view, s, storage.data(), {}, product);
  }
  if (parity(pivot_columns(view)) < 0) product.multiply(-1);
  return product;
}

#define ESPALIER_INSTANTIATE(T)                                               \
  template Determinant determinant(const FactorView<T>&);                     \
  template void multiply_pivots(const FactorView<T>&, std::int32_t, const T*, \
                                const BlockChoice&, Determinant&);
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
