#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "espalier/model/buffer_set.h"

namespace espalier {

/// A buffer as the planners of this folder see it: alive in the sections `first` …
/// `last`, both included.
struct Piece {
  std::int32_t first = 0, last = 0;
  Bytes size = 0;
  std::int64_t length = 1;  ///< of its life in time: for orders of preference only
  friend bool operator==(const Piece&, const Piece&) = default;
};

[[nodiscard]] constexpr bool meet(const Piece& a, const Piece& b) {
  return a.first <= b.last && b.first <= a.last;
}

/// Pieces and the number of sections they lie in.
///
/// A section is a stretch of time in which a start was followed by no end: the pieces
/// alive in a section are a largest set of buffers that all meet, and two buffers meet if
/// and only if they have a section in common. There are at most as many sections as
/// buffers, and every section has a piece that starts in it and one that ends in it.
struct Pieces {
  std::vector<Piece> list;
  std::int32_t sections = 0;
  [[nodiscard]] std::size_t size() const { return list.size(); }
};

/// Sections of buffers whose sizes are rounded up to the alignment; same numbers.
/// @throws OverflowError, naming the buffer, when the sum of the rounded sizes leaves the
///         64-bit range
/// @par Cost  O(n log n)
[[nodiscard]] Pieces pieces_of(std::span<const Buffer> buffers, Bytes alignment);

/// The same for some of the pieces, by number in `part`: sections that stand for no
/// largest set any more are gone.
[[nodiscard]] Pieces select(const Pieces& pieces, std::span<const std::int32_t> part);

/// Sum of the sizes alive, by section.
[[nodiscard]] std::vector<Bytes> loads(const Pieces& pieces);

/// The largest sum of sizes alive at one time: no layout needs less.
[[nodiscard]] Bytes load(const Pieces& pieces);

/// The highest end.
[[nodiscard]] Bytes capacity(const Pieces& pieces, std::span<const Bytes> offsets);

}  // namespace espalier
