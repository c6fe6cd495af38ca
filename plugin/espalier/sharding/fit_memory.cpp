#include "espalier/sharding/fit_memory.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "espalier/model/numbers.h"
#include "espalier/model/units.h"

namespace espalier {
namespace {

// What a byte is worth somewhere, to begin with where it has been worth nothing.
double first_multiplier(const Pairwise& problem, std::span<const double> multipliers,
                        double cost) {
  double most = 0;
  for (const double multiplier : multipliers) most = std::max(most, multiplier);
  Bytes room = 1;
  for (const Bytes one : problem.room) room = std::max(room, one);
  return std::max(0.02 * most, 1e-3 * (std::abs(cost) + 1) / static_cast<double>(room));
}

// The sections that a hold counts in, in the mean.
std::size_t usual_length(const Pairwise& problem) {
  std::size_t sum = 0, count = 1;
  for (const Pairwise::Hold& hold : problem.holds) {
    sum += at(hold.to - hold.from);
    ++count;
  }
  return std::max<std::size_t>(1, sum / count);
}

// Of every `window` sections that are too full, the fullest gets a price: neighbours hold
// much the same.
void raise_peaks(std::span<const Bytes> over, std::size_t window, double first,
                 std::vector<double>& multipliers) {
  for (std::size_t t = 0; t < over.size();) {
    if (over[t] <= 0) {
      ++t;
      continue;
    }
    std::size_t peak = t;
    const std::size_t end = std::min(over.size(), t + window);
    for (; t < end && over[t] > 0; ++t)
      if (over[t] > over[peak]) peak = t;
    multipliers[peak] = 1.4 * multipliers[peak] + first;
  }
}

}  // namespace

bool fit_memory(const Pairwise& problem, std::span<const double> multipliers, int passes,
                ForestSearch& search, std::mt19937_64& random) {
  std::vector<double> raised(multipliers.begin(), multipliers.end());
  raised.resize(problem.room.size());
  const double first = first_multiplier(problem, multipliers, search.cost());
  const std::size_t window = usual_length(problem);
  for (int pass = 0; pass < passes && !search.allowed(); ++pass) {
    raise_peaks(search.memory().all(), window, first * (1 + pass / 8), raised);
    search.grow_everywhere(random);
    search.choose(problem.prices_of(raised), 1);
  }
  return search.allowed();
}

}  // namespace espalier
