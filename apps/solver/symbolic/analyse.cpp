#include "solver/symbolic/analyse.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <numeric>
#include <utility>

#include "espalier/model/clock.h"
#include "espalier/model/error.h"
#include "solver/matrix/permute.h"
#include "solver/ordering/elimination_order.h"
#include "solver/ordering/grouped_pattern.h"
#include "solver/symbolic/fill_rows.h"
#include "solver/symbolic/front_postorder.h"
#include "solver/symbolic/loose_pairs.h"
#include "solver/symbolic/supernodes.h"

namespace espalier::solver {
namespace {

class Stopwatch {
 public:
  // Seconds since the last call or since construction.
  Seconds lap() {
    const Clock::time_point before = std::exchange(start_, Clock::now());
    return std::chrono::duration<Seconds>(start_ - before).count();
  }

 private:
  Clock::time_point start_ = Clock::now();
};

bool has_sorted_columns(const SymmetricMatrix& matrix) {
  for (std::int32_t column = 0; column < matrix.size; ++column)
    if (!std::is_sorted(matrix.row.begin() + matrix.column_start[column],
                        matrix.row.begin() + matrix.column_start[column + 1]))
      return false;
  return true;
}

// Numbers the fronts and their columns; fills everything but `rows`.
// column_order[new] = column of the tree.
Symbolic numbered(const SupernodeTree& tree, const std::vector<std::int32_t>& front_order,
                  std::vector<std::int32_t>& column_order) {
  Symbolic symbolic;
  symbolic.size = static_cast<std::int32_t>(tree.front_of_column.size());
  const std::vector<std::int32_t> number = inverse_permutation(front_order);
  symbolic.first_column.reserve(front_order.size() + 1);
  symbolic.first_column.push_back(0);
  symbolic.row_start.reserve(front_order.size() + 1);
  symbolic.row_start.push_back(0);
  symbolic.parent.reserve(front_order.size());
  for (std::int32_t front : front_order) {
    symbolic.parent.push_back(tree.parent[front] < 0 ? -1 : number[tree.parent[front]]);
    symbolic.first_column.push_back(symbolic.first_column.back() + tree.pivots[front]);
    symbolic.row_start.push_back(symbolic.row_start.back() + tree.order[front] -
                                 tree.pivots[front]);
  }
  std::vector<std::int32_t> next(symbolic.first_column);
  column_order.resize(symbolic.size);
  for (std::int32_t column = 0; column < symbolic.size; ++column) {
    column_order[next[number[tree.front_of_column[column]]]++] = column;
  }
  return symbolic;
}

// Fronts, or rows of fronts: fewer are done with by one thread before others have begun.
constexpr std::int64_t kWorthThreads = 1 << 18;

Threads worth(std::int64_t items, Threads threads) {
  if (items < kWorthThreads) threads.count = 1;
  return threads;
}

// A postorder with its trees by their systems' places.
// @param permutation  of the tree's columns
std::vector<std::int32_t> by_systems(const SupernodeTree& tree,
                                     const std::vector<std::int32_t>& postorder,
                                     const std::vector<std::int32_t>& permutation,
                                     std::span<const std::int32_t> system_order) {
  std::vector<std::int32_t> place(tree.parent.size());  // of roots
  for (std::size_t column = 0; column < permutation.size(); ++column)
    place[tree.front_of_column[column]] = system_order[permutation[column]];
  struct Tree {
    std::size_t begin, end;  // in the postorder
    std::int32_t place;
  };
  std::vector<Tree> trees;
  std::size_t begin = 0;
  for (std::size_t k = 0; k < postorder.size(); ++k) {
    if (tree.parent[postorder[k]] >= 0) continue;
    trees.push_back({begin, k + 1, place[postorder[k]]});
    begin = k + 1;
  }
  std::ranges::stable_sort(trees, {}, &Tree::place);
  std::vector<std::int32_t> order;
  order.reserve(postorder.size());
  for (const Tree& each : trees)
    order.insert(order.end(), postorder.begin() + static_cast<std::ptrdiff_t>(each.begin),
                 postorder.begin() + static_cast<std::ptrdiff_t>(each.end));
  return order;
}

// The fronts of an order, but for their rows.
Symbolic fronts_of(const EliminationOrder& eliminated, const AmalgamationOptions& options,
                   Threads threads, std::span<const std::int32_t> system_order,
                   std::vector<std::int32_t>& column_order) {
  const auto& [permutation, parent, counts, rows, flops] = eliminated;
  SupernodeTree tree = fundamental_supernodes(parent, counts);
  on_pool(worth(tree.fronts(), threads), std::ssize(parent),
          [&](TaskPool& pool) { tree = amalgamate(std::move(tree), options, pool); });
  std::vector<std::int32_t> postorder = front_postorder(tree);
  if (!system_order.empty())
    postorder = by_systems(tree, postorder, permutation, system_order);
  Symbolic symbolic = numbered(tree, postorder, column_order);
  symbolic.permutation = composed(permutation, column_order);
  symbolic.factor_entries =
      std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  symbolic.factor_flops = flops;
  return symbolic;
}

// The order that was given, of a matrix of which partners have each other's entries.
ChosenOrder given_order(const SymmetricMatrix& given,
                        const std::vector<std::int32_t>& order,
                        std::span<const std::int32_t> partner, Threads threads) {
  return {OrderingKind::kNatural,
          partner.empty()
              ? elimination_order(given, order, threads)
              : elimination_order(joined_pattern(given, paired_columns(partner)), order,
                                  threads)};
}

ChosenOrder order_of(const SymmetricMatrix& given, const AnalyseOptions& options,
                     std::span<const std::int32_t> partner, Threads threads) {
  if (!options.order.empty()) return given_order(given, options.order, partner, threads);
  if (partner.empty() || options.ordering != OrderingKind::kAuto)
    return choose_order(given, options.ordering, partner, threads);
  const GroupedPattern grouped(given, partner, GroupedPattern::Equal::kJoined, threads);
  PairedOrder by_degree = order_pairs_by_degree(given, partner, grouped, threads);
  if (by_degree.settled) return {OrderingKind::kAmd, std::move(by_degree.eliminated)};
  return choose_order(grouped, std::move(by_degree.eliminated), threads);
}

// @param pattern  of at most 64 columns
bool is_connected(const SymmetricMatrix& pattern) {
  std::array<std::uint64_t, 64> neighbours{};
  for (std::int32_t column = 0; column < pattern.size; ++column)
    for (auto at = pattern.column_start[column]; at < pattern.column_start[column + 1];
         ++at) {
      neighbours[column] |= std::uint64_t{1} << pattern.row[at];
      neighbours[pattern.row[at]] |= std::uint64_t{1} << column;
    }
  std::uint64_t reached = 1, open = 1;
  while (open != 0) {
    const int column = std::countr_zero(open);
    open &= open - 1;
    open |= neighbours[column] & ~reached;
    reached |= neighbours[column];
  }
  return std::popcount(reached) == pattern.size;
}

// Independent systems have fronts of their own: no rounding goes from one to another.
bool is_one_front(const SymmetricMatrix& pattern, const AnalyseOptions& options) {
  constexpr std::int32_t kMost = 64;  // whatever is asked for
  return pattern.size > 0 &&
         pattern.size <= std::min(kMost, options.amalgamation.whole_system) &&
         options.amalgamation.relaxed && options.order.empty() &&
         options.ordering == OrderingKind::kAuto && is_connected(pattern);
}

// Its entries and operations are those of a dense factor.
Symbolic one_front(std::int32_t size) {
  Symbolic symbolic;
  symbolic.size = size;
  symbolic.permutation.resize(static_cast<std::size_t>(size));
  std::iota(symbolic.permutation.begin(), symbolic.permutation.end(), 0);
  symbolic.first_column = {0, size};
  symbolic.row_start = {0, 0};
  symbolic.parent = {-1};
  const std::int64_t n = size;
  symbolic.factor_entries = n * (n + 1) / 2;
  symbolic.factor_flops = static_cast<double>(n * (n + 1) * (2 * n + 1) / 6);
  return symbolic;
}

}  // namespace

Symbolic analyse_pattern(const SymmetricMatrix& given, const AnalyseOptions& options,
                         AnalyseTimes* seconds, std::span<const std::int32_t> partner,
                         RecordedPhases* record,
                         std::span<const std::int32_t> system_order) {
  const Threads threads(options.workers, record, &options.interrupt);
  AnalyseTimes unused;
  AnalyseTimes& times = seconds ? *seconds : unused;
  if (is_one_front(given, options)) {
    times.ordering_taken = OrderingKind::kNatural;
    return one_front(given.size);
  }
  if (options.interrupt) options.interrupt();  // after the scaling
  Stopwatch watch;
  const auto [kind, eliminated] = order_of(given, options, partner, threads);
  times.ordering_taken = kind;
  times.ordering = watch.lap();

  std::vector<std::int32_t> column_order;
  Symbolic symbolic =
      fronts_of(eliminated, options.amalgamation, threads, system_order, column_order);
  times.fronts = watch.lap();

  on_pool(worth(symbolic.row_start.back(), threads), given.size, [&](TaskPool& pool) {
    fill_rows(eliminated.rows, column_order, pool, symbolic);
    symbolic = bundle_siblings(std::move(symbolic), options.bundles);
  });
  if (options.clusters.least_pivots > 0)
    cluster_pivots(given, options.clusters, symbolic);
  times.rows = watch.lap();
  return symbolic;
}

Analysis analyse(SquareMatrix&& matrix, const AnalyseOptions& options,
                 std::span<const std::int32_t> partner,
                 std::span<const std::int32_t> system_order) {
  Analysis analysis;
  analysis.symbolic = analyse_pattern(matrix.lower, options, &analysis.seconds, partner,
                                      nullptr, system_order);
  Stopwatch watch;
  const bool moves = !std::ranges::is_sorted(analysis.symbolic.permutation) ||
                     !has_sorted_columns(matrix.lower);
  analysis.permuted =
      moves ? permuted(matrix, analysis.symbolic.permutation) : std::exchange(matrix, {});
  matrix = {};
  analysis.seconds.permute = watch.lap();
  return analysis;
}

Analysis analyse(SymmetricMatrix&& matrix, const AnalyseOptions& options) {
  return analyse(SquareMatrix{std::move(matrix), {}}, options);
}

Analysis analyse(PreparedMatrix&& prepared, const AnalyseOptions& options) {
  if (prepared.coupling.size > 0 && options.amalgamation.whole_system > 0) {
    AnalyseOptions apart = options;  // blocks are solved one after the other
    apart.amalgamation.whole_system = 0;
    return analyse(std::move(prepared), apart);
  }
  const std::vector<std::int32_t> system_order =
      substitution_order(prepared.matrix.lower, prepared.coupling);
  Analysis analysis =
      analyse(std::move(prepared.matrix), options, prepared.partner, system_order);
  if (prepared.coupling.size > 0) {
    const Symbolic& symbolic = analysis.symbolic;
    analysis.form = block_form(
        symbolic, permuted(std::exchange(prepared.coupling, {}), symbolic.permutation));
  }
  return analysis;
}

}  // namespace espalier::solver
