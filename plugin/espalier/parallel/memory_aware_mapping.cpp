// One way down the tree with the accounts that it keeps: over 300 lines.

#include "espalier/parallel/memory_aware_mapping.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ranges>
#include <span>

#include "espalier/parallel/worker_share.h"
#include "espalier/sequential/tree/best_postorder.h"
#include "espalier/sequential/tree/liu_traversal.h"

namespace espalier {
namespace {

// The top-down pass. Arrays are indexed by task.
class Mapper {
 public:
  Mapper(const TaskTree& tree, const SubtreePeaks& subtrees,
         std::span<const TaskId> order, GroupRule rule);

  MemoryAwareMapping run(std::int32_t workers, Bytes bound);

 private:
  struct Siblings {
    std::span<const TaskId> by_id, by_memory;  // in best postorder
  };
  [[nodiscard]] Siblings children(TaskId task) const;
  [[nodiscard]] Siblings roots() const { return {tree_.roots(), roots_}; }

  void place(const Siblings& siblings, const WorkerShare& whole, Bytes budget,
             std::int32_t gate, bool one_by_one);
  // What the members of one group need in all.
  struct Group {
    std::int32_t members = 0;
    Bytes peaks = 0, largest_peak = 0, left = 0;
    Flops work = 0;
    double peak_by_work = 0;  // the largest A / W among the members
  };
  [[nodiscard]] Group joined(Group group, TaskId task) const;
  [[nodiscard]] bool fits(const Group& group, Bytes available) const;
  std::int32_t cut(std::span<const TaskId> siblings, Bytes budget, bool one_by_one);
  void set_barriers(std::span<const TaskId> siblings, std::int32_t gate);
  void set_budgets(std::span<const TaskId> group, Bytes available);
  void set_proportional_budgets(std::span<const TaskId> group, Bytes available);
  void give(std::span<const TaskId> group, bool wide, Bytes& surplus);
  [[nodiscard]] Bytes guaranteed_peak() const;
  [[nodiscard]] Bytes peak_of_groups(std::span<const TaskId> siblings,
                                     std::span<const Bytes> peak) const;
  [[nodiscard]] Bytes room(TaskId task) const {
    return most_[index(task)] - subtrees_.peak[index(task)];
  }

  const TaskTree& tree_;
  const SubtreePeaks& subtrees_;
  GroupRule rule_;
  std::vector<Flops> work_;
  std::vector<Bytes> most_;               // D, see the header
  std::vector<TaskId> roots_, children_;  // in best postorder
  std::vector<std::size_t> first_child_;
  std::vector<WorkerShare> share_;
  std::vector<Bytes> budget_;
  std::vector<std::int32_t> group_;  // of a task among its siblings
  std::vector<std::int32_t> gate_;   // barrier that the first tasks of a subtree wait for
  Serialisation serialisation_;
};

Mapper::Mapper(const TaskTree& tree, const SubtreePeaks& subtrees,
               std::span<const TaskId> order, GroupRule rule)
    : tree_(tree),
      subtrees_(subtrees),
      rule_(rule),
      work_(subtree_works(tree)),
      most_(tree.size(), 0),
      children_(tree.size()),
      first_child_(tree.size() + 1, 0),
      share_(tree.size()),
      budget_(tree.size()),
      group_(tree.size(), 0),
      gate_(tree.size(), -1) {
  serialisation_.waits.assign(tree.size(), -1);
  serialisation_.signals.assign(tree.size(), -1);
  for (std::size_t i = 0; i < tree.size(); ++i) {
    first_child_[i + 1] = first_child_[i] + tree.children(task_id(i)).size();
  }
  std::vector<std::size_t> next = first_child_;
  for (const TaskId task : order) {
    const auto parent = tree.parent(task);
    if (parent) {
      children_[next[index(*parent)]++] = task;
    } else {
      roots_.push_back(task);
    }
    // While a task runs its subtree holds what it leaves, its inputs and its own m.
    const Bytes own = subtrees.left_behind[index(task)] + tree.input_size(task) +
                      tree.execution_size(task);
    most_[index(task)] = std::max(most_[index(task)], own);
    if (parent) most_[index(*parent)] += most_[index(task)];
  }
}

Mapper::Siblings Mapper::children(TaskId task) const {
  const std::span<const TaskId> all = children_;
  const std::size_t first = first_child_[index(task)];
  return {tree_.children(task),
          all.subspan(first, first_child_[index(task) + 1] - first)};
}

MemoryAwareMapping Mapper::run(std::int32_t workers, Bytes bound) {
  place(roots(), {0, static_cast<double>(workers)}, bound, -1, false);
  MemoryAwareMapping result;
  result.mapping.resize(tree_.size());
  for (const TaskId task : std::views::reverse(tree_.postorder())) {
    const std::size_t i = index(task);
    ESPALIER_ASSERT(subtrees_.peak[i] <= budget_[i], "a subtree fits in its budget");
    result.mapping[i] = workers_of(tree_, task, share_[i], result.mapping, workers);
    const Siblings below = children(task);
    if (below.by_id.empty()) serialisation_.waits[i] = gate_[i];
    place(below, share_[i], budget_[i], gate_[i],
          !share_[i].wide() && budget_[i] < most_[i]);
  }
  result.guaranteed_peak = guaranteed_peak();
  result.serialisation = std::move(serialisation_);
  return result;
}

void Mapper::place(const Siblings& siblings, const WorkerShare& whole, Bytes budget,
                   std::int32_t gate, bool one_by_one) {
  const std::span<const TaskId> order = siblings.by_memory;
  const std::int32_t groups = cut(order, budget, one_by_one);
  set_barriers(order, gate);
  share_out(whole, siblings.by_id, group_, groups, work_, share_);
  Bytes available = budget;
  for (std::size_t first = 0, last = 0; first < order.size(); first = last) {
    const std::int32_t group = group_[index(order[first])];
    while (last < order.size() && group_[index(order[last])] == group) ++last;
    const auto members = order.subspan(first, last - first);
    set_budgets(members, available);
    for (const TaskId task : members) available -= subtrees_.left_behind[index(task)];
  }
}

Mapper::Group Mapper::joined(Group group, TaskId task) const {
  const Bytes peak = subtrees_.peak[index(task)];
  const Flops work = work_[index(task)];
  group.members += 1;
  group.peaks += peak;
  group.largest_peak = std::max(group.largest_peak, peak);
  group.left += subtrees_.left_behind[index(task)];
  group.work += work;
  if (peak > 0) {  // infinite without work: such a task fits beside no other
    group.peak_by_work = std::max(group.peak_by_work, static_cast<double>(peak) / work);
  }
  return group;
}

bool Mapper::fits(const Group& group, Bytes available) const {
  if (group.members == 1) return true;
  if (group.peaks > available) return false;
  if (rule_ == GroupRule::kNeed) return true;
  if (group.work == 0) return group.largest_peak <= available / group.members;
  return group.peak_by_work * group.work <= static_cast<double>(available);
}

// Numbers the groups of `siblings`; returns how many there are.
std::int32_t Mapper::cut(std::span<const TaskId> siblings, Bytes budget,
                         bool one_by_one) {
  Group now;
  std::int32_t group = 0;
  for (const TaskId task : siblings) {
    Group larger = joined(now, task);
    if (now.members > 0 && (one_by_one || !fits(larger, budget))) {
      if (rule_ == GroupRule::kAllOrNothing && !one_by_one) {
        return cut(siblings, budget, true);
      }
      ++group;
      budget -= now.left;
      larger = joined({}, task);
    }
    group_[index(task)] = group;
    now = larger;
  }
  return siblings.empty() ? 0 : group + 1;
}

// The first group waits for what its parent's subtree waits for; the end of each group
// is a barrier for the next.
void Mapper::set_barriers(std::span<const TaskId> siblings, std::int32_t gate) {
  if (siblings.empty()) return;
  const std::int32_t last = group_[index(siblings.back())];
  const std::int32_t first_barrier = serialisation_.barriers;
  for (const TaskId task : siblings) {
    const std::int32_t group = group_[index(task)];
    gate_[index(task)] = group == 0 ? gate : first_barrier + group - 1;
    if (group < last) serialisation_.signals[index(task)] = first_barrier + group;
  }
  serialisation_.barriers += last;
}

void Mapper::set_budgets(std::span<const TaskId> group, Bytes available) {
  if (rule_ != GroupRule::kNeed) return set_proportional_budgets(group, available);
  Bytes surplus = available;
  for (const TaskId task : group) {
    budget_[index(task)] = subtrees_.peak[index(task)];
    surplus -= budget_[index(task)];
  }
  give(group, true, surplus);
  give(group, false, surplus);
}

// Rounding never takes a budget below its A, nor their sum above what is available.
void Mapper::set_proportional_budgets(std::span<const TaskId> group, Bytes available) {
  Flops work = 0;
  Bytes needed = 0;  // A of the members that have no budget yet
  for (const TaskId task : group) {
    work += work_[index(task)];
    needed += subtrees_.peak[index(task)];
  }
  const double whole = static_cast<double>(available);
  const auto members = static_cast<double>(group.size());
  for (const TaskId task : group) {
    const Bytes least = subtrees_.peak[index(task)];
    needed -= least;
    const double part = work > 0 ? work_[index(task)] / work : 1 / members;
    // Compared as numbers: one near 2^63 is no Bytes.
    const double want = std::floor(whole * part);
    const Bytes most = available - needed;
    Bytes& budget = budget_[index(task)];
    budget = want < static_cast<double>(most) ? static_cast<Bytes>(want) : most;
    budget = std::max(budget, least);
    available -= budget;
  }
}

// Divides `surplus` among the wide (or the other) members in proportion to their room.
void Mapper::give(std::span<const TaskId> group, bool wide, Bytes& surplus) {
  Bytes rooms = 0;
  for (const TaskId task : group) {
    if (share_[index(task)].wide() == wide) rooms += room(task);
  }
  if (rooms == 0) return;
  const double part = static_cast<double>(surplus) / static_cast<double>(rooms);
  const bool enough = surplus >= rooms;
  for (const TaskId task : group) {
    if (share_[index(task)].wide() != wide) continue;
    const Bytes want =
        enough ? room(task) : static_cast<Bytes>(part * static_cast<double>(room(task)));
    const Bytes given = std::min({want, room(task), surplus});
    budget_[index(task)] += given;
    surplus -= given;
  }
}

Bytes Mapper::guaranteed_peak() const {
  std::vector<Bytes> peak(tree_.size());
  for (const TaskId task : tree_.postorder()) {
    const Bytes own = subtrees_.left_behind[index(task)] + tree_.input_size(task) +
                      tree_.execution_size(task);
    peak[index(task)] = std::max(own, peak_of_groups(children(task).by_memory, peak));
  }
  return peak_of_groups(roots_, peak);
}

// The groups run one after the other, the members of a group under any timing.
Bytes Mapper::peak_of_groups(std::span<const TaskId> siblings,
                             std::span<const Bytes> peak) const {
  Bytes most = 0, left = 0, left_by_group = 0, together = 0;
  for (std::size_t k = 0; k < siblings.size(); ++k) {
    const std::size_t i = index(siblings[k]);
    if (k > 0 && group_[i] != group_[index(siblings[k - 1])]) {
      left += left_by_group;
      together = left_by_group = 0;
    }
    together += peak[i];
    left_by_group += subtrees_.left_behind[i];
    most = std::max(most, left + together);
  }
  return most;
}

}  // namespace

MemoryAwareMapping memory_aware(const TaskTree& tree, const Traversal& postorder,
                                std::int32_t workers, Bytes bound, GroupRule rule) {
  check_workers(workers);
  if (postorder.peak > bound) {
    throw InvalidInput(fmt::format("the best postorder needs {} bytes, the bound is {}",
                                   postorder.peak, bound));
  }
  const SubtreePeaks subtrees = subtree_postorder_peaks(tree);
  return Mapper(tree, subtrees, postorder.order, rule).run(workers, bound);
}

Expected<MemoryAwareMapping> memory_aware(const TaskTree& tree, std::int32_t workers,
                                          Bytes bound) {
  check_workers(workers);
  const Traversal postorder = best_postorder(tree);
  if (postorder.peak <= bound) return memory_aware(tree, postorder, workers, bound);
  const Bytes least = liu_traversal(tree).peak;
  const auto reason =
      bound < least ? Infeasible::Reason::kImpossible : Infeasible::Reason::kNoneFound;
  return tl::unexpected(Infeasible{reason, bound, postorder.peak, least});
}

}  // namespace espalier
