#include "espalier/sequential/dag/decompose.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "espalier/sequential/downsets/dominant_schedule.h"

namespace espalier {
namespace {

class UnionFind {
 public:
  explicit UnionFind(std::size_t tasks) : parent_(tasks) {
    for (const BlockTaskId task : parent_.ids()) parent_[task] = task;
  }
  BlockTaskId find(BlockTaskId task) {
    while (parent_[task] != task) {
      parent_[task] = parent_[parent_[task]];
      task = parent_[task];
    }
    return task;
  }
  void unite(BlockTaskId a, BlockTaskId b) { parent_[find(a)] = find(b); }

 private:
  IdVector<BlockTaskId, BlockTaskId> parent_;
};

// Which positions hold a task that every other one comes before or after.
std::vector<bool> separators(const BlockIndex& block,
                             const std::vector<BlockTaskId>& order) {
  const std::size_t n = order.size();
  IdVector<BlockTaskId, std::size_t> position(n);
  for (std::size_t k = 0; k < n; ++k) position[order[k]] = k;
  // Tasks without a successor among positions 0 … k, and without a predecessor from k on.
  std::vector<std::ptrdiff_t> ends(n + 1, 0), begins(n + 1, 0);
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t first_successor = n, past_predecessors = 0;
    for (const BlockTaskId after : block.successors(order[k])) {
      first_successor = std::min(first_successor, position[after]);
    }
    for (const BlockTaskId before : block.predecessors(order[k])) {
      past_predecessors = std::max(past_predecessors, position[before] + 1);
    }
    ++ends[k];
    --ends[first_successor];
    ++begins[past_predecessors];
    --begins[k + 1];
  }
  std::vector<bool> separates(n);
  std::ptrdiff_t open_ends = 0, open_begins = 0;
  for (std::size_t k = 0; k < n; ++k) {
    open_ends += ends[k];
    open_begins += begins[k];
    separates[k] = open_ends == 1 && open_begins == 1;
  }
  return separates;
}

std::vector<TaskId> names_of(const TaskSet& tasks, std::span<const TaskId> names) {
  std::vector<TaskId> result;
  for (const BlockTaskId task : tasks) result.push_back(names[index(task)]);
  return result;
}

std::optional<Profile> dominant_profile(const DownsetBlock& block,
                                        std::span<const TaskId> names,
                                        std::span<TaskId> next, std::size_t downsets) {
  const auto segments = dominant_schedule(block, downsets);
  if (!segments) return std::nullopt;
  Profile profile;
  for (const BlockSegment& segment : *segments) {
    for (std::size_t k = 1; k < segment.tasks.size(); ++k) {
      next[index(names[index(segment.tasks[k - 1])])] = names[index(segment.tasks[k])];
    }
    append(profile,
           {segment.peak, segment.net, names[index(segment.tasks.front())],
            names[index(segment.tasks.back())]},
           next);
  }
  return profile;
}

}  // namespace

std::vector<TaskSet> independent_parts(const BlockIndex& block) {
  UnionFind groups(block.size());
  for (const BlockTaskId task : ids<BlockTaskId>(block.size())) {
    for (const BlockTaskId after : block.successors(task)) groups.unite(task, after);
  }
  for (const BlockDatumId datum : ids<BlockDatumId>(block.data())) {
    if (block.stays(datum)) continue;
    const auto readers = block.readers(datum);
    for (const BlockTaskId reader : readers) groups.unite(readers.front(), reader);
  }
  std::vector<TaskSet> parts;
  constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  IdVector<BlockTaskId, std::size_t> part_of(block.size(), kNone);
  for (const BlockTaskId task : block.topological_order()) {
    std::size_t& part = part_of[groups.find(task)];
    if (part == kNone) {
      part = parts.size();
      parts.emplace_back();
    }
    parts[part].push_back(task);
  }
  return parts;
}

std::vector<TaskSet> consecutive_parts(const BlockIndex& block) {
  const std::vector<BlockTaskId> order = block.topological_order();
  const std::vector<bool> separates = separators(block, order);
  std::vector<TaskSet> parts;
  bool starts = true;  // a part starts here
  for (std::size_t k = 0; k < order.size(); ++k) {
    if (starts || separates[k]) parts.emplace_back();
    parts.back().push_back(order[k]);
    starts = separates[k];
  }
  return parts;
}

std::optional<Profile> dominant_profile(const DownsetBlock& block,
                                        std::span<const TaskId> names,
                                        std::span<TaskId> next,
                                        const ProfileLimits& limits) {
  if (limits.stop && limits.stop()) return std::nullopt;
  const BlockIndex index(block);
  std::vector<TaskSet> parts = independent_parts(index);
  const bool independent = parts.size() > 1;
  if (!independent) parts = consecutive_parts(index);
  if (parts.size() <= 1 || limits.depth == 0) {
    return dominant_profile(block, names, next, limits.downsets);
  }
  BlockCutter cutter(index);
  IdVector<BlockTaskId, bool> has_run(block.size(), false);
  std::vector<Profile> profiles;
  for (const TaskSet& tasks : parts) {
    auto profile =
        dominant_profile(cutter.part(tasks, has_run), names_of(tasks, names), next,
                         {limits.downsets, limits.depth - 1, limits.stop});
    if (!profile) return std::nullopt;
    profiles.push_back(std::move(*profile));
    for (const BlockTaskId task : tasks) has_run[task] = !independent;
  }
  if (independent) return parallel(profiles, next);
  Profile all;
  for (const Profile& profile : profiles) all = series(std::move(all), profile, next);
  return all;
}

}  // namespace espalier
