#pragma once

// Products of tiles that are compressed, or not. Column-major, one thread. T is float or
// double.

#include <cstdint>
#include <span>
#include <type_traits>

#include "solver/kernels/compress_tile.h"

namespace espalier::solver::kernels {

/// A tile of so many rows and k columns: U V^T, U with `rank` columns of as many rows as
/// the tile has, V with k rows, both together no larger than the tile; or where rank is
/// kFullRank the tile itself, at `u`.
template <class T>
struct Tile {
  const T* u;
  std::int32_t ldu;
  const T* v;
  std::int32_t ldv;
  std::int32_t rank;
  /// In single precision: in place of u and v, U and V one after the other.
  const float* single = nullptr;
};

/// One term of an update: A B^T, of tiles with the same k columns.
template <class T>
struct TileTerm {
  Tile<T> a, b;
  std::int32_t k;
  bool single = false;  ///< the product may be made in single precision
};

/// C := C - sum of A B^T over the terms; C is m x n, or its lower trapezoid where `lower`
/// says so: then m >= n, and of each product the first n rows are symmetric.
///
/// Of a term, the factors of the smaller rank are gathered beside those of others, so
/// that C is updated by few products of many columns. A product that may be made in
/// single precision is where that is faster, tiles that are not in it being rounded
/// first; so is one of two tiles in single precision.
///
/// @param scratch  update_scratch() entries
/// @return flops
/// @par Cost  for ranks r <= s of a term 2 k r s + 2 min(m, n) r s + 2 m n r
template <class T>
double update_by_tiles(std::int32_t m, std::int32_t n, std::span<const TileTerm<T>> terms,
                       bool lower, T* c, std::int32_t ldc,
                       std::span<std::type_identity_t<T>> scratch);

/// For tiles of at most `width` rows and columns.
[[nodiscard]] std::int64_t update_scratch(std::int64_t width);

/// C := columns [first, first + n) of a tile of m rows; C is m x n.
/// @par Cost  2 m n r
template <class T>
void expand_tile(std::int32_t m, std::int32_t n, const Tile<T>& tile, std::int32_t first,
                 T* c);

/// y := y - A x for a tile of m rows and k columns; x is k x nrhs.
template <class T>
void apply_tile(std::int32_t m, std::int32_t k, const Tile<T>& tile, std::int32_t nrhs,
                const T* x, std::int32_t ldx, T* y, std::int32_t ldy);

/// x := x - A^T y, likewise.
template <class T>
void apply_tile_transposed(std::int32_t m, std::int32_t k, const Tile<T>& tile,
                           std::int32_t nrhs, const T* y, std::int32_t ldy, T* x,
                           std::int32_t ldx);

}  // namespace espalier::solver::kernels
