#include "solver/distributed/front_tiles.h"

#include <algorithm>

#include "espalier/model/error.h"

namespace espalier::solver {

FrontTiles::FrontTiles(const Symbolic& symbolic, const AssemblyTree& tree,
                       const FrontDistribution& distribution, std::int32_t front,
                       std::int32_t delayed)
    : entry_bytes_(tree.entry_bytes),
      tested_(tree.kind != FactorKind::kCholesky),
      contribution_(tree.contribution(symbolic, front)),
      starts_(block_starts(symbolic, tree, front, delayed)) {
  const std::int32_t node = tree.node_of_front[front];
  const FrontGrid& grid = distribution.grid_of(node);
  const Trapezoid planned = tree.panel(symbolic, front);
  panel_ = {planned.rows() + delayed, planned.columns() + delayed,
            tree.block_width[front]};
  group_ = distribution.group[node];
  grid_rows_ = grid.rows;
  grid_columns_ = distribution.grid_columns(node);
  cut_strips(grid, planned.blocks());
  for (std::int32_t b = 0; b < blocks(); ++b)
    owner_.push_back(
        distribution.first_owner_of(node, b, planned.blocks(), panel_.blocks()));
  if (group_.count > 1) find_uses();
}

// Strips that begin behind the planned panel move with the columns that come to it.
void FrontTiles::cut_strips(const FrontGrid& grid, std::int32_t planned) {
  const std::int32_t more = panel_.blocks() - planned;
  for (const std::int32_t block : grid.strip)
    strip_rows_.push_back(starts_[block < planned ? block : block + more]);
  if (grid.strip.empty()) strip_rows_.push_back(0);
  strip_rows_.push_back(starts_.back());
}

void FrontTiles::find_uses() {
  last_use_.assign(static_cast<std::size_t>(group_.count) * strips(), -1);
  for (std::int32_t p = 0; p < group_.count; ++p)
    for (std::int32_t s = 0; s < strips(); ++s)
      for (std::int32_t j = 0; j < blocks() && strip_of(j) <= s; ++j)
        if (has(group_.first + p, s, j)) {
          last_use_[p * strips() + s] = std::max(last_use_[p * strips() + s], j);
          std::int32_t& diagonal = last_use_[p * strips() + strip_of(j)];
          diagonal = std::max(diagonal, j);
        }
}

std::vector<std::int32_t> FrontTiles::contribution_strips() const {
  std::vector<std::int32_t> rows = strip_rows_;
  for (std::int32_t& row : rows) row -= panel_.columns();
  return rows;
}

bool FrontTiles::has_any(std::int32_t process, std::int32_t block) const {
  for (std::int32_t s = strip_of(block); s < strips(); ++s)
    if (owner(s, block) == process) return true;
  return false;
}

bool FrontTiles::needs(std::int32_t process, std::int32_t strip,
                       std::int32_t panel) const {
  const std::int32_t diagonal = strip_of(panel);
  if (strip < diagonal) return false;
  if (last_use_[(process - group_.first) * strips() + strip] > panel) return true;
  if (strip != diagonal || tested_) return false;
  for (std::int32_t s = strip + 1; s < strips(); ++s)
    if (owner(s, panel) == process) return true;
  return false;
}

std::vector<std::int32_t> FrontTiles::needed_strips(std::int32_t process,
                                                    std::int32_t panel) const {
  std::vector<std::int32_t> needed;
  for (std::int32_t s = strip_of(panel); s < strips(); ++s)
    if (owner(s, panel) != process && needs(process, s, panel)) needed.push_back(s);
  return needed;
}

std::int32_t FrontTiles::clients(std::int32_t strip, std::int32_t panel) const {
  std::int32_t count = 0;
  for (std::int32_t p = group_.first; p < group_.first + group_.count; ++p)
    count += owner(strip, panel) != p && needs(p, strip, panel) ? 1 : 0;
  return count;
}

std::vector<std::int32_t> FrontTiles::others_in(std::int32_t block) const {
  std::vector<std::int32_t> others;
  const std::int32_t first = strip_of(block),
                     most = std::min(first + grid_rows_, strips());
  for (std::int32_t s = first + 1; s < most; ++s) others.push_back(owner(s, block));
  return others;
}

std::vector<std::int32_t> FrontTiles::strips_in(std::int32_t process,
                                                std::int32_t block) const {
  std::vector<std::int32_t> result;
  for (std::int32_t s = strip_of(block); s < strips(); ++s)
    if (owner(s, block) == process) result.push_back(s);
  return result;
}

bool FrontTiles::follows_after(std::int32_t process, std::int32_t panel) const {
  for (std::int32_t j = panel + 1; j < panels(); ++j)
    if (owner(strip_of(j), j) == process) return true;
  return !tail_rows(process).empty();
}

std::vector<IndexRange> FrontTiles::tail_rows(std::int32_t process) const {
  std::vector<IndexRange> rows;
  for (const std::int32_t s : strips_in(process, panels() - 1))
    if (strip_rows_[s + 1] > panel_.columns())
      rows.push_back({std::max(strip_rows_[s], panel_.columns()), strip_rows_[s + 1]});
  return rows;
}

TilePlace FrontTiles::place(std::int32_t strip, std::int32_t block) const {
  const bool in_panel = block < panels();
  const std::int32_t before = in_panel ? 0 : panel_.columns();
  return tile_place(in_panel ? panel_ : contribution_,
                    in_panel ? block : block - panels(), strip_rows_[strip] - before,
                    strip_rows_[strip + 1] - before);
}

std::pair<Bytes, Bytes> FrontTiles::bytes(std::int32_t strip, std::int32_t block,
                                          std::int32_t side) const {
  const bool in_panel = block < panels();
  const Trapezoid& layout = in_panel ? panel_ : contribution_;
  const TilePlace tile = place(strip, block);
  const std::int64_t begin = side * layout.entries() + tile.offset;
  const std::int64_t entries =
      std::int64_t{tile.rows()} * layout.width(in_panel ? block : block - panels());
  return {checked_mul(begin, entry_bytes_), checked_mul(begin + entries, entry_bytes_)};
}

}  // namespace espalier::solver
