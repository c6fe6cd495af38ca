#include "espalier/sharding/forest_search.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "espalier/model/numbers.h"

namespace espalier {
namespace {}  // namespace

ForestSearch::ForestSearch(const Pairwise& problem, std::vector<std::int32_t> states)
    : problem_(&problem),
      memory_(problem.room),
      parent_(problem.size(), -1),
      stamp_(problem.size(), 0),
      touches_(problem.size(), 0),
      touched_stamp_(problem.size(), 0),
      weights_(problem.costs.size()) {
  set_states(states);
}

void ForestSearch::set_states(std::span<const std::int32_t> states) {
  states_.assign(states.begin(), states.end());
  memory_ = HeldMemory(problem_->room);
  sum_ = {};
  changes_.clear();
  for (std::size_t v = 0; v < problem_->size(); ++v) {
    const std::size_t state = problem_->first_state[v] + at(states_[v]);
    sum_.add(problem_->costs[state]);
    for (const Pairwise::Hold& hold : problem_->holds_of(v))
      memory_.add(hold.from, hold.to, problem_->usages[hold.first + at(states_[v])]);
    for (const Pairwise::Link& link : problem_->links_of(v))
      if (link.is_a)
        sum_.add(problem_->pair_cost(link, at(states_[v]), at(states_[at(link.other)])));
  }
}

void ForestSearch::start_forest() {
  ++now_;
  order_.clear();
  border_.clear();
}

// parent_link counts in problem_->links.
void ForestSearch::join(std::int32_t v, std::int32_t parent_link) {
  stamp_[at(v)] = now_;
  parent_[at(v)] = parent_link;
  order_.push_back(v);
  for (const Pairwise::Link& link : problem_->links_of(at(v))) {
    const std::size_t other = at(link.other);
    if (std::exchange(touched_stamp_[other], now_) != now_) touches_[other] = 0;
    if (++touches_[other] == 1 && stamp_[other] != now_) border_.push_back(link.other);
  }
}

void ForestSearch::spread_from(std::size_t first, std::size_t most,
                               std::mt19937_64& random) {
  while (border_.size() > first && order_.size() < most) {
    const std::size_t pick = first + random() % (border_.size() - first);
    const std::int32_t v = border_[pick];
    border_[pick] = border_.back();
    border_.pop_back();
    if (stamp_[at(v)] == now_ || touches_[at(v)] != 1) continue;
    for (std::size_t k = problem_->first_link[at(v)]; k < problem_->first_link[at(v) + 1];
         ++k) {
      if (stamp_[at(problem_->links[k].other)] != now_) continue;
      join(v, static_cast<std::int32_t>(k));
      break;
    }
  }
}

void ForestSearch::grow(std::span<const std::int32_t> seeds, std::size_t most,
                        std::mt19937_64& random) {
  start_forest();
  for (std::size_t k = 0; k < seeds.size(); ++k) {
    const std::size_t v = at(seeds[k]);
    if (stamp_[v] == now_ || (touched_stamp_[v] == now_ && touches_[v] > 0)) continue;
    join(seeds[k], -1);
    spread_from(0, most * (k + 1) / seeds.size(), random);
  }
}

void ForestSearch::grow_everywhere(std::mt19937_64& random) {
  start_forest();
  std::vector<std::int32_t> seeds(problem_->size());
  for (std::size_t v = 0; v < seeds.size(); ++v) seeds[v] = static_cast<std::int32_t>(v);
  for (std::size_t v = seeds.size(); v > 1; --v)
    std::swap(seeds[v - 1], seeds[random() % v]);
  for (const std::int32_t v : seeds) {
    if (stamp_[at(v)] == now_ || (touched_stamp_[at(v)] == now_ && touches_[at(v)] > 0))
      continue;
    join(v, -1);
    spread_from(0, seeds.size(), random);
  }
}

// Costs of v's states beside what its children send: own, and edges to the rest.
void ForestSearch::weigh(std::size_t v, std::span<const double> prices, double scale) {
  const std::size_t first = problem_->first_state[v], count = problem_->count(v);
  double* const weights = weights_.data() + first;
  for (std::size_t s = 0; s < count; ++s)
    weights[s] = problem_->costs[first + s] + problem_->price(v, s, prices, scale);
  for (const Pairwise::Link& link : problem_->links_of(v)) {
    const std::size_t other = at(link.other);
    if (stamp_[other] == now_) continue;
    const Pairwise::Edge& edge = problem_->edges[at(link.edge)];
    const std::size_t columns = problem_->count(at(edge.b)), t = at(states_[other]);
    const double* const costs =
        problem_->pair_costs.data() + edge.first + (link.is_a ? t : t * columns);
    const std::size_t stride = link.is_a ? columns : 1;
    for (std::size_t s = 0; s < count; ++s) weights[s] += costs[s * stride];
  }
}

// Adds to the parent's weights the best that v's tree can do for each of its states.
void ForestSearch::send(std::size_t v) {
  const Pairwise::Link& link = problem_->links[at(parent_[v])];
  const Pairwise::Edge& edge = problem_->edges[at(link.edge)];
  const std::size_t rows = problem_->count(at(edge.a));
  const std::size_t columns = problem_->count(at(edge.b));
  const double* costs = problem_->pair_costs.data() + edge.first;
  const double* const own = weights_.data() + problem_->first_state[v];
  double* const parent = weights_.data() + problem_->first_state[at(link.other)];
  if (!link.is_a) {
    for (std::size_t s = 0; s < rows; ++s, costs += columns) {
      double least = own[0] + costs[0];
      for (std::size_t t = 1; t < columns; ++t)
        least = std::min(least, own[t] + costs[t]);
      parent[s] += least;
    }
    return;
  }
  for (std::size_t t = 0; t < columns; ++t) {
    double least = own[0] + costs[t];
    for (std::size_t s = 1; s < rows; ++s)
      least = std::min(least, own[s] + costs[s * columns + t]);
    parent[t] += least;
  }
}

void ForestSearch::move_memory(std::size_t v, std::size_t before, std::size_t after) {
  for (const Pairwise::Hold& hold : problem_->holds_of(v)) {
    const Bytes* const usages = problem_->usages.data() + hold.first;
    memory_.add(hold.from, hold.to, usages[after] - usages[before]);
  }
}

void ForestSearch::set(std::size_t v, std::int32_t state) {
  if (states_[v] == state) return;
  changes_.push_back({static_cast<std::int32_t>(v), states_[v]});
  const std::size_t before = at(states_[v]), after = at(state);
  const std::size_t first = problem_->first_state[v];
  sum_.add(problem_->costs[first + after]);
  sum_.take(problem_->costs[first + before]);
  for (const Pairwise::Link& link : problem_->links_of(v)) {
    const std::size_t t = at(states_[at(link.other)]);
    sum_.add(problem_->pair_cost(link, after, t));
    sum_.take(problem_->pair_cost(link, before, t));
  }
  move_memory(v, before, after);
  states_[v] = state;
}

void ForestSearch::choose(std::span<const double> prices, double scale) {
  sum_before_ = sum_;
  changes_.clear();
  for (const std::int32_t v : order_) weigh(at(v), prices, scale);
  for (std::size_t k = order_.size(); k-- > 0;)
    if (parent_[at(order_[k])] >= 0) send(at(order_[k]));
  std::vector<std::int32_t> chosen(order_.size());
  for (std::size_t k = 0; k < order_.size(); ++k) {
    const std::size_t v = at(order_[k]), first = problem_->first_state[v];
    const std::int32_t up = parent_[v];
    // A parent comes first: touches_ holds its new state until all are set.
    std::size_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t s = 0; s < problem_->count(v); ++s) {
      double weight = weights_[first + s];
      if (up >= 0) {
        const Pairwise::Link& link = problem_->links[at(up)];
        weight += problem_->pair_cost(link, s, at(touches_[at(link.other)]));
      }
      if (weight < least) least = weight, best = s;
    }
    touches_[v] = chosen[k] = static_cast<std::int32_t>(best);
  }
  for (std::size_t k = 0; k < order_.size(); ++k) set(at(order_[k]), chosen[k]);
}

void ForestSearch::take_back() {
  for (std::size_t k = changes_.size(); k-- > 0;) {
    const std::size_t v = at(changes_[k].variable);
    move_memory(v, at(states_[v]), at(changes_[k].state));
    states_[v] = changes_[k].state;
  }
  changes_.clear();
  sum_ = sum_before_;
}

}  // namespace espalier
