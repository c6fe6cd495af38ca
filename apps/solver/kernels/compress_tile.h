#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

namespace espalier::solver::kernels {

/// What a tile is that was not compressed.
constexpr std::int32_t kFullRank = -1;
/// Columns of a tile at most.
constexpr std::int32_t kMostTileColumns = 512;

/// Replaces the m x n tile A by U V^T where that is smaller and
///   |A - U V^T| <= tolerance   in the Frobenius norm, up to rounding:
/// truncated Householder QR with column pivoting [BG65], which stops at the first rank
/// whose rest, measured and not estimated, is within the tolerance. U has orthonormal
/// columns.
///
/// In place: U becomes the columns [0, r) of the tile, m rows, and V its columns [r, 2
/// r), n rows. So m >= n and 2 r <= n are needed; any other tile is left as it is.
///
/// @param tolerance  0: nothing is compressed but zeros
/// @param scratch    compress_scratch(m, n) entries
/// @return r, or kFullRank: the tile is as it was. So stay tiles with entries that are
/// not
///         finite, or whose squares are not, and those whose rest falls so slowly that it
///         would be above the tolerance at r = n / 2 at the same pace
/// @par Cost  6 m n r flops
/// @par Test  CompressTile.*, against singular values that are known
template <class T>
[[nodiscard]] std::int32_t compress_tile(std::int32_t m, std::int32_t n, T* a,
                                         std::int32_t lda, double tolerance,
                                         std::span<std::type_identity_t<T>> scratch);

/// What rounding to single precision loses of a number, relative to it, at most.
constexpr double kSingleRounding = 0x1p-24;

/// A tile of compress_and_round_tile().
struct RoundedTile {
  std::int32_t rank;  ///< of compress_tile()
  bool single;        ///< it may be rounded to single precision
  double norm;        ///< of the tile as it was, Frobenius
};

/// compress_tile() of a tile that may be kept in single precision, if rounding loses no
/// more than the tolerance, too: at most 2^-24 (1 + sqrt(r)) |A|, in full 2^-24 |A|, both
/// in the Frobenius norm. Where that holds for any r it is compressed in single
/// precision. Its entries have to be in the range of that.
[[nodiscard]] RoundedTile compress_and_round_tile(std::int32_t m, std::int32_t n,
                                                  double* a, std::int32_t lda,
                                                  double tolerance,
                                                  std::span<double> scratch);

/// The tile with columns of whole vectors, V, and some numbers for each column.
[[nodiscard]] constexpr std::int64_t compress_scratch(std::int64_t m, std::int64_t n) {
  constexpr std::int64_t kVector = 16;
  return ((m + kVector - 1) / kVector * kVector + n / 2 + 3) * n;
}

}  // namespace espalier::solver::kernels
