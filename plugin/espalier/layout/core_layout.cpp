#include "espalier/layout/core_layout.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>

#include "espalier/layout/exact_layout.h"
#include "espalier/layout/join_pieces.h"

namespace espalier {
namespace {

// Whether no two of the pieces that meet share bytes: from section to section.
bool lie_apart(const Pieces& pieces, const std::vector<std::int32_t>& numbers,
               const std::vector<Bytes>& offsets) {
  const auto piece = [&](std::size_t k) -> const Piece& {
    return pieces.list[static_cast<std::size_t>(numbers[k])];
  };
  std::vector<std::size_t> starts(numbers.size());
  std::iota(starts.begin(), starts.end(), std::size_t{0});
  std::vector<std::size_t> ends = starts;
  std::ranges::sort(starts, {}, [&](std::size_t k) { return piece(k).first; });
  std::ranges::sort(ends, {}, [&](std::size_t k) { return piece(k).last; });
  std::map<Bytes, Bytes> taken;  // from, to
  auto ended = ends.begin();
  for (const std::size_t k : starts) {
    for (; piece(*ended).last < piece(k).first; ++ended) taken.erase(offsets[*ended]);
    const Bytes from = offsets[k], to = from + piece(k).size;
    const auto next = taken.lower_bound(from);
    if (next != taken.end() && next->first < to) return false;
    if (next != taken.begin() && std::prev(next)->second > from) return false;
    taken.emplace(from, to);
  }
  return true;
}

}  // namespace

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

std::vector<Bytes> core_layout(const Pieces& pieces, const Core& core, Bytes capacity,
                               std::int64_t steps, std::uint64_t seed,
                               LayoutBudget& budget) {
  const JoinedPieces joined = JoinedPieces::stacked(core.pieces);
  ExactLayout exact(joined.pieces(), seed);
  if (exact.search(capacity, steps, budget) != ExactLayout::Answer::kFound) return {};
  std::vector<Bytes> offsets = joined.expand(exact.offsets());
  if (!lie_apart(pieces, core.numbers, offsets)) return {};
  return offsets;
}

}  // namespace espalier
