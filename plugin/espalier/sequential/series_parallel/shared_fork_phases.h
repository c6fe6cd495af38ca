#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "espalier/sequential/series_parallel/shared_fork.h"

namespace espalier {

/// The chains of a folded block, and whether an order of their starts fits in a bound:
/// the inner part of shared_fork_order().
class SharedForkPhases {
 public:
  explicit SharedForkPhases(const FoldedBlock& block);

  /// Chains that have a start, in an order in which they may start.
  [[nodiscard]] std::span<const std::int32_t> starts() const { return starts_; }
  /// Whether the chain may start after those of `order`.
  [[nodiscard]] bool may_follow(std::span<const std::int32_t> order,
                                std::int32_t chain) const;

  /// Whether the bound is enough for starts in this order, for the whole block when all
  /// of starts() are there and else for as far as the order goes.
  [[nodiscard]] bool fits(std::span<const std::int32_t> order, Bytes bound);
  /// The least bound above that of the last fits() which may have another answer.
  [[nodiscard]] Bytes next_bound() const { return next_bound_; }
  /// By set of chains that have started (bit k: starts()[k]): no order has a lower peak
  /// from there on. Every chain is taken to be as low as it ever is, so that only the set
  /// counts. O(2^starts × nodes).
  [[nodiscard]] std::vector<Bytes> needs_by_set() const;
  /// The nodes in the order that the last fits() found, for all starts.
  [[nodiscard]] std::vector<std::int32_t> nodes() const;

 private:
  struct Chain {
    std::vector<std::int32_t> nodes;
    std::vector<Bytes> level;  // after so many nodes; 0 before the first
    std::int32_t parent = -1;  // the chain whose start needs the end of this one
    int lowest = 0;            // nodes run at z
    bool has_start = false;    // otherwise it may begin at any time
    [[nodiscard]] int length() const { return static_cast<int>(nodes.size()); }
  };
  // Of one chain in one phase.
  struct State {
    int down = 0;  // D, at the end of the phase
    int up = 0;    // E, at the end of the phase; 0: nothing is required
  };

  [[nodiscard]] Bytes least_level(std::uint32_t set,
                                  std::span<const std::int32_t> bit_of) const;
  static std::size_t at(std::int32_t number) { return static_cast<std::size_t>(number); }
  void cut_into_chains(const FoldedBlock& block);
  void list_starts();
  void set_windows(std::span<const std::int32_t> order, bool is_whole);
  [[nodiscard]] bool run_forwards();
  void come_down(std::size_t phase);
  [[nodiscard]] bool run_backwards(bool& changed);
  void go_back(std::size_t phase);
  [[nodiscard]] bool has_room(std::size_t chain, int from);
  void move(std::size_t chain, int place);
  [[nodiscard]] State& state(std::size_t phase, std::size_t chain) {
    return states_[phase * chains_.size() + chain];
  }
  [[nodiscard]] bool is_active(std::size_t phase, std::size_t chain) const {
    return first_phase_[chain] <= phase && phase <= last_phase_[chain];
  }

  std::vector<Chain> chains_;
  std::vector<Segment> nodes_;
  std::vector<SharedFork::Shared> shared_;  // readers are chains
  std::vector<std::int32_t> starts_;

  // Of the last fits().
  std::vector<std::int32_t> order_;
  std::vector<std::size_t> first_phase_, last_phase_;  // by chain
  std::vector<Bytes> base_;    // by phase: shared data − all of them
  std::vector<State> states_;  // by phase and chain
  std::vector<int> place_;     // by chain: nodes run, in a phase
  Bytes level_ = 0;            // of place_
  std::vector<std::vector<std::int32_t>> downs_,
      ups_;  // by phase: nodes; ups_ from the end
  Bytes bound_ = 0, next_bound_ = 0;
};

}  // namespace espalier
