#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "espalier/layout/layout_budget.h"
#include "espalier/layout/pieces.h"
#include "espalier/layout/random.h"

namespace espalier {

/// Looks for a layout inside a capacity by guided ejections [NB09].
///
/// Pieces that have no place yet wait. In each move one of them, of two at random the
/// heavier, is put into the smallest gap that holds it; where there is none, at the end
/// of a piece it meets, and all that is in its way there has to wait again: where the
/// weights of these add up to the least. A piece that had to push others aside gets
/// heavier by its size, so that what is hard to place stays where it is at last. After a
/// move some other pieces go to gaps at random.
///
/// Finds layouts that a depth-first search misses where few bytes are to spare; proves
/// nothing.
///
/// @par Cost  O(pieces) a move; O(pieces^2) bytes
/// @par Test  EjectionLayout.*
class EjectionLayout {
 public:
  /// Sizes must be positive; `pieces` must outlive the search.
  EjectionLayout(const Pieces& pieces, std::uint64_t seed);

  /// Goes on where the last call for the same capacity ended, else from the start.
  /// @return whether all pieces have a place; false when the moves or the budget are
  /// spent
  [[nodiscard]] bool search(Bytes capacity, std::int64_t moves, LayoutBudget& budget);

  /// What a move takes from a budget, whose steps are some 100 pieces each.
  [[nodiscard]] static constexpr std::int64_t steps_a_move(std::size_t pieces) {
    return 1 + static_cast<std::int64_t>(pieces) / 50;
  }

  /// By piece, after search() was true.
  [[nodiscard]] std::span<const Bytes> offsets() const { return offset_; }

 private:
  void start(Bytes capacity);
  void move();
  void shift();
  void put(std::size_t piece, Bytes offset);
  void take(std::size_t piece);
  enum class Gap : std::uint8_t { kAny, kTightest };
  std::optional<Bytes> gap(std::size_t piece, Gap which);
  void find_way(std::size_t piece);
  Bytes least_weight_place(std::size_t piece);
  void eject(std::size_t piece, Bytes offset);

  /// 0 or 1.
  [[nodiscard]] std::uint8_t meets(std::size_t p, std::size_t q) const {
    return meets_[p * pieces_->size() + q];
  }
  [[nodiscard]] Bytes size(std::size_t p) const { return pieces_->list[p].size; }
  [[nodiscard]] Bytes end(std::size_t p) const { return offset_[p] + size(p); }

  const Pieces* pieces_;
  Random random_;
  Bytes capacity_ = -1;
  std::vector<std::uint8_t> meets_;  // by pair of pieces
  std::vector<Bytes> offset_;
  std::vector<char> placed_;
  std::vector<double> weight_;
  std::vector<std::int32_t> waiting_;
  struct Placed {
    Bytes begin, end;
    std::int32_t piece;
  };
  std::vector<Placed> by_begin_, by_end_;
  // Room for those placed that a piece meets: where they begin and end, and their
  // weights.
  std::vector<std::pair<Bytes, double>> begins_, ends_;
};

}  // namespace espalier
