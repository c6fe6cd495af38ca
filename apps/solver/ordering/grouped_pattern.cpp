#include "solver/ordering/grouped_pattern.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <numeric>
#include <utility>

#include "solver/matrix/offsets.h"
#include "solver/ordering/lists_by_target.h"
#include "solver/ordering/mixed_bits.h"
#include "solver/ordering/vertex_blocks.h"

namespace espalier::solver {
namespace {

constexpr std::int32_t kUngrouped = -1;
constexpr double kWorthGrouping = 0.9;  // columns left, of those before
// Columns that are looked at before all are, entries of one of them, and how many have to
// have a twin: of a tenth some 26 would.
constexpr std::int32_t kSamples = 256, kLongestSample = 4096, kTwinsOfSamples = 6;

// visit(column, its rows), for blocks of columns at once.
template <class Visit>
void for_each_column(const SymmetricMatrix& pattern, TaskPool& pool, const Visit& visit) {
  const VertexBlocks blocks(pattern.size);
  pool.for_each_block(blocks.count(), [&](std::int64_t k) {
    for (std::int32_t column = blocks.first(k); column < blocks.first(k + 1); ++column)
      visit(column,
            std::span(pattern.row)
                .subspan(pattern.column_start[column], pattern.column_start[column + 1] -
                                                           pattern.column_start[column]));
  });
}

// Of each column with its neighbours. Sums do not depend on the order.
std::vector<std::uint64_t> neighbourhood_hashes(const SymmetricMatrix& pattern,
                                                TaskPool& pool) {
  std::vector<std::uint64_t> hash(pattern.size, 0);
  const auto add = [&, shared = pool.shares()](std::int32_t to, std::uint64_t bits) {
    if (shared)
      std::atomic_ref(hash[to]).fetch_add(bits, std::memory_order_relaxed);
    else
      hash[to] += bits;
  };
  for_each_column(pattern, pool, [&](std::int32_t column, auto rows) {
    const std::uint64_t own = mixed_bits(column);
    std::uint64_t sum = own;
    for (const std::int32_t row : rows) {
      if (row == column) continue;
      sum += mixed_bits(row);
      add(row, own);
    }
    add(column, sum);
  });
  return hash;
}

// Of each column whether an entry of it is of a row with its hash.
std::vector<std::int8_t> columns_with_twins(const SymmetricMatrix& pattern,
                                            const std::vector<std::uint64_t>& hash,
                                            TaskPool& pool) {
  std::vector<std::int8_t> result(pattern.size, 0);
  for_each_column(pattern, pool, [&](std::int32_t column, auto rows) {
    for (const std::int32_t row : rows)
      if (row != column && hash[row] == hash[column]) result[column] = 1;
  });
  return result;
}

// Whether one of the column's rows has its other entries below that row, and no others:
// columns that are equal, but for the last of a group, have such a row.
bool may_have_twin(const SymmetricMatrix& pattern, std::int32_t column,
                   std::vector<std::int32_t>& below) {
  const auto entries = [&](std::int32_t k) {
    return std::span(pattern.row)
        .subspan(pattern.column_start[k],
                 pattern.column_start[k + 1] - pattern.column_start[k]);
  };
  if (std::ssize(entries(column)) > kLongestSample) return false;
  below.assign(entries(column).begin(), entries(column).end());
  std::erase(below, column);
  std::ranges::sort(below);
  return std::ranges::any_of(below, [&](std::int32_t row) {
    const auto further = std::ranges::upper_bound(below, row);
    const std::int64_t count = below.end() - further, own = std::ssize(entries(row));
    if (own != count && own != count + 1) return false;  // without or with its diagonal
    std::int64_t others = 0;
    for (const std::int32_t other : entries(row)) {
      if (other == row) continue;
      ++others;
      if (!std::binary_search(further, below.end(), other)) return false;
    }
    return others == count;
  });
}

// From columns that are drawn by lot, the same in every run, whether some tenth of all
// may have a twin.
bool may_be_worth_grouping(const SymmetricMatrix& pattern) {
  if (pattern.size <= kSamples) return true;
  std::vector<std::int32_t> below;
  std::int32_t twins = 0;
  for (std::int32_t k = 0; k < kSamples; ++k) {
    const auto column = static_cast<std::int32_t>(mixed_bits(k) % pattern.size);
    twins += may_have_twin(pattern, column, below);
  }
  return twins >= kTwinsOfSamples;
}

// Numbers groups by their first columns. @param leader  of each column one of its group
Groups numbered_by_leaders(const std::vector<std::int32_t>& leader) {
  Groups groups{std::vector<std::int32_t>(leader.size(), kUngrouped), 0};
  for (std::size_t column = 0; column < leader.size(); ++column) {
    std::int32_t& group = groups.of[leader[column]];
    if (group == kUngrouped) group = groups.count++;
    groups.of[column] = group;
  }
  return groups;
}

}  // namespace

GroupMembers::GroupMembers(const Groups& groups)
    : start(groups.count + 1LL, 0), column(groups.of.size()) {
  for (const std::int32_t group : groups.of) ++start[group + 1];
  std::partial_sum(start.begin(), start.end(), start.begin());
  std::vector<std::int32_t> next(start.begin(), start.end() - 1);
  for (std::size_t k = 0; k < column.size(); ++k)
    column[next[groups.of[k]]++] = static_cast<std::int32_t>(k);
}

std::optional<Groups> indistinguishable_columns(const SymmetricMatrix& pattern,
                                                double most, TaskPool& pool) {
  const std::vector<std::uint64_t> hash = neighbourhood_hashes(pattern, pool);
  const std::vector<std::int8_t> has_twin = columns_with_twins(pattern, hash, pool);
  // The last column of a group is the only one that has none.
  const auto twins = std::accumulate(has_twin.begin(), has_twin.end(), std::int64_t{0});
  if (static_cast<double>(pattern.size - twins) > most) return std::nullopt;
  std::vector<std::int32_t> leader(pattern.size);
  std::iota(leader.begin(), leader.end(), 0);
  const auto first_of = [&](std::int32_t column) {
    while (leader[column] != column)
      column = leader[column] = leader[leader[column]];  // the way is halved
    return column;
  };
  for (std::int32_t column = 0; column < pattern.size; ++column) {
    if (has_twin[column] == 0) continue;
    for (auto at = pattern.column_start[column]; at < pattern.column_start[column + 1];
         ++at) {
      if (hash[pattern.row[at]] != hash[column]) continue;
      const auto [low, high] = std::minmax({first_of(column), first_of(pattern.row[at])});
      leader[high] = low;
    }
  }
  for (std::int32_t column = 0; column < pattern.size; ++column)
    leader[column] = first_of(column);
  return numbered_by_leaders(leader);
}

Groups paired_columns(std::span<const std::int32_t> partner) {
  std::vector<std::int32_t> leader(partner.size());
  for (std::size_t column = 0; column < partner.size(); ++column)
    leader[column] = std::min(static_cast<std::int32_t>(column), partner[column]);
  return numbered_by_leaders(leader);
}

SymmetricMatrix quotient(const SymmetricMatrix& pattern, const Groups& groups) {
  const GroupMembers members(groups);
  SymmetricMatrix result;
  result.size = groups.count;
  result.column_start.assign(groups.count + 1LL, 0);
  // Once for each two groups and each of them that the entries are met in.
  std::vector<std::int32_t> last(groups.count, kUngrouped), low, high;
  for (std::int32_t group = 0; group < groups.count; ++group) {
    last[group] = group;
    for (const std::int32_t column : members.of(group))
      for (auto at = pattern.column_start[column]; at < pattern.column_start[column + 1];
           ++at) {
        const std::int32_t other = groups.of[pattern.row[at]];
        if (std::exchange(last[other], group) == group) continue;
        low.push_back(std::min(group, other));
        high.push_back(std::max(group, other));
        ++result.column_start[low.back() + 1];
      }
  }
  counts_to_starts(result.column_start);
  result.row.resize(low.size());
  for (std::size_t k = 0; k < low.size(); ++k)
    result.row[result.column_start[low[k]]++] = high[k];
  cursors_to_starts(result.column_start);
  // Twice where they were met in both.
  std::ranges::fill(last, kUngrouped);
  std::int64_t to = 0, begin = 0;
  for (std::int32_t group = 0; group < groups.count; ++group) {
    const std::int64_t end = result.column_start[group + 1];
    for (std::int64_t at = begin; at < end; ++at) {
      const std::int32_t row = result.row[at];
      if (std::exchange(last[row], group) != group) result.row[to++] = row;
    }
    begin = end;
    result.column_start[group + 1] = to;
  }
  result.row.resize(to);
  return result;
}

SymmetricMatrix joined_pattern(const SymmetricMatrix& pattern, const Groups& groups) {
  const SymmetricMatrix between = quotient(pattern, groups);
  const GroupMembers members(groups);
  TaskPool alone(1);
  Lists rows = lists_by_target(
      groups.count, pattern.size, alone, [&](std::int32_t group, const auto& emit) {
        const auto own = members.of(group);
        for (std::size_t k = 0; k < own.size(); ++k)
          for (std::size_t j = 0; j <= k; ++j) emit(own[j], own[k]);
        for (auto at = between.column_start[group]; at < between.column_start[group + 1];
             ++at)
          for (const std::int32_t other : members.of(between.row[at]))
            for (const std::int32_t column : own)
              emit(std::min(column, other), std::max(column, other));
      });
  SymmetricMatrix joined{pattern.size, {rows.start.begin(), rows.start.end()}, {}, {}};
  joined.row.assign(rows.item.begin(), rows.item.end());
  return joined;
}

GroupedPattern::GroupedPattern(const SymmetricMatrix& matrix,
                               std::span<const std::int32_t> partner, Equal equal,
                               Threads threads)
    : pattern_(&matrix) {
  if (!partner.empty()) take(paired_columns(partner));
  if (equal == Equal::kApart || !may_be_worth_grouping(pattern())) return;
  std::optional<Groups> alike;
  on_pool(threads, pattern().size, [&](TaskPool& pool) {
    alike = indistinguishable_columns(pattern(), kWorthGrouping * pattern().size, pool);
  });
  if (alike) take(*alike);
}

void GroupedPattern::take(const Groups& groups) {
  own_ = quotient(pattern(), groups);
  pattern_ = &own_;
  GroupMembers members(groups);
  if (!is_trivial()) {  // of groups
    GroupMembers columns;
    columns.start = {0};
    for (std::int32_t group = 0; group < groups.count; ++group) {
      for (const std::int32_t inner : members.of(group))
        std::ranges::copy(members_.of(inner), std::back_inserter(columns.column));
      columns.start.push_back(static_cast<std::int32_t>(columns.column.size()));
    }
    members = std::move(columns);
  }
  members_ = std::move(members);
  weight_.resize(groups.count);
  for (std::int32_t group = 0; group < groups.count; ++group)
    weight_[group] = members_.start[group + 1] - members_.start[group];
}

std::int64_t GroupedPattern::entries() const {
  if (is_trivial()) return std::ssize(pattern().row);
  std::int64_t entries = 0;
  for (std::int32_t group = 0; group < pattern().size; ++group) {
    const std::int64_t columns = weight_[group];
    entries += columns * (columns + 1) / 2;
    for (auto at = pattern().column_start[group]; at < pattern().column_start[group + 1];
         ++at)
      entries += columns * weight_[pattern().row[at]];
  }
  return entries;
}

std::vector<std::int32_t> GroupedPattern::expanded(
    std::vector<std::int32_t> order_of_groups) const {
  if (is_trivial()) return order_of_groups;
  std::vector<std::int32_t> order;
  order.reserve(members_.column.size());
  for (const std::int32_t group : order_of_groups)
    std::ranges::copy(members_.of(group), std::back_inserter(order));
  return order;
}

}  // namespace espalier::solver
