#include "espalier/model/peak_parts.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "espalier/model/replay.h"

namespace espalier {
namespace {

constexpr std::size_t kNoReader = std::numeric_limits<std::size_t>::max();

std::size_t reader_of(const TaskTree& tree, TaskId task) {
  const std::optional<TaskId> parent = tree.parent(task);
  return parent ? index(*parent) : kNoReader;
}

// Where each reader stands in the answer: the path from `task` up first, all others
// behind it by their numbers.
std::vector<std::size_t> ranks(const TaskTree& tree, TaskId task) {
  std::vector<std::size_t> rank(tree.size());
  for (std::size_t i = 0; i < rank.size(); ++i) rank[i] = tree.size() + i;
  std::size_t place = 0;
  for (std::optional<TaskId> at = task; at; at = tree.parent(*at))
    rank[index(*at)] = place++;
  return rank;
}

// Outputs of `ended` that are in memory, by reader.
std::vector<PeakParts::Waiting> waiting(const TaskTree& tree,
                                        std::span<const TaskId> ended, TaskId task) {
  std::vector<bool> has_ended(tree.size(), false);
  for (const TaskId each : ended) has_ended[index(each)] = true;
  const std::vector<std::size_t> rank = ranks(tree, task);
  std::vector<std::pair<std::size_t, TaskId>> held;  // by rank of the reader
  for (const TaskId each : ended) {
    const std::size_t reader = reader_of(tree, each);
    if (reader == kNoReader)
      held.emplace_back(kNoReader, each);
    else if (!has_ended[reader])
      held.emplace_back(rank[reader], each);
  }
  std::ranges::stable_sort(held, {}, &std::pair<std::size_t, TaskId>::first);
  std::vector<PeakParts::Waiting> groups;
  std::size_t last = 0;
  for (const auto& [place, each] : held) {
    if (groups.empty() || place != last)
      groups.push_back({.reader = tree.parent(each), .outputs = {}, .bytes = 0});
    last = place;
    groups.back().outputs.push_back(each);
    groups.back().bytes += tree.output_size(each);
  }
  return groups;
}

}  // namespace

Bytes PeakParts::total() const {
  Bytes sum = execution + output + retained + kept_before;
  for (const Waiting& group : waiting) sum += group.bytes;
  return sum;
}

std::optional<PeakParts> peak_parts(const TaskTree& tree, std::span<const TaskId> order) {
  const std::optional<TaskId> task = replay(tree, order).peak_task;
  if (!task) return std::nullopt;
  const auto place = std::ranges::find(order, *task) - order.begin();
  const std::span<const TaskId> ended = order.first(static_cast<std::size_t>(place));
  PeakParts parts{.task = *task,
                  .execution = tree.execution_size(*task),
                  .output = tree.output_size(*task),
                  .retained = tree.retained_size(*task),
                  .kept_before = 0,
                  .waiting = waiting(tree, ended, *task)};
  for (const TaskId each : ended) parts.kept_before += tree.retained_size(each);
  return parts;
}

}  // namespace espalier
