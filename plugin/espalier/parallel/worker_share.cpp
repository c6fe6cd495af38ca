#include "espalier/parallel/worker_share.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "espalier/model/error.h"

namespace espalier {

WorkerRange WorkerShare::workers(const WorkerRange& outer) const {
  if (!wide()) {
    // Of a share without width at a border, only the outer share knows the side.
    const auto middle = static_cast<std::int32_t>(std::floor((begin + end) / 2));
    return {std::clamp(middle, outer.first, outer.first + outer.count - 1), 1};
  }
  const auto first = static_cast<std::int32_t>(std::floor(begin + kTolerance));
  const auto last = static_cast<std::int32_t>(std::ceil(end - kTolerance));
  return {first, last - first};
}

WorkerRange workers_of(const TaskTree& tree, TaskId task, const WorkerShare& share,
                       const Mapping& mapping, std::int32_t workers) {
  const auto parent = tree.parent(task);
  return share.workers(parent ? mapping[index(*parent)] : WorkerRange{0, workers});
}

std::vector<Flops> subtree_works(const TaskTree& tree) {
  std::vector<Flops> work(tree.size(), 0);
  for (const TaskId task : tree.postorder()) {
    work[index(task)] += tree.work(task);
    if (const auto parent = tree.parent(task)) work[index(*parent)] += work[index(task)];
  }
  return work;
}

void share_out(const WorkerShare& whole, std::span<const TaskId> siblings,
               std::span<const std::int32_t> group, std::int32_t groups,
               std::span<const Flops> work, std::span<WorkerShare> shares) {
  if (!whole.wide() || groups == static_cast<std::int32_t>(siblings.size())) {
    for (const TaskId task : siblings) shares[index(task)] = whole;
    return;
  }
  struct Division {
    Flops work = 0;
    std::int32_t members = 0;
    double given = 0;  // fraction of the whole that earlier members have
  };
  std::vector<Division> divisions(static_cast<std::size_t>(groups));
  const auto of = [&](TaskId task) -> Division& {
    return divisions[static_cast<std::size_t>(group[index(task)])];
  };
  for (const TaskId task : siblings) {
    of(task).work += work[index(task)];
    of(task).members += 1;
  }
  const double width = whole.end - whole.begin;
  for (const TaskId task : siblings) {
    Division& division = of(task);
    const double begin = division.given;
    division.given +=
        division.work > 0 ? work[index(task)] / division.work : 1.0 / division.members;
    shares[index(task)] = {whole.begin + std::min(1.0, begin) * width,
                           whole.begin + std::min(1.0, division.given) * width};
  }
}

void check_workers(std::int32_t workers) {
  if (workers >= 1) return;
  throw InvalidInput(fmt::format("{} workers: at least one is needed", workers));
}

}  // namespace espalier
