#include "espalier/parallel/ancestor_slack.h"

#include <algorithm>

#include "espalier/model/error.h"

namespace espalier {
namespace {

// The child of largest subtree per task, -1 for leaves; ties go to the smallest id.
std::vector<std::int32_t> heavy_children(const TaskTree& tree) {
  std::vector<std::int32_t> size(tree.size(), 1), heavy(tree.size(), -1);
  for (const TaskId task : tree.postorder()) {
    std::int32_t largest = 0;
    for (const TaskId child : tree.children(task)) {
      size[index(task)] += size[index(child)];
      if (size[index(child)] > largest) {
        largest = size[index(child)];
        heavy[index(task)] = static_cast<std::int32_t>(child);
      }
    }
  }
  return heavy;
}

}  // namespace

AncestorSlack::AncestorSlack(const TaskTree& tree)
    : tree_(&tree), path_of_(tree.size()), place_(tree.size()), nodes_(2 * tree.size()) {
  const std::vector<std::int32_t> heavy = heavy_children(tree);
  for (const TaskId task : tree.postorder()) {
    const std::int32_t child = heavy[index(task)];
    if (child < 0) {
      path_of_[index(task)] = static_cast<std::int32_t>(paths_.size());
      paths_.emplace_back();
    } else {
      path_of_[index(task)] = path_of_[static_cast<std::size_t>(child)];
    }
    Path& path = paths_[static_cast<std::size_t>(path_of_[index(task)])];
    place_[index(task)] = path.length++;
  }
  std::int32_t first = 0;
  for (Path& path : paths_) {
    path.first = first;
    first += path.length;
  }
  path_tasks_.resize(tree.size());
  for (const TaskId task : tree.postorder()) {
    const Path& path = paths_[static_cast<std::size_t>(path_of_[index(task)])];
    path_tasks_[static_cast<std::size_t>(path.first + place_[index(task)])] = task;
  }
}

namespace {

// From the root of a path's segment tree down to the leaf of `place`: calls `visit` with
// every node above the leaf and returns the leaf.
template <class Visit>
std::size_t descend(std::int32_t first, std::int32_t length, std::int32_t place,
                    Visit&& visit) {
  auto node = static_cast<std::size_t>(2 * static_cast<std::int64_t>(first));
  std::int32_t low = 0, high = length;
  while (high - low > 1) {
    visit(node);
    const std::int32_t middle = low + (high - low) / 2;
    if (place < middle) {
      high = middle;
      node += 1;
    } else {
      node += static_cast<std::size_t>(2 * (middle - low));
      low = middle;
    }
  }
  return node;
}

}  // namespace

void AncestorSlack::open(TaskId task, Bytes slack) {
  Path& path = paths_[static_cast<std::size_t>(path_of_[index(task)])];
  ESPALIER_ASSERT(place_[index(task)] == path.open, "tasks open children first");
  ESPALIER_ASSERT(slack >= 0, "a slack is not negative");
  const std::int32_t place = path.open++;
  // Nothing was ever taken from a range that reaches a task not open, so that on the way
  // down every `taken` is 0 and `least` is a plain minimum.
  const std::size_t leaf = descend(path.first, path.length, place, [&](std::size_t node) {
    ESPALIER_ASSERT(nodes_[node].taken == 0, "nothing taken from tasks not open");
    nodes_[node].least = std::min(nodes_[node].least, slack);
  });
  nodes_[leaf].least = slack;
}

Bytes AncestorSlack::slack(TaskId task) const {
  const Path& path = paths_[static_cast<std::size_t>(path_of_[index(task)])];
  Bytes taken = 0;
  const std::size_t leaf =
      descend(path.first, path.length, place_[index(task)],
              [&](std::size_t node) { taken += nodes_[node].taken; });
  return nodes_[leaf].least - taken;
}

Bytes AncestorSlack::climb(TaskId start, Bytes flow, std::span<Bytes> kept) {
  for (std::optional<TaskId> task = start; task && flow > 0;) {
    const Path& path = paths_[static_cast<std::size_t>(path_of_[index(*task)])];
    const std::int32_t from = place_[index(*task)];
    if (from >= path.open) return flow;
    Climb climb{from, path.open, flow, kept, path.first};
    pass(static_cast<std::size_t>(2 * static_cast<std::int64_t>(path.first)), 0,
         path.length, 0, climb);
    flow = climb.flow;
    if (path.open < path.length) return flow;
    task = tree_->parent(
        path_tasks_[static_cast<std::size_t>(path.first + path.length - 1)]);
  }
  return flow;
}

// Recursion over the segment tree: at most 32 deep.
void AncestorSlack::pass(std::size_t node, std::int32_t low, std::int32_t high,
                         Bytes above, Climb& climb) {
  if (climb.flow == 0 || high <= climb.from || low >= climb.end) return;
  Node& here = nodes_[node];
  const bool inside = low >= climb.from && high <= climb.end;
  if (inside && here.least - above >= climb.flow) {
    here.least -= climb.flow;
    here.taken += high - low > 1 ? climb.flow : 0;
    return;
  }
  if (high - low == 1) {
    const Bytes slack = here.least - above;
    const TaskId task = path_tasks_[static_cast<std::size_t>(climb.first + low)];
    climb.kept[index(task)] += climb.flow - slack;
    climb.flow = slack;
    here.least = above;
    return;
  }
  const std::int32_t middle = low + (high - low) / 2;
  const std::size_t right = node + static_cast<std::size_t>(2 * (middle - low));
  pass(node + 1, low, middle, above + here.taken, climb);
  pass(right, middle, high, above + here.taken, climb);
  here.least = std::min(nodes_[node + 1].least, nodes_[right].least) - here.taken;
}

}  // namespace espalier
