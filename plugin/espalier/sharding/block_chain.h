#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "espalier/model/sharding_problem.h"
#include "espalier/sharding/problem_kinds.h"

namespace espalier {

/// A strategy for each node, with the sums over all nodes and edges.
struct BlockWay {
  std::vector<std::int32_t> strategies;
  std::vector<std::int32_t>
      cuts;       ///< strategies of the cuts, behind a 0, of a whole chain
  Cost cost = 0;  ///< kForbidden where something chosen is not allowed
  Bytes usage = 0;
};

/// A sharding problem as a chain of blocks. A node past which no edge goes is a cut: all
/// that comes later depends on what is before by its strategy alone. A block is what lies
/// between two cuts with the second one; blocks of nodes and edges of the same kinds are
/// one.
///
///     x -> norm -> up -> relu -> down -> add -> norm -> …       cuts: x, add, …
///     └──────────────────────────────────┘
class BlockChain {
 public:
  /// Nothing where an edge goes from a later node to an earlier one, or edges are not
  /// listed by their second node.
  /// @param problem, kinds  of it; both outlive the chain
  /// @param fold  false: every block by itself, for tests
  /// @par Cost  O(nodes + edges)
  [[nodiscard]] static std::optional<BlockChain> of(const ShardingProblem& problem,
                                                    const ProblemKinds& kinds,
                                                    bool fold = true);

  /// The least sum of cost + price * usage; of usage alone with kUsageAlone. Exact:
  /// operators inside a block are taken out of it one after the other, once for all
  /// blocks that are one, and the cuts are joined as a chain.
  /// @return nothing where a table would have more than kMostEntries entries
  /// @par Cost  O(states^2) a place in the chain beside the blocks that are distinct
  [[nodiscard]] std::optional<BlockWay> best(double price) const;

  /// Of two ways through the whole chain the one up to some block and the other from
  /// there on: the cheapest such way of at most that usage. Where both are best for a
  /// price, they are what lies between them, block by block.
  /// @param price  for which the inside of the block between them is chosen
  /// @return nothing as best(), or where none is within the limit
  [[nodiscard]] std::optional<BlockWay> cross(const BlockWay& one, const BlockWay& other,
                                              double price, Bytes limit) const;

  [[nodiscard]] std::size_t size() const { return number_.size(); }
  [[nodiscard]] std::size_t distinct() const { return blocks_.size(); }

  /// Nodes and edges one after the other, of the first of those that are one.
  struct Block {
    std::size_t first_node = 0, nodes = 0;
    std::size_t first_edge = 0, edges = 0;
  };
  [[nodiscard]] std::span<const Block> blocks() const { return blocks_; }
  /// By place in the chain, a number of blocks().
  [[nodiscard]] std::span<const std::size_t> sequence() const { return number_; }
  [[nodiscard]] const ShardingProblem& problem() const { return *problem_; }
  /// Strategies of the cut before.
  [[nodiscard]] std::size_t entries(const Block& block) const;

  static constexpr double kUsageAlone = -1;
  static constexpr std::size_t kMostEntries = 4'000'000;

 private:
  BlockChain(const ShardingProblem& problem, const ProblemKinds& kinds)
      : problem_(&problem), kinds_(&kinds) {}
  [[nodiscard]] bool are_equal(const Block& a, const Block& b) const;
  [[nodiscard]] std::uint64_t hash(const Block& block) const;
  void add(const Block& block, bool fold);
  class Table;
  [[nodiscard]] std::optional<std::vector<Table>> tables(double price) const;
  [[nodiscard]] BlockWay whole(std::vector<Table>& tables,
                               std::vector<std::int32_t> cuts) const;

  const ShardingProblem* problem_;
  const ProblemKinds* kinds_;
  std::vector<Block> blocks_;        // the first of each
  std::vector<std::size_t> number_;  // in blocks_, by place in the chain
  std::vector<std::uint64_t> hashes_;
};

}  // namespace espalier
