#include "solver/tree/extend_add.h"

#include <algorithm>
#include <array>
#include <vector>

#include "espalier/model/error.h"
#include "solver/matrix/multiversion.h"
#include "solver/symbolic/gallop.h"
#include "solver/tree/original_entries.h"

namespace espalier::solver {
namespace {

// Rows whose indices are consecutive, up to `end`: row i goes to i + shift. Where the
// rows of a large child nearly fill the parent, runs are long, and vector additions do.
struct Run {
  std::int32_t end, shift;
};

// Of rows [begin, end); empty where there are few rows or runs are short.
std::vector<Run> long_runs(std::span<const std::int32_t> indices, std::int32_t begin,
                           std::int32_t end) {
  constexpr std::int32_t kFewRowsOfRuns = 16, kShortRun = 4;
  if (end - begin < kFewRowsOfRuns) return {};
  std::int32_t count = 1;
  for (std::int32_t i = begin + 1; i < end; ++i)
    count += indices[i] != indices[i - 1] + 1;
  if (count * kShortRun > end - begin) return {};
  std::vector<Run> runs;
  runs.reserve(count);
  for (std::int32_t i = begin; i < end; ++i) {
    const std::int32_t shift = indices[i] - i;
    if (runs.empty() || runs.back().shift != shift) runs.push_back({i, shift});
    runs.back().end = i + 1;
  }
  return runs;
}

// Columns that are added at once: their rows go to the same places.
constexpr std::int32_t kColumnsAtOnce = 4;

// Rows [i, end) of so many columns, those before the end of the last run by runs. Entries
// of different columns, and of source and target, do not overlap.
template <std::int32_t kColumns, class T>
ESPALIER_MULTIVERSION void add_rows(std::int32_t i, std::int32_t end,
                                    const std::int32_t* indices, const Run* run,
                                    const Run* last,
                                    const std::array<const T*, kColumnsAtOnce>& from,
                                    const std::array<T*, kColumnsAtOnce>& to) {
  for (; run != last; ++run) {
    const std::int32_t shift = run->shift, stop = run->end;
#pragma GCC ivdep
    for (; i < stop; ++i)
      for (std::int32_t q = 0; q < kColumns; ++q) to[q][i + shift] += from[q][i];
  }
  for (; i < end; ++i)
    for (std::int32_t q = 0; q < kColumns; ++q) to[q][indices[i]] += from[q][i];
}

// Rows from the diagonal on. @param source, target  where a column's entries lie, less
// their row, in the block and in the parent
template <class T, class Source, class Target>
void add_rows_of_columns(std::span<const std::int32_t> indices, IndexRange rows,
                         IndexRange columns, const Source& source, const Target& target) {
  const std::vector<Run> runs =
      long_runs(indices, std::max(rows.begin, columns.begin), rows.end);
  const Run* first = runs.data();  // the run of the first row that all columns have
  const Run* const last = first + runs.size();
  std::array<const T*, kColumnsAtOnce> from{};
  std::array<T*, kColumnsAtOnce> to{};
  for (std::int32_t j = columns.begin; j < columns.end;) {
    const bool many = columns.end - j >= kColumnsAtOnce;
    const std::int32_t count = many ? kColumnsAtOnce : 1;
    const std::int32_t common = std::max(rows.begin, j + count - 1);
    for (std::int32_t q = 0; q < count; ++q, ++j) {
      from[q] = source(j);
      to[q] = target(j);
      for (std::int32_t i = std::max(rows.begin, j); i < std::min(common, rows.end); ++i)
        to[q][indices[i]] += from[q][i];
    }
    while (first != last && common >= first->end) ++first;
    if (many)
      add_rows<kColumnsAtOnce, T>(common, rows.end, indices.data(), first, last, from,
                                  to);
    else
      add_rows<1, T>(common, rows.end, indices.data(), first, last, from, to);
  }
}

}  // namespace

void relative_indices(const Symbolic& symbolic, std::int32_t child, std::int32_t parent,
                      std::span<std::int32_t> indices) {
  const auto child_rows = symbolic.rows_of(child);
  const auto parent_rows = symbolic.rows_of(parent);
  const std::int32_t first = symbolic.first_column[parent];
  const std::int32_t pivots = symbolic.pivots(parent);
  std::size_t position = 0;
  for (std::size_t i = 0; i < child_rows.size(); ++i) {
    const std::int32_t row = child_rows[i];
    if (row < first + pivots) {
      indices[i] = row - first;
      continue;
    }
    position = gallop(parent_rows, position, row);
    ESPALIER_ASSERT(position < parent_rows.size() && parent_rows[position] == row,
                    "a child's rows lie in its parent's front");
    indices[i] = pivots + static_cast<std::int32_t>(position);
  }
}

std::int32_t rows_before(std::span<const std::int32_t> indices, std::int32_t position) {
  const auto first = std::lower_bound(indices.begin(), indices.end(), position);
  return static_cast<std::int32_t>(first - indices.begin());
}

template <class T>
void extend_add(const Trapezoid& layout, const T* contribution, std::int64_t origin,
                std::span<const std::int32_t> indices, std::int32_t begin,
                std::int32_t end, const FrontStorage<T>& parent, std::int32_t side) {
  add_rows_of_columns<T>(
      indices, {begin, static_cast<std::int32_t>(indices.size())}, {begin, end},
      [&](std::int32_t j) { return contribution + (layout.column_offset(j) - origin); },
      [&](std::int32_t j) { return parent.column(side, indices[j]); });
}

template <class T>
void extend_add_rows(const TilePlace& tile, const T* source, std::int32_t tile_column,
                     std::span<const std::int32_t> indices, IndexRange rows,
                     IndexRange columns, std::int32_t block,
                     const FrontStorage<T>& parent, std::int32_t side) {
  const BlockTile<T> to = block_tile(parent, block, indices[rows.begin]);
  const std::int32_t first = block_column(parent, block).first;
  add_rows_of_columns<T>(
      indices, rows, columns,
      [&](std::int32_t j) {
        return source + (std::int64_t{j - tile_column} * tile.rows() - tile.begin);
      },
      [&](std::int32_t j) {
        return to.data[side] +
               (std::int64_t{indices[j] - first} * to.leading() - to.begin);
      });
}

template <class T>
void extend_add_tile(const T* tile, std::int64_t leading,
                     std::span<const std::int32_t> rows,
                     std::span<const std::int32_t> columns,
                     const FrontStorage<T>& parent) {
  const auto count = static_cast<std::int32_t>(rows.size());
  if (count == 0) return;
  const bool consecutive = rows.back() - rows.front() == count - 1;
  std::int32_t begin = 0;  // the first row at or under the diagonal
  for (std::size_t j = 0; j < columns.size(); ++j) {
    const T* const source = tile + static_cast<std::int64_t>(j) * leading;
    T* const target = parent.column(0, columns[j]);
    while (begin < count && rows[begin] < columns[j]) ++begin;
    if (consecutive) {
      T* const to = target + rows.front();
      for (std::int32_t i = begin; i < count; ++i) to[i] += source[i];
    } else {
      for (std::int32_t i = begin; i < count; ++i) target[rows[i]] += source[i];
    }
  }
}

template <class T>
void add_original_entries(const Symbolic& symbolic, const SquareMatrix& permuted,
                          std::int32_t front, std::int32_t delayed, std::int32_t begin,
                          std::int32_t end, const FrontStorage<T>& storage) {
  const bool both = storage.sides == 2;
  for (std::int32_t j = begin; j < end; ++j) {
    T* const target = storage.column(0, j);
    T* const opposite = both ? storage.column(1, j) : nullptr;
    for_each_original_entry(symbolic, permuted.lower, front, j, delayed,
                            [&](std::int32_t i, auto k) {
                              target[i] += permuted.entry<T>(k);
                              if (both) opposite[i] += permuted.upper_entry<T>(k);
                            });
  }
}

#define ESPALIER_INSTANTIATE(T)                                                          \
  template void extend_add<T>(const Trapezoid&, const T*, std::int64_t,                  \
                              std::span<const std::int32_t>, std::int32_t, std::int32_t, \
                              const FrontStorage<T>&, std::int32_t);                     \
  template void extend_add_rows<T>(                                                      \
      const TilePlace&, const T*, std::int32_t, std::span<const std::int32_t>,           \
      IndexRange, IndexRange, std::int32_t, const FrontStorage<T>&, std::int32_t);       \
  template void extend_add_tile<T>(                                                      \
      const T*, std::int64_t, std::span<const std::int32_t>,                             \
      std::span<const std::int32_t>, const FrontStorage<T>&);                            \
  template void add_original_entries<T>(const Symbolic&, const SquareMatrix&,            \
                                        std::int32_t, std::int32_t, std::int32_t,        \
                                        std::int32_t, const FrontStorage<T>&);
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
