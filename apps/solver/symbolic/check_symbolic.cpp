#include "solver/symbolic/check_symbolic.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "espalier/model/error.h"

namespace espalier::solver {
namespace {

template <class... Arguments>
void require(bool holds, fmt::format_string<Arguments...> message,
             Arguments&&... arguments) {
  if (!holds)
    throw InvalidInput(fmt::format(message, std::forward<Arguments>(arguments)...));
}

void check_shape(const Symbolic& s, const SymmetricMatrix& permuted) {
  require(s.size == permuted.size, "symbolic of order {}, matrix of order {}", s.size,
          permuted.size);
  const auto fronts = s.parent.size();
  require(s.first_column.size() == fronts + 1 && s.row_start.size() == fronts + 1,
          "{} parents, {} offsets of columns, {} offsets of rows", fronts,
          s.first_column.size(), s.row_start.size());
  require(s.first_column.front() == 0 && s.first_column.back() == s.size &&
              s.row_start.front() == 0 && s.row_start.back() == std::ssize(s.rows),
          "offsets do not cover {} columns and {} rows", s.size, s.rows.size());
}

void check_permutation(const Symbolic& s) {
  std::vector<bool> seen(s.size, false);
  require(std::ssize(s.permutation) == s.size, "permutation of {} of {} columns",
          s.permutation.size(), s.size);
  for (std::int32_t old : s.permutation) {
    require(old >= 0 && old < s.size && !seen[old],
            "column {} is out of range or twice in the permutation", old);
    seen[old] = true;
  }
}

void check_front(const Symbolic& s, std::int32_t front,
                 const std::vector<std::int32_t>& front_of_column) {
  require(s.pivots(front) > 0, "front {} has no pivot", front);
  require(s.row_start[front] <= s.row_start[front + 1], "front {}: rows", front);
  std::int32_t last = s.first_column[front + 1] - 1;
  for (std::int32_t row : s.rows_of(front)) {
    require(row > last && row < s.size, "front {}: row {} after {}", front, row, last);
    last = row;
  }
  const auto rows = s.rows_of(front);
  const std::int32_t eliminates = rows.empty() ? -1 : front_of_column[rows.front()];
  const std::int32_t parent = s.parent[front];
  const bool before = parent > front && parent < (rows.empty() ? s.fronts() : eliminates);
  require(parent == eliminates || before, "front {}: parent {}, expected {}", front,
          parent, eliminates);
}

// In a postorder a front's children end right before it, each where the next begins.
void check_postorder(const Symbolic& s) {
  std::vector<std::int32_t> first(s.fronts());  // first front of each subtree
  std::vector<std::int32_t> open;               // subtrees whose parent is still to come
  for (std::int32_t front = 0; front < s.fronts(); ++front) {
    first[front] = front;
    while (!open.empty() && s.parent[open.back()] == front) {
      first[front] = first[open.back()];
      open.pop_back();
    }
    require(open.empty() || open.back() + 1 == first[front], "front {}: not in postorder",
            front);
    open.push_back(front);
  }
  for (std::int32_t front : open) {
    require(s.parent[front] == -1, "front {}: not in postorder", front);
  }
}

}  // namespace

void check_symbolic(const Symbolic& s, const SymmetricMatrix& permuted) {
  check_shape(s, permuted);
  check_permutation(s);
  std::vector<std::int32_t> front_of_column(s.size);
  for (std::int32_t front = 0; front < s.fronts(); ++front) {
    for (auto column = s.first_column[front]; column < s.first_column[front + 1];
         ++column) {
      front_of_column[column] = front;
    }
  }
  for (std::int32_t front = 0; front < s.fronts(); ++front) {
    check_front(s, front, front_of_column);
  }
  check_postorder(s);

  // mark[row] = front: the row is in that front's contribution block.
  std::vector<std::int32_t> mark(s.size, -1);
  std::vector<std::vector<std::int32_t>> children(s.fronts());
  for (std::int32_t front = 0; front < s.fronts(); ++front) {
    if (s.parent[front] >= 0) children[s.parent[front]].push_back(front);
  }
  for (std::int32_t front = 0; front < s.fronts(); ++front) {
    for (std::int32_t row : s.rows_of(front)) mark[row] = front;
    const auto contains = [&](std::int32_t row) {
      return row < s.first_column[front + 1] ? row >= s.first_column[front]
                                             : mark[row] == front;
    };
    for (auto column = s.first_column[front]; column < s.first_column[front + 1];
         ++column) {
      for (auto at = permuted.column_start[column];
           at < permuted.column_start[column + 1]; ++at) {
        require(contains(permuted.row[at]), "entry ({}, {}) is outside front {}",
                permuted.row[at], column, front);
      }
    }
    for (std::int32_t child : children[front]) {
      for (std::int32_t row : s.rows_of(child)) {
        require(contains(row), "row {} of front {} is not in its parent {}", row, child,
                front);
      }
    }
  }
}

}  // namespace espalier::solver
