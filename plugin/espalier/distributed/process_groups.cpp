#include "espalier/distributed/process_groups.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <ranges>

#include "espalier/distributed/least_loaded.h"

namespace espalier {

ProcessGroups::ProcessGroups(const TaskTree& tree)
    : tree_(tree),
      subtrees_(subtree_postorder_peaks(tree)),
      work_(subtree_works(tree)),
      weight_(tree.size(), 0),
      zero_(tree.size(), 0),
      share_(tree.size()) {}

// Depth first from the root, last child first: backwards it is the order to run in.
std::vector<DistributionUnit> ProcessGroups::units(std::int32_t processes,
                                                   double budget) {
  check_workers(processes);
  std::vector<DistributionUnit> units;
  std::vector<Node> open;
  const WorkerRange all{0, processes};
  place(tree_.roots(), {{}, all, all, {0, static_cast<double>(processes)}, budget}, open);
  while (!open.empty()) {
    const Node node = open.back();
    open.pop_back();
    units.push_back({node.task, node.group, node.outer});
    if (node.group.count > 1) place(tree_.children(node.task), node, open);
  }
  std::ranges::reverse(units);
  return units;
}

// Puts `siblings` on `open` in the order in which they run.
void ProcessGroups::place(std::span<const TaskId> siblings, const Node& parent,
                          std::vector<Node>& open) {
  visit_.assign(siblings.begin(), siblings.end());
  std::ranges::sort(visit_,
                    [this](TaskId a, TaskId b) { return subtrees_.visits_before(a, b); });
  const double width = parent.share.end - parent.share.begin;
  double budget = parent.budget;
  for (std::size_t first = 0; first < visit_.size();) {
    const auto rest = std::span<const TaskId>(visit_).subspan(first);
    const Stage stage = next_stage(rest, width, budget);
    const auto members = rest.first(stage.members);
    set_weights(members, width, budget);
    // Along the line by id, as in proportional(); in time by memory.
    line_.assign(members.begin(), members.end());
    std::ranges::sort(line_);
    share_out(parent.share, line_, zero_, 1, weight_, share_);
    double left = 0;
    for (const TaskId task : members) {
      const WorkerShare& share = share_[index(task)];
      WorkerRange group = share.workers(parent.group);
      if (small(task)) group = {group.first + group.count / 2, 1};
      open.push_back({task, group, parent.group, share, budget});
      left += static_cast<double>(subtrees_.left_behind[index(task)]);
    }
    budget -= left / width;
    first += stage.members;
  }
}

double ProcessGroups::need(TaskId task, double budget) const {
  const auto peak = static_cast<double>(subtrees_.peak[index(task)]);
  const auto left = static_cast<double>(subtrees_.left_behind[index(task)]);
  const double bytes = peak > budget ? peak : left;
  if (bytes == 0) return 0;
  return budget > 0 ? bytes / budget : std::numeric_limits<double>::infinity();
}

// The longest prefix whose needs fit, at least one task.
ProcessGroups::Stage ProcessGroups::next_stage(std::span<const TaskId> siblings,
                                               double width, double budget) const {
  Stage stage;
  for (const TaskId task : siblings) {
    const double needs = stage.needs + need(task, budget);
    if (stage.members > 0 && needs > width) break;
    stage.needs = needs;
    ++stage.members;
  }
  return stage;
}

// weight(c) = max(x W_c, need(c)) that sum up to the width. Tasks that get their need
// are those of largest need / W.
void ProcessGroups::set_weights(std::span<const TaskId> members, double width,
                                double budget) {
  Flops work = 0;
  for (const TaskId task : members) work += work_[index(task)];
  for (const TaskId task : members) {
    // Without work there is nothing to divide by: evenly, as proportional() does.
    weight_[index(task)] = work > 0 ? work_[index(task)] : 1;
  }
  if (work == 0) work = static_cast<double>(members.size());
  if (members.size() == 1) return;
  struct Claim {
    double need, work, key;
    TaskId task;
  };
  std::vector<Claim> claims;
  for (const TaskId task : members) {
    const double needs = need(task, budget), works = weight_[index(task)];
    claims.push_back({needs, works, needs == 0 ? 0 : needs / works, task});
  }
  std::ranges::sort(claims, [](const Claim& a, const Claim& b) {
    return a.key != b.key ? a.key > b.key : a.task < b.task;
  });
  double wide = width;
  std::size_t met = 0;  // claims that get their need and no more
  for (; met < claims.size() && claims[met].need * work > wide * claims[met].work;
       ++met) {
    wide -= claims[met].need;
    work -= claims[met].work;
    weight_[index(claims[met].task)] = claims[met].need;
  }
  if (met == 0) return;  // in proportion to work, and the same rounding as there
  for (; met < claims.size(); ++met) {
    weight_[index(claims[met].task)] = work > 0 ? wide * claims[met].work / work : 0;
  }
}

void ProcessGroups::balance(std::vector<DistributionUnit>& units,
                            std::int32_t processes) const {
  Flops all = 0;
  std::vector<Flops> step(static_cast<std::size_t>(processes) + 1, 0);
  std::vector<DistributionUnit*> local;
  for (DistributionUnit& unit : units) {
    all += unit.local() ? work_[index(unit.task)] : tree_.work(unit.task);
    if (unit.local()) {
      local.push_back(&unit);
      continue;
    }
    const Flops part = tree_.work(unit.task) / unit.group.count;
    step[static_cast<std::size_t>(unit.group.first)] += part;
    step[static_cast<std::size_t>(unit.group.first + unit.group.count)] -= part;
  }
  if (all == 0) return;
  std::ranges::stable_sort(
      local, std::ranges::greater{},
      [this](const DistributionUnit* unit) { return work_[index(unit->task)]; });
  // Exact enough, and in the units that LeastLoaded counts in.
  const double scale = 0x1p50 / all;
  LeastLoaded loads(processes);
  Flops now = 0;
  for (std::int32_t p = 0; p < processes; ++p) {
    now += step[static_cast<std::size_t>(p)];
    loads.set(p, static_cast<Bytes>(std::max(0.0, now * scale)));
  }
  for (DistributionUnit* unit : local) {
    const std::int32_t process = loads.least(unit->outer);
    const auto work = static_cast<Bytes>(work_[index(unit->task)] * scale);
    loads.set(process, loads[process] + work);
    unit->group.first = process;
  }
}

}  // namespace espalier
