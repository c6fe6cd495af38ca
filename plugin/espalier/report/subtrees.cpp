#include "espalier/report/subtrees.h"

#include <algorithm>
#include <queue>
#include <utility>

#include "espalier/parallel/worker_share.h"

namespace espalier::report {
namespace {

constexpr double kLeastPart = 0.03, kMostLeftOut = 0.25;

struct Candidate {
  Flops work;
  TaskId task;
  bool operator<(const Candidate& other) const {  // the largest is cut first
    return work != other.work ? work < other.work : task > other.task;
  }
};

std::vector<Candidate> choose(const TaskTree& tree, std::size_t most) {
  const std::vector<Flops> work = subtree_works(tree);
  Flops all = 0, left_out = 0;
  for (const TaskId root : tree.roots()) all += work[index(root)];

  std::priority_queue<Candidate> open;
  std::vector<Candidate> chosen;
  const auto offer = [&](TaskId task) {
    const Flops part = work[index(task)];
    if (part < kLeastPart * all || part <= 0) return Flops{0};
    open.push({part, task});
    return part;
  };
  Flops kept = 0;
  for (const TaskId root : tree.roots()) kept += offer(root);
  left_out = all - kept;
  while (!open.empty()) {
    const Candidate next = open.top();
    open.pop();
    std::size_t parts = 0;
    Flops below = 0;
    for (const TaskId child : tree.children(next.task)) {
      const Flops part = work[index(child)];
      if (part < kLeastPart * all || part <= 0) continue;
      ++parts;
      below += part;
    }
    const Flops lost = next.work - below;
    if (parts == 0 || open.size() + chosen.size() + parts > most ||
        left_out + lost > kMostLeftOut * all) {
      chosen.push_back(next);
      continue;
    }
    left_out += lost;
    for (const TaskId child : tree.children(next.task)) (void)offer(child);
  }
  // More roots than colours: the largest have one.
  std::sort(chosen.begin(), chosen.end(),
            [](const Candidate& a, const Candidate& b) { return b < a; });
  if (chosen.size() > most) chosen.resize(most);
  return chosen;
}

}  // namespace

Subtrees main_subtrees(const TaskTree& tree, std::size_t most) {
  Subtrees result;
  result.of_task.assign(tree.size(), -1);
  for (const Candidate& each : choose(tree, most)) {
    result.of_task[index(each.task)] = static_cast<std::int32_t>(result.roots.size());
    result.roots.push_back(each.task);
  }
  const auto bottom_up = tree.postorder();
  for (auto task = bottom_up.rbegin(); task != bottom_up.rend(); ++task) {
    const std::optional<TaskId> parent = tree.parent(*task);
    std::int32_t& own = result.of_task[index(*task)];
    if (own < 0 && parent) own = result.of_task[index(*parent)];
  }
  return result;
}

}  // namespace espalier::report
