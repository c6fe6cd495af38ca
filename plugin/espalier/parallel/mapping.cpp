#include "espalier/parallel/mapping.h"

#include <ranges>

#include "espalier/parallel/worker_share.h"

namespace espalier {

Mapping all_to_all(const TaskTree& tree, std::int32_t workers) {
  check_workers(workers);
  return Mapping(tree.size(), WorkerRange{0, workers});
}

Mapping proportional(const TaskTree& tree, std::int32_t workers) {
  check_workers(workers);
  const std::vector<Flops> work = subtree_works(tree);
  const std::vector<std::int32_t> one_group(tree.size(), 0);
  std::vector<WorkerShare> shares(tree.size());
  Mapping mapping(tree.size());
  share_out({0, static_cast<double>(workers)}, tree.roots(), one_group, 1, work, shares);
  for (const TaskId task : std::views::reverse(tree.postorder())) {
    const WorkerShare& share = shares[index(task)];
    mapping[index(task)] = workers_of(tree, task, share, mapping, workers);
    share_out(share, tree.children(task), one_group, 1, work, shares);
  }
  return mapping;
}

}  // namespace espalier
