#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "solver/solve/triangular_solve.h"

namespace espalier::solver {

/// rows[k] of a vector to and from entry k of another, for every vector.
template <class T>
void gather_rows(const Vectors<T>& from, std::span<const std::int32_t> rows, T* to,
                 std::int64_t stride) {
  for (std::int32_t v = 0; v < from.count; ++v)
    for (std::size_t k = 0; k < rows.size(); ++k)
      to[v * stride + static_cast<std::int64_t>(k)] =
          from.data[v * from.stride + rows[k]];
}

template <class T>
void scatter_rows(const T* from, std::int64_t stride, std::span<const std::int32_t> rows,
                  const Vectors<T>& to) {
  for (std::int32_t v = 0; v < to.count; ++v)
    for (std::size_t k = 0; k < rows.size(); ++k)
      to.data[v * to.stride + rows[k]] = from[v * stride + static_cast<std::int64_t>(k)];
}

/// Successive rows of every vector.
template <class T>
void copy_rows(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride,
               std::int64_t rows, std::int32_t count) {
  for (std::int32_t v = 0; v < count; ++v)
    std::copy_n(from + v * from_stride, rows, to + v * to_stride);
}

}  // namespace espalier::solver
