#include "espalier/parallel/graph_bounds.h"

#include <algorithm>
#include <ranges>

#include "espalier/parallel/worker_share.h"

namespace espalier {
namespace {

// Work of the heaviest path that ends with each operator.
std::vector<Seconds> weights_before(const TaskGraph& graph) {
  std::vector<Seconds> weight(graph.size(), 0);
  for (const TaskId task : graph.topological_order()) {
    weight[index(task)] += graph.work(task);
    for (const DatumId datum : graph.outputs(task)) {
      for (const TaskId reader : graph.consumers(datum)) {
        weight[index(reader)] = std::max(weight[index(reader)], weight[index(task)]);
      }
    }
  }
  return weight;
}

struct Paths {
  std::vector<Seconds> until, from;  // each operator, itself included
  Seconds heaviest = 0;
};

// See the header: as long as the datum lives in any schedule.
Seconds least_lifetime(const TaskGraph& graph, DatumId datum, const Paths& paths) {
  const auto producer = graph.producer(datum);
  if (graph.stays(datum)) return producer ? paths.from[index(*producer)] : paths.heaviest;
  Seconds life = 0;
  for (const TaskId reader : graph.consumers(datum)) {
    life = std::max(life, producer ? graph.work(reader) : paths.until[index(reader)]);
  }
  return life + (producer ? graph.work(*producer) : 0);
}

}  // namespace

std::vector<Seconds> path_weights(const TaskGraph& graph) {
  std::vector<Seconds> weight(graph.size(), 0);
  for (const TaskId task : std::views::reverse(graph.topological_order())) {
    Seconds& own = weight[index(task)];
    for (const DatumId datum : graph.outputs(task)) {
      for (const TaskId reader : graph.consumers(datum)) {
        own = std::max(own, weight[index(reader)]);
      }
    }
    own += graph.work(task);
  }
  return weight;
}

LowerBounds lower_bounds(const TaskGraph& graph, std::int32_t workers,
                         std::optional<Bytes> memory_bound) {
  check_workers(workers);
  Paths paths{weights_before(graph), path_weights(graph)};
  LowerBounds bounds;
  double area = 0;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const Flops work = graph.work(task_id(i));
    bounds.work += work / workers;
    paths.heaviest = std::max(paths.heaviest, paths.from[i]);
    area += static_cast<double>(graph.workspace(task_id(i))) * work;
  }
  bounds.critical_path = paths.heaviest;
  if (memory_bound.value_or(0) <= 0) return bounds;
  for (std::size_t d = 0; d < graph.data(); ++d) {
    area += static_cast<double>(graph.size(datum_id(d))) *
            least_lifetime(graph, datum_id(d), paths);
  }
  bounds.memory_area = area / static_cast<double>(*memory_bound);
  return bounds;
}

}  // namespace espalier
