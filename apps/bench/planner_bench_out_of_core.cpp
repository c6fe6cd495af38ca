// Trees out of core: time of each method on trees of 10^4 to 10^6 tasks of every shape,
// and bytes written at the least bound; graphs on eight workers inside one to three times
// the peak of their witness: time of both rules, and makespan over the lower bound.
//
//   espalier_planner_bench --benchmark_filter='out_of_core|plan_graph'

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "espalier/model/graph_builder.h"
#include "espalier/model/replay_graph.h"
#include "espalier/parallel/graph_banker.h"
#include "espalier/parallel/graph_bounds.h"
#include "espalier/parallel/plan_graph.h"
#include "espalier/parallel/simulate_graph.h"
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

/// Bound: percent of the witness's peak.
void bench_plan_graph(benchmark::State& state, GraphRule rule) {
  const TaskGraph graph = sliding_graph(static_cast<std::size_t>(state.range(0)));
  const std::span<const TaskId> witness = graph.topological_order();
  const Bytes bound = replay(graph, witness).peak * state.range(1) / 100;
  double ratio = 0;
  for (auto _ : state) {
    const auto plan = plan_graph(graph, witness, {8, bound, rule});
    ratio = plan->makespan / plan->lower_bounds.best();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.counters["makespan_ratio"] = ratio;
}

/// What plan_graph() does not offer: the banker's test led by the critical path.
void bench_banker_by_critical_path(benchmark::State& state) {
  const TaskGraph graph = sliding_graph(static_cast<std::size_t>(state.range(0)));
  const std::span<const TaskId> witness = graph.topological_order();
  const Bytes bound = replay(graph, witness).peak * state.range(1) / 100;
  double ratio = 0;
  for (auto _ : state) {
    GraphBanker admission(graph, witness, bound);
    ratio = simulate(graph, admission, 8).makespan / lower_bounds(graph, 8, bound).best();
  }
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
  const auto with_bounds = [](benchmark::internal::Benchmark* made) {
    for (const int percent : {100, 125, 150, 300}) made->Args({10'000, percent});
    return made->Unit(benchmark::kMillisecond);
  };
  const std::pair<const char*, GraphRule> rules[] = {
      {"Activation", GraphRule::kActivation}, {"Banker", GraphRule::kBanker}};
  for (const auto& [name, rule] : rules) {
    with_bounds(benchmark::RegisterBenchmark((std::string("plan_graph/") + name).c_str(),
                                             bench_plan_graph, rule))
        ->Args({100'000, 100})
        ->Args({1'000'000, 100});
  }
  with_bounds(benchmark::RegisterBenchmark("plan_graph/BankerByCriticalPath",
                                           bench_banker_by_critical_path));
  return true;
}();

}  // namespace
}  // namespace espalier
