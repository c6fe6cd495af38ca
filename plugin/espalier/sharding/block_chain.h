#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "espalier/model/sharding_problem.h"

namespace espalier {

/// A sharding problem as a chain of blocks. A node past which no edge goes is a cut: all
/// that comes later depends on what is before by its strategy alone. A block is what lies
/// between two cuts with the second one; blocks with the same costs, usages and edges are
/// one.
///
///     x -> norm -> up -> relu -> down -> add -> norm -> …       cuts: x, add, …
///     └──────────────────────────────────┘
class BlockChain {
 public:
  /// Nothing where an edge goes from a later node to an earlier one.
  /// @param fold  false: every block by itself, for tests
  /// @par Cost  O(costs of the problem)
  [[nodiscard]] static std::optional<BlockChain> of(const ShardingProblem& problem,
                                                    bool fold = true);

  /// Strategies by node of least sum of cost + price * usage over all nodes and edges; of
  /// usage alone with kUsageAlone. Exact: operators inside a block are taken out of it
  /// one after the other, once for all blocks that are one, and the cuts are joined as a
  /// chain.
  /// @return nothing where a table would have more than kMostEntries entries
  [[nodiscard]] std::optional<std::vector<std::int32_t>> best(double price) const;

  [[nodiscard]] std::size_t size() const { return number_.size(); }
  [[nodiscard]] std::size_t distinct() const { return blocks_.size(); }

  static constexpr double kUsageAlone = -1;
  static constexpr std::size_t kMostEntries = 4'000'000;

 private:
  struct Edge {
    std::size_t first = 0, second = 0;  // nodes of the block; 0: the cut before it
    std::span<const Cost> costs;
    [[nodiscard]] bool equals(const Edge& other) const;
  };
  struct Block {
    std::size_t entries = 1;  // strategies of the cut before it; 1 where there is none
    std::span<const ShardingNode> nodes;  // 1 … of the block
    std::vector<Edge> edges;
    [[nodiscard]] bool equals(const Block& other) const;
    [[nodiscard]] std::uint64_t hash() const;
  };

  void add(Block block, bool fold);

  std::vector<Block> blocks_;        // each once
  std::vector<std::size_t> number_;  // in blocks_, by place in the chain
  std::vector<std::uint64_t> hashes_;
};

}  // namespace espalier
