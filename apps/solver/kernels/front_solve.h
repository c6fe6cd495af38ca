#pragma once

// Solves with a front of few pivots and one vector, which stays where it is. Cholesky.
// T: matrix/entry.h.

#include <cstdint>
#include <limits>

#include "solver/kernels/unroll.h"

namespace espalier::solver::kernels {

/// Pivots that a front may have.
constexpr std::int32_t kFewPivots = kUnrolled;

/// The panel of a front: `order` rows of `pivots` columns, one after the other, the
/// pivots' own rows first.
template <class T>
struct FewPivots {
  std::int32_t pivots, order;
  const T* panel;
  const std::int32_t* rows;  ///< below the pivots: where they are in a vector
};

/// Where the rows after the first `inside` are: row inside + k at outside[place[k]], not
/// in the vector itself.
template <class T>
struct OutsideRows {
  std::int32_t inside = std::numeric_limits<std::int32_t>::max();
  T* outside = nullptr;
  const std::int32_t* place = nullptr;
};

/// own := L^-1 own of the pivots, and what that takes from the rows below.
/// @param own  the pivots' part of x
template <class T>
void forward_few(const FewPivots<T>& front, T* own, T* x, const OutsideRows<T>& beyond);

/// to := L^-T (own - B^H x) of the pivots, B the rows below.
/// @param own  what forward_few() left; may be `to`
template <class T>
void backward_few(const FewPivots<T>& front, const T* own, const T* x, T* to);

}  // namespace espalier::solver::kernels
