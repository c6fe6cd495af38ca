#include "solver/symbolic/loose_pairs.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "solver/matrix/permute.h"
#include "solver/ordering/elimination_order.h"
#include "solver/ordering/grouped_pattern.h"

namespace espalier::solver {
namespace {

constexpr double kStrong = 0.1;       // ten times the threshold of pivots by default
constexpr double kClearlyLess = 0.5;  // of the operations
constexpr double kCheap = 10000;      // operations for an entry of the matrix
constexpr int kRounds = 3;

// Moduli of the diagonal; 0 where there is none.
std::vector<double> diagonal_of(const SymmetricMatrix& matrix) {
  std::vector<double> diagonal(matrix.size, 0.0);
  for (std::int32_t j = 0; j < matrix.size; ++j)
    for (auto at = matrix.column_start[j]; at < matrix.column_start[j + 1]; ++at)
      if (matrix.row[at] == j) diagonal[j] = std::abs(matrix.value[at]);
  return diagonal;
}

struct LoosePair {
  std::int32_t weak, strong;
};

std::vector<LoosePair> loose_pairs(const SymmetricMatrix& matrix,
                                   std::span<const std::int32_t> partner) {
  const std::vector<double> diagonal = diagonal_of(matrix);
  std::vector<LoosePair> pairs;
  for (std::int32_t i = 0; i < matrix.size; ++i)
    if (partner[i] != i && diagonal[i] < diagonal[partner[i]] &&
        diagonal[partner[i]] >= kStrong)
      pairs.push_back({i, partner[i]});
  return pairs;
}

EliminationOrder by_degree(const GroupedPattern& grouped, Threads threads) {
  return elimination_order(grouped, order_of_groups(grouped, OrderingKind::kAmd, threads),
                           threads);
}

// Lets the loose pairs go but for those whose weak half comes first in minimum degree.
std::optional<PairedOrder> let_go(const SymmetricMatrix& matrix,
                                  std::vector<std::int32_t> partner,
                                  std::vector<LoosePair> loose, Flops paired,
                                  Threads threads) {
  for (const auto& [weak, strong] : loose) {
    partner[weak] = weak;
    partner[strong] = strong;
  }
  for (int round = 0;; ++round) {
    EliminationOrder order = by_degree(
        GroupedPattern(matrix, partner, GroupedPattern::Equal::kJoined, threads),
        threads);
    if (!(order.flops < kClearlyLess * paired)) return std::nullopt;
    const std::vector<std::int32_t> place = inverse_permutation(order.permutation);
    const auto wrong = std::partition(loose.begin(), loose.end(), [&](const auto& pair) {
      return place[pair.strong] < place[pair.weak];
    });
    if (wrong == loose.end() || round == kRounds)
      return PairedOrder{std::move(order), std::move(partner), true};
    for (auto each = wrong; each != loose.end(); ++each) {
      partner[each->weak] = each->strong;
      partner[each->strong] = each->weak;
    }
    loose.erase(wrong, loose.end());
  }
}

}  // namespace

PairedOrder order_pairs_by_degree(const SymmetricMatrix& matrix,
                                  std::span<const std::int32_t> partner,
                                  const GroupedPattern& grouped, Threads threads) {
  PairedOrder all{by_degree(grouped, threads), {partner.begin(), partner.end()}};
  // Off the diagonal.
  const auto entries = std::max(std::int64_t{1}, grouped.entries() - matrix.size);
  all.settled = all.eliminated.flops < kCheap * static_cast<double>(entries);
  if (all.settled) return all;
  std::vector<LoosePair> loose = loose_pairs(matrix, partner);
  if (loose.empty()) return all;
  auto fewer =
      let_go(matrix, all.partner, std::move(loose), all.eliminated.flops, threads);
  return fewer ? *std::move(fewer) : std::move(all);
}

}  // namespace espalier::solver
