#include "solver/distributed/tree_mappings.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "espalier/distributed/distribute.h"
#include "espalier/sequential/tree/liu_traversal.h"
#include "solver/distributed/subtree_groups.h"

namespace espalier::solver {
namespace {

// Budgets to map for, in units of the least that the planner finds.
constexpr std::array kBudgets = {1.02, 1.05, 1.1, 1.25, 1.6};

// Work of the subtrees of one process, in units of its share, at which the tree is cut.
constexpr std::array kSubtrees = {1.0, 0.85, 0.7, 0.5, 0.3};

// What the choice among mappings goes by: a worker, a message over StarPU-MPI, and bytes
// a second into one process. Only their order of magnitude matters.
constexpr double kFlopRate = 2e10, kLatency = 100e-6, kBandwidth = 1e9;

// Parts that each search deals while a factorisation takes one second, and at least: ten
// searches take as long as the factorisation, or a second or two.
constexpr double kDealtPerSecond = 1e5, kLeastDealt = 2e5;

// Block columns of each node's front; 1 where a node is a subtree.
std::vector<std::int32_t> most_parts(const Symbolic& symbolic, const AssemblyTree& tree) {
  std::vector<std::int32_t> parts;
  for (const AssemblyTree::Node& node : tree.nodes) {
    const bool one = node.first_front == node.last_front;
    parts.push_back(
        one ? std::max(1, tree.panel(symbolic, node.last_front).blocks() +
                              tree.contribution(symbolic, node.last_front).blocks())
            : 1);
  }
  return parts;
}

// Several fronts that are one task cannot be shared, nor what is below them.
std::vector<WorkerRange> groups_of(const AssemblyTree& tree, const Distribution& found) {
  std::vector<WorkerRange> groups = found.group;
  for (std::size_t i = groups.size(); i-- > 0;) {
    const auto parent = tree.tasks.parent(task_id(i));
    if (parent && groups[index(*parent)].count == 1)
      groups[i] = groups[index(*parent)];
    else if (tree.nodes[i].first_front != tree.nodes[i].last_front && groups[i].count > 1)
      groups[i] = {found.owners(task_id(i)).front().process, 1};
  }
  return groups;
}

class MappingList {
 public:
  explicit MappingList(const AssemblyTree& tree) : tree_(tree) {}

  void add(std::vector<WorkerRange>&& group, std::vector<TaskId>&& witness) {
    TreeMapping mapping{.group = std::move(group), .witness = std::move(witness)};
    if (std::ranges::find(list_, mapping) != list_.end()) return;
    list_.push_back(mapping);
    const auto shared = [](const WorkerRange& processes) { return processes.count > 1; };
    if (std::ranges::none_of(mapping.group, shared)) return;
    mapping.panels_at_once = 1;
    list_.push_back(std::move(mapping));
  }
  void add(Distribution&& found) {
    add(groups_of(tree_, found), std::move(found.witness));
  }
  [[nodiscard]] std::vector<TreeMapping> take() { return std::move(list_); }

 private:
  const AssemblyTree& tree_;
  std::vector<TreeMapping> list_;
};

// Parts of tasks to deal in a search: no search is to take longer than what it is for.
std::size_t most_dealt(const AssemblyTree& tree, std::int32_t processes,
                       std::int32_t workers) {
  Flops work = 0;
  for (std::size_t i = 0; i < tree.tasks.size(); ++i) work += tree.tasks.work(task_id(i));
  const Seconds seconds = work / (kFlopRate * processes * workers);
  return static_cast<std::size_t>(
      std::clamp(seconds * kDealtPerSecond, kLeastDealt,
                 static_cast<double>(DistributionOptions{}.most_dealt)));
}

// What the planner finds within several budgets.
void add_distributions(const AssemblyTree& tree, DistributionOptions options,
                       MappingList& list) {
  Distribution least = distribute_least(tree.tasks, options);
  const auto least_bytes = static_cast<double>(least.largest_peak());
  list.add(std::move(least));
  for (const double budget : kBudgets) {
    options.memory_bound = static_cast<Bytes>(budget * least_bytes);
    if (auto found = distribute(tree.tasks, options)) list.add(std::move(*found));
  }
  options.memory_bound = std::numeric_limits<Bytes>::max();
  for (const auto kind :
       {DistributedMapping::kMemoryAware, DistributedMapping::kProportional}) {
    options.kind = kind;
    if (auto found = distribute(tree.tasks, options)) list.add(std::move(*found));
  }
}

}  // namespace

std::vector<TreeMapping> tree_mappings(const Symbolic& symbolic, const AssemblyTree& tree,
                                       std::int32_t processes, std::int32_t workers) {
  MappingList list(tree);
  const std::vector<std::int32_t> parts = most_parts(symbolic, tree);
  add_distributions(tree,
                    {.processes = processes,
                     .workers = workers,
                     .most_parts = parts,
                     .max_workers = tree.max_workers,
                     .network = {kLatency, kBandwidth, kFlopRate},
                     .most_dealt = most_dealt(tree, processes, workers)},
                    list);
  const Traversal liu = liu_traversal(tree.tasks);
  std::vector<bool> may_share;
  for (const AssemblyTree::Node& node : tree.nodes)
    may_share.push_back(node.first_front == node.last_front);
  for (const double most : kSubtrees)
    list.add(subtree_groups(tree.tasks, processes, may_share, most),
             std::vector(liu.order));
  // What is small, or one long path, is done sooner without messages.
  list.add(std::vector(tree.nodes.size(), WorkerRange{0, 1}), std::vector(liu.order));
  return list.take();
}

// Opening a shared front takes as long as a message.
Seconds estimated_seconds(const AssemblyTree& part, const Traffic& received,
                          std::int32_t workers) {
  Flops work = 0;
  std::int64_t waits = received.messages;
  for (std::size_t i = 0; i < part.tasks.size(); ++i) {
    work += part.tasks.work(task_id(i));
    waits += part.nodes[i].shared && part.nodes[i].part > 0;
  }
  return work / (kFlopRate * workers) +
         static_cast<double>(received.bytes + received.waited) / kBandwidth +
         static_cast<double>(waits) * kLatency;
}

}  // namespace espalier::solver
