#include "espalier/parallel/bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ranges>

#include "espalier/model/error.h"
#include "espalier/parallel/worker_share.h"

namespace espalier {
namespace {

// Time from the start of each task to the end of its root when task i takes duration[i].
std::vector<Seconds> path_weights(const TaskTree& tree, std::vector<Seconds> duration) {
  for (const TaskId task : std::views::reverse(tree.postorder())) {
    if (const auto parent = tree.parent(task)) {
      duration[index(task)] += duration[index(*parent)];
    }
  }
  return duration;
}

std::vector<Flops> works(const TaskTree& tree) {
  std::vector<Flops> work(tree.size());
  for (std::size_t i = 0; i < tree.size(); ++i) work[i] = tree.work(task_id(i));
  return work;
}

}  // namespace

std::vector<Seconds> root_path_weights(const TaskTree& tree) {
  return path_weights(tree, works(tree));
}

std::vector<Seconds> root_path_times(const TaskTree& tree, std::int32_t workers,
                                     std::span<const double> max_workers) {
  check_workers(workers);
  const std::vector<double> useful = useful_workers(tree, max_workers);
  std::vector<Seconds> duration = works(tree);
  for (std::size_t i = 0; i < tree.size(); ++i) {
    duration[i] /= std::min<double>(useful[i], workers);
  }
  return path_weights(tree, std::move(duration));
}

LowerBounds lower_bounds(const TaskTree& tree, std::int32_t workers,
                         std::optional<Bytes> memory_bound,
                         std::span<const double> max_workers) {
  check_workers(workers);
  const std::vector<double> useful = useful_workers(tree, max_workers);
  LowerBounds bounds;
  std::vector<Seconds> duration = works(tree);
  double area = 0;
  for (std::size_t i = 0; i < tree.size(); ++i) {
    bounds.work += duration[i] / workers;
    duration[i] /= std::min<double>(useful[i], workers);
    area += static_cast<double>(tree.memory_requirement(task_id(i))) * duration[i];
  }
  if (memory_bound.value_or(0) > 0) {
    bounds.memory_area = area / static_cast<double>(*memory_bound);
  }
  for (const Seconds weight : path_weights(tree, std::move(duration))) {
    bounds.critical_path = std::max(bounds.critical_path, weight);
  }
  return bounds;
}

std::vector<double> useful_workers(const TaskTree& tree,
                                   std::span<const double> max_workers) {
  if (max_workers.empty()) return std::vector<double>(tree.size(), 1.0);
  if (max_workers.size() != tree.size()) {
    throw InvalidInput(fmt::format("useful workers are given for {} tasks of {}",
                                   max_workers.size(), tree.size()));
  }
  for (std::size_t i = 0; i < tree.size(); ++i) {
    if (max_workers[i] >= 1 && std::isfinite(max_workers[i])) continue;
    throw InvalidInput(
        fmt::format("task {} is given {} useful workers: at least one is "
                    "needed",
                    i, max_workers[i]));
  }
  return {max_workers.begin(), max_workers.end()};
}

}  // namespace espalier
