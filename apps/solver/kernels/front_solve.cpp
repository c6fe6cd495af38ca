#include "solver/kernels/front_solve.h"

#include <algorithm>

#include "solver/kernels/block_solve.h"
#include "solver/kernels/unroll.h"
#include "solver/matrix/entry.h"
#include "solver/matrix/multiversion.h"

namespace espalier::solver::kernels {
namespace {

template <int kPivots, class T>
[[gnu::always_inline]] inline void forward(const FewPivots<T>& front, T* own, T* x,
                                           const OutsideRows<T>& beyond) {
  const std::int64_t order = front.order;
  T value[kPivots];
  for (int j = 0; j < kPivots; ++j) {
    T sum = own[j];
    for (int k = 0; k < j; ++k) sum -= front.panel[j + k * order] * value[k];
    own[j] = value[j] = quotient(sum, front.panel[j + j * order]);
  }
  const T* const below = front.panel + kPivots;
  const auto count = static_cast<std::int32_t>(order) - kPivots;
  const std::int32_t inside = std::min(count, beyond.inside);
  const auto take = [&](std::int32_t i, T & target) __attribute__((always_inline)) {
    T sum = target;
    for (int k = 0; k < kPivots; ++k) sum -= below[i + k * order] * value[k];
    target = sum;
  };
  for (std::int32_t i = 0; i < inside; ++i) take(i, x[front.rows[i]]);
  for (std::int32_t i = inside; i < count; ++i)
    take(i, beyond.outside[beyond.place[i - inside]]);
}

template <int kPivots, class T>
[[gnu::always_inline]] inline void backward(const FewPivots<T>& front, const T* own,
                                            const T* x, T* to) {
  const std::int64_t order = front.order;
  const T* const below = front.panel + kPivots;
  const auto count = static_cast<std::int32_t>(order) - kPivots;
  T value[kPivots], odd[kPivots];
  for (int k = 0; k < kPivots; ++k) value[k] = own[k], odd[k] = T(0);
  std::int32_t i = 0;
  for (; i + 2 <= count; i += 2) {
    const T one = x[front.rows[i]], two = x[front.rows[i + 1]];
    for (int k = 0; k < kPivots; ++k) {
      value[k] -= across(below[i + k * order]) * one;
      odd[k] += across(below[i + 1 + k * order]) * two;
    }
  }
  for (; i < count; ++i)
    for (int k = 0; k < kPivots; ++k)
      value[k] -= across(below[i + k * order]) * x[front.rows[i]];
  for (int j = kPivots; j-- > 0;) {
    T sum = value[j] - odd[j];
    for (int k = j + 1; k < kPivots; ++k)
      sum -= across(front.panel[k + j * order]) * value[k];
    to[j] = value[j] = quotient(sum, front.panel[j + j * order]);
  }
}

template <class T>
ESPALIER_MULTIVERSION void forward_any(const FewPivots<T>& front, T* own, T* x,
                                       const OutsideRows<T>& beyond) {
  unroll(
      front.pivots, [&]<int kPivots>() __attribute__((always_inline)) {
        forward<kPivots>(front, own, x, beyond);
      });
}

template <class T>
ESPALIER_MULTIVERSION void backward_any(const FewPivots<T>& front, const T* own,
                                        const T* x, T* to) {
  unroll(
      front.pivots, [&]<int kPivots>() __attribute__((always_inline)) {
        backward<kPivots>(front, own, x, to);
      });
}

}  // namespace

template <class T>
void forward_few(const FewPivots<T>& front, T* own, T* x, const OutsideRows<T>& beyond) {
  forward_any(front, own, x, beyond);
}

template <class T>
void backward_few(const FewPivots<T>& front, const T* own, const T* x, T* to) {
  backward_any(front, own, x, to);
}

#define ESPALIER_INSTANTIATE(T)                                                  \
  template void forward_few(const FewPivots<T>&, T*, T*, const OutsideRows<T>&); \
  template void backward_few(const FewPivots<T>&, const T*, const T*, T*);
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver::kernels
