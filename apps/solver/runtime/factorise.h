#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "espalier/model/error.h"
#include "espalier/model/run_record.h"
#include "espalier/solver/results.h"
#include "solver/front/factor.h"
#include "solver/front/pivoting.h"
#include "solver/matrix/sparse_matrix.h"
#include "solver/runtime/runtime.h"
#include "solver/symbolic/symbolic.h"
#include "solver/tree/assembly_tree.h"
#include "solver/tree/node_pieces.h"

struct espalier_plan;

namespace espalier::solver {

template <class T>
class SharedNodes;

/// What is factored. The tree was built for the kind and the precision.
struct FactorInput {
  const Symbolic& symbolic;
  const SquareMatrix& permuted;
  const AssemblyTree& tree;
  PivotOptions pivoting;  ///< LDL^T, LU
  /// Where nodes go that the tree sends there (spill_plan.h); null: there are none.
  std::shared_ptr<SpillFile> file{};
  /// Bytes up to which freed pages are kept for the next fronts: the bound on the tree.
  Bytes pool_limit = 0;
  /// Whether every task is recorded, into FactorReport::run.
  bool record = false;
  /// Counts what is resident of fronts and factor, and of pages kept for them; at the end
  /// the factor's. May be null.
  MemoryMeter* resident = nullptr;
  /// How panels of nodes are compressed that the tree says may be.
  LowRankOptions low_rank{};
  /// Whether pages of fronts may wait for the next factorisation: nobody bounds them.
  bool keeps_pages = false;
  /// Where pages come from and the factor's go to, with the limit and the meter above; it
  /// outlives the factor. Null: one for this factorisation alone.
  PagePool* pool = nullptr;
  /// Panels of an earlier factor under the same tree, by nodes, for keeps_pages.
  std::span<PageBuffer> former{};
  /// Without a runtime: how threads share a tree that is one node, with pages of the
  /// pool; null: the calling one does it all.
  const NodePieces* pieces = nullptr;
  /// In place of the plan's bound, which suffices whatever compression leaves: a smaller
  /// one, which may or may not do.
  std::optional<Bytes> hoped_bound{};
};

/// Numerical factorisation on StarPU: P A P^T = L L^T, L D L^T or L U up to the pivoting
/// inside fronts. T: matrix/entry.h.
///
/// A node of the assembly tree becomes one task or, when it is a large front, one task
/// that allocates and assembles it and submits the tasks of its blocks. A node's first
/// task is submitted when its children have ended. With a plan, every task is bound to
/// its node and the policy keeps the job inside the plan's bound.
///
/// @param plan      made of tree.tasks; null under a scheduler that is not ours
/// @param progress  called from this thread 20 times a second with the part of the work
///                  done, 0 … 1, the first time at once and the last time with 1; may be
///                  empty
/// @param shared    the nodes that this process works on with others; null: none
/// @return the factor, or the first bad pivot (Cholesky): not positive definite
/// @throws Error when StarPU or the system fails, or when the plan's policy does not run;
///         DoesNotFit when a front does not fit in the hoped bound
template <class T>
[[nodiscard]] tl::expected<Factor<T>, NotPositiveDefinite> factorise(
    const FactorInput& input, const Runtime& runtime, const espalier_plan* plan,
    FactorReport& report, const std::function<void(double)>& progress = {},
    SharedNodes<T>* shared = nullptr);

/// The same without a runtime, in the calling thread: nodes one after the other in
/// `order`. Of a tree that is one node threads may take pieces; they end with the call.
/// @param progress  called after each node, and 20 times a second while threads are at
///                  one; may be empty
template <class T>
[[nodiscard]] tl::expected<Factor<T>, NotPositiveDefinite> factorise_sequentially(
    const FactorInput& input, std::span<const TaskId> order, FactorReport& report,
    const std::function<void(double)>& progress = {});

/// Bytes beside the tree's own while a factorisation runs: the factor's lists, what each
/// worker needs to compute, and what may be spent on delays.
/// @param kind  as scratch_bytes()
template <class T>
[[nodiscard]] Bytes workspace_bytes(const FactorInput& input, FactorKind kind,
                                    std::int32_t workers);

}  // namespace espalier::solver
