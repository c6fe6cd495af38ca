#include "espalier/sharding/dual_ascent.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "espalier/model/numbers.h"

namespace espalier {
namespace {}  // namespace

DualAscent::DualAscent(const Pairwise& problem)
    : problem_(&problem),
      multipliers_(problem.room.size()),
      prices_(problem.holds.size()),
      node_(problem.costs),
      earlier_(problem.size()),
      later_(problem.size()) {
  std::size_t first = 0, widest = 0;
  for (const Pairwise::Edge& edge : problem.edges) {
    first_message_.push_back(first);
    first += problem.count(at(edge.a)) + problem.count(at(edge.b));
  }
  messages_.resize(first);
  for (std::size_t v = 0; v < problem.size(); ++v) {
    widest = std::max(widest, problem.count(v));
    for (const Pairwise::Link& link : problem.links_of(v))
      ++(at(link.other) < v ? earlier_ : later_)[v];
  }
  scratch_.resize(widest);
}

std::span<double> DualAscent::message(const Pairwise::Link& link, bool own) {
  const Pairwise::Edge& edge = problem_->edges[at(link.edge)];
  const std::size_t rows = problem_->count(at(edge.a));
  const std::span<double> all(messages_.data() + first_message_[at(link.edge)],
                              rows + problem_->count(at(edge.b)));
  return link.is_a == own ? all.first(rows) : all.subspan(rows);
}

std::span<const double> DualAscent::message(const Pairwise::Link& link, bool own) const {
  return const_cast<DualAscent*>(this)->message(link, own);
}

// out(s) = least over t of c_e(s, t) - m_{e,other}(t).
void DualAscent::least_over_other(const Pairwise::Link& link,
                                  std::span<double> out) const {
  const Pairwise::Edge& edge = problem_->edges[at(link.edge)];
  const std::size_t rows = problem_->count(at(edge.a));
  const std::size_t columns = problem_->count(at(edge.b));
  const double* costs = problem_->pair_costs.data() + edge.first;
  const double* const other = message(link, false).data();
  if (link.is_a) {
    for (std::size_t s = 0; s < rows; ++s, costs += columns) {
      double least = kInfinity;
      for (std::size_t t = 0; t < columns; ++t)
        least = std::min(least, costs[t] - other[t]);
      out[s] = least;
    }
  } else {
    double* const least = out.data();
    std::fill_n(least, columns, kInfinity);
    for (std::size_t s = 0; s < rows; ++s, costs += columns) {
      const double own = other[s];
      for (std::size_t t = 0; t < columns; ++t)
        least[t] = std::min(least[t], costs[t] - own);
    }
  }
}

void DualAscent::collect(std::size_t v, bool forward) {
  const std::size_t first = problem_->first_state[v], count = problem_->count(v);
  for (const Pairwise::Link& link : problem_->links_of(v)) {
    if ((at(link.other) < v) != forward) continue;
    const std::span<double> least = std::span(scratch_).first(count);
    least_over_other(link, least);
    const std::span<double> own = message(link, true);
    for (std::size_t s = 0; s < count; ++s) {
      node_[first + s] += least[s] - own[s];
      own[s] = least[s];
    }
  }
}

void DualAscent::spread(std::size_t v, bool forward) {
  const std::span<double> node =
      std::span(node_).subspan(problem_->first_state[v], problem_->count(v));
  const double least = *std::ranges::min_element(node);
  for (double& cost : node) cost -= least;
  const std::int32_t out = forward ? later_[v] : earlier_[v];
  if (out == 0) return;
  const double share = 1.0 / std::max(earlier_[v], later_[v]);
  for (const Pairwise::Link& link : problem_->links_of(v)) {
    if ((at(link.other) > v) != forward) continue;
    const std::span<double> own = message(link, true);
    for (std::size_t s = 0; s < own.size(); ++s) own[s] -= share * node[s];
  }
  const double left = 1 - share * out;
  for (double& cost : node) cost *= left;
}

void DualAscent::sweep() {
  for (std::size_t v = 0; v < problem_->size(); ++v) {
    collect(v, true);
    spread(v, true);
  }
  for (std::size_t v = problem_->size(); v-- > 0;) {
    collect(v, false);
    spread(v, false);
  }
}

DualAscent::Terms DualAscent::node_terms() const {
  Terms terms;
  for (std::size_t v = 0; v < problem_->size(); ++v) {
    double least = kInfinity, most = 0;
    for (std::size_t s = 0; s < problem_->count(v); ++s) {
      const std::size_t state = problem_->first_state[v] + s;
      double cost = problem_->costs[state] + problem_->price(v, s, prices_);
      double size = cost;
      for (const Pairwise::Link& link : problem_->links_of(v)) {
        const double part = message(link, true)[s];
        cost += part;
        size += std::abs(part);
      }
      least = std::min(least, cost);
      most = std::max(most, size);
    }
    terms.sum += least;
    terms.magnitude += most * (3 + static_cast<double>(problem_->links_of(v).size() +
                                                       problem_->holds_of(v).size()));
  }
  return terms;
}

DualAscent::Terms DualAscent::link_terms() const {
  Terms terms;
  std::vector<double> least(scratch_.size());
  for (std::size_t v = 0; v < problem_->size(); ++v) {
    for (const Pairwise::Link& link : problem_->links_of(v)) {
      if (!link.is_a) continue;
      least_over_other(link, least);
      const std::span<const double> own = message(link, true);
      double lowest = kInfinity, most = 0;
      for (std::size_t s = 0; s < own.size(); ++s) {
        lowest = std::min(lowest, least[s] - own[s]);
        most = std::max(most, std::abs(least[s]) + std::abs(own[s]));
      }
      for (const double part : message(link, false))
        most = std::max(most, std::abs(part));
      terms.sum += lowest;
      terms.magnitude += 8 * most;
    }
  }
  return terms;
}

// From scratch: the costs, the prices and the messages as they are now, so that nothing
// of what was rounded on the way counts.
double DualAscent::bound() {
  const Terms nodes = node_terms(), links = link_terms();
  long double sum = nodes.sum + links.sum, magnitude = nodes.magnitude + links.magnitude;
  for (std::size_t t = 0; t < multipliers_.size(); ++t) {
    const long double part =
        static_cast<long double>(multipliers_[t]) * problem_->room[t];
    sum -= part;
    magnitude += part;
  }
  rounding_ = static_cast<double>(magnitude * 0x1p-52L);
  return static_cast<double>(sum) - rounding_;
}

std::vector<std::int32_t> DualAscent::decode() const {
  std::vector<std::int32_t> states(problem_->size());
  std::vector<double> costs(scratch_.size());
  for (std::size_t v = 0; v < problem_->size(); ++v) {
    const std::size_t first = problem_->first_state[v], count = problem_->count(v);
    for (std::size_t s = 0; s < count; ++s)
      costs[s] = problem_->costs[first + s] + problem_->price(v, s, prices_);
    for (const Pairwise::Link& link : problem_->links_of(v)) {
      const bool decided = at(link.other) < v;
      const std::span<const double> own = message(link, true);
      const std::size_t t = decided ? at(states[at(link.other)]) : 0;
      for (std::size_t s = 0; s < count; ++s)
        costs[s] += decided ? problem_->pair_cost(link, s, t) : own[s];
    }
    states[v] = static_cast<std::int32_t>(
        std::min_element(costs.begin(), costs.begin() + std::ptrdiff_t(count)) -
        costs.begin());
  }
  return states;
}

void DualAscent::set_prices() {
  double sum = 0;
  for (const double multiplier : multipliers_) sum += multiplier;
  if (sum > 0) {
    const double unit = std::exp2(std::ilogb(sum) - 48);
    for (double& multiplier : multipliers_)
      multiplier = std::floor(multiplier / unit) * unit;
  }
  std::vector<double> prices = problem_->prices_of(multipliers_);
  for (std::size_t v = 0; v < problem_->size(); ++v) {
    double* const node = node_.data() + problem_->first_state[v];
    for (std::size_t h = problem_->first_hold[v]; h < problem_->first_hold[v + 1]; ++h) {
      const double change = prices[h] - prices_[h];
      if (change == 0) continue;
      const Bytes* const usages = problem_->usages.data() + problem_->holds[h].first;
      for (std::size_t s = 0; s < problem_->count(v); ++s)
        node[s] += change * static_cast<double>(usages[s]);
    }
  }
  prices_ = std::move(prices);
}

void DualAscent::move(std::span<const double> direction, double step) {
  for (std::size_t t = 0; t < multipliers_.size(); ++t)
    multipliers_[t] = std::max(0.0, multipliers_[t] + step * direction[t]);
  set_prices();
}

void DualAscent::set_multipliers(std::span<const double> multipliers) {
  multipliers_.assign(multipliers.begin(), multipliers.end());
  set_prices();
}

std::vector<double> DualAscent::excess() const {
  std::vector<double> excess(node_.size());
  std::vector<double> least(scratch_.size());
  for (std::size_t v = 0; v < problem_->size(); ++v) {
    const std::size_t first = problem_->first_state[v], count = problem_->count(v);
    double lowest = kInfinity;
    for (std::size_t s = 0; s < count; ++s) {
      excess[first + s] = problem_->costs[first + s] + problem_->price(v, s, prices_);
      for (const Pairwise::Link& link : problem_->links_of(v))
        excess[first + s] += message(link, true)[s];
      lowest = std::min(lowest, excess[first + s]);
    }
    for (std::size_t s = 0; s < count; ++s) excess[first + s] -= lowest;
    // What the edges add above their least.
    for (const Pairwise::Link& link : problem_->links_of(v)) {
      least_over_other(link, least);
      const std::span<const double> own = message(link, true);
      double edge_least = kInfinity;
      for (std::size_t s = 0; s < count; ++s)
        edge_least = std::min(edge_least, least[s] - own[s]);
      for (std::size_t s = 0; s < count; ++s)
        excess[first + s] += least[s] - own[s] - edge_least;
    }
  }
  return excess;
}

}  // namespace espalier
