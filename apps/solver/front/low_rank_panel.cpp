#include "solver/front/low_rank_panel.h"

namespace espalier::solver {
namespace {

template <class T>
T* append(std::int32_t m, std::int32_t n, const T* from, std::int32_t leading, T* to) {
  for (std::int32_t j = 0; j < n; ++j)
    to = std::copy_n(from + std::int64_t{j} * leading, m, to);
  return to;
}

}  // namespace

void add_to(LowRankStatistics& sum, const LowRankPanel& panel, Bytes entry_bytes) {
  for (std::int32_t k = 0; k < panel.layout.blocks(); ++k)
    for (std::int32_t i = k + 1; i < panel.blocks; ++i) {
      const std::int32_t rank = panel.rank[panel.number(i, k)];
      ++sum.blocks;
      if (rank == kernels::kFullRank) continue;
      ++sum.compressed;
      sum.rank_sum += rank;
      sum.rank_max = std::max(sum.rank_max, rank);
    }
  sum.full_bytes += panel.layout.entries() * entry_bytes;
  sum.bytes += panel.compact_entries * entry_bytes;
  sum.full_flops += static_cast<Flops>(panel.full_flops.load());
  sum.flops += static_cast<Flops>(panel.flops.load());
}

// What is left of a block column never goes beyond where the column began, but may
// overlap with the column itself: it is put together elsewhere first.
template <class T>
void compact_panel(LowRankPanel& panel, T* data, T* column) {
  std::vector<std::int64_t> place(panel.rank.size(), 0);
  std::int64_t next = 0;
  for (std::int32_t k = 0; k < panel.layout.blocks(); ++k) {
    const std::int32_t n = panel.layout.width(k);
    T* to = column;
    for (std::int32_t i = k; i < panel.blocks; ++i) {
      const kernels::Tile<T> tile = panel.tile<T>(data, i, k);
      place[panel.number(i, k)] = next + (to - column);
      const bool full = tile.rank == kernels::kFullRank;
      to = append(panel.rows(i), full ? n : tile.rank, tile.u, tile.ldu, to);
      if (!full) to = append(n, tile.rank, tile.v, tile.ldv, to);
    }
    std::copy(column, to, data + next);
    next += to - column;
  }
  panel.compact_entries = next;
  panel.place = std::move(place);
}

template void compact_panel(LowRankPanel&, float*, float*);
template void compact_panel(LowRankPanel&, double*, double*);

}  // namespace espalier::solver
