#include "espalier/sequential/series_parallel/shared_fork_phases.h"

#include <algorithm>
#include <limits>

namespace espalier {

SharedForkPhases::SharedForkPhases(const FoldedBlock& block) : nodes_(block.nodes) {
  cut_into_chains(block);
  list_starts();
}

// Nodes are numbered predecessors first, and `before` is sorted by the later node.
void SharedForkPhases::cut_into_chains(const FoldedBlock& block) {
  IdVector<ForkNodeId, bool> is_reader(nodes_.size(), false);
  for (const SharedDatum<ForkNodeId>& datum : block.shared) {
    for (const ForkNodeId node : datum.readers) is_reader[node] = true;
  }
  IdVector<ForkNodeId, ForkChainId> chain_of(nodes_.size());
  auto first = block.before.begin();
  for (const ForkNodeId node : chain_of.ids()) {
    const auto last = std::find_if(first, block.before.end(), [node](const auto& pair) {
      return pair.second != node;
    });
    if (last - first == 1 && !is_reader[node]) {
      chain_of[node] = chain_of[first->first];
    } else {
      chain_of[node] =
          chains_.push_back({{}, {0}, kNoForkChain, 0, last != first || is_reader[node]});
      for (auto pair = first; pair != last; ++pair) {
        chains_[chain_of[pair->first]].parent = chain_of[node];
      }
    }
    Chain& chain = chains_[chain_of[node]];
    chain.nodes.push_back(node);
    chain.level.push_back(chain.level.back() + nodes_[index(node)].net);
    first = last;
  }
  for (Chain& chain : chains_) {
    const auto from = chain.level.begin() + (chain.has_start ? 1 : 0);
    chain.lowest = static_cast<std::size_t>(std::min_element(from, chain.level.end()) -
                                            chain.level.begin());
  }
  for (const SharedDatum<ForkNodeId>& datum : block.shared) {
    shared_.push_back({datum.size, {}});
    for (const ForkNodeId node : datum.readers) {
      shared_.back().readers.push_back(chain_of[node]);
    }
  }
}

// Chains are numbered in an order in which they may start.
void SharedForkPhases::list_starts() {
  for (const ForkChainId c : chains_.ids()) {
    if (chains_[c].has_start) starts_.push_back(c);
  }
}

bool SharedForkPhases::may_follow(std::span<const ForkChainId> order,
                                  ForkChainId chain) const {
  const auto is_there = [order](ForkChainId c) {
    return std::find(order.begin(), order.end(), c) != order.end();
  };
  if (is_there(chain)) return false;
  return std::all_of(starts_.begin(), starts_.end(), [&](ForkChainId c) {
    return chains_[c].parent != chain || is_there(c);
  });
}

// In which phases each chain runs, what is required of it at their end, and what is left
// of the shared data in each phase.
void SharedForkPhases::set_windows(std::span<const ForkChainId> order, bool is_whole) {
  const std::size_t last = order.size();
  order_.assign(order.begin(), order.end());
  states_.assign((last + 1) * chains_.size(), {});
  downs_.assign(last + 1, {});
  ups_.assign(last + 1, {});
  first_phase_.assign(chains_.size(), last + 1);
  last_phase_.assign(chains_.size(), last);
  for (std::size_t k = 0; k < last; ++k) first_phase_[order[k]] = k + 1;
  for (const ForkChainId c : chains_.ids()) {
    const Chain& chain = chains_[c];
    if (!chain.has_start) first_phase_[c] = 0;
    const bool is_needed =
        chain.parent != kNoForkChain && first_phase_[chain.parent] <= last;
    if (is_needed) last_phase_[c] = first_phase_[chain.parent] - 1;
    if (is_needed || (is_whole && chain.parent == kNoForkChain)) {
      state(last_phase_[c], c).up = chain.length();
    }
  }
  base_.assign(last + 1, 0);
  for (const SharedDatum<ForkChainId>& datum : shared_) {
    std::size_t freed = 0;
    for (const ForkChainId c : datum.readers) {
      freed = std::max(freed, first_phase_[c]);
    }
    for (std::size_t phase = freed; phase <= last; ++phase) base_[phase] -= datum.size;
  }
}

bool SharedForkPhases::fits(std::span<const ForkChainId> order, Bytes bound) {
  bound_ = bound;
  next_bound_ = std::numeric_limits<Bytes>::max();
  set_windows(order, order.size() == starts_.size());
  for (bool changed = true; changed;) {
    changed = false;
    if (!run_forwards() || !run_backwards(changed)) return false;
  }
  return true;
}

// Whether there is room for the node that follows place `from` of a chain when the others
// are at their places; the chain itself is at `from` or one further.
bool SharedForkPhases::has_room(ForkChainId chain, std::size_t from) {
  const Bytes others = level_ - chains_[chain].level[place_[chain]];
  const Bytes hill = others + chains_[chain].level[from] +
                     nodes_[index(chains_[chain].nodes[from])].peak;
  if (hill > bound_) next_bound_ = std::min(next_bound_, hill);
  return hill <= bound_;
}

void SharedForkPhases::move(ForkChainId chain, std::size_t place) {
  const std::vector<Bytes>& level = chains_[chain].level;
  level_ += level[place] - level[place_[chain]];
  place_[chain] = place;
}

// D of all phases. False: a start has no room, or a chain is not down when it has to come
// up.
bool SharedForkPhases::run_forwards() {
  place_.assign(chains_.size(), 0);
  level_ = base_[0];
  for (std::size_t phase = 0; phase < downs_.size(); ++phase) {
    if (phase > 0) {
      const ForkChainId chain = order_[phase - 1];
      if (!has_room(chain, 0)) return false;
      move(chain, 1);
      level_ += base_[phase] - base_[phase - 1];
    }
    come_down(phase);
    for (const ForkChainId c : chains_.ids()) {
      if (!is_active(phase, c)) continue;
      State& s = state(phase, c);
      s.down = std::min(place_[c], chains_[c].lowest);
      if (s.up == 0) continue;
      if (s.down < chains_[c].lowest) return false;
      move(c, s.up);
    }
  }
  return true;
}

void SharedForkPhases::come_down(std::size_t phase) {
  downs_[phase].clear();
  for (bool moved = true; moved;) {
    moved = false;
    for (const ForkChainId c : chains_.ids()) {
      if (!is_active(phase, c)) continue;
      while (place_[c] < chains_[c].lowest && has_room(c, place_[c])) {
        downs_[phase].push_back(chains_[c].nodes[place_[c]]);
        move(c, place_[c] + 1);
        moved = true;
      }
    }
  }
}

// E of all phases. False: a chain has to be up before it starts.
bool SharedForkPhases::run_backwards(bool& changed) {
  for (std::size_t phase = downs_.size(); phase-- > 0;) {
    level_ = base_[phase];
    for (const ForkChainId c : chains_.ids()) {
      const State& s = state(phase, c);
      place_[c] = 0;
      if (phase > last_phase_[c]) move(c, chains_[c].length());
      if (is_active(phase, c)) move(c, std::max(s.down, s.up));
    }
    go_back(phase);
    for (const ForkChainId c : chains_.ids()) {
      if (!is_active(phase, c) || place_[c] <= chains_[c].lowest) continue;
      if (phase == first_phase_[c]) return false;
      State& before = state(phase - 1, c);
      changed = changed || before.up < place_[c];
      before.up = std::max(before.up, place_[c]);
    }
  }
  return true;
}

void SharedForkPhases::go_back(std::size_t phase) {
  ups_[phase].clear();
  for (bool moved = true; moved;) {
    moved = false;
    for (const ForkChainId c : chains_.ids()) {
      if (!is_active(phase, c) || state(phase, c).up == 0) continue;
      const std::size_t already = phase > first_phase_[c] ? state(phase - 1, c).up : 0;
      while (place_[c] > std::max(chains_[c].lowest, already) &&
             has_room(c, place_[c] - 1)) {
        move(c, place_[c] - 1);
        ups_[phase].push_back(chains_[c].nodes[place_[c]]);
        moved = true;
      }
    }
  }
}

// Chains in `set` have started, and those that a started chain follows have ended.
Bytes SharedForkPhases::least_level(
    std::uint32_t set, const IdVector<ForkChainId, std::size_t>& bit_of) const {
  const auto is_started = [&](ForkChainId chain) {
    return (set >> bit_of[chain] & 1) != 0;
  };
  Bytes level = 0;
  for (const ForkChainId c : chains_.ids()) {
    const Chain& chain = chains_[c];
    if (chain.has_start && !is_started(c)) continue;
    const bool has_ended = chain.parent != kNoForkChain && is_started(chain.parent);
    level += has_ended ? chain.level.back() : chain.level[chain.lowest];
  }
  for (const SharedDatum<ForkChainId>& datum : shared_) {
    if (std::all_of(datum.readers.begin(), datum.readers.end(), is_started)) {
      level -= datum.size;
    }
  }
  return level;
}

std::vector<Bytes> SharedForkPhases::needs_by_set() const {
  const std::size_t number = starts_.size();
  IdVector<ForkChainId, std::size_t> bit_of(chains_.size(), 0);
  std::vector<std::uint32_t> before(number, 0);  // starts that a start comes after
  for (std::size_t k = 0; k < number; ++k) {
    bit_of[starts_[k]] = k;
  }
  for (std::size_t k = 0; k < number; ++k) {
    const ForkChainId parent = chains_[starts_[k]].parent;
    if (parent != kNoForkChain) before[bit_of[parent]] |= std::uint32_t{1} << k;
  }
  const std::uint32_t all = (std::uint32_t{1} << number) - 1;
  std::vector<Bytes> needs(std::size_t{all} + 1, std::numeric_limits<Bytes>::max());
  needs[all] = 0;
  for (std::uint32_t set = all; set-- > 0;) {
    const Bytes level = least_level(set, bit_of);
    for (std::size_t k = 0; k < number; ++k) {
      if ((set >> k & 1) != 0 || (before[k] & ~set) != 0) continue;
      const Bytes hill = level + nodes_[index(chains_[starts_[k]].nodes.front())].peak;
      needs[set] =
          std::min(needs[set], std::max(hill, needs[set | std::uint32_t{1} << k]));
    }
  }
  return needs;
}

std::vector<ForkNodeId> SharedForkPhases::nodes() const {
  std::vector<ForkNodeId> all;
  for (std::size_t phase = 0; phase < downs_.size(); ++phase) {
    if (phase > 0) all.push_back(chains_[order_[phase - 1]].nodes.front());
    all.insert(all.end(), downs_[phase].begin(), downs_[phase].end());
    all.insert(all.end(), ups_[phase].rbegin(), ups_[phase].rend());
  }
  return all;
}

}  // namespace espalier
