#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "espalier/solver/options.h"
#include "solver/matrix/sparse_matrix.h"

namespace espalier::solver {

/// "nd", "metis", "scotch", "amd", "natural", "auto".
[[nodiscard]] std::string_view name(OrderingKind kind);
/// @throws InvalidInput for any other name
[[nodiscard]] OrderingKind parse_ordering(std::string_view text);

/// All of them, in the order of that list.
[[nodiscard]] std::vector<OrderingKind> all_orderings();

/// Whether this build has the library that the ordering needs.
[[nodiscard]] bool available(OrderingKind kind);
/// A fill-reducing permutation of the matrix: result[new] = old. The same matrix gives
/// the same permutation in every run. Values are not read.
///
/// Columns of equal structure are ordered as one (GroupedPattern). Hubs, leaves and the
/// trees that hang from a graph are put in their places before it is ordered
/// (reduce_graph.h).
///
/// kAuto keeps the order by minimum degree when its factor takes less time than a
/// dissection does: fewer than 40000 operations an entry of the matrix, or 8000 from
/// 200000 columns on. Otherwise it computes a dissection, too, and keeps the one with
/// fewer operations: METIS's, or kNested from 10000 columns on and in builds without
/// METIS. An order of SCOTCH's that costs more than 40000 operations an entry is replaced
/// where minimum degree needs less than a tenth.
///
/// Memory beside the matrix: the library's own and the graph of the groups with every
/// edge twice, four bytes each; kNested has it at several levels; all freed on return.
///
/// @param partner  columns that stay next to each other, as PreparedMatrix::partner;
///                 empty: none
/// @param workers  threads, the caller's among them; the result is the same for any
/// @throws InvalidInput when the ordering is not available (the message names the
///                      package) or, for a library, the graph has 2^31 or more edge
///                      ends
/// @throws Error        when the library fails, out of memory for instance
[[nodiscard]] std::vector<std::int32_t> compute_ordering(
    const SymmetricMatrix& matrix, OrderingKind kind,
    std::span<const std::int32_t> partner = {}, std::int32_t workers = 1);

/// compute_ordering(), and which it was: the one that was kept; for a matrix without
/// entries off its diagonal kNatural.
struct Ordering {
  std::vector<std::int32_t> permutation;
  OrderingKind kind = OrderingKind::kNatural;
};
[[nodiscard]] Ordering choose_ordering(const SymmetricMatrix& matrix, OrderingKind kind,
                                       std::span<const std::int32_t> partner = {},
                                       std::int32_t workers = 1);

}  // namespace espalier::solver
