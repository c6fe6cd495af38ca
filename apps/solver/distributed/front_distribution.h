#pragma once

#include <cstdint>
#include <vector>

#include "espalier/model/schedule.h"
#include "espalier/model/task_tree.h"
#include "solver/tree/assembly_tree.h"

namespace espalier::solver {

/// Which process does what in a factorisation on several processes, each with memory of
/// its own.
///
/// A node of the assembly tree is *local* when one process has all of it and of what is
/// below it; that process runs it as if it were alone. Other nodes are *shared*: a single
/// front, cut into block columns, each with an owner. The processes of a shared node's
/// group hold block columns of it, or contribution blocks of its children, which they
/// send to the owners. Groups are nested: that of a node contains those of its children.
struct FrontDistribution {
  std::int32_t processes = 1;
  /// Of each node: consecutive processes, at least one.
  std::vector<WorkerRange> group;
  /// Of each shared node: the owner of each block column, the panel's first, then those
  /// of the contribution block. Empty for local nodes.
  std::vector<std::vector<std::int32_t>> owner;

  [[nodiscard]] bool shared(std::int32_t node) const { return group[node].count > 1; }
  [[nodiscard]] bool takes_part(std::int32_t node, std::int32_t process) const {
    return group[node].contains(process);
  }
  /// Owner of a block column, counted through panel and contribution block.
  [[nodiscard]] std::int32_t owner_of(std::int32_t node, std::int32_t block) const {
    return shared(node) ? owner[node][static_cast<std::size_t>(block)]
                        : group[node].first;
  }
  /// The same in a shared front that takes in columns which its children delayed: its
  /// panel has `panels` block columns, of which `planned` are planned. Those between are
  /// dealt out in turn; the last one stays with its owner.
  [[nodiscard]] std::int32_t owner_of(std::int32_t node, std::int32_t block,
                                      std::int32_t planned, std::int32_t panels) const {
    if (block >= panels) return owner_of(node, block - (panels - planned));
    if (block < planned) return owner_of(node, block);
    if (block + 1 == panels) return owner_of(node, planned - 1);
    return group[node].first + block % group[node].count;
  }
};

}  // namespace espalier::solver
