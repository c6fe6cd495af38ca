#include "espalier/sharding/eliminate.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "espalier/model/error.h"

namespace espalier {

namespace {

constexpr std::size_t kTooMany = std::numeric_limits<std::size_t>::max();

bool reads(const std::vector<std::size_t>& scope, std::size_t variable) {
  return std::ranges::binary_search(scope, variable);
}

}  // namespace

void Elimination::add(std::vector<std::size_t> scope, std::vector<double> values) {
  ESPALIER_ASSERT(values.size() == entries(scope), "a value for all states");
  factors_.push_back({std::move(scope), std::move(values)});
}

std::vector<std::size_t> Elimination::neighbours(std::size_t variable) const {
  std::vector<std::size_t> all;
  for (const Factor& factor : factors_) {
    if (!reads(factor.scope, variable)) continue;
    std::vector<std::size_t> both;
    std::ranges::set_union(all, factor.scope, std::back_inserter(both));
    all = std::move(both);
  }
  std::erase(all, variable);
  return all;
}

// kTooMany where the product leaves any sensible range.
std::size_t Elimination::entries(const std::vector<std::size_t>& scope) const {
  std::size_t product = 1;
  for (const std::size_t v : scope) {
    if (product > kTooMany / std::max<std::size_t>(states_[v], 1)) return kTooMany;
    product *= states_[v];
  }
  return product;
}

bool Elimination::eliminate(std::vector<std::size_t> variables, std::size_t most) {
  while (!variables.empty()) {
    const auto least = std::ranges::min_element(
        variables, {}, [this](std::size_t v) { return entries(neighbours(v)); });
    if (entries(neighbours(*least)) > most / states_[*least]) return false;
    take_out(*least);
    variables.erase(least);
  }
  return true;
}

std::size_t Elimination::place(const std::vector<std::size_t>& scope,
                               const std::vector<std::int32_t>& chosen) const {
  std::size_t at = 0;
  for (const std::size_t v : scope)
    at = at * states_[v] + static_cast<std::size_t>(chosen[v]);
  return at;
}

// The next states of the scope, the last variable's fastest; false after the last ones.
bool Elimination::next(const std::vector<std::size_t>& scope,
                       std::vector<std::int32_t>& chosen) const {
  for (auto v = scope.rbegin(); v != scope.rend(); ++v) {
    if (static_cast<std::size_t>(++chosen[*v]) < states_[*v]) return true;
    chosen[*v] = 0;
  }
  return false;
}

void Elimination::take_out(std::size_t variable) {
  Taken taken{variable, neighbours(variable), {}};
  Factor left{taken.scope, {}};
  const auto own = std::stable_partition(
      factors_.begin(), factors_.end(),
      [variable](const Factor& factor) { return !reads(factor.scope, variable); });
  std::vector<std::int32_t> chosen(states_.size(), 0);
  do {
    double best = std::numeric_limits<double>::infinity();
    std::int32_t state = 0;
    for (std::size_t s = 0; s < states_[variable]; ++s) {
      chosen[variable] = static_cast<std::int32_t>(s);
      double sum = 0;
      for (auto factor = own; factor != factors_.end(); ++factor)
        sum += factor->values[place(factor->scope, chosen)];
      if (sum < best) {
        best = sum;
        state = chosen[variable];
      }
    }
    left.values.push_back(best);
    taken.best.push_back(state);
  } while (next(taken.scope, chosen));
  factors_.erase(own, factors_.end());
  factors_.push_back(std::move(left));
  taken_.push_back(std::move(taken));
}

std::vector<std::size_t> Elimination::order() const {
  std::vector<std::size_t> order;
  for (const Taken& taken : taken_) order.push_back(taken.variable);
  return order;
}

std::vector<double> Elimination::rest(const std::vector<std::size_t>& scope) const {
  std::vector<double> sums;
  std::vector<std::int32_t> chosen(states_.size(), 0);
  do {
    double sum = 0;
    for (const Factor& factor : factors_)
      sum += factor.values[place(factor.scope, chosen)];
    sums.push_back(sum);
  } while (next(scope, chosen));
  return sums;
}

void Elimination::complete(std::vector<std::int32_t>& chosen) const {
  for (auto taken = taken_.rbegin(); taken != taken_.rend(); ++taken)
    chosen[taken->variable] = taken->best[place(taken->scope, chosen)];
}

}  // namespace espalier
