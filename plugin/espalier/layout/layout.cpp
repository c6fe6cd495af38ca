#include "espalier/layout/layout.h"

#include <fmt/format.h>

#include "espalier/layout/pieces.h"
#include "espalier/layout/sweep_layout.h"

namespace espalier {

Layout layout(const BufferSet& buffers, const LayoutOptions& options) {
  if (options.alignment < 1)
    throw InvalidInput(fmt::format("the alignment {} is below 1", options.alignment));
  const Pieces pieces = pieces_of(buffers.buffers(), options.alignment);
  Layout best;
  best.offsets = sweep_layout(pieces);
  best.capacity_bytes = capacity(pieces, best.offsets);
  best.load_bytes = best.lower_bound_bytes = load(pieces);
  return best;
}

Expected<Layout> layout_within(const BufferSet& buffers, Bytes capacity,
                               LayoutOptions options) {
  options.capacity = capacity;
  Layout best = layout(buffers, options);
  if (best.capacity_bytes <= capacity) return best;
  using Reason = Infeasible::Reason;
  return tl::unexpected(Infeasible{
      best.lower_bound_bytes > capacity ? Reason::kImpossible : Reason::kNoneFound,
      capacity, best.capacity_bytes, best.lower_bound_bytes});
}

}  // namespace espalier
