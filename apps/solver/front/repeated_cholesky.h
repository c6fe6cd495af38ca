#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "solver/front/factor.h"
#include "solver/matrix/sparse_matrix.h"
#include "solver/symbolic/symbolic.h"
#include "solver/tree/assembly_tree.h"

namespace espalier::solver {

/// L L^T of a real matrix of small fronts by the calling thread, again and again under
/// one analysis. The operations, and so the bits, are those of run_sequential_node();
/// where they go is found once: nothing is allocated or searched for after the first
/// time.
///   1. the panels are zeroed and the values of A put into them
///   2. of each front, children first: its contribution block is zeroed, the children's
///      are added to it and to the panel, the pivots are factored with the rows below,
///      and the product of these is subtracted from the contribution block.
/// Contribution blocks of fronts an even way from their root are on one stack, the others
/// on a second one: a front's does not meet its children's.
///
///   A tridiagonal of order 3, fronts {0} {1,2}: front 0 has the rows 0 | 1; its row 1 is
///   the first of front 1, where its contribution block of one entry is added.
///
/// Where fronts are small, what surrounds them takes more time than arithmetic:
/// docs/decisions/0170.
class RepeatedCholesky {
 public:
  /// Whether a tree is meant: real L L^T, one node in memory, is_small_front() of all.
  [[nodiscard]] static bool suits(const Symbolic& symbolic, const AssemblyTree& tree);

  /// @param tree     suits()
  /// @param pattern  the permuted matrix's
  /// @par Cost  O(rows of all fronts), and O(log of a front's rows) for each entry of A
  RepeatedCholesky(const Symbolic& symbolic, const AssemblyTree& tree,
                   const SymmetricMatrix& pattern);

  /// Panels without values, in one buffer, as the tree lays them out.
  [[nodiscard]] Factor<double> make_factor(const Symbolic& symbolic,
                                           const AssemblyTree& tree) const;

  struct Outcome {
    std::optional<NotPositiveDefinite> failed;
    double smallest;  ///< PivotStatistics::smallest
  };
  /// @param a           of the pattern
  /// @param least_part  PivotOptions::least_part
  /// @param factor      make_factor()'s, whatever stands in it
  /// @par Cost  the factorisation's flops
  /// @par Test  RepeatedCholesky.HasTheBitsOfTheOtherWay
  [[nodiscard]] Outcome factorise(const SymmetricMatrix& a, double least_part,
                                  Factor<double>& factor);

  /// Whether some of its operations are BLAS's; else all are loops.
  [[nodiscard]] bool calls_blas() const { return calls_blas_; }

 private:
  struct Front {
    std::int32_t first, pivots, order;          // first pivot; rows of the panel
    bool joins;                                 // AssemblyTree::joins_previous
    std::int64_t panel, contribution;           // where they begin
    std::int32_t children_begin, children_end;  // whose blocks are added
  };
  // Rows of a child's contribution block: the first `pivots` are pivots of its parent;
  // from `consecutive` on they are so in the parent as well.
  struct Child {
    std::int32_t rows, pivots, consecutive;
    std::int32_t positions;     // where those of its rows begin
    std::int64_t contribution;  // where it begins
  };

  void place_contributions(const Symbolic& symbolic, const AssemblyTree& tree);
  void list_children(const Symbolic& symbolic, const AssemblyTree& tree);
  void place_entries(const Symbolic& symbolic, const SymmetricMatrix& pattern);
  void put(const SymmetricMatrix& a, double* panels) const;
  void assemble(const Front& front, double* panel, double* contribution) const;

  std::vector<Front> fronts_;
  std::vector<Child> children_;
  std::vector<std::int32_t> positions_;       // relative_indices() of all children
  std::vector<std::int64_t> place_of_entry_;  // of A, in the panels
  std::vector<double> contributions_;         // both stacks
  std::int64_t entries_ = 0;                  // of all panels
  bool calls_blas_ = false;
};

}  // namespace espalier::solver
