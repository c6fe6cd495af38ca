#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "solver/tree/trapezoid.h"

namespace espalier::solver {

/// Where the entries of a front lie: its pivot columns (the panel) and its contribution
/// block, each a Trapezoid, once for symmetric kinds and twice for LU.
///
/// Side 0 holds the entries (i, j) with i >= j, side 1 (LU) those opposite: the entry
/// (j, i) where side 0 has (i, j). So both sides are assembled, updated and stored by the
/// same code. A diagonal block is brought together in side 0 when it is factored: L under
/// its diagonal, U on and above it; side 1 then is U transposed under that block.
template <class T>
struct FrontStorage {
  Trapezoid panel_layout, contribution_layout;
  std::int32_t sides = 1;
  std::array<T*, 2> panel{}, contribution{};

  /// Where entry (i, column) of a side lies, less i; i >= first(block_of(column)).
  [[nodiscard]] T* column(std::int32_t side, std::int32_t j) const {
    const std::int32_t pivots = panel_layout.columns();
    return j < pivots ? panel[side] + panel_layout.column_offset(j)
                      : contribution[side] +
                            contribution_layout.column_offset(j - pivots) - pivots;
  }
};

/// One block column of a front, counted through panel and contribution blocks.
template <class T>
struct BlockColumn {
  std::array<T*, 2> data;              ///< entry (first, first) of each side
  std::int32_t first, width, leading;  ///< first row and column, within the front

  [[nodiscard]] std::span<T> entries(std::int32_t side) const {
    return {data[side], static_cast<std::size_t>(leading) * width};
  }
};

/// First column of part `part` of a block column, cut into `parts` as even as can be.
[[nodiscard]] constexpr std::int32_t slice_start(std::int32_t width, std::int32_t part,
                                                 std::int32_t parts) {
  return width * part / parts;
}

template <class T>
[[nodiscard]] BlockColumn<T> block_column(const FrontStorage<T>& front,
                                          std::int32_t block) {
  const std::int32_t panels = front.panel_layout.blocks();
  const bool in_panel = block < panels;
  const Trapezoid& layout = in_panel ? front.panel_layout : front.contribution_layout;
  const std::array<T*, 2>& base = in_panel ? front.panel : front.contribution;
  const std::int32_t local = in_panel ? block : block - panels;
  const std::int64_t offset = layout.offset(local);
  return {{base[0] + offset, front.sides == 2 ? base[1] + offset : nullptr},
          layout.first(local) + (in_panel ? 0 : front.panel_layout.columns()),
          layout.width(local),
          layout.leading(local)};
}

}  // namespace espalier::solver
