#include "espalier/sharding/dominance.h"

#include <algorithm>
#include <limits>
#include <span>

#include "espalier/model/numbers.h"

namespace espalier {
namespace {

constexpr std::size_t kMostStates = 200;

bool has_partners(const Pairwise& problem, const std::vector<char>& alive, std::size_t v,
                  std::size_t s) {
  for (const Pairwise::Link& link : problem.links_of(v)) {
    const std::size_t other = at(link.other), first = problem.first_state[other];
    bool found = false;
    for (std::size_t t = 0; t < problem.count(other) && !found; ++t)
      found = alive[first + t] != 0 && !Pairwise::never(problem.pair_cost(link, s, t));
    if (!found) return false;
  }
  return true;
}

// Largest c(b, t) - c(a, t) over the allowed partners of a.
double most_lost(const Pairwise& problem, const std::vector<char>& alive,
                 const Pairwise::Link& link, std::size_t a, std::size_t b) {
  const std::size_t other = at(link.other), first = problem.first_state[other];
  double most = -std::numeric_limits<double>::infinity();
  for (std::size_t t = 0; t < problem.count(other); ++t) {
    const double cost = problem.pair_cost(link, a, t);
    if (alive[first + t] != 0 && !Pairwise::never(cost))
      most = std::max(most, problem.pair_cost(link, b, t) - cost);
  }
  return most;
}

bool dominates(const Pairwise& problem, const std::vector<char>& alive, std::size_t v,
               std::size_t b, std::size_t a) {
  const std::size_t first = problem.first_state[v];
  for (const Pairwise::Hold& hold : problem.holds_of(v))
    if (problem.usages[hold.first + b] > problem.usages[hold.first + a]) return false;
  double lost = problem.costs[first + b] - problem.costs[first + a];
  for (const Pairwise::Link& link : problem.links_of(v)) {
    const double most = most_lost(problem, alive, link, a, b);
    if (Pairwise::never(most)) return false;
    lost += most;
  }
  return lost <= 0;
}

}  // namespace

bool drop_unsupported(const Pairwise& problem, std::vector<char>& alive) {
  bool any = false, changed = true;
  std::vector<char> again(problem.size(), 1);
  while (changed) {
    changed = false;
    for (std::size_t v = 0; v < problem.size(); ++v) {
      if (again[v] == 0) continue;
      again[v] = 0;
      const std::size_t first = problem.first_state[v];
      bool lost = false;
      for (std::size_t s = 0; s < problem.count(v); ++s) {
        if (alive[first + s] == 0) continue;
        if (!Pairwise::never(problem.costs[first + s]) &&
            has_partners(problem, alive, v, s))
          continue;
        alive[first + s] = 0;
        lost = true;
      }
      if (!lost) continue;
      any = changed = true;
      for (const Pairwise::Link& link : problem.links_of(v)) again[at(link.other)] = 1;
    }
  }
  return any;
}

bool drop_oversized(const Pairwise& problem, std::vector<char>& alive) {
  const auto usages = [&](std::size_t v, const Pairwise::Hold& hold) {
    return std::span(problem.usages).subspan(hold.first, problem.count(v));
  };
  std::vector<Bytes> left = problem.room;  // with the least of each hold
  for (std::size_t v = 0; v < problem.size(); ++v)
    for (const Pairwise::Hold& hold : problem.holds_of(v)) {
      const Bytes least = std::ranges::min(usages(v, hold));
      for (std::int32_t t = hold.from; t < hold.to; ++t) left[at(t)] -= least;
    }
  bool any = false;
  for (std::size_t v = 0; v < problem.size(); ++v) {
    for (const Pairwise::Hold& hold : problem.holds_of(v)) {
      if (hold.from >= hold.to) continue;
      const std::span<const Bytes> own = usages(v, hold);
      const Bytes most =
          std::ranges::min(own) +
          *std::min_element(left.begin() + hold.from, left.begin() + hold.to);
      for (std::size_t s = 0; s < own.size(); ++s) {
        char& state = alive[problem.first_state[v] + s];
        if (own[s] <= most || state == 0) continue;
        state = 0;
        any = true;
      }
    }
  }
  return any;
}

bool drop_dominated(const Pairwise& problem, std::vector<char>& alive) {
  bool any = false;
  for (std::size_t v = 0; v < problem.size(); ++v) {
    const std::size_t count = problem.count(v), first = problem.first_state[v];
    if (count > kMostStates) continue;
    for (std::size_t a = 0; a < count; ++a) {
      for (std::size_t b = 0; b < count && alive[first + a] != 0; ++b) {
        if (a == b || alive[first + b] == 0 || !dominates(problem, alive, v, b, a))
          continue;
        alive[first + a] = 0;
        any = true;
      }
    }
  }
  return any;
}

}  // namespace espalier
