#include "espalier/sequential/dag/memory_lower_bound.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace espalier {
namespace {

std::size_t at(std::int32_t number) { return static_cast<std::size_t>(number); }

// A set of tasks for each task, a bit each.
class TaskSets {
 public:
  explicit TaskSets(std::size_t tasks)
      : words_((tasks + 63) / 64), bits_(tasks * words_, 0) {}

  [[nodiscard]] std::size_t words() const { return words_; }
  [[nodiscard]] std::span<std::uint64_t> operator[](std::int32_t task) {
    return std::span(bits_).subspan(at(task) * words_, words_);
  }

 private:
  std::size_t words_;
  std::vector<std::uint64_t> bits_;
};

void unite(std::span<std::uint64_t> into, std::span<const std::uint64_t> other) {
  for (std::size_t word = 0; word < into.size(); ++word) into[word] |= other[word];
}

// Each task with all tasks before it, and with all tasks after it.
struct Reach {
  TaskSets up_to, from;

  explicit Reach(const BlockIndex& block) : up_to(block.size()), from(block.size()) {
    // About 10^8 operations at most: not asked to stop in between.
    const std::vector<std::int32_t> order = block.topological_order();
    for (const std::int32_t task : order) {
      up_to[task][at(task) / 64] |= std::uint64_t{1} << (at(task) % 64);
      for (const std::int32_t before : block.predecessors(task)) {
        unite(up_to[task], up_to[before]);
      }
    }
    for (auto task = order.rbegin(); task != order.rend(); ++task) {
      from[*task][at(*task) / 64] |= std::uint64_t{1} << (at(*task) % 64);
      for (const std::int32_t after : block.successors(*task)) {
        unite(from[*task], from[after]);
      }
    }
  }
};

// The tasks while which the datum is certainly in memory, its producer left out.
void list_holders(const BlockIndex& block, std::int32_t datum, Reach& reach,
                  std::vector<std::uint64_t>& holders) {
  if (block.stays(datum)) {
    holders.assign(reach.from.words(), ~std::uint64_t{0});
  } else {
    holders.assign(reach.from.words(), 0);
    for (const std::int32_t reader : block.readers(datum)) {
      unite(holders, reach.up_to[reader]);
    }
  }
  const std::int32_t producer = block.producer(datum);
  if (producer < 0) return;
  const auto after = reach.from[producer];
  for (std::size_t word = 0; word < holders.size(); ++word) holders[word] &= after[word];
  holders[at(producer) / 64] &= ~(std::uint64_t{1} << (at(producer) % 64));
}

// @return nullopt when asked to stop
std::optional<std::vector<Bytes>> held_by_precedence(const BlockIndex& block,
                                                     const std::function<bool()>& stop) {
  constexpr std::size_t kAskEvery = 64;
  Reach reach(block);
  std::vector<Bytes> held(block.size(), 0);
  std::vector<std::uint64_t> holders;
  for (std::size_t d = 0; d < block.data(); ++d) {
    const auto datum = static_cast<std::int32_t>(d);
    if (stop && d % kAskEvery == 0 && stop()) return std::nullopt;
    if (block.datum_size(datum) == 0) continue;
    list_holders(block, datum, reach, holders);
    for (std::size_t word = 0; word < holders.size(); ++word) {
      for (std::uint64_t left = holders[word]; left != 0; left &= left - 1) {
        const auto i = word * 64 + static_cast<std::size_t>(std::countr_zero(left));
        if (i < held.size()) held[i] += block.datum_size(datum);
      }
    }
  }
  return held;
}

std::vector<Bytes> held_as_inputs(const BlockIndex& block) {
  Bytes always = 0;
  for (std::size_t d = 0; d < block.data(); ++d) {
    const auto datum = static_cast<std::int32_t>(d);
    if (block.stays(datum) && block.producer(datum) < 0) {
      always += block.datum_size(datum);
    }
  }
  std::vector<Bytes> held(block.size(), always);
  for (std::size_t i = 0; i < block.size(); ++i) {
    for (const std::int32_t datum : block.inputs(static_cast<std::int32_t>(i))) {
      if (block.stays(datum) && block.producer(datum) < 0) continue;
      held[i] += block.datum_size(datum);
    }
  }
  return held;
}

}  // namespace

Bytes memory_lower_bound(const BlockIndex& block, std::size_t most_tasks,
                         const std::function<bool()>& stop) {
  std::optional<std::vector<Bytes>> by_precedence;
  if (block.size() <= most_tasks && !(stop && stop()))
    by_precedence = held_by_precedence(block, stop);
  const std::vector<Bytes> held =
      by_precedence ? std::move(*by_precedence) : held_as_inputs(block);
  Bytes bound = std::max(block.start_level(), block.end_level());
  for (std::size_t i = 0; i < block.size(); ++i) {
    bound = std::max(bound, held[i] + block.cost(static_cast<std::int32_t>(i)));
  }
  return bound;
}

}  // namespace espalier
