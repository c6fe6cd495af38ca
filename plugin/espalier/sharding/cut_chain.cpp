#include "espalier/sharding/cut_chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace espalier {

namespace {

constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();

class Cutter {
 public:
  Cutter(const RotorTable& table, std::span<const Bytes> weights,
         std::span<const std::int64_t> under_way)
      : table_(table), under_way_(under_way), weights_before_(1, 0) {
    for (const Bytes each : weights)
      weights_before_.push_back(checked_add(weights_before_.back(), each));
  }

  [[nodiscard]] Bytes weights(std::int64_t i, std::int64_t t) const {
    return weights_before_[static_cast<std::size_t>(t) + 1] -
           weights_before_[static_cast<std::size_t>(i)];
  }
  [[nodiscard]] Bytes budget(std::int64_t i, std::int64_t t, std::size_t s,
                             Bytes bound) const {
    return (bound - weights(i, t)) / under_way_[s];
  }
  /// Of one micro-batch; kNone where it does not fit.
  [[nodiscard]] Nanoseconds cost(std::int64_t i, std::int64_t t, std::size_t s,
                                 Bytes bound) const {
    if (bound < weights(i, t)) return kNone;
    const Bytes bytes = budget(i, t, s, bound) - table_.chain().stage(i).input;
    const auto steps = table_.part(i, t);
    const auto above = std::upper_bound(
        steps.begin(), steps.end(), bytes,
        [](Bytes m, const BudgetPoint& point) { return m < point.bytes; });
    return above == steps.begin() ? kNone : (above - 1)->cost;
  }
  /// The least bound that holds the part.
  [[nodiscard]] Bytes least(std::int64_t i, std::int64_t t, std::size_t s) const {
    const Bytes each =
        checked_add(table_.part(i, t).front().bytes, table_.chain().stage(i).input);
    return checked_add(checked_mul(each, under_way_[s]), weights(i, t));
  }

  /// Cuts of the least maximum of value(i, t, s) over the parts: first stages, and that
  /// maximum; kNone where there is none.
  ///   best(s, t) = min over i of max( best(s-1, i-1), value(i, t, s) )
  template <class Value>
  std::pair<std::vector<std::int64_t>, std::int64_t> minimax(const Value& value) const {
    const std::int64_t n = table_.chain().size();
    const std::size_t p = under_way_.size();
    const auto cells = static_cast<std::size_t>(n);
    std::vector<std::vector<std::int64_t>> first(p, std::vector<std::int64_t>(cells, 0));
    std::vector<std::int64_t> before, now(cells);
    for (std::int64_t t = 0; t < n; ++t)
      now[static_cast<std::size_t>(t)] = value(std::int64_t{0}, t, std::size_t{0});
    for (std::size_t s = 1; s < p; ++s) {
      before = std::exchange(now, std::vector<std::int64_t>(cells, kNone));
      for (std::int64_t t = static_cast<std::int64_t>(s); t < n; ++t) {
        for (std::int64_t i = static_cast<std::int64_t>(s); i <= t; ++i) {
          const std::int64_t longest =
              std::max(before[static_cast<std::size_t>(i - 1)], value(i, t, s));
          if (longest >= now[static_cast<std::size_t>(t)]) continue;
          now[static_cast<std::size_t>(t)] = longest;
          first[s][static_cast<std::size_t>(t)] = i;
        }
      }
    }
    std::vector<std::int64_t> firsts(p, 0);
    std::int64_t t = n - 1;
    for (std::size_t s = p; s-- > 0; t = firsts[s] - 1)
      firsts[s] =
          s == 0 || now.back() == kNone ? 0 : first[s][static_cast<std::size_t>(t)];
    return {std::move(firsts), now.back()};
  }

 private:
  const RotorTable& table_;
  std::span<const std::int64_t> under_way_;
  std::vector<Bytes> weights_before_;
};

void check(const RotorTable& table, std::span<const Bytes> weights,
           std::span<const std::int64_t> under_way) {
  const auto stages = static_cast<std::size_t>(table.chain().size());
  if (weights.size() != stages)
    throw InvalidInput(
        fmt::format("weights of {} stages for a chain of {}", weights.size(), stages));
  if (under_way.empty() || under_way.size() > stages)
    throw InvalidInput(
        fmt::format("a chain of {} stages cut into {} parts", stages, under_way.size()));
  for (std::size_t i = 0; i < stages; ++i)
    if (weights[i] < 0)
      throw InvalidInput(fmt::format("stage {}: {} bytes of weights", i, weights[i]));
  for (std::size_t s = 0; s < under_way.size(); ++s)
    if (under_way[s] < 1)
      throw InvalidInput(
          fmt::format("part {}: {} micro-batches under way", s, under_way[s]));
}

}  // namespace

Expected<ChainCut> cut_chain(const RotorTable& table, std::span<const Bytes> weights,
                             std::span<const std::int64_t> under_way, Bytes bound) {
  check(table, weights, under_way);
  const Cutter cutter(table, weights, under_way);
  const auto [firsts, longest] =
      cutter.minimax([&](std::int64_t i, std::int64_t t, std::size_t s) {
        return cutter.cost(i, t, s, bound);
      });
  if (longest == kNone) {
    const Bytes least = cutter
                            .minimax([&](std::int64_t i, std::int64_t t, std::size_t s) {
                              return cutter.least(i, t, s);
                            })
                            .second;
    return tl::unexpected(Infeasible{Infeasible::Reason::kNoneFound, bound, least, 0});
  }
  ChainCut cut;
  cut.longest = longest;
  for (std::size_t s = 0; s < firsts.size(); ++s) {
    const std::int64_t i = firsts[s];
    const std::int64_t t =
        s + 1 < firsts.size() ? firsts[s + 1] - 1 : table.chain().size() - 1;
    cut.parts.push_back({i, t, cutter.weights(i, t), cutter.budget(i, t, s, bound),
                         cutter.cost(i, t, s, bound)});
  }
  return cut;
}

}  // namespace espalier
