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

// A set of tasks for each task, a bit each.
class TaskSets {
 public:
  explicit TaskSets(std::size_t tasks)
      : words_((tasks + 63) / 64), bits_(tasks * words_, 0) {}

  [[nodiscard]] std::size_t words() const { return words_; }
  [[nodiscard]] std::span<std::uint64_t> operator[](BlockTaskId task) {
    return std::span(bits_).subspan(index(task) * words_, words_);
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
    const std::vector<BlockTaskId> order = block.topological_order();
    for (const BlockTaskId task : order) {
      up_to[task][index(task) / 64] |= std::uint64_t{1} << (index(task) % 64);
      for (const BlockTaskId before : block.predecessors(task)) {
        unite(up_to[task], up_to[before]);
      }
    }
    for (auto task = order.rbegin(); task != order.rend(); ++task) {
      from[*task][index(*task) / 64] |= std::uint64_t{1} << (index(*task) % 64);
      for (const BlockTaskId after : block.successors(*task)) {
        unite(from[*task], from[after]);
      }
    }
  }
};

// The tasks while which the datum is certainly in memory, its producer left out.
void list_holders(const BlockIndex& block, BlockDatumId datum, Reach& reach,
                  std::vector<std::uint64_t>& holders) {
  if (block.stays(datum)) {
    holders.assign(reach.from.words(), ~std::uint64_t{0});
  } else {
    holders.assign(reach.from.words(), 0);
    for (const BlockTaskId reader : block.readers(datum)) {
      unite(holders, reach.up_to[reader]);
    }
  }
  const BlockTaskId producer = block.producer(datum);
  if (producer == kNoBlockTask) return;
  const auto after = reach.from[producer];
  for (std::size_t word = 0; word < holders.size(); ++word) holders[word] &= after[word];
  holders[index(producer) / 64] &= ~(std::uint64_t{1} << (index(producer) % 64));
}

// @return nullopt when asked to stop
std::optional<IdVector<BlockTaskId, Bytes>> held_by_precedence(
    const BlockIndex& block, const std::function<bool()>& stop) {
  constexpr std::size_t kAskEvery = 64;
  Reach reach(block);
  IdVector<BlockTaskId, Bytes> held(block.size(), 0);
  std::vector<std::uint64_t> holders;
  for (const BlockDatumId datum : ids<BlockDatumId>(block.data())) {
    if (stop && index(datum) % kAskEvery == 0 && stop()) return std::nullopt;
    if (block.datum_size(datum) == 0) continue;
    list_holders(block, datum, reach, holders);
    for (std::size_t word = 0; word < holders.size(); ++word) {
      for (std::uint64_t left = holders[word]; left != 0; left &= left - 1) {
        const auto i = word * 64 + static_cast<std::size_t>(std::countr_zero(left));
        if (i < held.size())
          held[BlockTaskId{static_cast<std::int32_t>(i)}] += block.datum_size(datum);
      }
    }
  }
  return held;
}

IdVector<BlockTaskId, Bytes> held_as_inputs(const BlockIndex& block) {
  Bytes always = 0;
  for (const BlockDatumId datum : ids<BlockDatumId>(block.data())) {
    if (block.stays(datum) && block.producer(datum) == kNoBlockTask) {
      always += block.datum_size(datum);
    }
  }
  IdVector<BlockTaskId, Bytes> held(block.size(), always);
  for (const BlockTaskId task : held.ids()) {
    for (const BlockDatumId datum : block.inputs(task)) {
      if (block.stays(datum) && block.producer(datum) == kNoBlockTask) continue;
      held[task] += block.datum_size(datum);
    }
  }
  return held;
}

}  // namespace

Bytes memory_lower_bound(const BlockIndex& block, std::size_t most_tasks,
                         const std::function<bool()>& stop) {
  std::optional<IdVector<BlockTaskId, Bytes>> by_precedence;
  if (block.size() <= most_tasks && !(stop && stop()))
    by_precedence = held_by_precedence(block, stop);
  const IdVector<BlockTaskId, Bytes> held =
      by_precedence ? std::move(*by_precedence) : held_as_inputs(block);
  Bytes bound = std::max(block.start_level(), block.end_level());
  for (const BlockTaskId task : held.ids()) {
    bound = std::max(bound, held[task] + block.cost(task));
  }
  return bound;
}

}  // namespace espalier
