#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "espalier/model/units.h"
#include "solver/ordering/elimination_tree.h"
#include "solver/ordering/grouped_pattern.h"
#include "solver/ordering/lower_rows.h"
#include "solver/ordering/ordering.h"
#include "solver/threads/task_pool.h"

namespace espalier::solver {

/// An order of elimination, renumbered in a postorder of its elimination tree, which has
/// the same fill, and what the factor is like then.
struct EliminationOrder {
  std::vector<std::int32_t> permutation;  ///< permutation[new] = old
  std::vector<std::int32_t> parent;       ///< of each column in the tree; -1: a root
  std::vector<std::int32_t> counts;       ///< nonzeros of each column of L
  /// Of the permuted matrix; of columns that are one group the first alone.
  LowerRows rows;
  Flops flops = 0;  ///< sum of squared counts
};

/// @par Cost  nearly linear in the nonzeros of the matrix; what is left to one thread are
///            the tree and passes over the columns
/// @par Test  the same for any number of threads
[[nodiscard]] EliminationOrder elimination_order(const SymmetricMatrix& matrix,
                                                 std::span<const std::int32_t> order,
                                                 Threads threads = {});

/// The same for an order of groups, whose columns follow one another: what is the same
/// for all columns of a group is found out once.
/// @par Test  equals that of the joined pattern, but for the rows
[[nodiscard]] EliminationOrder elimination_order(const GroupedPattern& grouped,
                                                 std::span<const std::int32_t> order,
                                                 Threads threads = {});

/// The elimination of a forest's leaves, again and again, which makes no fill. Of each
/// vertex the number of its neighbours and the exclusive or of their numbers suffice: of
/// a leaf that is the neighbour.
/// @return none: the pattern is no forest, or has entries twice
/// @par Cost  O(n)
/// @par Test  equals elimination_order() of that order; forests and no others
[[nodiscard]] std::optional<EliminationOrder> elimination_of_forest(
    const SymmetricMatrix& matrix);

/// A fill-reducing order of groups by their weights. @param kind  not kAuto
[[nodiscard]] std::vector<std::int32_t> order_of_groups(const GroupedPattern& grouped,
                                                        OrderingKind kind,
                                                        Threads threads);

/// choose_ordering(), and what the elimination is like.
struct ChosenOrder {
  OrderingKind kind = OrderingKind::kNatural;
  EliminationOrder eliminated;
};
[[nodiscard]] ChosenOrder choose_order(const SymmetricMatrix& matrix, OrderingKind kind,
                                       std::span<const std::int32_t> partner,
                                       Threads threads);
/// That of kAuto, for what is grouped. @param by_degree  its elimination by minimum
/// degree
[[nodiscard]] ChosenOrder choose_order(const GroupedPattern& grouped,
                                       EliminationOrder&& by_degree, Threads threads);

}  // namespace espalier::solver
