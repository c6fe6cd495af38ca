#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "espalier/layout/pieces.h"

namespace espalier {

/// Pieces put together to larger ones, which then move as one.
///   stacked   same lifetime: one on the other, the sizes added
///   in a row  one starts in the section after the last one of the other, same size: at
///             the same offset one after the other
/// Neither wastes a byte, but the best layout may need the parts elsewhere: what is found
/// for the joined pieces is a layout of the parts, what is proved for them proves
/// nothing.
class JoinedPieces {
 public:
  /// Only stacked: for each lifetime one piece.
  [[nodiscard]] static JoinedPieces stacked(const Pieces& pieces);

  /// Both, again and again until nothing can be joined any more. A layout that came from
  /// cutting a rectangle becomes one piece again, unless chance makes other joins fit.
  /// @par Cost  O(n log n) a round; a round for each level of the cuts
  [[nodiscard]] static JoinedPieces stacked_and_in_rows(const Pieces& pieces);

  [[nodiscard]] const Pieces& pieces() const { return pieces_; }

  /// Offsets of the parts, given those of pieces().
  [[nodiscard]] std::vector<Bytes> expand(std::span<const Bytes> offsets) const;

 private:
  explicit JoinedPieces(const Pieces& pieces);
  bool stack();
  bool row();
  std::int32_t join(std::int32_t below, std::int32_t above, bool stacked);
  void keep_roots();

  struct Node {
    Piece piece;
    std::int32_t left = -1, right = -1;  // parts: nodes; -1: none
    bool stacked = false;
  };
  std::size_t leaves_ = 0;
  std::int32_t sections_ = 0;
  std::vector<Node> nodes_;          // the first ones are the parts themselves
  std::vector<std::int32_t> roots_;  // what pieces_ consists of
  Pieces pieces_;
};

}  // namespace espalier
