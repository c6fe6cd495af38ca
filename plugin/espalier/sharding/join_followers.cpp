#include "espalier/sharding/join_followers.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "espalier/model/numbers.h"

namespace espalier {
namespace {

void add_to(double& sum, double cost) { sum = std::min(Pairwise::kNever, sum + cost); }

// Which variables become one: for each a leader, and its own state by the leader's.
class Leaders {
 public:
  explicit Leaders(const Pairwise& problem)
      : problem_(problem), leader_(problem.size(), -1), state_(problem.size()) {
    std::vector<std::int32_t> order(problem.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](std::int32_t v, std::int32_t w) {
      return problem.count(at(v)) > problem.count(at(w));
    });
    for (const std::int32_t v : order)
      if (leader_[at(v)] < 0) lead(v);
  }

  [[nodiscard]] bool any() const { return any_; }
  [[nodiscard]] std::int32_t of(std::size_t v) const { return leader_[v]; }
  [[nodiscard]] std::size_t state(std::size_t v, std::size_t s) const {
    return at(state_[v][s]);
  }

 private:
  void lead(std::int32_t leader) {
    leader_[at(leader)] = leader;
    state_[at(leader)].resize(problem_.count(at(leader)));
    std::iota(state_[at(leader)].begin(), state_[at(leader)].end(), 0);
    std::vector<std::int32_t> open = {leader};
    while (!open.empty()) {
      const std::size_t v = at(open.back());
      open.pop_back();
      for (const Pairwise::Link& link : problem_.links_of(v)) {
        if (leader_[at(link.other)] >= 0 || grows(at(leader), v, at(link.other)))
          continue;
        const std::vector<std::int32_t> partners = only_partners(v, link);
        if (partners.empty()) continue;
        leader_[at(link.other)] = leader;
        for (const std::int32_t s : state_[v])
          state_[at(link.other)].push_back(partners[at(s)]);
        open.push_back(link.other);
        any_ = true;
      }
    }
  }

  // Whether there would be more pair costs.
  [[nodiscard]] bool grows(std::size_t leader, std::size_t v, std::size_t joins) const {
    const std::size_t more = problem_.count(leader) - problem_.count(joins);
    std::size_t entries = 0;
    for (const Pairwise::Link& link : problem_.links_of(joins))
      if (at(link.other) != v) entries += more * problem_.count(at(link.other));
    return entries > problem_.count(v) * problem_.count(joins);
  }

  // By state of v, of the other one; nothing where some state has several.
  [[nodiscard]] std::vector<std::int32_t> only_partners(
      std::size_t v, const Pairwise::Link& link) const {
    std::vector<std::int32_t> partners(problem_.count(v), -1);
    for (std::size_t s = 0; s < partners.size(); ++s) {
      for (std::size_t t = 0; t < problem_.count(at(link.other)); ++t) {
        if (Pairwise::never(problem_.pair_cost(link, s, t))) continue;
        if (partners[s] >= 0) return {};
        partners[s] = static_cast<std::int32_t>(t);
      }
      if (partners[s] < 0) return {};
    }
    return partners;
  }

  const Pairwise& problem_;
  std::vector<std::int32_t> leader_;              // by variable
  std::vector<std::vector<std::int32_t>> state_;  // by variable, by state of its leader
  bool any_ = false;
};

class Joining {
 public:
  Joining(const Pairwise& before, const Leaders& leaders)
      : before_(before),
        leaders_(leaders),
        group_(before.size()),
        number_(before.size()) {
    for (std::size_t v = 0; v < before.size(); ++v) {
      std::vector<std::size_t>& group = group_[at(leaders.of(v))];
      group.insert(at(leaders.of(v)) == v ? group.begin() : group.end(), v);
    }
  }

  Pairwise run() {
    after_.fixed = before_.fixed;
    after_.constant = before_.constant;
    after_.room = before_.room;
    for (std::size_t v = 0; v < before_.size(); ++v)
      if (!group_[v].empty()) add(v);
    for (const Pairwise::Edge& edge : before_.edges) add_edge(edge);
    after_.link();
    return std::move(after_);
  }

 private:
  void add(std::size_t leader) {
    number_[leader] = static_cast<std::int32_t>(after_.size());
    const std::size_t count = before_.count(leader), first = after_.costs.size();
    after_.costs.resize(first + count);
    for (const std::size_t v : group_[leader]) {
      for (std::size_t s = 0; s < count; ++s)
        add_to(after_.costs[first + s],
               before_.costs[before_.first_state[v] + leaders_.state(v, s)]);
      for (const Pairwise::Member& member : before_.members_of(v)) {
        after_.members.push_back({member.node, after_.strategies.size()});
        for (std::size_t s = 0; s < count; ++s)
          after_.strategies.push_back(
              before_.strategies[member.first + leaders_.state(v, s)]);
      }
      for (const Pairwise::Hold& hold : before_.holds_of(v)) add_hold(v, hold, count);
    }
    after_.first_state.push_back(after_.costs.size());
    after_.first_member.push_back(after_.members.size());
    after_.first_hold.push_back(after_.holds.size());
  }

  // To what the new variable holds in the same sections already, if it does.
  void add_hold(std::size_t v, const Pairwise::Hold& hold, std::size_t count) {
    const auto begin = after_.holds.begin() + std::ptrdiff_t(after_.first_hold.back());
    auto same = std::find_if(begin, after_.holds.end(), [&](const Pairwise::Hold& other) {
      return other.from == hold.from && other.to == hold.to;
    });
    if (same == after_.holds.end()) {
      same = after_.holds.insert(same, {hold.from, hold.to, after_.usages.size()});
      after_.usages.resize(after_.usages.size() + count);
    }
    for (std::size_t s = 0; s < count; ++s)
      after_.usages[same->first + s] += before_.usages[hold.first + leaders_.state(v, s)];
  }

  void add_edge(const Pairwise::Edge& edge) {
    const std::size_t a = at(edge.a), b = at(edge.b), columns = before_.count(b);
    const std::int32_t one = number_[at(leaders_.of(a))];
    const std::int32_t other = number_[at(leaders_.of(b))];
    const auto cost = [&](std::size_t s, std::size_t t) {
      return before_
          .pair_costs[edge.first + leaders_.state(a, s) * columns + leaders_.state(b, t)];
    };
    if (one == other) {
      for (std::size_t s = 0; s < after_.count(at(one)); ++s)
        add_to(after_.costs[after_.first_state[at(one)] + s], cost(s, s));
      return;
    }
    const auto [low, high] = std::minmax(one, other);
    const std::size_t rows = after_.count(at(low)), width = after_.count(at(high));
    const auto [known, fresh] = edges_.try_emplace({low, high}, after_.pair_costs.size());
    if (fresh) {
      after_.edges.push_back({low, high, known->second});
      after_.pair_costs.resize(known->second + rows * width);
    }
    double* const costs = after_.pair_costs.data() + known->second;
    for (std::size_t s = 0; s < rows; ++s)
      for (std::size_t t = 0; t < width; ++t)
        add_to(costs[s * width + t], one == low ? cost(s, t) : cost(t, s));
  }

  const Pairwise& before_;
  const Leaders& leaders_;
  std::vector<std::vector<std::size_t>> group_;  // by leader: it and its followers
  std::vector<std::int32_t> number_;             // by leader: the new variable
  std::map<std::pair<std::int32_t, std::int32_t>, std::size_t> edges_;  // first entry
  Pairwise after_;
};

}  // namespace

std::optional<Pairwise> join_followers(const Pairwise& problem) {
  const Leaders leaders(problem);
  if (!leaders.any()) return std::nullopt;
  return Joining(problem, leaders).run();
}

}  // namespace espalier
