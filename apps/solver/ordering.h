#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "solver/sparse_matrix.h"

namespace espalier::solver {

/// How the columns are ordered to keep the factor sparse.
enum class OrderingKind {
  kMetis,    ///< nested dissection, METIS_NodeND with its defaults
  kScotch,   ///< nested dissection, SCOTCH_graphOrder with its default strategy
  kAmd,      ///< approximate minimum degree, amd_order of SuiteSparse
  kNatural,  ///< the order of the file
};

/// "metis", "scotch", "amd", "natural".
[[nodiscard]] std::string_view name(OrderingKind kind);
/// @throws InvalidInput for any other name
[[nodiscard]] OrderingKind parse_ordering(std::string_view text);

/// Whether this build has the library that the ordering needs.
[[nodiscard]] bool available(OrderingKind kind);
/// The first that is available of METIS, SCOTCH, AMD, natural.
[[nodiscard]] OrderingKind default_ordering();

/// A fill-reducing permutation of the matrix: result[new] = old. The same matrix gives
/// the same permutation in every run. Values are not read.
///
/// Memory beside the matrix: the library's own and, for METIS and SCOTCH, the graph with
/// every edge twice, four bytes each; all freed on return.
///
/// @throws InvalidInput when the ordering is not available (the message names the
/// package)
///                      or the graph has 2^31 or more edge ends
/// @throws Error        when the library fails, out of memory for instance
[[nodiscard]] std::vector<std::int32_t> compute_ordering(const SymmetricMatrix& matrix,
                                                         OrderingKind kind);

}  // namespace espalier::solver
