#pragma once

#include <cstdint>
#include <vector>

#include "solver/distributed/columns.h"
#include "solver/distributed/communicator.h"
#include "solver/distributed/front_distribution.h"
#include "solver/distributed/shared_solve.h"
#include "solver/runtime/tree_solve.h"

namespace espalier::solver {

/// Triangular solves with a factor that is spread over processes. Vectors are whole at
/// every process.
///
/// Local subtrees: every process by itself, on StarPU's workers. Shared nodes: one after
/// the other, in the same order everywhere, so that blocking messages always meet. The
/// vector of such a front, what its rows have of the right-hand sides, begins at the
/// owner of its first block with the parts that its children left, and goes from owner to
/// owner along the panel; the rows below the panel stay at the last owner until the
/// parent's turn. Backward the same way from the parent's first owner to the child's last
/// one and back along the panel. The slots of the blocks before go along with the vector,
/// delayed columns with the rows below the panel. Of a front over a grid of processes
/// each row of the grid does that with its own rows (GridColumn). Meanwhile the workers
/// sleep.
///
/// @par Cost  a message for each change of owner along a panel and each child elsewhere,
///            of at most the front's rows for each vector; a sum over the processes of
///            the vectors at the end
template <class T>
class ClusterSolve {
 public:
  /// The panels of shared nodes are OwnPanels.
  /// @param count       vectors that are solved for at once, at most
  /// @param read_limit  as of TreeSolve
  /// @throws as column_ranges()
  ClusterSolve(const FactorView<T>& view, const FrontDistribution& distribution,
               Communicator& communicator, const Runtime& runtime, std::int32_t count,
               Bytes read_limit);

  /// Collective. x := A^-1 b, or A^-T b, in elimination order, the same bits everywhere;
  /// b, which is too at the start, is overwritten. At most `count` vectors. Where the
  /// factor is symmetric x may be b. The runtime must be awake.
  /// @param nodes  as of TreeSolve: b and x are those of their columns
  /// @throws Error as TreeSolve::solve(); the other processes then wait in vain
  void solve(bool transposed, const Vectors<T>& b, const Vectors<T>& x,
             IndexRange nodes = TreeSolve<T>::kAll);
  /// Of trees that are local here, and by this process alone: x has the rows of these.
  void solve_local(bool transposed, const Vectors<T>& b, const Vectors<T>& x,
                   IndexRange nodes);

  /// Bytes that the constructor takes at a process where no column was delayed.
  [[nodiscard]] static Bytes footprint(const Symbolic& symbolic, const AssemblyTree& tree,
                                       const FrontDistribution& distribution,
                                       std::int32_t process, std::int32_t workers,
                                       std::int32_t count);

 private:
  void solve_shared(bool transposed, const Vectors<T>& b, const Vectors<T>& x,
                    IndexRange nodes);
  void assemble_solution(const Vectors<T>& x, IndexRange columns);

  FactorView<T> view_;
  const FrontDistribution& distribution_;
  Communicator& communicator_;
  const Runtime& runtime_;
  std::vector<ColumnRange> ranges_;
  TreeSolve<T> local_;
  SharedSpace space_;
  std::vector<double> piece_;
};

}  // namespace espalier::solver
