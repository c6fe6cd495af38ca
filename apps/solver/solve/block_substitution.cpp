#include "solver/solve/block_substitution.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "solver/matrix/largest_modulus.h"

namespace espalier::solver {
namespace {

template <class T>
constexpr bool kConverts = !std::is_same_v<T, Wide<T>>;

// Of real and imaginary parts.
template <class Number>
double largest_part(const Number* first, const Number* last) {
  return largest_modulus(
      {reinterpret_cast<const double*>(first), reinterpret_cast<const double*>(last)});
}

// x times a power of two, as a To.
template <class To, class From>
To scaled(From x, int exponent) {
  using Real = RealOf<To>;
  const auto part = [exponent](double each) {
    return static_cast<Real>(std::ldexp(each, exponent));
  };
  if constexpr (kIsComplex<To>)
    return {part(x.real()), part(x.imag())};
  else
    return part(x);
}

}  // namespace

template <class T>
BlockSubstitution<T>::BlockSubstitution(const FactorView<T>& view, const BlockForm& form,
                                        std::int32_t nrhs)
    : view_(view),
      form_(form),
      size_(view.symbolic.size),
      side_(kConverts<T> ? size_ * nrhs : 0),
      solution_(size_ * nrhs),
      exponent_(nrhs),
      local_(FrontSolve<T>(view, false).local_entries() * nrhs) {}

template <class T>
auto BlockSubstitution<T>::columns_of(const BlockForm::Block& block) const -> Range {
  const std::vector<std::int32_t>& first = view_.symbolic.first_column;
  return {first[block.first_front], first[block.root + 1]};
}

template <class T>
const T* BlockSubstitution<T>::panels_of(std::int32_t front) {
  const std::int32_t node = view_.tree.node_of_front[front];
  if (node != node_) {
    storage_.reset();
    storage_.emplace(view_, node);
    node_ = node;
  }
  return storage_->data();
}

// Transposed: what the blocks before have found goes into the block's right-hand side.
template <class T>
void BlockSubstitution<T>::pull(Range range, Number* x, std::int32_t nrhs) const {
  const Coupling& c = form_.coupling;
  for (std::int32_t v = 0; v < nrhs; ++v, x += size_)
    for (std::int32_t j = range.begin; j < range.end; ++j)
      for (auto at = c.column_start[j]; at < c.column_start[j + 1]; ++at)
        x[j] -= c.entry<Number>(at) * x[c.row[at]];
}

template <class T>
void BlockSubstitution<T>::push(Range range, Number* x, std::int32_t nrhs) const {
  const Coupling& c = form_.coupling;
  for (std::int32_t v = 0; v < nrhs; ++v, x += size_)
    for (std::int32_t j = range.begin; j < range.end; ++j)
      for (auto at = c.column_start[j]; at < c.column_start[j + 1]; ++at)
        x[c.row[at]] -= c.entry<Number>(at) * x[j];
}

// Into T, divided by the power of two that brings the largest entry near 1: the range of
// float is smaller than that of double.
template <class T>
Vectors<T> BlockSubstitution<T>::load(Range range, Number* block, std::int32_t nrhs) {
  if constexpr (kConverts<T>) {
    for (std::int32_t v = 0; v < nrhs; ++v) {
      const Number* const b = block + v * size_;
      const double largest = largest_part(b + range.begin, b + range.end);
      exponent_[v] = 0;
      if (largest > 0 && std::isfinite(largest)) std::frexp(largest, &exponent_[v]);
      T* const to = side_.data() + v * size_;
      for (std::int32_t j = range.begin; j < range.end; ++j)
        to[j] = scaled<T>(b[j], -exponent_[v]);
    }
    return {side_.data(), size_, nrhs};
  } else {
    return {block, size_, nrhs};
  }
}

template <class T>
void BlockSubstitution<T>::store(Range range, Number* block, std::int32_t nrhs) const {
  for (std::int32_t v = 0; v < nrhs; ++v) {
    const T* const x = solution_.data() + v * size_;
    Number* const to = block + v * size_;
    for (std::int32_t j = range.begin; j < range.end; ++j)
      if constexpr (kConverts<T>)
        to[j] = scaled<Number>(widened(x[j]), exponent_[v]);
      else
        to[j] = x[j];
  }
}

template <class T>
void BlockSubstitution<T>::solve_block(const FrontSolve<T>& fronts,
                                       const BlockForm::Block& block, PacedAsk& ask,
                                       Number* vectors, std::int32_t nrhs) {
  const Range range = columns_of(block);
  const Vectors<T> b = load(range, vectors, nrhs);
  const Vectors<T> x{solution_.data(), size_, nrhs};
  for (std::int32_t s = block.first_front; s <= block.root; ++s) {
    ask.before(fronts.panel_entries(s) * nrhs);
    fronts.forward(s, panels_of(s), b, {}, local_.data());
  }
  for (std::int32_t s = block.root; s >= block.first_front; --s) {
    ask.before(fronts.panel_entries(s) * nrhs);
    fronts.backward(s, panels_of(s), b, x, local_.data());
  }
  store(range, vectors, nrhs);
}

// Of a block of order 1, which many are: the pivot.
template <class T>
auto BlockSubstitution<T>::pivot_of(const BlockForm::Block& block)
    -> std::optional<Number> {
  const std::int32_t s = block.root;
  const bool one = block.first_front == s && view_.symbolic.front_order(s) == 1 &&
                   view_.factor.delays_of(s) == nullptr;
  if (!one) return std::nullopt;
  if (view_.tree.kind == FactorKind::kLdlt)
    return widened(view_.factor.d[2 * std::int64_t{view_.symbolic.first_column[s]}]);
  return widened(*view_.factor.panel_data(s, panels_of(s)));
}

template <class T>
void BlockSubstitution<T>::solve(bool transposed, std::span<double> block,
                                 std::int32_t nrhs, const std::function<void()>& ask) {
  const FrontSolve<T> fronts(view_, transposed);
  PacedAsk paced(ask);
  auto* const vectors = reinterpret_cast<Number*>(block.data());
  const auto count = form_.blocks.size();
  for (std::size_t k = 0; k < count; ++k) {
    const BlockForm::Block& each = form_.blocks[transposed ? count - 1 - k : k];
    const Range range = columns_of(each);
    paced.before(std::int64_t{range.end - range.begin} * nrhs);
    if (transposed) pull(range, vectors, nrhs);
    if (const auto pivot = pivot_of(each)) {
      for (std::int32_t v = 0; v < nrhs; ++v) vectors[range.begin + v * size_] /= *pivot;
    } else {
      solve_block(fronts, each, paced, vectors, nrhs);
    }
    if (!transposed) push(range, vectors, nrhs);
  }
}

#define ESPALIER_INSTANTIATE(T) template class BlockSubstitution<T>;
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
