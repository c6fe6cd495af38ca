#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "espalier/layout/join_tree.h"
#include "espalier/layout/pieces.h"

namespace espalier {

class LayoutBudget;

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

  /// Both, until nothing can be joined any more, and of all that can be joined always
  /// that first whose equality is least likely a coincidence: long lifetimes and rare
  /// sizes before short ones and common ones. A layout that came from cutting a rectangle
  /// becomes one piece again, unless chance makes other joins fit. Where such a join
  /// ends, nothing goes on: so what remains is taken apart again, one level, two and so
  /// on, and joined anew, now that the right partners are there.
  /// @param budget  when it is spent what remains stays as it is; null: no limit
  /// @par Cost  O(n log n), and as much for each time that this leaves fewer pieces
  /// @par Test  JoinedPieces.PutsALargeCutRectangleTogether
  [[nodiscard]] static JoinedPieces stacked_and_in_rows(const Pieces& pieces,
                                                        LayoutBudget* budget = nullptr);

  [[nodiscard]] const Pieces& pieces() const { return pieces_; }

  /// Offsets of the parts, given those of pieces().
  [[nodiscard]] std::vector<Bytes> expand(std::span<const Bytes> offsets) const;

 private:
  JoinedPieces(std::size_t leaves, std::int32_t sections, JoinTree tree);

  std::size_t leaves_ = 0;
  JoinTree tree_;
  Pieces pieces_;
};

}  // namespace espalier
