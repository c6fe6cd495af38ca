#include "espalier/sharding/problem_kinds.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <unordered_map>

namespace espalier {

namespace {

class Hash {
 public:
  void add(std::span<const std::int64_t> values) {
    for (const std::int64_t value : values) {
      state_ = (state_ ^ static_cast<std::uint64_t>(value)) * 0x9E3779B97F4A7C15u;
      state_ ^= state_ >> 29;
    }
  }
  [[nodiscard]] std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0x243F6A8885A308D3u;
};

std::uint64_t hash_of(const ShardingNode& node) {
  Hash hash;
  hash.add(node.costs);
  hash.add(node.usages);
  return hash.value();
}

std::uint64_t hash_of(const ShardingEdge& edge) {
  Hash hash;
  hash.add(edge.costs);
  return hash.value();
}

bool alike(const ShardingNode& a, const ShardingNode& b) { return a == b; }
bool alike(const ShardingEdge& a, const ShardingEdge& b) { return a.costs == b.costs; }

template <class T>
std::vector<std::int32_t> numbered(std::span<const T> all) {
  std::unordered_multimap<std::uint64_t, std::int32_t> known;  // first of each kind
  std::vector<std::int32_t> numbers;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::uint64_t hash = hash_of(all[i]);
    const auto [begin, end] = known.equal_range(hash);
    const auto found = std::find_if(begin, end, [&](const auto& entry) {
      return alike(all[static_cast<std::size_t>(entry.second)], all[i]);
    });
    numbers.push_back(found == end ? static_cast<std::int32_t>(i) : found->second);
    if (found == end) known.emplace(hash, static_cast<std::int32_t>(i));
  }
  return numbers;
}

}  // namespace

double most_allowed(std::span<const Cost> costs) {
  double largest = 0;
  for (const Cost cost : costs)
    if (cost < kForbidden) largest = std::max(largest, static_cast<double>(cost));
  return largest;
}

ProblemKinds kinds_of(const ShardingProblem& problem) {
  ProblemKinds kinds{numbered(problem.nodes()), numbered(problem.edges())};
  for (const ShardingNode& node : problem.nodes()) {
    const ShardingNode& first = problem.nodes().front();
    kinds.held_together &= node.from == first.from && node.to == first.to;
    kinds.most_cost += most_allowed(node.costs);
  }
  for (const ShardingEdge& edge : problem.edges())
    kinds.most_cost += most_allowed(edge.costs);
  return kinds;
}

}  // namespace espalier
