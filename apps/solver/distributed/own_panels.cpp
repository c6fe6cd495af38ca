#include "solver/distributed/own_panels.h"

#include <algorithm>
#include <span>

#include "solver/distributed/front_tiles.h"

namespace espalier::solver {

namespace {

Trapezoid panel_of(const Symbolic& symbolic, const AssemblyTree& tree, std::int32_t node,
                   std::int32_t delayed) {
  const std::int32_t front = tree.nodes[node].last_front;
  const Trapezoid planned = tree.panel(symbolic, front);
  return {planned.rows() + delayed, planned.columns() + delayed, tree.block_width[front]};
}

}  // namespace

ByteRanges own_panel_bytes(const Symbolic& symbolic, const AssemblyTree& tree,
                           const FrontDistribution& distribution, std::int32_t node,
                           std::int32_t process, std::int32_t delayed) {
  const FrontTiles tiles(symbolic, tree, distribution, tree.nodes[node].last_front,
                         delayed);
  ByteRanges ranges;
  for (std::int32_t side = 0; side < tree.sides(); ++side)
    for (std::int32_t b = 0; b < tiles.panels(); ++b)
      for (std::int32_t strip = 0; strip < tiles.strips(); ++strip)
        if (tiles.has(process, strip, b)) ranges.push_back(tiles.bytes(strip, b, side));
  return ranges;
}

ByteRanges own_panel_pages(const Symbolic& symbolic, const AssemblyTree& tree,
                           const FrontDistribution& distribution, std::int32_t node,
                           std::int32_t process, std::int32_t delayed) {
  const Bytes page = PageBuffer::footprint(1);
  ByteRanges pages;
  for (const auto& [begin, end] :
       own_panel_bytes(symbolic, tree, distribution, node, process, delayed)) {
    const Bytes first = begin / page * page, last = PageBuffer::footprint(end);
    if (!pages.empty() && first <= pages.back().second)
      pages.back().second = std::max(pages.back().second, last);
    else if (begin < end)
      pages.emplace_back(first, last);
  }
  return pages;
}

PageBuffer storage_of(const Symbolic& symbolic, const AssemblyTree& tree,
                      std::int32_t node, const ByteRanges& pages, std::int32_t delayed) {
  const Trapezoid layout = panel_of(symbolic, tree, node, delayed);
  PageBuffer storage = PageBuffer::reserve(
      tree.sides() * layout.entries() * tree.entry_bytes, nullptr, nullptr);
  for (const auto& [begin, end] : pages) storage.fill(begin, end);
  return storage;
}

template <class T>
void note_strips(const Symbolic& symbolic, const AssemblyTree& tree,
                 const FrontDistribution& distribution, Factor<T>& factor) {
  for (std::int32_t node = 0; node < std::ssize(tree.nodes); ++node) {
    if (distribution.grid_of(node).strips() == 1) continue;
    const std::int32_t front = tree.nodes[node].last_front;
    factor.strips[front] =
        FrontTiles(symbolic, tree, distribution, front, factor.delayed_in(front))
            .strip_rows();
  }
}

template <class T>
OwnPanels<T>::OwnPanels(const FactorView<T>& view, const FrontDistribution& distribution,
                        std::int32_t node, std::int32_t process)
    : data_(view.factor.storage[node].template as<T>()) {
  Bytes at = view.tree.nodes[node].factor_at;
  const std::int32_t front = view.tree.nodes[node].last_front;
  if (view.factor.delayed_in(front) > 0) {
    data_ = view.factor.panel_data(front, nullptr);
    return;
  }
  if (at < 0) return;
  const ByteRanges pages =
      own_panel_pages(view.symbolic, view.tree, distribution, node, process);
  copy_ = storage_of(view.symbolic, view.tree, node, pages);
  for (const auto& [begin, end] : pages) {
    view.factor.file->read(at,
                           {copy_.data() + begin, static_cast<std::size_t>(end - begin)});
    at += end - begin;
  }
  data_ = copy_.as<T>();
}

#define ESPALIER_INSTANTIATE(T)                                    \
  template void note_strips(const Symbolic&, const AssemblyTree&,  \
                            const FrontDistribution&, Factor<T>&); \
  template class OwnPanels<T>;
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
