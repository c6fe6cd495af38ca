#include "espalier/distributed/part_trees.h"

#include <algorithm>

#include "espalier/distributed/met_processes.h"
#include "espalier/distributed/task_cut.h"
#include "espalier/distributed/task_overflow.h"

namespace espalier {
namespace {

// Where a part is: part `number` of `process`.
struct Place {
  std::int32_t process, number;
};

class PartLister {
 public:
  PartLister(const TaskTree& tree, const Distribution& distribution)
      : tree_(tree),
        distribution_(distribution),
        first_place_(tree.size(), 0),
        places_(tree.size(), 0),
        parts_(static_cast<std::size_t>(distribution.processes)),
        tasks_(parts_.size()),
        here_(parts_.size()) {}

  std::vector<PartTree> run() {
    for (const TaskId task : distribution_.witness) naming(task, [&] { list(task); });
    std::vector<PartTree> result(parts_.size());
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      result[p] = {TaskTree(parts_[p]), std::move(tasks_[p])};
      parts_[p] = {};
    }
    return result;
  }

 private:
  // Of the task at hand.
  struct Here {
    Bytes held = 0;
    std::int32_t first = 0, pieces = 0;
  };

  void list(TaskId task) {
    std::int32_t all = 0;
    for_each_input(
        tree_, task, [this](TaskId child) { return distribution_.owners(child); },
        [this](std::int32_t process, Bytes bytes) { here_.meet(process).held += bytes; });
    for_each_part(distribution_.owners(task),
                  [&](const Owner& owner, std::int32_t first, std::int32_t pieces) {
                    Here& at = here_.meet(owner.process);
                    at.first = first;
                    at.pieces = owner.pieces;
                    all = pieces;
                  });
    const auto takes_part = static_cast<std::int32_t>(here_.who().size());
    meet_owners_of_children(task);
    std::vector<std::int32_t>& who = here_.who();
    std::ranges::sort(who);
    const TaskCut cut = cut_task(tree_, task, all, takes_part);
    first_place_[index(task)] = place_.size();
    places_[index(task)] = static_cast<std::int32_t>(who.size());
    for (const std::int32_t process : who) add_part(task, cut, process);
    for (const TaskId child : tree_.children(task)) link(child);
    here_.forget();
  }

  // Also where they left no output: the task waits for them all the same.
  void meet_owners_of_children(TaskId task) {
    for (const TaskId child : tree_.children(task))
      for (const Owner& owner : distribution_.owners(child))
        (void)here_.meet(owner.process);
  }

  void add_part(TaskId task, const TaskCut& cut, std::int32_t process) {
    const auto p = static_cast<std::size_t>(process);
    const Here& at = here_[process];
    const TaskCut::Part part = cut.part(at.first, at.pieces, at.held);
    // As TaskTree does, which does not know whose parts they are.
    for (const Bytes size :
         {part.output, std::max<Bytes>(part.execution, 0), part.retained})
      total_ = checked_add(total_, size);
    place_.push_back({process, static_cast<std::int32_t>(parts_[p].size())});
    parts_[p].push_back({.output_size = part.output,
                         .execution_size = part.execution,
                         .retained_size = part.retained,
                         .work = tree_.work(task) * at.pieces / cut.pieces});
    tasks_[p].push_back(task);
  }

  // The parts of the task at hand are the last ones of their processes.
  void link(TaskId child) {
    const auto places = std::span(place_).subspan(
        first_place_[index(child)], static_cast<std::size_t>(places_[index(child)]));
    for (const Place& place : places) {
      const auto p = static_cast<std::size_t>(place.process);
      if (!here_.met(place.process)) continue;
      parts_[p][static_cast<std::size_t>(place.number)].parent =
          task_id(parts_[p].size() - 1);
    }
  }

  const TaskTree& tree_;
  const Distribution& distribution_;
  std::vector<Place> place_;
  std::vector<std::size_t> first_place_;  // by task
  std::vector<std::int32_t> places_;      // by task: how many
  std::vector<std::vector<Task>> parts_;  // by process
  std::vector<std::vector<TaskId>> tasks_;
  Bytes total_ = 0;  // of all sizes: the simulation joins the trees
  MetProcesses<Here> here_;
};

}  // namespace

std::vector<PartTree> part_trees(const TaskTree& tree, const Distribution& distribution) {
  return PartLister(tree, distribution).run();
}

std::vector<TaskId> witness_of(const PartTree& parts) {
  std::vector<TaskId> order(parts.tree.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = task_id(i);
  return order;
}

}  // namespace espalier
