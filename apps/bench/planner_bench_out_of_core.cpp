// Trees out of core: time of each method on trees of 10^4 to 10^6 tasks of every shape,
// and bytes written at the least bound; graphs on eight workers inside the least bound of
// their witness: time of both rules, and makespan over the lower bound.
//
//   espalier_planner_bench --benchmark_filter='out_of_core|plan_graph'

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "espalier/model/graph_builder.h"
#include "espalier/parallel/plan_graph.h"
#include "espalier/sequential/out_of_core/plan_out_of_core.h"
#include "support/tree_shapes.h"

namespace espalier {
namespace {

using support::Shape;

/// Parents of at most two children, drawn among all earlier tasks.
std::vector<Task> binary(std::size_t tasks) {
  std::mt19937 random(4);
  std::vector<std::size_t> open = {0, 0};  // a place for each child that is allowed
  return support::shaped_tasks(tasks, [&](std::size_t i) {
    std::swap(open[random() % open.size()], open.back());
    const std::size_t parent = open.back();
    open.back() = i;
    open.push_back(i);
    return parent;
  });
}

/// The tree with a task's output in the place of its inputs: much more has to leave.
TaskTree atomic(std::vector<Task> tasks) {
  std::vector<Bytes> input(tasks.size(), 0);
  for (const Task& task : tasks) {
    if (task.parent) input[index(*task.parent)] += task.output_size;
  }
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    tasks[i].execution_size = -std::min(input[i], tasks[i].output_size);
  }
  return TaskTree(tasks);
}

void bench_out_of_core(benchmark::State& state, const Shape& shape,
                       OutOfCoreMethod method) {
  const TaskTree tree = atomic(shape.make(static_cast<std::size_t>(state.range(0))));
  const Bytes bound = least_out_of_core(tree);
  Bytes written = 0;
  for (auto _ : state) written = plan_out_of_core(tree, bound, method)->written;
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.counters["written_bytes"] = static_cast<double>(written);
}

/// Each operator reads three of the last 50 data.
TaskGraph sliding_graph(std::size_t operators) {
  std::mt19937 random(5);
  TaskGraphBuilder builder;
  std::vector<DatumId> data;
  for (std::size_t i = 0; i < operators; ++i) {
    const TaskId task = builder.add_task("", static_cast<Bytes>(random() % 20),
                                         static_cast<Flops>(1 + random() % 9));
    for (int reads = 0; reads < 3 && i > 0; ++reads) {
      builder.reads(task, data[i - 1 - random() % std::min<std::size_t>(i, 50)]);
    }
    data.push_back(builder.add_datum("", static_cast<Bytes>(1 + random() % 100)));
    builder.writes(task, data.back());
  }
  return std::move(builder).build();
}

void bench_plan_graph(benchmark::State& state, GraphRule rule) {
  const TaskGraph graph = sliding_graph(static_cast<std::size_t>(state.range(0)));
  double ratio = 0;
  for (auto _ : state) {
    const auto plan =
        plan_graph(graph, graph.topological_order(), {8, std::nullopt, rule});
    ratio = plan->makespan / plan->lower_bounds.best();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.counters["makespan_ratio"] = ratio;
}

// Runs before main().
[[maybe_unused]] const bool kRegistered = [] {
  const std::pair<const char*, OutOfCoreMethod> methods[] = {
      {"PostOrderMinIO", OutOfCoreMethod::kPostOrderMinIO},
      {"Liu", OutOfCoreMethod::kLiu},
      {"RecExpand", OutOfCoreMethod::kRecExpand},
      {"FullRecExpand", OutOfCoreMethod::kFullRecExpand}};
  std::vector<Shape> shapes = support::shapes();
  shapes.push_back({"Binary", binary});
  for (const auto& [name, method] : methods) {
    for (const Shape& shape : shapes) {
      benchmark::RegisterBenchmark(
          (std::string("out_of_core/") + name + "/" + shape.name).c_str(),
          bench_out_of_core, shape, method)
          ->RangeMultiplier(10)
          ->Range(10'000, 1'000'000)
          ->Unit(benchmark::kMillisecond);
    }
  }
  const std::pair<const char*, GraphRule> rules[] = {
      {"Activation", GraphRule::kActivation}, {"Banker", GraphRule::kBanker}};
  for (const auto& [name, rule] : rules) {
    benchmark::RegisterBenchmark((std::string("plan_graph/") + name).c_str(),
                                 bench_plan_graph, rule)
        ->RangeMultiplier(10)
        ->Range(10'000, 1'000'000)
        ->Unit(benchmark::kMillisecond);
  }
  return true;
}();

}  // namespace
}  // namespace espalier
