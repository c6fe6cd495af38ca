#include "solver/matrix/permute.h"

#include <algorithm>
#include <utility>

#include "solver/matrix/offsets.h"

namespace espalier::solver {
namespace {

// Calls visit(lower, higher, entry) with the new indices of every entry of the matrix.
template <class Visit>
void for_each_entry(const SymmetricMatrix& matrix, std::span<const std::int32_t> inverse,
                    Visit visit) {
  for (std::int32_t column = 0; column < matrix.size; ++column) {
    for (auto at = matrix.column_start[column]; at < matrix.column_start[column + 1];
         ++at) {
      const auto [low, high] = std::minmax({inverse[column], inverse[matrix.row[at]]});
      visit(low, high, at);
    }
  }
}

// What a column is sorted with: of each entry the row before its place, and values.
struct SortingRoom {
  std::vector<std::uint64_t> key;
  std::vector<double> value;
};

// So few entries are sorted where they stand.
constexpr std::int64_t kFewEntries = 8;

// As sort_entries(), by insertion.
template <class Matrix>
void insert_entries(Matrix& lower, std::vector<double>& upper, std::int64_t start,
                    std::int64_t end) {
  for (auto k = start + 1; k < end; ++k) {
    for (auto at = k; at > start && lower.row[at - 1] > lower.row[at]; --at) {
      std::swap(lower.row[at - 1], lower.row[at]);
      std::swap(lower.value[at - 1], lower.value[at]);
      if (!upper.empty()) std::swap(upper[at - 1], upper[at]);
    }
  }
}

// values[k] := values[place in keys[k]], for a column's values.
void follow_keys(std::span<double> values, SortingRoom& room) {
  room.value.assign(values.begin(), values.end());
  for (std::size_t k = 0; k < values.size(); ++k)
    values[k] = room.value[room.key[k] & 0xffffffff];
}

// The entries from `start` to `end`; `upper` is empty or moves along. Keys are all
// different, so that equal rows keep their order.
template <class Matrix>
void sort_entries(Matrix& lower, std::vector<double>& upper, std::int64_t start,
                  std::int64_t end, SortingRoom& room) {
  if (end - start <= kFewEntries) return insert_entries(lower, upper, start, end);
  const std::span<std::int32_t> row = std::span(lower.row).subspan(start, end - start);
  if (std::is_sorted(row.begin(), row.end())) return;
  room.key.clear();
  for (std::size_t k = 0; k < row.size(); ++k)
    room.key.push_back(static_cast<std::uint64_t>(row[k]) << 32 | k);
  std::ranges::sort(room.key);
  for (std::size_t k = 0; k < row.size(); ++k)
    row[k] = static_cast<std::int32_t>(room.key[k] >> 32);
  follow_keys(std::span(lower.value).subspan(start, row.size()), room);
  if (!upper.empty()) follow_keys(std::span(upper).subspan(start, row.size()), room);
}

// Entries that are sorted by one thread in less time than others take to start and, for a
// while after, to wait for more.
constexpr std::size_t kWorthThreads = 2'000'000;

template <class Matrix>
void sort_columns(Matrix& lower, std::vector<double>& upper) {
  const auto sort = [&](std::int32_t column, SortingRoom& room) {
    sort_entries(lower, upper, lower.column_start[column], lower.column_start[column + 1],
                 room);
  };
  if (lower.row.size() <= kWorthThreads) {  // a team of one, too, is made at some cost
    SortingRoom room;
    for (std::int32_t column = 0; column < lower.size; ++column) sort(column, room);
    return;
  }
#pragma omp parallel
  {
    SortingRoom room;
#pragma omp for schedule(dynamic, 1024)
    for (std::int32_t column = 0; column < lower.size; ++column) sort(column, room);
  }
}

// Where the entries of a permuted matrix go.
class Permuting {
 public:
  Permuting(const SymmetricMatrix& lower, const std::vector<double>& upper,
            std::span<const std::int32_t> permutation)
      : lower_(lower), upper_(upper), inverse_(inverse_permutation(permutation)) {}

  /// @param new_upper  takes what `upper` was
  [[nodiscard]] SymmetricMatrix permute(std::vector<double>& new_upper) const {
    SymmetricMatrix result;
    result.size = lower_.size;
    result.row.resize(lower_.row.size());
    result.value.resize(lower_.value.size());
    new_upper.resize(upper_.size());
    Starts start = starts();
    result.column_start = std::move(start.column);
    const bool few = lower_.row.size() <= kWorthThreads;
    const auto move = [&](std::int32_t low, std::int32_t high, std::int64_t at) {
      move_entry(result, new_upper, low, high, at);
    };
    if (few)
      visit_by_rows(std::move(start.row), move);
    else
      for_each_entry(lower_, inverse_, move);
    cursors_to_starts(result.column_start);
    if (!few) sort_columns(result, new_upper);
    return result;
  }

 private:
  struct Entry {
    std::int32_t column, at;
  };
  struct Starts {
    std::vector<std::int64_t> column, row;
  };

  // Where the entries of each column and each row begin.
  [[nodiscard]] Starts starts() const {
    const std::size_t places = lower_.size + std::size_t{1};
    Starts start{std::vector<std::int64_t>(places), std::vector<std::int64_t>(places)};
    for_each_entry(lower_, inverse_, [&](std::int32_t low, std::int32_t high, auto) {
      ++start.column[low + 1];
      ++start.row[high + 1];
    });
    counts_to_starts(start.column);
    counts_to_starts(start.row);
    return start;
  }

  // Row by row, so that each column comes out sorted; in a row as they stand. A matrix is
  // transposed in less time than its columns are sorted.
  template <class Visit>
  void visit_by_rows(std::vector<std::int64_t> start, const Visit& visit) const {
    std::vector<Entry> entries(lower_.row.size());
    for_each_entry(lower_, inverse_, [&](std::int32_t low, std::int32_t high, auto at) {
      entries[start[high]++] = {low, static_cast<std::int32_t>(at)};
    });
    cursors_to_starts(start);
    for (std::int32_t row = 0; row < lower_.size; ++row)
      for (auto k = start[row]; k < start[row + 1]; ++k)
        visit(entries[k].column, row, entries[k].at);
  }

  void move_entry(SymmetricMatrix& result, std::vector<double>& new_upper,
                  std::int32_t low, std::int32_t high, std::int64_t at) const {
    const std::int64_t to = result.column_start[low]++;
    result.row[to] = high;
    result.value[to] = lower_.value[at];
    if (upper_.empty()) return;
    const bool flips = inverse_[lower_.row[at]] != high;
    new_upper[to] = flips ? lower_.value[at] : upper_[at];
    if (flips) result.value[to] = upper_[at];
  }

  const SymmetricMatrix& lower_;
  const std::vector<double>& upper_;
  std::vector<std::int32_t> inverse_;
};

SymmetricMatrix permuted(const SymmetricMatrix& lower, const std::vector<double>& upper,
                         std::span<const std::int32_t> permutation,
                         std::vector<double>& new_upper) {
  return Permuting(lower, upper, permutation).permute(new_upper);
}

}  // namespace

std::vector<std::int32_t> inverse_permutation(std::span<const std::int32_t> permutation) {
  std::vector<std::int32_t> inverse(permutation.size());
  for (std::size_t k = 0; k < permutation.size(); ++k) {
    inverse[permutation[k]] = static_cast<std::int32_t>(k);
  }
  return inverse;
}

std::vector<std::int32_t> composed(std::span<const std::int32_t> values,
                                   std::span<const std::int32_t> order) {
  std::vector<std::int32_t> result(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) result[k] = values[order[k]];
  return result;
}

void sort_columns(SymmetricMatrix& matrix) {
  std::vector<double> none;
  sort_columns(matrix, none);
}

void sort_columns(GeneralMatrix& matrix) {
  std::vector<double> none;
  sort_columns(matrix, none);
}

void sort_columns(SquareMatrix& matrix) { sort_columns(matrix.lower, matrix.upper); }

SymmetricMatrix permuted(const SymmetricMatrix& matrix,
                         std::span<const std::int32_t> permutation) {
  std::vector<double> none;
  return permuted(matrix, {}, permutation, none);
}

SquareMatrix permuted(const SquareMatrix& matrix,
                      std::span<const std::int32_t> permutation) {
  SquareMatrix result;
  result.lower = permuted(matrix.lower, matrix.upper, permutation, result.upper);
  result.complex = matrix.complex;
  if (!matrix.complex) return result;
  // Imaginary parts go where the real ones go; opposite ones may have the other sign.
  SymmetricMatrix imaginary{matrix.lower.size, matrix.lower.column_start,
                            matrix.lower.row, matrix.lower_imaginary};
  std::vector<double> above = matrix.upper_imaginary;
  if (matrix.hermitian() && matrix.symmetric())
    for (const double each : matrix.lower_imaginary) above.push_back(-each);
  result.lower_imaginary =
      std::move(permuted(imaginary, above, permutation, result.upper_imaginary).value);
  if (matrix.symmetric()) result.upper_imaginary = {};
  return result;
}

}  // namespace espalier::solver
