#include "espalier/sequential/series_parallel/shared_fork.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

#include "espalier/model/error.h"

namespace espalier {
namespace {

std::size_t at(std::int32_t number) { return static_cast<std::size_t>(number); }

// Runs, followers last.
std::vector<std::int32_t> bottom_up(const SharedFork& block) {
  std::vector<std::int32_t> waiting(block.runs.size(), 0), order;
  for (const std::int32_t run : block.follower) {
    if (run >= 0) ++waiting[at(run)];
  }
  for (std::size_t k = 0; k < block.runs.size(); ++k) {
    if (waiting[k] == 0) order.push_back(static_cast<std::int32_t>(k));
  }
  for (std::size_t k = 0; k < order.size(); ++k) {
    const std::int32_t run = block.follower[at(order[k])];
    if (run >= 0 && --waiting[at(run)] == 0) order.push_back(run);
  }
  return order;
}

// Readers that come before another one free nothing. Where one is left it is the last.
void settle(SharedFork& block, std::span<const std::int32_t> order) {
  std::vector<SharedFork::Shared> open;
  std::vector<bool> is_reader(block.runs.size()), reader_follows(block.runs.size());
  for (SharedFork::Shared& datum : block.shared) {
    for (const std::int32_t run : datum.readers) is_reader[at(run)] = true;
    for (auto run = order.rbegin(); run != order.rend(); ++run) {
      const std::int32_t follower = block.follower[at(*run)];
      reader_follows[at(*run)] =
          follower >= 0 && (is_reader[at(follower)] || reader_follows[at(follower)]);
    }
    for (const std::int32_t run : datum.readers) is_reader[at(run)] = false;
    std::erase_if(datum.readers,
                  [&](std::int32_t run) { return reader_follows[at(run)]; });
    if (datum.readers.size() == 1) {
      block.runs[at(datum.readers[0])].net -= datum.size;
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
        node_of_(block.runs.size(), -1),
        is_reader_(block.runs.size()),
        below_(block.runs.size()) {
    for (const SharedFork::Shared& datum : block.shared) {
      for (const std::int32_t run : datum.readers) is_reader_[at(run)] = true;
    }
  }

  FoldedBlock fold(std::span<const std::int32_t> order) {
    std::vector<std::int32_t> last;
    for (const std::int32_t run : order) {
      visit(run);
      const std::int32_t follower = block_.follower[at(run)];
      (follower < 0 ? last : below_[at(follower)]).push_back(run);
    }
    Part all;
    all.is_free = true;
    take_free(last, all);
    for (const std::int32_t run : last) {
      if (!parts_[at(run)].is_free) close(parts_[at(run)]);
    }
    close_free(all);
    for (const SharedFork::Shared& datum : block_.shared) {
      result_.shared.push_back({datum.size, {}});
      for (const std::int32_t run : datum.readers) {
        result_.shared.back().readers.push_back(node_of_[at(run)]);
      }
    }
    return std::move(result_);
  }

 private:
  // What a run and all before it have become.
  struct Part {
    bool is_free = false;  // no reader: nothing but `profile`
    ProfileHeaps::Handle profile;
    Profile open;                      // otherwise: the chain at the end, no nodes yet,
    std::vector<std::int32_t> before;  // and the nodes that it comes after
  };

  void visit(std::int32_t run) {
    Part& part = parts_[at(run)];
    const std::vector<std::int32_t>& below = below_[at(run)];
    const bool all_free = std::all_of(below.begin(), below.end(), [&](std::int32_t b) {
      return parts_[at(b)].is_free;
    });
    if (all_free && !is_reader_[at(run)]) {
      part.is_free = true;
      take_free(below, part);
      part.profile = profiles_.series(part.profile, block_.runs[at(run)], {});
      return;
    }
    if (below.size() == 1 && !all_free && !is_reader_[at(run)]) {
      part = std::move(parts_[at(below[0])]);
      append(part.open, block_.runs[at(run)], next_);
      return;
    }
    Part free;
    take_free(below, free);
    if (const std::int32_t node = close_free(free); node >= 0)
      part.before.push_back(node);
    for (const std::int32_t b : below) {
      if (!parts_[at(b)].is_free) part.before.push_back(close(parts_[at(b)]));
    }
    if (is_reader_[at(run)]) {
      node_of_[at(run)] = add_node(block_.runs[at(run)], part.before);
      part.before = {node_of_[at(run)]};
    } else {
      part.open = {block_.runs[at(run)]};
    }
  }

  // Free parts side by side.
  void take_free(const std::vector<std::int32_t>& runs, Part& into) {
    handles_.clear();
    for (const std::int32_t run : runs) {
      if (parts_[at(run)].is_free) handles_.push_back(parts_[at(run)].profile);
    }
    into.profile = profiles_.parallel(handles_);
  }

  // Nodes for a free part; the last one, -1 if there is none.
  std::int32_t close_free(const Part& part) {
    Part chain;
    chain.open = canon(profiles_.segments(part.profile), next_);
    return chain.open.empty() ? -1 : close(chain);
  }

  // Nodes for the open chain; the last one.
  std::int32_t close(Part& part) {
    for (const Segment& segment : part.open) {
      part.before = {add_node(segment, part.before)};
    }
    part.open.clear();
    return part.before.front();
  }

  std::int32_t add_node(const Segment& segment, std::span<const std::int32_t> before) {
    const auto node = static_cast<std::int32_t>(result_.nodes.size());
    result_.nodes.push_back(segment);
    for (const std::int32_t other : before) result_.before.emplace_back(other, node);
    return node;
  }

  const SharedFork& block_;
  std::span<TaskId> next_;
  ProfileHeaps& profiles_;
  std::vector<Part> parts_;
  std::vector<std::int32_t> node_of_;  // of readers
  std::vector<bool> is_reader_;
  std::vector<std::vector<std::int32_t>> below_;
  std::vector<ProfileHeaps::Handle> handles_;
  FoldedBlock result_;
};

}  // namespace

FoldedBlock fold(SharedFork block, ProfileHeaps& profiles) {
  const std::vector<std::int32_t> order = bottom_up(block);
  settle(block, order);
  return Folder(block, profiles).fold(order);
}

std::size_t downsets(const FoldedBlock& block, std::size_t limit) {
  // Of a node and all before it: all of them, or any downset of what is before.
  std::vector<double> number(block.nodes.size(), 1);
  std::vector<bool> has_follower(block.nodes.size(), false);
  double all = 1;
  auto pair = block.before.begin();
  for (std::size_t node = 0; node < block.nodes.size(); ++node) {
    for (; pair != block.before.end() && at(pair->second) == node; ++pair) {
      number[node] *= number[at(pair->first)];
      has_follower[at(pair->first)] = true;
    }
    number[node] += 1;
  }
  for (std::size_t node = 0; node < block.nodes.size(); ++node) {
    if (!has_follower[node]) all *= number[node];
  }
  return all < static_cast<double>(limit) ? static_cast<std::size_t>(std::llround(all))
                                          : limit;
}

std::vector<std::int32_t> last_reader_order(const FoldedBlock& block) {
  FoldedBlock local = block;  // each node a task of its own
  SharedFork forest;
  forest.follower.assign(block.nodes.size(), -1);
  for (const auto& [a, b] : block.before) forest.follower[at(a)] = b;
  for (std::size_t k = 0; k < block.nodes.size(); ++k) {
    local.nodes[k].first = local.nodes[k].last = task_id(k);
  }
  std::vector<TaskId> next(block.nodes.size());
  ProfileHeaps profiles(next);
  std::vector<std::int32_t> best, order, place(block.nodes.size(), 0);
  std::optional<Bytes> least;
  for (;;) {
    forest.runs = local.nodes;
    for (const SharedFork::Shared& datum : block.shared) {
      if (order.empty()) break;
      const std::int32_t last = *std::max_element(
          datum.readers.begin(), datum.readers.end(),
          [&](std::int32_t a, std::int32_t b) { return place[at(a)] < place[at(b)]; });
      forest.runs[at(last)].net -= datum.size;
    }
    order.clear();
    for (const TaskId task : rope(whole(fold(forest, profiles).nodes, next), next)) {
      place[index(task)] = static_cast<std::int32_t>(order.size());
      order.push_back(static_cast<std::int32_t>(task));
    }
    const Bytes peak = whole(profile_of(local, order, next), next).peak;
    if (least && peak >= *least) return best;
    least = peak;
    best = order;
  }
}

Profile profile_of(const FoldedBlock& block, std::span<const std::int32_t> order,
                   std::span<TaskId> next) {
  std::vector<std::size_t> place(block.nodes.size());
  for (std::size_t k = 0; k < order.size(); ++k) place[at(order[k])] = k;
  std::vector<Segment> sequence;
  for (const std::int32_t node : order) sequence.push_back(block.nodes[at(node)]);
  for (const SharedFork::Shared& datum : block.shared) {
    std::size_t last = 0;
    for (const std::int32_t node : datum.readers) last = std::max(last, place[at(node)]);
    sequence[last].net -= datum.size;
  }
  return canon(sequence, next);
}

// Node k is task k.
Block downset_block_of(const FoldedBlock& block) {
  const auto task_of = [](std::int32_t node) { return BlockTaskId{node}; };
  Block result;
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
  for (const SharedFork::Shared& datum : block.shared) {
    total = checked_add(total, datum.size);
    BlockDatum shared{datum.size, kNoBlockTask, {}, false};
    std::ranges::transform(datum.readers, std::back_inserter(shared.readers), task_of);
    result.data.push_back(std::move(shared));
  }
  (void)checked_add(total, highest);
  return result;
}

}  // namespace espalier
