// Series-parallel graphs with sizes on their arcs, 10^4 to 10^6 tasks of every shape:
// recognition, and the order of least peak.

#include <benchmark/benchmark.h>

#include <random>
#include <string>

#include "espalier/sequential/series_parallel_traversal.h"
#include "support/series_parallel.h"

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

// Runs before main(): both on every shape.
[[maybe_unused]] const bool kRegistered = [] {
  struct Subject {
    const char* name;
    void (*run)(benchmark::State&, const ArcShape&);
  };
  for (const Subject& subject : {Subject{"two_terminal_decomposition", bench_recognition},
                                 Subject{"series_parallel_traversal", bench_traversal}}) {
    for (const ArcShape& shape : support::kArcShapes) {
      benchmark::RegisterBenchmark((std::string(subject.name) + "/" + shape.name).c_str(),
                                   subject.run, shape)
          ->RangeMultiplier(10)
          ->Range(10'000, 1'000'000)
          ->Unit(benchmark::kMillisecond);
    }
  }
  return true;
}();

}  // namespace
}  // namespace espalier
