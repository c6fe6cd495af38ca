#include "espalier/sequential/series_parallel/shared_fork.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

#include "espalier/model/error.h"

namespace espalier {
namespace {

// Runs, followers last.
std::vector<RunId> bottom_up(const SharedFork& block) {
  IdVector<RunId, std::size_t> waiting(block.runs.size(), 0);
  for (const RunId run : block.follower) {
    if (run != kNoRun) ++waiting[run];
  }
  std::vector<RunId> order;
  for (const RunId run : waiting.ids()) {
    if (waiting[run] == 0) order.push_back(run);
  }
  for (std::size_t k = 0; k < order.size(); ++k) {
    const RunId run = block.follower[order[k]];
    if (run != kNoRun && --waiting[run] == 0) order.push_back(run);
  }
  return order;
}

// Readers that come before another one free nothing. Where one is left it is the last.
void charge_known_last_readers(SharedFork& block, std::span<const RunId> order) {
  std::vector<SharedDatum<RunId>> open;
  IdVector<RunId, bool> is_reader(block.runs.size()), reader_follows(block.runs.size());
  for (SharedDatum<RunId>& datum : block.shared) {
    for (const RunId run : datum.readers) is_reader[run] = true;
    for (auto run = order.rbegin(); run != order.rend(); ++run) {
      const RunId follower = block.follower[*run];
      reader_follows[*run] =
          follower != kNoRun && (is_reader[follower] || reader_follows[follower]);
    }
    for (const RunId run : datum.readers) is_reader[run] = false;
    std::erase_if(datum.readers, [&](RunId run) { return reader_follows[run]; });
    if (datum.readers.size() == 1) {
      block.runs[datum.readers[0]].net -= datum.size;
    } else {
      open.push_back(std::move(datum));
    }
  }
  block.shared = std::move(open);
}

class Folder {
 public:
  Folder(const SharedFork& block, ProfileHeaps& profiles)
      : block_(block),
        next_(profiles.links()),
        profiles_(profiles),
        parts_(block.runs.size()),
        node_of_(block.runs.size(), kNoForkNode),
        is_reader_(block.runs.size()),
        below_(block.runs.size()) {
    for (const SharedDatum<RunId>& datum : block.shared) {
      for (const RunId run : datum.readers) is_reader_[run] = true;
    }
  }

  FoldedBlock fold(std::span<const RunId> order) {
    std::vector<RunId> last;
    for (const RunId run : order) {
      visit(run);
      const RunId follower = block_.follower[run];
      (follower == kNoRun ? last : below_[follower]).push_back(run);
    }
    Part all;
    all.is_free = true;
    take_free(last, all);
    for (const RunId run : last) {
      if (!parts_[run].is_free) close(parts_[run]);
    }
    close_free(all);
    for (const SharedDatum<RunId>& datum : block_.shared) {
      result_.shared.push_back({datum.size, {}});
      for (const RunId run : datum.readers) {
        result_.shared.back().readers.push_back(node_of_[run]);
      }
    }
    return std::move(result_);
  }

 private:
  // What a run and all before it have become.
  struct Part {
    bool is_free = false;  // no reader: nothing but `profile`
    ProfileHeaps::Handle profile;
    Profile open;                    // otherwise: the chain at the end, no nodes yet,
    std::vector<ForkNodeId> before;  // and the nodes that it comes after
  };

  void visit(RunId run) {
    Part& part = parts_[run];
    const std::vector<RunId>& below = below_[run];
    const bool all_free = std::all_of(below.begin(), below.end(),
                                      [&](RunId b) { return parts_[b].is_free; });
    if (all_free && !is_reader_[run]) {
      part.is_free = true;
      take_free(below, part);
      part.profile = profiles_.series(part.profile, block_.runs[run], {});
      return;
    }
    if (below.size() == 1 && !all_free && !is_reader_[run]) {
      part = std::move(parts_[below[0]]);
      append(part.open, block_.runs[run], next_);
      return;
    }
    Part free;
    take_free(below, free);
    if (const ForkNodeId node = close_free(free); node != kNoForkNode)
      part.before.push_back(node);
    for (const RunId b : below) {
      if (!parts_[b].is_free) part.before.push_back(close(parts_[b]));
    }
    if (is_reader_[run]) {
      node_of_[run] = add_node(block_.runs[run], part.before);
      part.before = {node_of_[run]};
    } else {
      part.open = {block_.runs[run]};
    }
  }

  // Free parts side by side.
  void take_free(const std::vector<RunId>& runs, Part& into) {
    handles_.clear();
    for (const RunId run : runs) {
      if (parts_[run].is_free) handles_.push_back(parts_[run].profile);
    }
    into.profile = profiles_.parallel(handles_);
  }

  // Nodes for a free part; the last one, if there is any.
  ForkNodeId close_free(const Part& part) {
    Part chain;
    chain.open = canon(profiles_.segments(part.profile), next_);
    return chain.open.empty() ? kNoForkNode : close(chain);
  }

  // Nodes for the open chain; the last one.
  ForkNodeId close(Part& part) {
    for (const Segment& segment : part.open) {
      part.before = {add_node(segment, part.before)};
    }
    part.open.clear();
    return part.before.front();
  }

  ForkNodeId add_node(const Segment& segment, std::span<const ForkNodeId> before) {
    const auto node = ForkNodeId{static_cast<std::int32_t>(result_.nodes.size())};
    result_.nodes.push_back(segment);
    for (const ForkNodeId other : before) result_.before.emplace_back(other, node);
    return node;
  }

  const SharedFork& block_;
  std::span<TaskId> next_;
  ProfileHeaps& profiles_;
  IdVector<RunId, Part> parts_;
  IdVector<RunId, ForkNodeId> node_of_;  // of readers
  IdVector<RunId, bool> is_reader_;
  IdVector<RunId, std::vector<RunId>> below_;
  std::vector<ProfileHeaps::Handle> handles_;
  FoldedBlock result_;
};

}  // namespace

FoldedBlock fold(SharedFork block, ProfileHeaps& profiles) {
  const std::vector<RunId> order = bottom_up(block);
  charge_known_last_readers(block, order);
  return Folder(block, profiles).fold(order);
}

std::size_t downsets(const FoldedBlock& block, std::size_t limit) {
  // Of a node and all before it: all of them, or any downset of what is before.
  std::vector<double> number(block.nodes.size(), 1);
  std::vector<bool> has_follower(block.nodes.size(), false);
  double all = 1;
  auto pair = block.before.begin();
  for (std::size_t node = 0; node < block.nodes.size(); ++node) {
    for (; pair != block.before.end() && index(pair->second) == node; ++pair) {
      number[node] *= number[index(pair->first)];
      has_follower[index(pair->first)] = true;
    }
    number[node] += 1;
  }
  for (std::size_t node = 0; node < block.nodes.size(); ++node) {
    if (!has_follower[node]) all *= number[node];
  }
  return all < static_cast<double>(limit) ? static_cast<std::size_t>(std::llround(all))
                                          : limit;
}

namespace {

// Of a forest whose runs are the nodes.
RunId run_of(ForkNodeId node) { return RunId{static_cast<std::int32_t>(node)}; }

}  // namespace

std::vector<ForkNodeId> last_reader_order(const FoldedBlock& block) {
  FoldedBlock local = block;  // each node a task of its own
  SharedFork forest;
  forest.follower.assign(block.nodes.size(), kNoRun);
  for (const auto& [a, b] : block.before) forest.follower[run_of(a)] = run_of(b);
  for (std::size_t k = 0; k < block.nodes.size(); ++k) {
    local.nodes[k].first = local.nodes[k].last = task_id(k);
  }
  std::vector<TaskId> next(block.nodes.size());
  ProfileHeaps profiles(next);
  std::vector<ForkNodeId> best, order;
  IdVector<ForkNodeId, std::size_t> place(block.nodes.size(), 0);
  std::optional<Bytes> least;
  for (;;) {
    forest.runs.clear();
    for (const Segment& node : local.nodes) forest.runs.push_back(node);
    for (const SharedDatum<ForkNodeId>& datum : block.shared) {
      if (order.empty()) break;
      const ForkNodeId last = *std::ranges::max_element(
          datum.readers, {}, [&](ForkNodeId node) { return place[node]; });
      forest.runs[run_of(last)].net -= datum.size;
    }
    order.clear();
    for (const TaskId task : rope(whole(fold(forest, profiles).nodes, next), next)) {
      const ForkNodeId node{static_cast<std::int32_t>(task)};
      place[node] = order.size();
      order.push_back(node);
    }
    const Bytes peak = whole(profile_of(local, order, next), next).peak;
    if (least && peak >= *least) return best;
    least = peak;
    best = order;
  }
}

Profile profile_of(const FoldedBlock& block, std::span<const ForkNodeId> order,
                   std::span<TaskId> next) {
  IdVector<ForkNodeId, std::size_t> place(block.nodes.size());
  for (std::size_t k = 0; k < order.size(); ++k) place[order[k]] = k;
  std::vector<Segment> sequence;
  for (const ForkNodeId node : order) sequence.push_back(block.nodes[index(node)]);
  for (const SharedDatum<ForkNodeId>& datum : block.shared) {
    std::size_t last = 0;
    for (const ForkNodeId node : datum.readers) last = std::max(last, place[node]);
    sequence[last].net -= datum.size;
  }
  return canon(sequence, next);
}

// Node k is task k.
DownsetBlock downset_block_of(const FoldedBlock& block) {
  const auto task_of = [](ForkNodeId node) {
    return BlockTaskId{static_cast<std::int32_t>(node)};
  };
  DownsetBlock result;
  for (const auto& [a, b] : block.before) {
    result.before.emplace_back(task_of(a), task_of(b));
  }
  Bytes total = 0, highest = 0;
  for (const Segment& node : block.nodes) {
    const BlockTaskId task = result.cost.push_back(node.peak);
    highest = std::max(highest, node.peak - std::max<Bytes>(node.net, 0));
    total = checked_add(total, std::abs(node.net));
    if (node.net > 0) result.data.push_back({node.net, task, {}, true});
    if (node.net < 0) result.data.push_back({-node.net, kNoBlockTask, {task}, false});
  }
  for (const SharedDatum<ForkNodeId>& datum : block.shared) {
    total = checked_add(total, datum.size);
    BlockDatum shared{datum.size, kNoBlockTask, {}, false};
    std::ranges::transform(datum.readers, std::back_inserter(shared.readers), task_of);
    result.data.push_back(std::move(shared));
  }
  (void)checked_add(total, highest);
  return result;
}

}  // namespace espalier
