#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "espalier/sequential/series_parallel/shared_fork.h"

namespace espalier {

/// A chain of nodes of a folded block.
enum class ForkChainId : std::int32_t {};

inline constexpr ForkChainId kNoForkChain{-1};

/// The chains of a folded block, and whether an order of their starts fits in a bound:
/// the inner part of shared_fork_order().
class SharedForkPhases {
 public:
  explicit SharedForkPhases(const FoldedBlock& block);

  /// Chains that have a start, in an order in which they may start.
  [[nodiscard]] std::span<const ForkChainId> starts() const { return starts_; }
  /// Whether the chain may start after those of `order`.
  [[nodiscard]] bool may_follow(std::span<const ForkChainId> order,
                                ForkChainId chain) const;

  /// Whether the bound is enough for starts in this order, for the whole block when all
  /// of starts() are there and else for as far as the order goes.
  [[nodiscard]] bool fits(std::span<const ForkChainId> order, Bytes bound);
  /// The least bound above that of the last fits() which may have another answer.
  [[nodiscard]] Bytes next_bound() const { return next_bound_; }
  /// By set of chains that have started (bit k: starts()[k]): no order has a lower peak
  /// from there on. Every chain is taken to be as low as it ever is, so that only the set
  /// counts. O(2^starts × nodes).
  [[nodiscard]] std::vector<Bytes> needs_by_set() const;
  /// The nodes in the order that the last fits() found, for all starts.
  [[nodiscard]] std::vector<ForkNodeId> nodes() const;

 private:
  struct Chain {
    std::vector<ForkNodeId> nodes;
    std::vector<Bytes> level;           // after so many nodes; 0 before the first
    ForkChainId parent = kNoForkChain;  // whose start needs the end of this one
    std::size_t lowest = 0;             // nodes run at z
    bool has_start = false;             // otherwise it may begin at any time
    [[nodiscard]] std::size_t length() const { return nodes.size(); }
  };
  // Of one chain in one phase.
  struct State {
    std::size_t down = 0;  // D, at the end of the phase
    std::size_t up = 0;    // E, at the end of the phase; 0: nothing is required
  };

  [[nodiscard]] Bytes least_level(std::uint32_t set,
                                  const IdVector<ForkChainId, std::size_t>& bit_of) const;
  void cut_into_chains(const FoldedBlock& block);
  void list_starts();
  void set_windows(std::span<const ForkChainId> order, bool is_whole);
  [[nodiscard]] bool run_forwards();
  void come_down(std::size_t phase);
  [[nodiscard]] bool run_backwards(bool& changed);
  void go_back(std::size_t phase);
  [[nodiscard]] bool has_room(ForkChainId chain, std::size_t from);
  void move(ForkChainId chain, std::size_t place);
  [[nodiscard]] State& state(std::size_t phase, ForkChainId chain) {
    return states_[phase * chains_.size() + index(chain)];
  }
  [[nodiscard]] bool is_active(std::size_t phase, ForkChainId chain) const {
    return first_phase_[chain] <= phase && phase <= last_phase_[chain];
  }

  IdVector<ForkChainId, Chain> chains_;
  std::vector<Segment> nodes_;
  std::vector<SharedDatum<ForkChainId>> shared_;
  std::vector<ForkChainId> starts_;

  // Of the last fits().
  std::vector<ForkChainId> order_;
  IdVector<ForkChainId, std::size_t> first_phase_, last_phase_;
  std::vector<Bytes> base_;                   // by phase: shared data − all of them
  std::vector<State> states_;                 // by phase and chain
  IdVector<ForkChainId, std::size_t> place_;  // nodes run, in a phase
  Bytes level_ = 0;                           // of place_
  std::vector<std::vector<ForkNodeId>> downs_, ups_;  // by phase; ups_ from the end
  Bytes bound_ = 0, next_bound_ = 0;
};

}  // namespace espalier
