#pragma once

// The least cost of reversing a chain by trying all that can be done: Dijkstra's search
// over what is stored where, the working state and the adjoint.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

namespace espalier::support {

struct ExactLevel {
  int slots = 1;
  std::int64_t write = 0, read = 0;
};

struct ExactChain {
  std::vector<std::int64_t> forward;  ///< by step, 13 at most
  std::int64_t backward = 0;
  std::vector<ExactLevel> levels;  ///< 3 at most
  bool starts_stored = false;      ///< x_0 is in level 0 at the start
};

class ExactCheckpoints {
 public:
  explicit ExactCheckpoints(const ExactChain& chain)
      : chain_(chain), steps_(static_cast<int>(chain.forward.size())) {}

  std::int64_t cost() {
    State start{.working = 0, .adjoint = steps_};
    if (chain_.starts_stored) start.stored[0] = 1;
    reach(start, 0);
    while (!queue_.empty()) {
      const auto [cost, key] = queue_.top();
      queue_.pop();
      if (cost > known_.at(key)) continue;
      const State state = unpack(key);
      if (state.adjoint == 0) return cost;
      expand(state, cost);
    }
    return -1;
  }

 private:
  static constexpr int kNone = 15;
  struct State {
    int working = kNone, adjoint = 0;
    std::uint32_t stored[3] = {0, 0, 0};  // a bit a state
  };

  static std::uint64_t pack(const State& s) {
    std::uint64_t key = static_cast<std::uint64_t>(s.working) |
                        (static_cast<std::uint64_t>(s.adjoint) << 4);
    for (int k = 0; k < 3; ++k)
      key |= static_cast<std::uint64_t>(s.stored[k]) << (8 + 14 * k);
    return key;
  }
  static State unpack(std::uint64_t key) {
    State s{static_cast<int>(key & 15), static_cast<int>((key >> 4) & 15)};
    for (int k = 0; k < 3; ++k)
      s.stored[k] = static_cast<std::uint32_t>(key >> (8 + 14 * k)) & 0x3fff;
    return s;
  }

  void reach(State s, std::int64_t cost) {
    for (std::uint32_t& stored : s.stored) stored &= (1U << s.adjoint) - 1;
    const std::uint64_t key = pack(s);
    const auto [entry, is_new] = known_.try_emplace(key, cost);
    if (!is_new && entry->second <= cost) return;
    entry->second = cost;
    queue_.emplace(cost, key);
  }

  void expand(const State& s, std::int64_t cost) {
    if (s.working == s.adjoint - 1) {
      State next = s;
      next.working = kNone;
      --next.adjoint;
      reach(next, cost + chain_.backward);
    } else if (s.working != kNone) {
      State next = s;
      ++next.working;
      reach(next, cost + chain_.forward[static_cast<std::size_t>(s.working)]);
    }
    for (std::size_t k = 0; k < chain_.levels.size(); ++k) expand_level(s, cost, k);
  }

  void expand_level(const State& s, std::int64_t cost, std::size_t k) {
    const ExactLevel& level = chain_.levels[k];
    for (int i = 0; i < s.adjoint; ++i) {
      const std::uint32_t bit = 1U << i;
      if ((s.stored[k] & bit) == 0) continue;
      State next = s;
      next.working = i;
      reach(next, cost + level.read);
      next = s;
      next.stored[k] &= ~bit;
      reach(next, cost);  // dropped
    }
    if (s.working == kNone || std::popcount(s.stored[k]) >= level.slots) return;
    State next = s;
    next.stored[k] |= 1U << s.working;
    if (next.stored[k] != s.stored[k]) reach(next, cost + level.write);
  }

  using Entry = std::pair<std::int64_t, std::uint64_t>;
  const ExactChain& chain_;
  int steps_;
  std::unordered_map<std::uint64_t, std::int64_t> known_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
};

}  // namespace espalier::support
