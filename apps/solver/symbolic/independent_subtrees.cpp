#include "solver/symbolic/independent_subtrees.h"

#include <algorithm>

namespace espalier::solver {
namespace {

constexpr std::int64_t kParts = 64;

// weight_of(first, last): of nodes first to last.
template <class Weight>
IndependentSubtrees cut(std::span<const std::int32_t> parent, const Weight& weight_of) {
  const auto nodes = static_cast<std::int32_t>(parent.size());
  if (nodes == 0) return {};
  std::vector<std::int32_t> size(parent.size(), 1);
  for (std::int32_t node = 0; node < nodes; ++node)
    if (parent[node] >= 0) size[parent[node]] += size[node];
  const std::int64_t most = weight_of(0, nodes - 1) / kParts;
  IndependentSubtrees result;
  for (std::int32_t node = nodes - 1; node >= 0;) {
    const std::int32_t first = node - size[node] + 1;
    if (weight_of(first, node) <= most) {
      auto& parts = result.parts;
      if (!parts.empty() && parts.back().first == node + 1 &&
          weight_of(first, parts.back().last) <= most)
        parts.back().first = first;
      else
        parts.push_back({first, node});
      node = first - 1;
    } else {
      result.top.push_back(node--);
    }
  }
  std::ranges::reverse(result.parts);
  std::ranges::reverse(result.top);
  return result;
}

}  // namespace

IndependentSubtrees independent_subtrees(std::span<const std::int32_t> parent,
                                         std::span<const std::int64_t> weight) {
  return cut(parent, [&](std::int32_t first, std::int32_t last) {
    return weight[last + 1LL] - weight[first];
  });
}

IndependentSubtrees independent_subtrees(std::span<const std::int32_t> parent) {
  return cut(parent,
             [](std::int64_t first, std::int64_t last) { return last - first + 1; });
}

}  // namespace espalier::solver
