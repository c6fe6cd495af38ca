#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "espalier/model/sharding_problem.h"
#include "espalier/sharding/pairwise.h"

namespace espalier {

/// The best choice so far, in the terms of the problem: what is searched shrinks.
class Incumbent {
 public:
  explicit Incumbent(const ShardingProblem& problem);

  /// Takes the states when they are within the limit and better than the best so far;
  /// of what is allowed beyond the limit, the least memory is noted.
  bool offer(const Pairwise& pairwise, std::span<const std::int32_t> states);
  /// The same for strategies by node of the problem.
  bool offer(std::vector<std::int32_t> strategies);

  [[nodiscard]] bool found() const { return found_; }
  /// Of the best so far; before one is found, more than any allowed choice costs.
  [[nodiscard]] Cost cost() const { return cost_; }
  [[nodiscard]] std::span<const std::int32_t> strategies() const { return strategies_; }
  [[nodiscard]] Bytes memory_bytes() const { return memory_bytes_; }
  /// Of all choices offered that are allowed; nothing when there was none.
  [[nodiscard]] std::optional<Bytes> least_memory_bytes() const { return least_; }

  /// The best so far as states of what is left; nothing when one of them is gone.
  [[nodiscard]] std::optional<std::vector<std::int32_t>> states_in(
      const Pairwise& pairwise) const;

 private:
  const ShardingProblem* problem_;
  bool found_ = false;
  Cost cost_ = kForbidden;
  Bytes memory_bytes_ = 0;
  std::optional<Bytes> least_;
  std::vector<std::int32_t> strategies_;
};

}  // namespace espalier
