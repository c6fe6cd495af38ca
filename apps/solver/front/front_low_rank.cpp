// Fronts of Cholesky whose panel tiles are compressed: of real entries, as the solver's
// options are checked. Of complex ones is_low_rank() is false, and there is nothing here.

#include <algorithm>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "solver/front/front.h"
#include "solver/tree/extend_add.h"

namespace espalier::solver {
namespace {

// Whether the product of tiles (i, k) and (j, k) may be made in single precision: what is
// lost is what rounding has lost of one of them, or no more than a tile of what is
// updated may lose.
bool may_be_single(const LowRankPanel& panel, std::int32_t i, std::int32_t j,
                   std::int32_t k, const LowRankOptions& options) {
  const std::size_t a = panel.number(i, k), b = panel.number(j, k);
  return panel.single[a] != 0 || panel.single[b] != 0 ||
         kernels::kSingleRounding * panel.norm[a] * panel.norm[b] <=
             options.contribution_tolerance;
}

}  // namespace

template <class T>
void Front<T>::open_low_rank() {
  const AssemblyTree::Node& node =
      context_.tree.nodes[context_.tree.node_of_front[front_]];
  if (context_.low_rank.tolerance == 0 || !node.low_rank) return;
  auto panel = std::make_unique<LowRankPanel>(storage_.panel_layout);
  if (node.low_rank_contribution) {
    panel->contribution = std::make_unique<LowRankPanel>(storage_.contribution_layout);
    final_rows_ = std::vector<std::atomic<std::int32_t>>(
        static_cast<std::size_t>(storage_.contribution_layout.blocks()));
  }
  context_.factor.compressed.at(front_) = std::move(panel);
}

template <class T>
void Front<T>::compress(std::int32_t block, std::int32_t begin) {
  if constexpr (!kIsComplex<T>) {
    LowRankPanel& panel = *low_rank();
    const BlockColumn<T> column = block_column(storage_, block);
    const std::int32_t row = panel.block_of(begin);
    compress_tile(panel, row, block, column.data[0] + (begin - column.first),
                  column.leading, context_.low_rank.tolerance);
  }
}

// Counted among the blocks of the contribution block.
template <class T>
void Front<T>::compress_contribution(std::int32_t row, std::int32_t block) {
  if constexpr (!kIsComplex<T>) {
    LowRankPanel& tiles = *low_rank()->contribution;
    compress_tile(tiles, row, block,
                  storage_.contribution[0] + tiles.layout.offset(block) +
                      (tiles.first(row) - tiles.first(block)),
                  tiles.layout.leading(block), context_.low_rank.contribution_tolerance);
  }
}

template <class T>
void Front<T>::compress_tile(LowRankPanel& tiles, std::int32_t row, std::int32_t block,
                             T* data, std::int32_t leading, double tolerance) {
  if constexpr (!kIsComplex<T>) {
    const std::size_t tile = tiles.number(row, block);
    const std::int32_t m = tiles.rows(row), n = tiles.layout.width(block);
    const std::span<T> scratch = context_.scratch.template as<T>();
    if constexpr (std::is_same_v<T, double>) {
      const auto [rank, single, norm] =
          kernels::compress_and_round_tile(m, n, data, leading, tolerance, scratch);
      tiles.rank[tile] = rank;
      tiles.single[tile] = single;
      tiles.norm[tile] = static_cast<float>(norm);
    } else {
      tiles.rank[tile] = kernels::compress_tile(m, n, data, leading, tolerance, scratch);
    }
  }
}

template <class T>
bool Front<T>::update_by_tiles(std::int32_t target, std::int32_t row, std::int32_t source,
                               std::int32_t sources_end) {
  if constexpr (!kIsComplex<T>) {
    LowRankPanel& panel = *low_rank();
    const BlockColumn<T> to = block_column(storage_, target);
    const std::int32_t m = panel.rows(row);
    const bool diagonal = row == target;
    std::vector<kernels::TileTerm<T>> terms;
    double full = 0;
    for (std::int32_t k = source; k < sources_end; ++k) {
      const std::int32_t width = panel.layout.width(k);
      terms.push_back({panel.tile<T>(storage_.panel[0], row, k),
                       panel.tile<T>(storage_.panel[0], target, k), width,
                       may_be_single(panel, row, target, k, context_.low_rank)});
      full += (diagonal ? 1.0 : 2.0) * m * to.width * width;
    }
    const double flops = kernels::update_by_tiles<T>(
        m, to.width, terms, diagonal, to.data[0] + (panel.first(row) - to.first),
        to.leading, context_.scratch.template as<T>());
    panel.flops += static_cast<std::int64_t>(flops);
    panel.full_flops += static_cast<std::int64_t>(full);
    if (target < panels() || sources_end < panels() || final_rows_.empty()) return false;
    const std::int32_t block = target - panels();
    if (!diagonal) compress_contribution(row - panels(), block);
    return ++final_rows_[block] == blocks() - target;
  }
  return false;
}

template <class T>
std::span<const std::byte> Front<T>::put_together(std::int32_t block) {
  if constexpr (!kIsComplex<T>) {
    const bool of_panel = block < panels();
    LowRankPanel& tiles = of_panel ? *low_rank() : *low_rank()->contribution;
    const std::int32_t column = of_panel ? block : block - panels();
    solver::put_together<T>(
        tiles, column, of_panel ? storage_.panel[0] : storage_.contribution[0],
        PageBuffer(tiles.column_entries(column) * static_cast<Bytes>(sizeof(T)),
                   context_.meter, context_.pool, PageBuffer::Content::kUntouched));
  }
  return std::as_bytes(block_column(storage_, block).entries(0));
}

// Columns [first, last) of a child's contribution block, tile by tile.
template <class T>
void Front<T>::add_tiles(const LowRankPanel& child,
                         std::span<const std::int32_t> positions, std::int32_t first,
                         std::int32_t last) {
  if constexpr (!kIsComplex<T>) {
    T* const expanded = context_.scratch.template as<T>().data();
    for (std::int32_t k = child.layout.block_of(first);
         k < child.layout.blocks() && child.first(k) < last; ++k) {
      const std::int32_t begin = std::max(first, child.first(k));
      const std::int32_t end = std::min(last, child.first(k) + child.layout.width(k));
      const std::int32_t skipped = begin - child.first(k);
      const auto own = positions.subspan(child.first(k), child.layout.width(k));
      extend_add(child.packed_diagonal(k),
                 child.together[k].template as<T>() + child.place[child.number(k, k)], 0,
                 own, skipped, skipped + end - begin, storage_, 0);
      for (std::int32_t i = k + 1; i < child.blocks; ++i) {
        const kernels::Tile<T> tile = child.tile<T>(nullptr, i, k);
        const std::int32_t m = child.rows(i);
        const auto rows = positions.subspan(child.first(i), m);
        const auto columns = positions.subspan(begin, end - begin);
        if (tile.rank == kernels::kFullRank && tile.single == nullptr) {
          extend_add_tile(tile.u + std::int64_t{skipped} * tile.ldu, tile.ldu, rows,
                          columns, storage_);
        } else if (tile.rank != 0) {
          kernels::expand_tile(m, end - begin, tile, skipped, expanded);
          extend_add_tile(expanded, m, rows, columns, storage_);
        }
      }
    }
  }
}

#define ESPALIER_INSTANTIATE(T)                                                         \
  template void Front<T>::open_low_rank();                                              \
  template void Front<T>::compress(std::int32_t, std::int32_t);                         \
  template bool Front<T>::update_by_tiles(std::int32_t, std::int32_t, std::int32_t,     \
                                          std::int32_t);                                \
  template std::span<const std::byte> Front<T>::put_together(std::int32_t);             \
  template void Front<T>::add_tiles(const LowRankPanel&, std::span<const std::int32_t>, \
                                    std::int32_t, std::int32_t);
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
