#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "espalier/model/task_tree.h"
#include "espalier/model/units.h"
#include "solver/memory/memory_account.h"
#include "solver/symbolic/symbolic.h"
#include "solver/tree/assembly_tree.h"

// Figures of memory taken apart: what makes up the least bound, and what made up a peak.

namespace espalier::solver {

/// The contribution block of a node that is in memory for a front above it.
struct HeldBlock {
  std::int32_t node = 0, front = 0;  ///< front: the last of the node
  std::int32_t rows = 0;             ///< of the block
  Bytes bytes = 0;                   ///< in memory: 0 where it is out of core
};

/// One front of the chain at the peak, and the contribution blocks that wait for it.
struct FrontAtPeak {
  std::int32_t node = -1;              ///< -1: what roots leave, which no front waits for
  std::int32_t front = -1;             ///< the last of the node
  std::int32_t fronts = 0;             ///< of the node: above 1 they are one task
  std::int32_t order = 0, pivots = 0;  ///< of `front`
  std::vector<HeldBlock> children;
  Bytes children_bytes = 0;  ///< sum of theirs
};

/// What fronts and factor have in memory when a sequential order of the nodes is at its
/// peak: every byte once.
struct FrontsAtPeak {
  /// The front that runs, then those above it that blocks wait for, then others. Only the
  /// first has bytes of its own, as follows.
  std::vector<FrontAtPeak> chain;
  Bytes panel = 0;         ///< its part of the factor, where that stays in memory
  Bytes contribution = 0;  ///< its contribution block, likewise
  /// Beside both while it runs: stack, index lists, structures of the runtime, what goes
  /// out of core at its end. Negative where the front takes its memory by blocks while
  /// its children give theirs back: by what they never have together.
  Bytes working = 0;
  Bytes factor_before = 0;  ///< factor of all nodes that ended before, likewise
  [[nodiscard]] Bytes total() const;
};

/// @param order  all nodes, children first
/// @return of a tree without nodes: no fronts and no bytes
/// @throws InvalidInput as replay()
/// @par Cost  O(n log n)
[[nodiscard]] FrontsAtPeak fronts_at_peak(const Symbolic& symbolic,
                                          const AssemblyTree& tree,
                                          std::span<const TaskId> order);

/// Of the factor while solving.
struct FactorInMemory {
  Bytes resident = 0;  ///< panels that stay in memory
  Bytes read = 0;      ///< the largest of those that are read back from the file
};
[[nodiscard]] FactorInMemory factor_in_memory(const AssemblyTree& tree);

/// When most is in memory.
enum class MemoryPhase : std::int8_t {
  kAnalysis,       ///< up to the first front
  kFactorisation,  ///< fronts
  kSolve           ///< factor and vectors
};
/// "analysis", "factorisation", "solve".
[[nodiscard]] std::string_view name(MemoryPhase phase);

/// A part of a sum.
struct MemoryPart {
  std::string_view key;    ///< "baseline": snake_case
  std::string_view label;  ///< for people
  Bytes bytes = 0;
};

/// What a figure of memory is made of.
struct MemoryExplanation {
  Bytes total = 0;
  MemoryPhase phase = MemoryPhase::kFactorisation;
  std::vector<MemoryPart> parts;  ///< of sum `total`
  /// At their own peak, where the nodes are known: in kFactorisation details of the parts
  /// that are fronts, else of less than what decides.
  std::optional<FrontsAtPeak> fronts;
};

/// What a process needs inside its own bound; what other processes need is not looked at.
struct ExplainedNeeds {
  Bytes fronts = 0;  ///< MemoryAccount::tree_least, or that out of core
  Bytes solve = 0;   ///< MemoryAccount::solve, likewise
  // Where they are known:
  std::optional<FactorInMemory> factor = {};
  std::optional<FrontsAtPeak> at_peak = {};  ///< of total() `fronts`
};

/// @return of total ProcessAccount::least() for the larger of fronts and solve
[[nodiscard]] MemoryExplanation explain_least(const MemoryAccount& account,
                                              ExplainedNeeds needs);

/// What was measured of a run that has ended.
struct MeasuredMemory {
  Bytes peak = 0;            ///< VmHWM of the process
  Bytes growth = 0;          ///< of the resident set while factorising
  Bytes allocated_peak = 0;  ///< of the fronts
};

/// @return of total MeasuredMemory::peak: by what was measured, and what is left over
[[nodiscard]] MemoryExplanation explain_peak(const MemoryAccount& account,
                                             const MeasuredMemory& measured,
                                             std::optional<FactorInMemory> factor);

}  // namespace espalier::solver
