#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "solver/matrix/sparse_matrix.h"
#include "solver/threads/task_pool.h"

namespace espalier::solver {

/// A partition of columns, numbered by the first column of each group.
struct Groups {
  std::vector<std::int32_t> of;  ///< group of each column
  std::int32_t count = 0;
};

/// The columns of each group; those of group g begin at start[g].
struct GroupMembers {
  GroupMembers() = default;
  /// Increasing.
  explicit GroupMembers(const Groups& groups);
  [[nodiscard]] std::span<const std::int32_t> of(std::int32_t group) const {
    return std::span(column).subspan(start[group], start[group + 1] - start[group]);
  }
  std::vector<std::int32_t> start, column;
};

/// Columns that are equal to the factorisation: neighbours that have the same neighbours
/// beside each other [Ash95]. Eliminating one makes no fill in the columns of the others.
/// They are found by hashes of 64 bits: two sets that have the same one are taken for
/// equal, which costs fill and nothing else.
///
/// @return none: there would be more than `most` groups
/// @par Cost  O(n + nonzeros); all of it but for columns that have a neighbour of their
///            hash is shared by the pool
/// @par Test  equals a comparison of all pairs of sets
[[nodiscard]] std::optional<Groups> indistinguishable_columns(
    const SymmetricMatrix& pattern, double most, TaskPool& pool);

/// Each column with its partner: partner[partner[i]] = i.
[[nodiscard]] Groups paired_columns(std::span<const std::int32_t> partner);

/// A column for each group, an entry for each two groups some columns of which have one,
/// no diagonal, no values; rows of a column are in no order.
///
/// @par Cost  O(n + nonzeros)
[[nodiscard]] SymmetricMatrix quotient(const SymmetricMatrix& pattern,
                                       const Groups& groups);

/// The pattern in which columns of a group have each other's entries too, with the
/// diagonal: partners come into one front, where they can be a 2 x 2 pivot.
///
/// @par Cost  O(n + entries of the result)
[[nodiscard]] SymmetricMatrix joined_pattern(const SymmetricMatrix& pattern,
                                             const Groups& groups);

/// A matrix by groups of columns that are eliminated one after the other.
///
///     entries  (1 0) (3 1) (3 2), of four columns; 2 and 3 are partners
///     groups   {0} {1} {2 3}, with the entries (1 0) (2 1)
///     entries  of the columns then: (1 0) (2 1) (3 1) (3 2) and the diagonal, eight
class GroupedPattern {
 public:
  enum class Equal { kApart, kJoined };

  /// Groups partners, and then what is indistinguishable where that leaves nine tenths of
  /// the columns at most. Where every column is a group it is the matrix itself that is
  /// looked at: it has to stay.
  /// @param partner  empty: none
  GroupedPattern(const SymmetricMatrix& matrix, std::span<const std::int32_t> partner,
                 Equal equal, Threads threads);
  GroupedPattern(GroupedPattern&&) = delete;

  /// Of the groups: its diagonal does not count.
  [[nodiscard]] const SymmetricMatrix& pattern() const { return *pattern_; }
  /// Columns of each group; empty: one each.
  [[nodiscard]] const std::vector<std::int32_t>& weight() const { return weight_; }
  /// Of the columns' lower triangle, with the diagonal, each group's columns alike.
  [[nodiscard]] std::int64_t entries() const;
  [[nodiscard]] bool is_trivial() const { return weight_.empty(); }
  /// The order of the columns, partners next to each other.
  [[nodiscard]] std::vector<std::int32_t> expanded(
      std::vector<std::int32_t> order_of_groups) const;

 private:
  void take(const Groups& groups);
  SymmetricMatrix own_;
  const SymmetricMatrix* pattern_;
  GroupMembers members_;  // of partners one after the other
  std::vector<std::int32_t> weight_;
};

}  // namespace espalier::solver
