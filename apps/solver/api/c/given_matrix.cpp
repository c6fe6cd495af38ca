// Every form in which a matrix may be given, and one loop for each: over 300 lines.

#include "solver/api/c/given_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "espalier/model/c_interface.h"
#include "espalier/model/error.h"
#include "espalier/model/units.h"
#include "espalier/model/versioned_struct.h"

namespace espalier::solver::c_api {
namespace {

// That there were, in order; the last one is the present one.
constexpr std::size_t kInputSizes[] = {72, sizeof(espalier_solver_input)};

std::int32_t choice(const char* field, std::int32_t given, std::int32_t last) {
  if (given < 0 || given > last)
    throw InvalidInput(
        fmt::format("input.{} is {}: not one of 0 … {}", field, given, last));
  return given;
}

void check_fields(const espalier_solver_input& input) {
  choice("format", input.format, ESPALIER_SOLVER_ELEMENTS);
  choice("index_base", input.index_base, 1);
  if (input.index_bits != 32 && input.index_bits != 64)
    throw InvalidInput(
        fmt::format("input.index_bits is {}, neither 32 nor 64", input.index_bits));
  if (input.order < 0 || input.order > std::numeric_limits<std::int32_t>::max())
    throw InvalidInput(
        fmt::format("input.order is {}: not in 0 … 2147483647", input.order));
  if (input.format >= ESPALIER_SOLVER_TRIPLETS && input.entries < 0)
    throw InvalidInput(fmt::format("input.entries is {}: negative", input.entries));
}

template <class Index>
std::int64_t index_of(const char* field, const void* indices, std::int64_t at,
                      const espalier_solver_input& input) {
  const auto given = static_cast<const Index*>(indices)[at];
  const std::int64_t index = std::int64_t{given} - input.index_base;
  if (index < 0 || index >= input.order)
    throw InvalidInput(fmt::format("input.{}[{}] is {}: not in {} … {}", field, at, given,
                                   input.index_base, input.order - 1 + input.index_base));
  return index;
}

// Offsets of compressed columns or rows, or of elements, from 0 on.
template <class Index>
std::int64_t checked_start(const espalier_solver_input& input, std::int64_t k) {
  const auto* const starts = static_cast<const Index*>(input.starts);
  const std::int64_t start = std::int64_t{starts[k]} - input.index_base;
  const std::int64_t before = k == 0 ? 0 : std::int64_t{starts[k - 1]} - input.index_base;
  if (k == 0 ? start != 0 : start < before)
    throw InvalidInput(
        fmt::format("input.starts[{}] is {}: {}", k, starts[k],
                    k == 0 ? "not the first index" : "less than the one before"));
  return start;
}

// Whether of each element the lower triangle is given alone.
bool has_packed_elements(const espalier_solver_input& input) {
  return input.symmetry == ESPALIER_SOLVER_SYMMETRIC;
}

// Values of all elements, whose offsets have been checked.
template <class Index>
std::int64_t values_of_elements(const espalier_solver_input& input) {
  const auto* const starts = static_cast<const Index*>(input.starts);
  std::int64_t values = 0;
  for (std::int64_t e = 0; e < input.entries; ++e) {
    const std::int64_t k = std::int64_t{starts[e + 1]} - starts[e];
    const std::int64_t square = checked_mul(k, has_packed_elements(input) ? k + 1 : k);
    values = checked_add(values, has_packed_elements(input) ? square / 2 : square);
  }
  return values;
}

// Calls visit(value, row, column) in the order of the values.
template <class Index, class Visit>
void for_each_of_elements(const espalier_solver_input& input, Visit visit) {
  const auto* const starts = static_cast<const Index*>(input.starts);
  std::int64_t value = 0;
  for (std::int64_t e = 0; e < input.entries; ++e) {
    const std::int64_t begin = std::int64_t{starts[e]} - input.index_base;
    const std::int64_t end = std::int64_t{starts[e + 1]} - input.index_base;
    for (std::int64_t j = begin; j < end; ++j) {
      const std::int64_t column = index_of<Index>("rows", input.rows, j, input);
      for (std::int64_t i = has_packed_elements(input) ? j : begin; i < end; ++i) {
        const std::int64_t row = index_of<Index>("rows", input.rows, i, input);
        if (row == column && i != j)
          throw InvalidInput(fmt::format("input.rows[{}] is {} once more in element {}",
                                         i, row + input.index_base, e));
        visit(value++, row, column);
      }
    }
  }
}

// Calls visit(entry, row, column) in the caller's order.
template <class Index, class Visit>
void for_each_given(const espalier_solver_input& input, Visit visit) {
  if (input.format == ESPALIER_SOLVER_ELEMENTS)
    return for_each_of_elements<Index>(input, visit);
  if (input.format == ESPALIER_SOLVER_TRIPLETS) {
    for (std::int64_t e = 0; e < input.entries; ++e)
      visit(e, index_of<Index>("rows", input.rows, e, input),
            index_of<Index>("columns", input.columns, e, input));
    return;
  }
  const bool by_rows = input.format == ESPALIER_SOLVER_ROWS;
  const auto* const starts = static_cast<const Index*>(input.starts);
  for (std::int64_t k = 0; k < input.order; ++k)
    for (std::int64_t e = starts[k] - input.index_base;
         e < starts[k + 1] - input.index_base; ++e)
      if (by_rows)
        visit(e, k, index_of<Index>("columns", input.columns, e, input));
      else
        visit(e, index_of<Index>("rows", input.rows, e, input), k);
}

// Checks pointers and offsets. @return the number of entries
template <class Index>
std::int64_t entries_of(const espalier_solver_input& input) {
  const bool of_elements = input.format == ESPALIER_SOLVER_ELEMENTS;
  std::int64_t entries = input.entries;
  if (input.format != ESPALIER_SOLVER_TRIPLETS) {
    need(static_cast<const Index*>(input.starts), "input.starts");
    const std::int64_t groups = of_elements ? input.entries : input.order;
    for (std::int64_t k = 0; k <= groups; ++k) entries = checked_start<Index>(input, k);
  }
  if (of_elements) entries = values_of_elements<Index>(input);
  if (entries == 0) return 0;
  if (input.format != ESPALIER_SOLVER_ROWS)
    need(static_cast<const Index*>(input.rows), "input.rows");
  if (input.format != ESPALIER_SOLVER_COLUMNS && !of_elements)
    need(static_cast<const Index*>(input.columns), "input.columns");
  need(input.values, "input.values");
  return entries;
}

// Where an entry stands in the solver's matrix.
struct Position {
  bool one_triangle, transposed;
  [[nodiscard]] std::pair<std::int32_t, std::int32_t> operator()(
      std::int64_t row, std::int64_t column) const {
    if (one_triangle ? row < column : transposed) std::swap(row, column);
    return {static_cast<std::int32_t>(row), static_cast<std::int32_t>(column)};
  }
};

}  // namespace

espalier_solver_input given_input(const espalier_solver_input& given) {
  const espalier_solver_input input = versioned(given, kInputSizes, "input");
  choice("scalar", input.scalar, ESPALIER_SOLVER_COMPLEX);
  if (input.scalar == ESPALIER_SOLVER_REAL && input.symmetry == ESPALIER_SOLVER_HERMITIAN)
    throw InvalidInput(
        "input.symmetry is 4: Hermitian of a real matrix, which is symmetric");
  choice("symmetry", input.symmetry, ESPALIER_SOLVER_HERMITIAN);
  return input;
}

GivenMatrix::GivenMatrix(const espalier_solver_input& given) {
  const espalier_solver_input input = given_input(given);
  check_fields(input);
  order_ = static_cast<std::int32_t>(input.order);
  symmetric_ = input.symmetry == ESPALIER_SOLVER_SYMMETRIC;
  // A symmetric matrix is its own transposed one.
  transposed_ = !symmetric_ && input.format == ESPALIER_SOLVER_ROWS;
  if (input.index_bits == 32)
    read<std::int32_t>(input);
  else
    read<std::int64_t>(input);
  if (input.symmetry != ESPALIER_SOLVER_WHOLE &&
      input.symmetry != ESPALIER_SOLVER_WHOLE_OR_GENERAL)
    return;
  if (is_symmetric(input.values)) {
    halve();
  } else if (input.symmetry == ESPALIER_SOLVER_WHOLE) {
    throw InvalidInput("input.symmetry says that the matrix is symmetric: it is not");
  }
}

template <class Index>
void GivenMatrix::read(const espalier_solver_input& input) {
  given_ = entries_of<Index>(input);
  const Position position{symmetric_, transposed_};
  column_start_.assign(static_cast<std::size_t>(order_) + 1, 0);
  std::pair<std::int32_t, std::int32_t> last{-1, -1};
  bool in_order = true;
  for_each_given<Index>(input, [&](std::int64_t, std::int64_t i, std::int64_t j) {
    const auto [row, column] = position(i, j);
    in_order = in_order && last < std::pair(column, row);
    last = {column, row};
    ++column_start_[static_cast<std::size_t>(column) + 1];
  });
  std::partial_sum(column_start_.begin(), column_start_.end(), column_start_.begin());
  row_.resize(static_cast<std::size_t>(given_));
  if (!in_order) return sort<Index>(input);
  for_each_given<Index>(input, [&](std::int64_t e, std::int64_t i, std::int64_t j) {
    row_[static_cast<std::size_t>(e)] = position(i, j).first;
  });
}

// Entries out of order: into their columns, each column by rows, equal ones joined.
template <class Index>
void GivenMatrix::sort(const espalier_solver_input& input) {
  struct Entry {
    std::int32_t row;
    std::int64_t given;
  };
  const Position position{symmetric_, transposed_};
  std::vector<Entry> sorted(row_.size());
  std::vector<std::int64_t> next(column_start_.begin(), column_start_.end() - 1);
  for_each_given<Index>(input, [&](std::int64_t e, std::int64_t i, std::int64_t j) {
    const auto [row, column] = position(i, j);
    sorted[static_cast<std::size_t>(next[column]++)] = {row, e};
  });
  place_.resize(row_.size());
  std::int64_t kept = 0, begin = 0;
  for (std::int32_t column = 0; column < order_; ++column) {
    const std::int64_t end = column_start_[column + 1];
    std::sort(sorted.begin() + begin, sorted.begin() + end,
              [](const Entry& a, const Entry& b) {
                return std::pair(a.row, a.given) < std::pair(b.row, b.given);
              });
    const std::int64_t first = kept;
    for (; begin < end; ++begin) {
      const Entry& entry = sorted[static_cast<std::size_t>(begin)];
      if (kept == first || row_[kept - 1] != entry.row) row_[kept++] = entry.row;
      place_[static_cast<std::size_t>(entry.given)] = kept - 1;
    }
    column_start_[column + 1] = kept;
  }
  row_.resize(static_cast<std::size_t>(kept));
  row_.shrink_to_fit();
}

namespace {

// Calls visit(lower, upper) with the indices of entries that stand opposite each other;
// only for columns with increasing rows. @return whether each has one and visit agrees
template <class Visit>
bool for_each_pair(std::span<const std::int64_t> start, std::span<const std::int32_t> row,
                   Visit visit) {
  const auto order = static_cast<std::int32_t>(start.size()) - 1;
  // Entries above the diagonal of each column, from the top: met in the order of rows.
  std::vector<std::int64_t> next(start.begin(), start.end() - 1);
  for (std::int32_t j = 0; j < order; ++j) {
    // What stands above the diagonal here was met from the columns before.
    if (next[j] < start[j + 1] && row[next[j]] < j) return false;
    for (std::int64_t at = next[j]; at < start[j + 1]; ++at) {
      const std::int32_t i = row[at];
      if (i == j) continue;
      if (next[i] >= start[i + 1] || row[next[i]] != j) return false;
      if (!visit(at, next[i]++)) return false;
    }
  }
  return true;
}

}  // namespace

bool GivenMatrix::is_symmetric(const double* values) const {
  std::vector<double> sum(row_.size());
  for (std::int64_t e = 0; e < given_; ++e)
    sum[place_.empty() ? e : place_[e]] += values[e];
  return for_each_pair(column_start_, row_, [&](std::int64_t lower, std::int64_t upper) {
    return sum[lower] == sum[upper];
  });
}

// Keeps the lower triangle.
void GivenMatrix::halve() {
  constexpr std::int64_t kDiagonal = -1;
  std::vector<std::int64_t> opposite(row_.size(), kDiagonal);  // of entries above
  for_each_pair(column_start_, row_, [&](std::int64_t lower, std::int64_t upper) {
    opposite[upper] = lower;
    return true;
  });
  std::vector<std::int64_t> index(row_.size());  // in the lower triangle
  std::int64_t kept = 0, begin = 0;
  for (std::int32_t column = 0; column < order_; ++column) {
    const std::int64_t end = column_start_[column + 1];
    for (; begin < end; ++begin) {
      if (row_[begin] < column) continue;
      index[begin] = kept;
      row_[kept++] = row_[begin];
    }
    column_start_[column + 1] = kept;
  }
  row_.resize(static_cast<std::size_t>(kept));
  row_.shrink_to_fit();
  if (place_.empty()) {
    place_.resize(static_cast<std::size_t>(given_));
    std::iota(place_.begin(), place_.end(), 0);
  }
  for (std::int64_t& place : place_) {
    const std::int64_t above = opposite[place];
    place = above == kDiagonal ? index[place] : ~index[above];
  }
  symmetric_ = whole_ = true;
  transposed_ = false;
}

namespace {

template <class Matrix>
Matrix made_of(std::int32_t order, const std::vector<std::int64_t>& start,
               const std::vector<std::int32_t>& row, std::vector<double>&& value) {
  return {order, start, row, std::move(value)};
}

}  // namespace

InputMatrix GivenMatrix::with_values(const double* values) const {
  std::vector<double> sum(row_.size()), above(whole_ ? row_.size() : 0);
  for (std::int64_t e = 0; e < given_; ++e) {
    if (!std::isfinite(values[e]))
      throw InvalidInput(fmt::format("values[{}] is {}", e, values[e]));
    const std::int64_t place = place_.empty() ? e : place_[e];
    if (place >= 0)
      sum[place] += values[e];
    else
      above[~place] += values[e];
  }
  for (std::int32_t j = 0; whole_ && j < order_; ++j)
    for (std::int64_t at = column_start_[j]; at < column_start_[j + 1]; ++at)
      if (row_[at] != j && sum[at] != above[at])
        throw InvalidInput(
            fmt::format("values: {} at ({}, {}) and {} at ({}, {}), from 0, of a matrix "
                        "that was symmetric",
                        sum[at], row_[at], j, above[at], j, row_[at]));
  if (symmetric_)
    return made_of<SymmetricMatrix>(order_, column_start_, row_, std::move(sum));
  return made_of<GeneralMatrix>(order_, column_start_, row_, std::move(sum));
}

std::vector<bool> entries_above_diagonal(const espalier_solver_input& input) {
  std::vector<bool> above;
  const auto note = [&above](std::int64_t, std::int64_t row, std::int64_t column) {
    above.push_back(row < column);
  };
  if (input.index_bits == 32)
    for_each_given<std::int32_t>(input, note);
  else
    for_each_given<std::int64_t>(input, note);
  return above;
}

}  // namespace espalier::solver::c_api
