#include "espalier/parallel/coarsen.h"

#include <fmt/format.h>

#include <numeric>
#include <ranges>

#include "espalier/model/error.h"
#include "espalier/parallel/worker_share.h"
#include "espalier/sequential/tree/liu_traversal.h"

namespace espalier {
namespace {

// For each task the root of the largest small subtree that it is in, or itself.
std::vector<TaskId> small_subtrees(const TaskTree& tree, double least_work) {
  const std::vector<Flops> work = subtree_works(tree);
  std::vector<TaskId> top(tree.size());
  for (const TaskId task : std::views::reverse(tree.postorder())) {
    const auto parent = tree.parent(task);
    const bool inside = parent && work[index(*parent)] < least_work;
    top[index(task)] = inside ? top[index(*parent)] : task;
  }
  return top;
}

// `members`: one whole subtree in postorder. `local`: scratch, indexed by fine task.
TaskTree subtree(const TaskTree& tree, std::span<const TaskId> members,
                 std::vector<TaskId>& local) {
  std::vector<Task> tasks(members.size());
  for (std::size_t k = 0; k < members.size(); ++k) local[index(members[k])] = task_id(k);
  for (std::size_t k = 0; k < members.size(); ++k) {
    const TaskId fine = members[k];
    if (k + 1 < members.size()) tasks[k].parent = local[index(*tree.parent(fine))];
    tasks[k].output_size = tree.output_size(fine);
    tasks[k].execution_size = tree.execution_size(fine);
    tasks[k].retained_size = tree.retained_size(fine);
    tasks[k].work = tree.work(fine);
  }
  return TaskTree(tasks);
}

// The task that runs `members`, and brings them into their order. Its parent is not set.
Task merge(const TaskTree& tree, std::span<TaskId> members, std::vector<TaskId>& local) {
  const TaskId root = members.back();
  Task merged{std::nullopt, tree.output_size(root), tree.execution_size(root),
              tree.retained_size(root), tree.work(root)};
  if (members.size() == 1) return merged;
  const Traversal best = liu_traversal(subtree(tree, members, local));
  for (const TaskId member : members.first(members.size() - 1)) {
    merged.retained_size += tree.retained_size(member);
    merged.work += tree.work(member);
  }
  merged.execution_size = best.peak - merged.output_size - merged.retained_size;
  const std::vector<TaskId> postorder(members.begin(), members.end());
  for (std::size_t k = 0; k < members.size(); ++k) {
    members[k] = postorder[index(best.order[k])];
  }
  return merged;
}

// Numbers the subtrees by their roots' ids and lists their members in postorder.
CoarseTree list_members(const TaskTree& tree, std::span<const TaskId> top) {
  CoarseTree coarse;
  coarse.coarse_of.resize(tree.size());
  std::size_t subtrees = 0;
  for (std::size_t i = 0; i < tree.size(); ++i) {
    if (top[i] == task_id(i)) coarse.coarse_of[i] = task_id(subtrees++);
  }
  coarse.first.assign(subtrees + 1, 0);
  for (std::size_t i = 0; i < tree.size(); ++i) {
    coarse.coarse_of[i] = coarse.coarse_of[index(top[i])];
    ++coarse.first[index(coarse.coarse_of[i]) + 1];
  }
  std::partial_sum(coarse.first.begin(), coarse.first.end(), coarse.first.begin());
  coarse.member.resize(tree.size());
  std::vector<std::size_t> next = coarse.first;
  for (const TaskId task : tree.postorder()) {
    coarse.member[next[index(coarse.coarse_of[index(task)])]++] = task;
  }
  return coarse;
}

}  // namespace

CoarseTree coarsen(const TaskTree& tree, std::int32_t workers, double fraction) {
  check_workers(workers);
  if (!(fraction >= 0)) {
    throw InvalidInput(fmt::format("{} is no fraction of the work", fraction));
  }
  Flops work = 0;
  for (const TaskId task : tree.postorder()) work += tree.work(task);
  CoarseTree coarse = list_members(tree, small_subtrees(tree, fraction * work / workers));
  std::vector<Task> tasks(coarse.first.size() - 1);
  std::vector<TaskId> local(tree.size());
  for (std::size_t k = 0; k < tasks.size(); ++k) {
    const std::size_t from = coarse.first[k];
    const auto members =
        std::span(coarse.member).subspan(from, coarse.first[k + 1] - from);
    const auto parent = tree.parent(members.back());
    tasks[k] = merge(tree, members, local);
    if (parent) tasks[k].parent = coarse.coarse_of[index(*parent)];
  }
  coarse.tree = TaskTree(tasks);
  return coarse;
}

std::vector<TaskId> CoarseTree::expand(std::span<const TaskId> order) const {
  std::vector<TaskId> fine;
  fine.reserve(member.size());
  for (const TaskId task : order) {
    const auto run = members(task);
    fine.insert(fine.end(), run.begin(), run.end());
  }
  return fine;
}

}  // namespace espalier
