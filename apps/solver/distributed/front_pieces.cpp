#include "solver/distributed/front_pieces.h"

#include <algorithm>

#include "solver/distributed/front_tiles.h"
#include "solver/tree/extend_add.h"

namespace espalier::solver {
namespace {

// Of a piece of more than one column, at most: a message of so much takes longer than a
// message, and is little memory beside what is assembled.
constexpr Bytes kPieceBytes = Bytes{1} << 20;

// Processes that take rows [begin, end) of a child in a block column of its parent, each
// once, in the order of the rows.
std::vector<std::int32_t> takers(const FrontTiles& parent, std::int32_t block,
                                 std::span<const std::int32_t> positions,
                                 std::int32_t begin, std::int32_t end) {
  std::vector<std::int32_t> result;
  while (begin < end) {
    const std::int32_t strip = strip_of_row(parent.strip_rows(), positions[begin]);
    const std::int32_t to = parent.owner(strip, block);
    if (std::ranges::find(result, to) == result.end()) result.push_back(to);
    begin = rows_before(positions, parent.strip_rows()[strip + 1]);
  }
  return result;
}

// The pieces of one child.
class ChildPieces {
 public:
  ChildPieces(const FrontTiles& child, const FrontTiles& parent, Bytes entry_bytes,
              std::int32_t number, std::span<const std::int32_t> positions,
              std::vector<FrontPiece>& pieces)
      : child_(child),
        parent_(parent),
        most_entries_(kPieceBytes / entry_bytes),
        number_(number),
        positions_(positions),
        pieces_(pieces) {}

  void add() {
    const Trapezoid& layout = child_.contribution();
    std::int32_t block = 0;
    for (std::int32_t first = 0, last = 0; first < layout.columns(); first = last) {
      const std::int32_t next = parent_.starts()[block + 1];
      if (next <= positions_[first]) {
        ++block;
        last = first;
        continue;
      }
      const std::int32_t j = layout.block_of(first);
      const std::int64_t most =
          std::max<std::int64_t>(1, most_entries_ / std::int64_t{layout.leading(j)});
      last = static_cast<std::int32_t>(std::min<std::int64_t>(
          first + most,
          std::min(layout.first(j) + layout.width(j), rows_before(positions_, next))));
      add(first, last, child_.panels() + j, block);
    }
  }

 private:
  void add(std::int32_t first, std::int32_t last, std::int32_t j, std::int32_t block) {
    for (std::int32_t strip = child_.strip_of(j); strip < child_.strips(); ++strip) {
      const TilePlace tile = child_.place(strip, j);
      for (const std::int32_t to :
           takers(parent_, block, positions_, std::max(tile.begin, first), tile.end))
        pieces_.push_back(
            {number_, first, last, strip, block, child_.owner(strip, j), to});
    }
  }

  const FrontTiles& child_;
  const FrontTiles& parent_;
  std::int64_t most_entries_;
  std::int32_t number_;
  std::span<const std::int32_t> positions_;
  std::vector<FrontPiece>& pieces_;
};

}  // namespace

std::vector<FrontPiece> front_pieces(const Symbolic& symbolic, const AssemblyTree& tree,
                                     const FrontDistribution& distribution,
                                     std::int32_t node, std::int32_t delayed) {
  const std::int32_t front = tree.nodes[node].last_front;
  const std::int32_t own = symbolic.pivots(front);
  const FrontTiles parent(symbolic, tree, distribution, front, delayed);
  std::vector<FrontPiece> pieces;
  std::vector<std::int32_t> positions;
  std::int32_t number = 0;
  for (auto c = tree.first_child[front]; c >= 0; c = tree.next_sibling[c], ++number) {
    positions.resize(symbolic.rows_of(c).size());
    relative_indices(symbolic, c, front, positions);
    for (std::int32_t& position : positions)
      if (position >= own) position += delayed;
    ChildPieces({symbolic, tree, distribution, c}, parent, tree.entry_bytes, number,
                positions, pieces)
        .add();
  }
  std::stable_sort(
      pieces.begin(), pieces.end(),
      [](const FrontPiece& a, const FrontPiece& b) { return a.block < b.block; });
  return pieces;
}

}  // namespace espalier::solver
