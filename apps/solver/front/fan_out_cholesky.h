#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "solver/front/factor.h"
#include "solver/matrix/sparse_matrix.h"
#include "solver/symbolic/symbolic.h"
#include "solver/tree/assembly_tree.h"

namespace espalier::solver {

/// L L^T of a small real matrix by the calling thread, again and again under one
/// analysis: the right-looking supernodal method ("fan out"). A front's panel is factored
/// where it stays, and what it does to later columns is subtracted from their panels at
/// once. There are no contribution blocks, nothing is allocated after the first time, and
/// every place is known beforehand:
///   1. the panels are zeroed and the values of A put into them
///   2. of each front, children first: the p pivots are factored with the rows below
///   3. of each of its rows below, as column j of the front that has j among its pivots:
///      the product of the panel with row j of it is subtracted there.
/// The panels are those of every other factorisation: what reads a Factor reads this one.
///
///   A tridiagonal of order 3, fronts {0} {1,2}: front 0 has the rows 0 | 1; its row 1 is
///   the first column of front 1, and L(1,0)^2 is subtracted from the first place there.
///
/// Where fronts are small, their tasks' surroundings take more time than arithmetic:
/// docs/decisions/0170.
class FanOutCholesky {
 public:
  /// Whether a tree is meant: L L^T, one node, fronts of one block column each.
  [[nodiscard]] static bool suits(const Symbolic& symbolic, const AssemblyTree& tree);

  /// @param tree     suits()
  /// @param pattern  the permuted matrix's
  /// @par Cost  O(rows of all fronts times the fronts that they stand in)
  FanOutCholesky(const Symbolic& symbolic, const AssemblyTree& tree,
                 const SymmetricMatrix& pattern);

  FanOutCholesky(FanOutCholesky&&) = default;
  FanOutCholesky& operator=(FanOutCholesky&&) = default;

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
  /// @par Test  FanOutCholesky.IsTheFactorOfTheOtherMethod
  [[nodiscard]] Outcome factorise(const SymmetricMatrix& a, double least_part,
                                  Factor<double>& factor);

  /// x := A^-1 x, in elimination order, with what factorise() left.
  void solve(const Factor<double>& factor, std::span<double> x) const;

 private:
  struct Front {
    std::int32_t first, pivots, order;  // first pivot; rows of the panel
    std::int64_t offset;                // of the panel
    const std::int32_t* rows;           // below the pivots
    std::int32_t targets_begin, targets_end;
  };
  // Rows [begin, end) of a front, counted below its pivots, are pivots of one later
  // front; from `begin` on all rows have their places in its panel.
  struct Target {
    std::int32_t begin, end;
    std::int64_t column;  // of row `begin`, as an offset
    std::int32_t order;   // from one column to the next
    std::int32_t places;  // where those of row `begin` and the next begin
    bool joined;          // they follow one another
  };

  void add_targets(const Symbolic& symbolic, std::span<const std::int32_t> front_of,
                   Front& front);
  [[nodiscard]] std::int32_t place_in(std::int32_t front, std::int32_t row) const;
  void put(const SymmetricMatrix& a, double* panels) const;
  [[nodiscard]] std::int32_t eliminate(const Front& front, double* panel);
  void subtract(const Front& front, double* panels);
  void subtract_wide(const Front& front, double* panels);
  [[nodiscard]] std::int32_t check_pivots(const SymmetricMatrix& a, const Front& front,
                                          std::int32_t good, double least_part,
                                          const double* panel, double& smallest) const;

  std::vector<Front> fronts_;
  std::vector<Target> targets_;
  std::vector<std::int32_t> places_;
  std::vector<std::int32_t> rows_;            // of all fronts
  std::vector<std::int64_t> place_of_entry_;  // of A, in the panels
  std::vector<double> inverse_;               // of the diagonal of L
  std::vector<double> product_;               // of a wide front with itself
  std::int64_t entries_ = 0;                  // of all panels
};

}  // namespace espalier::solver
