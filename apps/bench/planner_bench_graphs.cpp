// Orders of computation graphs: networks, for inference and for training, and shapes of
// 10^4 to 10^6 operators. Counters: `states`, downsets at which the search had a choice;
// `gap`, 0 when the order is proved to be best.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>

#include "espalier/model/graph_builder.h"
#include "espalier/sequential/dag/order_graph.h"
#include "support/network_graphs.h"
#include "support/random_graphs.h"

namespace espalier {
namespace {

constexpr Seconds kTime = 10;

void order(benchmark::State& state, const TaskGraph& graph) {
  GraphOrder found;
  for (auto _ : state) {
    found = order_graph(graph, {.time = kTime});
    benchmark::DoNotOptimize(found);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(graph.size()));
  state.counters["operators"] = static_cast<double>(graph.size());
  state.counters["states"] = static_cast<double>(found.states);
  state.counters["gap"] = found.gap();
}

void bench_network(benchmark::State& state, const support::NamedNetwork& network) {
  order(state, network.make().graph(state.range(0) > 0, state.range(0) > 1));
}

// Every operator reads the results of the last two: one operator at a time.
TaskGraph ladder_shape(std::size_t operators) {
  std::mt19937 random(1);
  std::uniform_int_distribution<Bytes> size(1, 1000);
  TaskGraphBuilder builder;
  for (std::size_t i = 0; i < operators; ++i) {
    const TaskId task = builder.add_task("", size(random));
    builder.writes(task, builder.add_datum("", size(random)));
    for (std::size_t back = 1; back <= std::min<std::size_t>(2, i); ++back) {
      builder.reads(task, datum_id(i - back));
    }
  }
  return std::move(builder).build();
}

TaskGraph layers(std::size_t operators, std::size_t width) {
  std::mt19937 random(2);
  return support::layered_graph(random, operators, width, 1000);
}

// Each result is read by the operators below it and is kept now and then.
TaskGraph out_tree(std::size_t operators) {
  std::mt19937 random(3);
  std::uniform_int_distribution<Bytes> size(1, 1000);
  TaskGraphBuilder builder;
  for (std::size_t i = 0; i < operators; ++i) {
    const TaskId task = builder.add_task("", size(random));
    const DatumId datum = builder.add_datum("", size(random));
    builder.writes(task, datum);
    if (i % 4 == 0) builder.keep(datum);
    if (i > 0) {
      std::uniform_int_distribution<std::size_t> back(1, std::min<std::size_t>(i, 20));
      builder.reads(task, datum_id(i - back(random)));
    }
  }
  return std::move(builder).build();
}

TaskGraph series_parallel(std::size_t operators) {
  std::mt19937 random(4);
  return support::series_parallel_graph(random, operators, 0, 1000);
}

struct GraphShape {
  const char* name;
  TaskGraph (*make)(std::size_t operators);
};

// Runs before main().
[[maybe_unused]] const bool kRegistered = [] {
  for (const support::NamedNetwork& network : support::networks()) {
    benchmark::RegisterBenchmark(("order_graph/" + network.name).c_str(), bench_network,
                                 network)
        ->ArgName("training")
        ->DenseRange(0, 2)
        ->Iterations(1)
        ->Unit(benchmark::kMillisecond);
  }
  for (const GraphShape& shape :
       {GraphShape{"Ladder", ladder_shape}, GraphShape{"SeriesParallel", series_parallel},
        GraphShape{"OutTree", out_tree},
        GraphShape{"Layers3", [](std::size_t n) { return layers(n, 3); }},
        GraphShape{"Layers100", [](std::size_t n) { return layers(n, 100); }}}) {
    benchmark::RegisterBenchmark(
        (std::string("order_graph/") + shape.name).c_str(),
        [shape](benchmark::State& state) {
          order(state, shape.make(static_cast<std::size_t>(state.range(0))));
        })
        ->RangeMultiplier(10)
        ->Range(10'000, 1'000'000)
        ->Iterations(1)
        ->Unit(benchmark::kMillisecond);
  }
  return true;
}();

}  // namespace
}  // namespace espalier
