#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "espalier/sharding/block_chain.h"
#include "espalier/sharding/plan_table.h"
#include "espalier/sharding/repeated_runs.h"

namespace espalier {

/// Plans of a chain of blocks by cost and memory, for PlanTables: the nodes inside a
/// distinct block are taken out once, in the order in which BlockChain takes them out,
/// and runs of blocks that repeat are put together once and raised to their power.
class BlockFronts {
 public:
  /// @param chain  outlives them
  /// @return nothing where a table would have more than kMostEntries entries
  [[nodiscard]] static std::optional<BlockFronts> of(const BlockChain& chain);

  /// The table of the whole chain.
  [[nodiscard]] PlanTable whole(PlanTables& tables) const;

  /// By node, of a plan of that table.
  [[nodiscard]] std::vector<std::int32_t> strategies(const PlanTables& tables,
                                                     const PlanPoint& plan) const;

  static constexpr std::size_t kMostEntries = 300'000;

 private:
  explicit BlockFronts(const BlockChain& chain);
  [[nodiscard]] PlanTable table(PlanTables& tables, std::size_t number) const;

  const BlockChain* chain_;
  std::vector<std::vector<std::size_t>> orders_;  // by distinct block
  std::vector<RepeatedRun> runs_;
};

}  // namespace espalier
