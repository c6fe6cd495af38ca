#include "training/step/value_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace espalier::training {
namespace {

// By sums, which compilers make vectors of: NaN - NaN and infinity - infinity are NaN,
// and so is every sum with one.
bool all_finite(std::span<const float> values) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t i = 0; i < values.size(); ++i) sum += values[i] - values[i];
  return sum == 0;
}

}  // namespace

std::string describe(const OperatorGraph& graph, const OddValue& odd) {
  const std::string tensor = label(graph.tensor(odd.tensor));
  if (!odd.op) return fmt::format("the input {} has {}", tensor, odd.value);
  return fmt::format("{} wrote {} into {}", label(graph.op(*odd.op)), odd.value, tensor);
}

void ValueCheck::look(std::int64_t position, std::optional<OperatorId> op,
                      TensorId tensor, std::span<const float> values) {
  if (all_finite(values)) return;
  const auto keep = [&](std::optional<OddValue>& first, bool (*odd)(float)) {
    const auto at = std::ranges::find_if(values, odd);
    if (at == values.end() || (first && first->position <= position)) return;
    first = OddValue{position, op, tensor, at - values.begin(), *at};
  };
  const std::scoped_lock lock(mutex_);
  keep(nan_, [](float value) { return std::isnan(value); });
  keep(infinity_, [](float value) { return std::isinf(value); });
}

}  // namespace espalier::training
