#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "solver/front/front.h"

namespace espalier::solver {

/// The assembly of a tiled front, slice by slice of its block columns, in memory that
/// grows with it: a slice takes its pages when it begins, and what no later slice reads
/// of the children's contribution blocks is given back when it is done.
/// AssemblyTree::Profile says what that needs when slices begin in turn, so many at once.
///
/// Of a shared front, whose slices are the tiles here of a block column, assemble() adds
/// what belongs to the front alone; the children's contribution blocks are for add().
template <class T>
class BlockAssembly {
 public:
  /// Columns [first, last) of a tile of the contribution block of the front's child
  /// number `child`.
  struct Columns {
    std::int32_t child, strip, first, last;
  };

  /// @param front  of a tiled node, allocated by allocate_node(); outlives this
  /// @param slices  of a block column: slice s of block J is number slices J + s
  BlockAssembly(const FrontContext<T>& context, Front<T>& front, std::int32_t slices = 1);

  /// Assembles a slice of panel or contribution block; finish() has to follow. Safe from
  /// any thread, each slice once. @throws Error when the system has no memory or the file
  /// cannot be read
  void assemble(std::int32_t slice);
  /// No more is read of the children for a slice, here or, in a shared front, by the
  /// process that has the block.
  void finish(std::int32_t slice);

  /// Puts the final tiles of a block column together, and gives back what held it: the
  /// units in which nothing else stands. Safe from any thread, each block column once.
  /// @throws Error when the system has no memory
  void put_together(std::int32_t block);

  /// Memory for columns that another process sends, where they would be if all were here:
  /// `memory` in every side.
  void receive(const Columns& columns);
  /// Adds columns to the tiles here to which they belong, of one block column.
  /// @param received  what they took is given back
  void add(const Columns& columns, bool received);
  /// Where columns lie, in one block column of the child's.
  [[nodiscard]] std::span<std::byte> memory(const Columns& columns,
                                            std::int32_t side) const;
  /// So many slices in a row are finished; all: the children's memory is gone.
  [[nodiscard]] std::int32_t finished();

 private:
  struct Child {
    std::int32_t front;
    std::span<const std::int32_t> positions;  // of its rows, in the front
    PageBuffer* contribution;
    std::span<const std::int32_t> strips;  // of its contribution block; empty: one
  };
  /// Memory of a compressed front that its block columns leave.
  struct Left {
    PageBuffer* buffer;
    std::int32_t blocks;              // that are still there
    std::vector<Bytes> in_unit = {};  // of them, in each unit; empty: there are none
  };
  [[nodiscard]] Left all_of(PageBuffer& buffer, const Trapezoid& layout) const;
  void give_back(Left& left, std::span<const std::byte> part);
  [[nodiscard]] TilePlace tile_of(const Child& child, const Columns& columns) const;
  void clear(const BlockColumn<T>& columns) const;
  void take_memory(std::int32_t slice, const BlockColumn<T>& columns);
  void take_memory(std::span<const std::byte> place);
  void drain(const Child& child, std::int32_t used);
  void add_children(const BlockColumn<T>& columns);

  const FrontContext<T>& context_;
  Front<T>& front_;
  std::int32_t node_, slices_;
  bool shared_;
  PageBuffer positions_;  // of all children's rows, one child after the other
  std::vector<Child> children_;
  std::mutex together_;       // of put_together(), which has one block column twice
  std::mutex mutex_;          // of what follows, and of filling and draining buffers
  std::array<Left, 2> left_;  // of the panel, of the contribution block
  std::vector<std::int8_t> finished_;  // of each slice
  std::int32_t finished_first_ = 0;    // so many slices in a row
};

}  // namespace espalier::solver
