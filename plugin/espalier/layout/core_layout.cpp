#include "espalier/layout/core_layout.h"

#include <algorithm>

#include "espalier/layout/exact_layout.h"
#include "espalier/layout/join_pieces.h"

namespace espalier {

Core core_of(const Pieces& pieces, double share) {
  const std::vector<Bytes> load = loads(pieces);
  Core core;
  if (load.empty()) return core;
  const double least = share * static_cast<double>(std::ranges::max(load));
  std::vector<std::int32_t> kept(load.size() + 1, 0);  // sections kept before this one
  for (std::size_t s = 0; s < load.size(); ++s)
    kept[s + 1] = kept[s] + (static_cast<double>(load[s]) >= least ? 1 : 0);
  core.pieces.sections = kept.back();
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    Piece piece = pieces.list[p];
    piece.first = kept[static_cast<std::size_t>(piece.first)];
    piece.last = kept[static_cast<std::size_t>(piece.last) + 1] - 1;
    if (piece.first > piece.last || piece.size == 0) continue;
    core.pieces.list.push_back(piece);
    core.numbers.push_back(static_cast<std::int32_t>(p));
  }
  return core;
}

std::vector<Bytes> core_layout(const Core& core, Bytes capacity, std::int64_t steps,
                               std::uint64_t seed, LayoutBudget& budget) {
  const JoinedPieces joined = JoinedPieces::stacked(core.pieces);
  ExactLayout exact(joined.pieces(), seed);
  if (exact.search(capacity, steps, budget) != ExactLayout::Answer::kFound) return {};
  return joined.expand(exact.offsets());
}

}  // namespace espalier
