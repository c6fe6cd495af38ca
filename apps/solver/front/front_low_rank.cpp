// Fronts of Cholesky whose panel tiles are compressed: of real entries, as the solver's
// options are checked. Of complex ones is_low_rank() is false, and there is nothing here.

#include <vector>

#include "solver/front/front.h"

namespace espalier::solver {

template <class T>
void Front<T>::compress(std::int32_t block, std::int32_t begin) {
  if constexpr (!kIsComplex<T>) {
    LowRankPanel& panel = *low_rank();
    const BlockColumn<T> column = block_column(storage_, block);
    const std::int32_t row = panel.block_of(begin);
    panel.rank[panel.number(row, block)] = kernels::compress_tile(
        panel.rows(row), column.width, column.data[0] + (begin - column.first),
        column.leading, context_.low_rank.tolerance, context_.scratch.template as<T>());
  }
}

template <class T>
void Front<T>::update_by_tiles(std::int32_t target, std::int32_t row, std::int32_t source,
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
                       panel.tile<T>(storage_.panel[0], target, k), width});
      full += (diagonal ? 1.0 : 2.0) * m * to.width * width;
    }
    const double flops = kernels::update_by_tiles<T>(
        m, to.width, terms, diagonal, to.data[0] + (panel.first(row) - to.first),
        to.leading, context_.scratch.template as<T>());
    panel.flops += static_cast<std::int64_t>(flops);
    panel.full_flops += static_cast<std::int64_t>(full);
  }
}

template <class T>
void Front<T>::compact() {
  if constexpr (!kIsComplex<T>) {
    if (!is_low_rank()) return;
    LowRankPanel& panel = *low_rank();
    const auto bytes = static_cast<Bytes>(sizeof(T));
    PageBuffer column(std::int64_t{panel.layout.leading(0)} * panel.width() * bytes,
                      context_.meter, context_.pool);
    compact_panel(panel, storage_.panel[0], column.template as<T>());
    PageBuffer& storage = context_.factor.storage[context_.tree.node_of_front[front_]];
    storage.drain(panel.compact_entries * bytes, storage.size());
  }
}

#define ESPALIER_INSTANTIATE(T)                                                     \
  template void Front<T>::compress(std::int32_t, std::int32_t);                     \
  template void Front<T>::update_by_tiles(std::int32_t, std::int32_t, std::int32_t, \
                                          std::int32_t);                            \
  template void Front<T>::compact();
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
