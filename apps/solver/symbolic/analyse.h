#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "espalier/model/units.h"
#include "espalier/solver/options.h"
#include "solver/matrix/sparse_matrix.h"
#include "solver/ordering/ordering.h"
#include "solver/scaling/prepare.h"
#include "solver/symbolic/amalgamate.h"
#include "solver/symbolic/block_form.h"
#include "solver/symbolic/bundle_siblings.h"
#include "solver/symbolic/cluster_pivots.h"
#include "solver/symbolic/symbolic.h"
#include "solver/threads/task_pool.h"

namespace espalier::solver {

/// Wall-clock time of each step, and what the first one chose.
struct AnalyseTimes {
  Seconds ordering = 0;  ///< with elimination tree and column counts
  Seconds fronts = 0;    ///< supernodes, amalgamation, numbering
  Seconds rows = 0;      ///< rows_of, bundles
  Seconds permute = 0;
  /// See choose_ordering(); none: not known, as of a saved factorisation.
  std::optional<OrderingKind> ordering_taken;
  [[nodiscard]] Seconds total() const { return ordering + fronts + rows + permute; }
};

struct Analysis {
  Symbolic symbolic;
  SquareMatrix permuted;  ///< P A P^T in the numbering of `symbolic`
  BlockForm form;         ///< of a prepared matrix with a coupling; else empty
  AnalyseTimes seconds;
};

/// Orders the matrix and computes the structure of its factor. Every matrix is accepted,
/// of order 0, with empty rows or in several connected parts: only the pattern is read.
///
/// @param partner  columns that are eliminated in one front, as PreparedMatrix::partner;
///                 empty: none. By default some may be let go by their diagonal entries:
///                 order_pairs_by_degree()
/// @param record   takes what threads did, for replaying it; may be null
/// @param system_order  of each column the place of its independent system: their fronts
///                      are numbered so; empty: as needs least memory
/// @throws as compute_ordering()
[[nodiscard]] Symbolic analyse_pattern(const SymmetricMatrix& matrix,
                                       const AnalyseOptions& options = {},
                                       AnalyseTimes* seconds = nullptr,
                                       std::span<const std::int32_t> partner = {},
                                       RecordedPhases* record = nullptr,
                                       std::span<const std::int32_t> system_order = {});

/// The same, and the matrix in the order of elimination. Takes the matrix over, so that
/// only one copy of it stays in memory; of a prepared matrix the rest stays as it is.
///
/// Blocks that are coupled have their fronts in an order of back substitution: what is
/// near in it is near in memory, in one bundle and at one process.
///
/// @par Cost  the ordering dominates; the rest is nearly linear in nonzeros and rows_of
[[nodiscard]] Analysis analyse(SquareMatrix&& matrix, const AnalyseOptions& options = {},
                               std::span<const std::int32_t> partner = {},
                               std::span<const std::int32_t> system_order = {});
[[nodiscard]] Analysis analyse(SymmetricMatrix&& matrix,
                               const AnalyseOptions& options = {});
[[nodiscard]] Analysis analyse(PreparedMatrix&& prepared,
                               const AnalyseOptions& options = {});

}  // namespace espalier::solver
