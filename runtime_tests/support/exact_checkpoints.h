#pragma once

// The least cost of reversing a chain by trying all that can be done: Dijkstra's search
// over what is stored where, the working state and the adjoint. Left out is only what
// gains nothing for certain: a state is dropped when its slot is wanted, and a state that
// can be reversed is.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace espalier::support {

struct ExactLevel {
  int slots = 1;
  std::int64_t write = 0, read = 0;
};

/// Costs are small: the search has a list for each of them.
struct ExactChain {
  std::vector<std::int64_t> forward;  ///< by step, 13 at most
  std::int64_t backward = 0;
  std::vector<ExactLevel> levels;  ///< 3 at most
  bool starts_stored = false;      ///< x_0 is in level 0 at the start
  /// The last level is written before the first backward step alone, and a state on it is
  /// gone when it is read.
  bool last_read_once = false;
};

class ExactCheckpoints {
 public:
  explicit ExactCheckpoints(const ExactChain& chain)
      : chain_(chain), steps_(static_cast<int>(chain.forward.size())), known_(1 << 10) {}

  std::int64_t cost() {
    State start{.working = 0, .adjoint = steps_};
    if (chain_.starts_stored) start.stored[0] = 1;
    reach(start, 0);
    for (std::size_t cost = 0; cost < waiting_.size(); ++cost) {
      for (std::size_t k = 0; k < waiting_[cost].size(); ++k) {
        const std::uint64_t key = waiting_[cost][k];
        Entry& entry = find(key);
        if (entry.done) continue;
        entry.done = true;
        const State state = unpack(key);
        if (state.adjoint == 0) return static_cast<std::int64_t>(cost);
        expand(state, static_cast<std::int64_t>(cost));
      }
    }
    return -1;
  }

 private:
  static constexpr int kNone = 15;
  struct State {
    int working = kNone, adjoint = 0;
    std::uint32_t stored[3] = {0, 0, 0};  // a bit a state
  };
  struct Entry {
    std::uint64_t key = 0;  // no state has 0: an adjoint of 0 has no working state
    std::int64_t cost = 0;
    bool done = false;
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

  // Where the key is, or where it belongs: a table of a power of two, half of it free.
  Entry& find(std::uint64_t key) {
    std::size_t at = (key * 0x9e3779b97f4a7c15U) >> 20;
    while (true) {
      Entry& entry = known_[at++ & (known_.size() - 1)];
      if (entry.key == key || entry.key == 0) return entry;
    }
  }

  void grow() {
    std::vector<Entry> before(2 * known_.size());
    before.swap(known_);
    for (const Entry& entry : before)
      if (entry.key != 0) find(entry.key) = entry;
  }

  void reach(State s, std::int64_t cost) {
    for (std::uint32_t& stored : s.stored) stored &= (1U << s.adjoint) - 1;
    const std::uint64_t key = pack(s);
    Entry& entry = find(key);
    if (entry.key != 0 && entry.cost <= cost) return;
    const bool is_new = entry.key == 0;
    entry = {key, cost, false};
    if (waiting_.size() <= static_cast<std::size_t>(cost))
      waiting_.resize(static_cast<std::size_t>(cost) + 1);
    waiting_[static_cast<std::size_t>(cost)].push_back(key);
    if (is_new && 2 * ++size_ > known_.size()) grow();
  }

  void expand(const State& s, std::int64_t cost) {
    if (s.working == s.adjoint - 1) {
      State next = s;
      next.working = kNone;
      --next.adjoint;
      return reach(next, cost + chain_.backward);
    }
    if (s.working != kNone) {
      State next = s;
      ++next.working;
      reach(next, cost + chain_.forward[static_cast<std::size_t>(s.working)]);
    }
    for (std::size_t k = 0; k < chain_.levels.size(); ++k) expand_level(s, cost, k);
  }

  void expand_level(const State& s, std::int64_t cost, std::size_t k) {
    const ExactLevel& level = chain_.levels[k];
    const bool once = chain_.last_read_once && k + 1 == chain_.levels.size();
    for (std::uint32_t left = s.stored[k]; left != 0; left &= left - 1) {
      State next = s;
      next.working = std::countr_zero(left);
      if (once) next.stored[k] &= ~(left & (~left + 1));
      reach(next, cost + level.read);
    }
    if (s.working == kNone || (once && s.adjoint < steps_)) return;
    const std::uint32_t bit = 1U << s.working;
    if ((s.stored[k] & bit) != 0) return;
    State next = s;
    next.stored[k] |= bit;
    if (std::popcount(s.stored[k]) < level.slots) return reach(next, cost + level.write);
    for (std::uint32_t left = s.stored[k]; left != 0; left &= left - 1) {
      next.stored[k] = (s.stored[k] & ~(left & (~left + 1))) | bit;
      reach(next, cost + level.write);
    }
  }

  const ExactChain& chain_;
  int steps_;
  std::vector<Entry> known_;
  std::size_t size_ = 0;
  std::vector<std::vector<std::uint64_t>> waiting_;  // by cost
};

}  // namespace espalier::support
