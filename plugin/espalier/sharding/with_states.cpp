#include "espalier/sharding/with_states.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "espalier/model/numbers.h"
#include "espalier/sharding/keep_sections.h"

namespace espalier {
namespace {

// A problem with some of the states of another; variables with one state go.
class Restriction {
 public:
  Restriction(const Pairwise& before, const std::vector<char>& alive)
      : before_(before), alive_(alive), number_(before.size(), -1) {}

  Pairwise run() {
    after_.fixed = before_.fixed;
    after_.constant = before_.constant;
    after_.room = before_.room;
    for (std::size_t v = 0; v < before_.size() && !after_.impossible; ++v) add(v);
    if (after_.impossible) return std::move(after_);
    for (const Pairwise::Edge& edge : before_.edges) add_edge(edge);
    after_.link();
    keep_sections(after_);
    return std::move(after_);
  }

 private:
  [[nodiscard]] std::size_t only_state(std::size_t v) const {
    std::size_t s = before_.first_state[v];
    while (alive_[s] == 0) ++s;
    return s;
  }

  void add(std::size_t v) {
    const std::size_t first = before_.first_state[v], end = before_.first_state[v + 1];
    const auto left = std::count_if(alive_.begin() + std::ptrdiff_t(first),
                                    alive_.begin() + std::ptrdiff_t(end),
                                    [](char c) { return c != 0; });
    if (left == 0) {
      after_.impossible = true;
      return;
    }
    if (left == 1) return fix(v, only_state(v));
    number_[v] = static_cast<std::int32_t>(after_.size());
    for (std::size_t s = first; s < end; ++s)
      if (alive_[s] != 0) after_.costs.push_back(before_.costs[s]);
    after_.first_state.push_back(after_.costs.size());
    for (const Pairwise::Member& member : before_.members_of(v)) {
      after_.members.push_back({member.node, after_.strategies.size()});
      copy_alive(v, before_.strategies, member.first, after_.strategies);
    }
    after_.first_member.push_back(after_.members.size());
    for (const Pairwise::Hold& hold : before_.holds_of(v)) {
      after_.holds.push_back({hold.from, hold.to, after_.usages.size()});
      copy_alive(v, before_.usages, hold.first, after_.usages);
    }
    after_.first_hold.push_back(after_.holds.size());
  }

  template <class T>
  void copy_alive(std::size_t v, const std::vector<T>& from, std::size_t first,
                  std::vector<T>& to) const {
    for (std::size_t s = 0; s < before_.count(v); ++s)
      if (alive_[before_.first_state[v] + s] != 0) to.push_back(from[first + s]);
  }

  void fix(std::size_t v, std::size_t state) {
    const std::size_t s = state - before_.first_state[v];
    for (const Pairwise::Member& member : before_.members_of(v))
      after_.fixed[at(member.node)] = before_.strategies[member.first + s];
    after_.constant += before_.costs[state];
    if (Pairwise::never(before_.costs[state])) after_.impossible = true;
    for (const Pairwise::Hold& hold : before_.holds_of(v))
      for (std::int32_t t = hold.from; t < hold.to; ++t)
        after_.room[at(t)] -= before_.usages[hold.first + s];
  }

  void add_edge(const Pairwise::Edge& edge) {
    const std::size_t columns = before_.count(at(edge.b));
    const std::int32_t a = number_[at(edge.a)], b = number_[at(edge.b)];
    const std::size_t first_a = before_.first_state[at(edge.a)];
    const std::size_t first_b = before_.first_state[at(edge.b)];
    if (a >= 0 && b >= 0) after_.edges.push_back({a, b, after_.pair_costs.size()});
    std::size_t next_a = a >= 0 ? after_.first_state[at(a)] : 0;
    for (std::size_t s = 0; s < before_.count(at(edge.a)); ++s) {
      if (alive_[first_a + s] == 0) continue;
      std::size_t next_b = b >= 0 ? after_.first_state[at(b)] : 0;
      for (std::size_t t = 0; t < columns; ++t) {
        if (alive_[first_b + t] == 0) continue;
        const double cost = before_.pair_costs[edge.first + s * columns + t];
        if (a >= 0 && b >= 0) {
          after_.pair_costs.push_back(cost);
        } else {
          double& sum = a >= 0   ? after_.costs[next_a]
                        : b >= 0 ? after_.costs[next_b]
                                 : after_.constant;
          sum = std::min(Pairwise::kNever, sum + cost);
        }
        ++next_b;
      }
      ++next_a;
    }
    if (Pairwise::never(after_.constant)) after_.impossible = true;
  }

  const Pairwise& before_;
  const std::vector<char>& alive_;
  std::vector<std::int32_t> number_;
  Pairwise after_;
};

}  // namespace

Pairwise with_states(const Pairwise& problem, const std::vector<char>& alive) {
  return Restriction(problem, alive).run();
}

}  // namespace espalier
