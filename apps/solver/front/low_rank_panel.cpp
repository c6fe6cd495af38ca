#include "solver/front/low_rank_panel.h"

#include <utility>

#include "espalier/model/error.h"

namespace espalier::solver {
namespace {

template <class T, class To>
To* append(std::int32_t m, std::int32_t n, const T* from, std::int32_t leading, To* to) {
  for (std::int32_t j = 0; j < n; ++j) {
    const T* const column = from + std::int64_t{j} * leading;
    to = std::transform(column, column + m, to, [](T x) { return static_cast<To>(x); });
  }
  return to;
}

// U, then V, or all of it, of a tile of m rows and n columns.
template <class T, class To>
To* append(std::int32_t m, std::int32_t n, const kernels::Tile<T>& tile, To* to) {
  if (tile.rank == kernels::kFullRank) return append(m, n, tile.u, tile.ldu, to);
  to = append(m, tile.rank, tile.u, tile.ldu, to);
  return append(n, tile.rank, tile.v, tile.ldv, to);
}

// The lower triangle of a diagonal block, and little above it.
template <class T>
T* pack(const Trapezoid& packed, const T* block, std::int32_t leading, T* to) {
  for (std::int32_t b = 0; b < packed.blocks(); ++b)
    to = append(packed.leading(b), packed.width(b),
                block + std::int64_t{packed.first(b)} * (leading + 1), leading, to);
  return to;
}

}  // namespace

template <class T>
std::pair<const T*, std::int32_t> diagonal_block(const LowRankPanel* low_rank,
                                                 const Trapezoid& layout, const T* panel,
                                                 std::int32_t block,
                                                 DiagonalWork<T>& work) {
  if (low_rank == nullptr) return {panel + layout.offset(block), layout.leading(block)};
  const std::int64_t at = low_rank->place[low_rank->number(block, block)];
  ESPALIER_ASSERT(at >= 0, "the front has ended");
  const T* const together = low_rank->together[block].template as<T>() + at;
  const Trapezoid packed = low_rank->packed_diagonal(block);
  const std::int32_t n = packed.rows();
  for (std::int32_t j = 0; j < n; ++j) {
    const std::int32_t begin = packed.first(packed.block_of(j));
    std::copy_n(together + packed.column_offset(j) + begin, n - begin,
                work.entries.data() + std::int64_t{j} * n + begin);
  }
  return {work.entries.data(), n};
}

void add_to(LowRankStatistics& sum, const LowRankPanel& panel, Bytes entry_bytes) {
  for (std::int32_t k = 0; k < panel.layout.blocks(); ++k) {
    sum.bytes += panel.column_entries(k) * entry_bytes;
    for (std::int32_t i = k + 1; i < panel.blocks; ++i) {
      const std::int32_t rank = panel.rank[panel.number(i, k)];
      ++sum.blocks;
      sum.single += panel.single[panel.number(i, k)];
      if (rank == kernels::kFullRank) continue;
      ++sum.compressed;
      sum.rank_sum += rank;
      sum.rank_max = std::max(sum.rank_max, rank);
    }
  }
  sum.full_bytes += panel.layout.entries() * entry_bytes;
  sum.full_flops += static_cast<Flops>(panel.full_flops.load());
  sum.flops += static_cast<Flops>(panel.flops.load());
}

template <class T>
void put_together(LowRankPanel& panel, std::int32_t column, const T* data,
                  PageBuffer together) {
  const std::int32_t n = panel.layout.width(column);
  T* const start = together.template as<T>();
  std::vector<std::int64_t> place = {0};
  const kernels::Tile<T> diagonal = panel.tile<T>(data, column, column);
  T* to = pack(panel.packed_diagonal(column), diagonal.u, diagonal.ldu, start);
  for (std::int32_t i = column + 1; i < panel.blocks; ++i) {
    const kernels::Tile<T> tile = panel.tile<T>(data, i, column);
    place.push_back(to - start);
    if (panel.single[panel.number(i, column)] != 0)
      append(panel.rows(i), n, tile, reinterpret_cast<float*>(to));
    else
      append(panel.rows(i), n, tile, to);
    to += panel.entries(i, column);
  }
  panel.together[column] = std::move(together);
  std::ranges::copy(place, panel.place.begin() +
                               static_cast<std::ptrdiff_t>(panel.number(column, column)));
}

#define ESPALIER_INSTANTIATE(T)                              \
  template std::pair<const T*, std::int32_t> diagonal_block( \
      const LowRankPanel*, const Trapezoid&, const T*, std::int32_t, DiagonalWork<T>&);
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

template void put_together(LowRankPanel&, std::int32_t, const float*, PageBuffer);
template void put_together(LowRankPanel&, std::int32_t, const double*, PageBuffer);

}  // namespace espalier::solver
