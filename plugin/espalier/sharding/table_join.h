#pragma once

#include <cstddef>
#include <vector>

namespace espalier {

/// How two tables over states are put together: axes of the same variable are at the same
/// state.
///
///     first a then b, of any states between:
///       extents {in, out, between}, kept 2, first {0, 2}, second {2, 1}
struct TableJoin {
  /// States by variable: those of the result, and at most one more. That one is taken
  /// out: the best of its states counts.
  std::vector<std::size_t> extents;
  std::size_t kept = 0;                    ///< variables of the result
  std::vector<std::size_t> first, second;  ///< variables of the two tables, by axis

  [[nodiscard]] std::vector<std::size_t> shape() const;
};

/// An entry of the result, and the entries of both tables that belong to the first state
/// of what is taken out.
struct JoinedEntry {
  std::size_t entry = 0, first = 0, second = 0;
  std::size_t count = 1;                          ///< states of what is taken out
  std::size_t first_apart = 0, second_apart = 0;  ///< from one of them to the next
};

/// Goes through all entries of the result, in order.
class JoinWalk {
 public:
  explicit JoinWalk(const TableJoin& how);
  [[nodiscard]] const JoinedEntry& at() const { return at_; }
  /// False after the last one.
  bool next();

 private:
  std::vector<std::size_t> extents_, firsts_, seconds_, state_;  // of the result's
  JoinedEntry at_;
};

}  // namespace espalier
