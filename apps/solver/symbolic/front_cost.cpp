#include "solver/symbolic/front_cost.h"

namespace espalier::solver {
namespace {

// Time of opening a front, in flops of dense work.
constexpr Flops kFlopsPerFront = 5000;

}  // namespace

Flops front_flops(std::int64_t order, std::int64_t pivots) {
  const auto squares = [](double n) { return n * (n + 1) * (2 * n + 1) / 6; };
  return squares(static_cast<double>(order)) -
         squares(static_cast<double>(order - pivots));
}

Flops front_cost(const Symbolic& symbolic, std::int32_t front, std::int32_t sides) {
  const Flops order = symbolic.front_order(front);
  return sides * (front_flops(symbolic.front_order(front), symbolic.pivots(front)) +
                  kFlopsPerAssembledEntry * order * order / 2) +
         kFlopsPerFront;
}

std::vector<Flops> costs_until(const Symbolic& symbolic, std::int32_t sides) {
  std::vector<Flops> until = {0};
  until.reserve(symbolic.parent.size() + 1);
  for (std::int32_t s = 0; s < symbolic.fronts(); ++s)
    until.push_back(until.back() + front_cost(symbolic, s, sides));
  return until;
}

std::vector<Flops> subtree_costs(const Symbolic& symbolic, std::int32_t sides) {
  std::vector<Flops> cost(symbolic.fronts(), 0);
  for (std::int32_t s = 0; s < symbolic.fronts(); ++s) {
    cost[s] += front_cost(symbolic, s, sides);
    if (symbolic.parent[s] >= 0) cost[symbolic.parent[s]] += cost[s];
  }
  return cost;
}

}  // namespace espalier::solver
