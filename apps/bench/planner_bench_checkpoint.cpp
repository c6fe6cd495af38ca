// Checkpointing: actions a second of a Revolve stream, tables of H-Revolve and
// Disk-Revolve for 10^5 steps, the exact curve of chains with sizes. Peers are beside it:
// planner_bench_checkpoint_peers.cpp; --benchmark_filter='revolve|peer' prints both.

#include <benchmark/benchmark.h>

#include <memory>
#include <random>
#include <vector>

#include "espalier/checkpoint/h_revolve.h"
#include "espalier/checkpoint/revolve.h"
#include "espalier/checkpoint/rotor.h"

namespace espalier {
namespace {

// Items are actions: ns an action is the time over them.
void bench_revolve(benchmark::State& state, std::int64_t slots) {
  std::int64_t actions = 0;
  for (auto _ : state) {
    RevolveStream stream(state.range(0), slots);
    while (const auto action = stream.next()) {
      benchmark::DoNotOptimize(action->last);
      ++actions;
    }
  }
  state.SetItemsProcessed(actions);
  state.counters["an_action"] =
      benchmark::Counter(static_cast<double>(actions),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

// Levels that cost nothing, 5 and 4 steps, 20 and 16 steps.
void bench_levels(benchmark::State& state, const std::vector<std::int64_t>& slots) {
  const StepCosts costs{.forward = 1'000'000, .backward = 2'000'000, .forwards = {}};
  std::vector<CheckpointLevel> levels;
  Nanoseconds write = 0;
  for (const std::int64_t count : slots) {
    levels.push_back({"level", count, write, write / 5 * 4});
    write = write == 0 ? 5'000'000 : 4 * write;
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(HierarchyTables(state.range(0), levels, costs).cost());
  }
}

// Sizes in any bytes, saved sets of up to four inputs.
void bench_rotor(benchmark::State& state) {
  std::mt19937 random(1);
  const auto draw = [&random](std::int64_t last) {
    return std::uniform_int_distribution<std::int64_t>(1, last)(random);
  };
  std::vector<Stage> stages(static_cast<std::size_t>(state.range(0)));
  for (Stage& s : stages)
    s = {draw(1'000'000), 0,           draw(1'000'000), draw(2'000'000),
         draw(99'999),    draw(99'999)};
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const Bytes output = i + 1 < stages.size() ? stages[i + 1].input : 0;
    stages[i].saved = output + (draw(5) - 1) * stages[i].input;
  }
  const auto chain = std::make_shared<const Chain>(stages);
  std::size_t points = 0;
  for (auto _ : state) points = RotorTable(chain).curve().size();
  state.counters["points"] = static_cast<double>(points);
}

BENCHMARK_CAPTURE(bench_revolve, slots_20, 20)
    ->Arg(1'000'000)
    ->Unit(benchmark::kMillisecond)
    ->Name("revolve_stream_20_slots");
BENCHMARK_CAPTURE(bench_revolve, slots_100, 100)
    ->Arg(1'000'000)
    ->Unit(benchmark::kMillisecond)
    ->Name("revolve_stream_100_slots");
BENCHMARK_CAPTURE(bench_levels, two, std::vector<std::int64_t>{10, 20})
    ->Arg(400)
    ->Arg(10'000)
    ->Arg(100'001)
    ->Unit(benchmark::kMillisecond)
    ->Name("h_revolve_10_20");
BENCHMARK_CAPTURE(bench_levels, large, std::vector<std::int64_t>{50, 100})
    ->Arg(100'001)
    ->Unit(benchmark::kMillisecond)
    ->Name("h_revolve_50_100");
BENCHMARK_CAPTURE(bench_levels, late, std::vector<std::int64_t>{20, 200})
    ->Arg(100'000)
    ->Unit(benchmark::kMillisecond)
    ->Name("h_revolve_20_200");
BENCHMARK_CAPTURE(bench_levels, three, std::vector<std::int64_t>{10, 20, 8})
    ->Arg(100'001)
    ->Unit(benchmark::kMillisecond)
    ->Name("h_revolve_10_20_8");
BENCHMARK_CAPTURE(bench_levels, disk, std::vector<std::int64_t>{10, 1 << 20})
    ->Arg(100'001)
    ->Unit(benchmark::kMillisecond)
    ->Name("disk_revolve_10");
BENCHMARK(bench_rotor)
    ->Arg(50)
    ->Arg(100)
    ->Unit(benchmark::kMillisecond)
    ->Name("rotor_curve");

}  // namespace
}  // namespace espalier
