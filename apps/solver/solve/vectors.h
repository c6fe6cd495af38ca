#pragma once

#include <algorithm>
#include <cstdint>

namespace espalier::solver {

/// A block of vectors, one after the other.
template <class T>
struct Vectors {
  T* data;
  std::int64_t stride;  ///< from one vector to the next
  std::int32_t count;

  /// Without the first entries of each.
  [[nodiscard]] Vectors from(std::int64_t first) const {
    return {data + first, stride, count};
  }
};

/// Rows k < n of each vector, by move(source, target, k); `order` null: as they are.
template <class T, class Move>
void move_rows(std::int32_t n, const std::int32_t* order, const Vectors<T>& from,
               const Vectors<T>& to, const Move& move) {
  for (std::int32_t v = 0; v < to.count; ++v) {
    const T* const source = from.data + v * from.stride;
    T* const target = to.data + v * to.stride;
    if (order == nullptr)
      std::copy_n(source, n, target);
    else
      for (std::int32_t k = 0; k < n; ++k) move(source, target, k);
  }
}

/// to[k] = from[order[k]], likewise.
template <class T>
void gather(std::int32_t n, const std::int32_t* order, const Vectors<T>& from,
            const Vectors<T>& to) {
  move_rows(n, order, from, to, [order](const T* source, T* target, std::int32_t k) {
    target[k] = source[order[k]];
  });
}

/// to[order[k]] = from[k], likewise.
template <class T>
void scatter(std::int32_t n, const std::int32_t* order, const Vectors<T>& from,
             const Vectors<T>& to) {
  move_rows(n, order, from, to, [order](const T* source, T* target, std::int32_t k) {
    target[order[k]] = source[k];
  });
}

}  // namespace espalier::solver
