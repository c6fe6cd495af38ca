#pragma once

#include <algorithm>
#include <cstdint>

namespace espalier::solver {

/// Storage of a lower trapezoid, `rows` x `columns` with rows >= columns, by block
/// columns.
///
/// Block J holds the columns [J width, min(J width + width, columns)) and of these the
/// rows [J width, rows), column by column with leading dimension rows - J width. Blocks
/// follow one another. Only the upper triangles of the diagonal blocks are stored in
/// vain.
///
///   rows 5, columns 4, width 2:   block 0   block 1
///                                 a .
///                                 b f
///                                 c g       k .
///                                 d h       l n
///                                 e i       m o
///
/// The pivots of a front are one trapezoid (rows = order of the front, columns = pivots),
/// its contribution block another one (rows = columns).
class Trapezoid {
 public:
  Trapezoid() = default;
  Trapezoid(std::int32_t rows, std::int32_t columns, std::int32_t width)
      : rows_(rows), columns_(columns), width_(width) {}

  [[nodiscard]] std::int32_t rows() const { return rows_; }
  [[nodiscard]] std::int32_t columns() const { return columns_; }
  // Most trapezoids are one block: no division there.
  [[nodiscard]] std::int32_t blocks() const {
    return columns_ <= width_ ? static_cast<std::int32_t>(columns_ > 0)
                              : (columns_ + width_ - 1) / width_;
  }
  [[nodiscard]] std::int32_t block_of(std::int32_t column) const {
    return column < width_ ? 0 : column / width_;
  }

  /// First row and first column of block J.
  [[nodiscard]] std::int32_t first(std::int32_t block) const { return block * width_; }
  [[nodiscard]] std::int32_t width(std::int32_t block) const {
    return std::min(width_, columns_ - first(block));
  }
  [[nodiscard]] std::int32_t leading(std::int32_t block) const {
    return rows_ - first(block);
  }
  /// Where block J begins, in entries.
  [[nodiscard]] std::int64_t offset(std::int32_t block) const {
    const std::int64_t j = block, w = width_;
    return w * (j * rows_ - w * (j * (j - 1) / 2));
  }
  [[nodiscard]] std::int64_t entries() const {
    if (columns_ <= width_) return std::int64_t{rows_} * columns_;
    const std::int32_t last = blocks() - 1;
    return offset(last) + std::int64_t{leading(last)} * width(last);
  }
  /// Entries of the columns before `column`.
  [[nodiscard]] std::int64_t entries_before(std::int32_t column) const {
    if (column >= columns_) return entries();
    const std::int32_t block = block_of(column);
    return offset(block) + std::int64_t{column - first(block)} * leading(block);
  }
  /// Offset of entry (i, column) less i, for the rows i >= first(block_of(column)).
  [[nodiscard]] std::int64_t column_offset(std::int32_t column) const {
    const std::int32_t block = block_of(column);
    return offset(block) + std::int64_t{column - first(block)} * leading(block) -
           first(block);
  }

 private:
  std::int32_t rows_ = 0, columns_ = 0, width_ = 1;
};

}  // namespace espalier::solver
