// Series-parallel graphs, 10^4 to 10^6 tasks of every shape: recognition, the order of
// least peak with sizes on arcs, and an order with sizes on data, which may be read by
// several operators; then pumpkins, where that is hard.

#include <benchmark/benchmark.h>

#include <random>
#include <string>

#include "bench_on_shapes.h"
#include "espalier/sequential/series_parallel/series_parallel_order.h"
#include "espalier/sequential/series_parallel/series_parallel_traversal.h"
#include "support/series_parallel.h"
#include "support/series_parallel_graph.h"

namespace espalier {
namespace {

using support::ArcShape;

EdgeWeightedDag make(benchmark::State& state, const ArcShape& shape) {
  std::mt19937 random(1);
  return support::with_sizes(random, shape.make(static_cast<std::size_t>(state.range(0))),
                             1000);
}

void bench_recognition(benchmark::State& state, const ArcShape& shape) {
  const EdgeWeightedDag dag = make(state, shape);
  for (auto _ : state) {
    benchmark::DoNotOptimize(two_terminal_decomposition(dag.size(), dag.arcs()));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void bench_traversal(benchmark::State& state, const ArcShape& shape) {
  const EdgeWeightedDag dag = make(state, shape);
  for (auto _ : state) benchmark::DoNotOptimize(series_parallel_traversal(dag));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

// Counters: 1 when the order is proved best, and how far the lower bound is below it.
void plan(benchmark::State& state, const TaskGraph& graph) {
  SeriesParallelOrder result;
  for (auto _ : state) result = *series_parallel_order(graph);
  const auto peak = static_cast<double>(result.peak);
  state.counters["proved"] = result.proved() ? 1 : 0;
  state.counters["gap"] = 1 - static_cast<double>(result.lower_bound) / peak;
}

void bench_order(benchmark::State& state, const ArcShape& shape) {
  std::mt19937 random(1);
  plan(state, support::graph_with_arcs(
                  random, shape.make(static_cast<std::size_t>(state.range(0))),
                  {.largest_size = 1000}));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

// Arguments: chains, and the most tasks of a chain.
void bench_pumpkin(benchmark::State& state) {
  std::mt19937 random(1);
  plan(state, support::graph_with_arcs(
                  random,
                  support::pumpkin(random, static_cast<std::size_t>(state.range(0)),
                                   static_cast<std::size_t>(state.range(1))),
                  {.largest_size = 1000}));
}
BENCHMARK(bench_pumpkin)
    ->Name("series_parallel_order/Pumpkin")
    ->ArgsProduct({{3, 6, 9, 12, 15}, {1, 10, 1000}})
    ->Unit(benchmark::kMillisecond);

// Runs before main(): all on every shape.
[[maybe_unused]] const bool kRegistered =
    bench_on_shapes<ArcShape>({{"two_terminal_decomposition", bench_recognition},
                               {"series_parallel_traversal", bench_traversal},
                               {"series_parallel_order", bench_order}},
                              support::kArcShapes);

}  // namespace
}  // namespace espalier
