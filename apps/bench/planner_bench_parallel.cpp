// Time to plan: make_plan and memory booking alone.
//
//   espalier_planner_bench --benchmark_filter=make_plan

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "espalier/parallel/coarsen.h"
#include "espalier/parallel/make_plan.h"
#include "espalier/parallel/memory_booking.h"
#include "espalier/sequential/tree/liu_traversal.h"

namespace espalier {
namespace {

enum Shape { kRandom, kAssembly, kChain, kStar };
constexpr const char* kShapeNames[] = {"random", "assembly", "chain", "star"};

// The balanced separator tree of a square grid of n nodes of 32 columns: fronts grow by
// sqrt(2) from a child to its parent, weights as of a multifrontal factorisation.
std::vector<Task> assembly_tree(std::size_t n) {
  std::vector<Task> tasks(n);
  std::size_t depth = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (i > 0) tasks[i].parent = task_id((i - 1) / 2);
    if (i + 1 == std::size_t{1} << (depth + 1)) ++depth;
    const double pivots = 8 + std::sqrt(32.0 * static_cast<double>(n) /
                                        static_cast<double>(std::size_t{1} << depth));
    const double border = i == 0 ? 0 : 2 * pivots;
    const auto square = [](double order) {
      return static_cast<Bytes>(8 * order * order);
    };
    tasks[i].output_size = square(border);
    tasks[i].retained_size = square(pivots + border) - square(border);
    tasks[i].work = pivots * (pivots + border) * (pivots + border);
  }
  return tasks;
}

std::shared_ptr<const TaskTree> make_tree(Shape shape, std::size_t n) {
  if (shape == kAssembly) return std::make_shared<TaskTree>(assembly_tree(n));
  std::mt19937 random(42);
  std::vector<Task> tasks(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t parent = shape == kChain  ? i - 1
                               : shape == kStar ? 0
                                                : random() % (i + 1);
    if (i > 0) tasks[i].parent = task_id(std::min(parent, i - 1));
    tasks[i].output_size = static_cast<Bytes>(1 + random() % 1000);
    tasks[i].execution_size = static_cast<Bytes>(random() % 100);
    tasks[i].work = static_cast<Flops>(1 + random() % 1000);
  }
  return std::make_shared<TaskTree>(tasks);
}

// Arguments: shape, tasks, workers, useful workers of each task.
void make_plan(benchmark::State& state) {
  const auto shape = static_cast<Shape>(state.range(0));
  const auto tree = make_tree(shape, static_cast<std::size_t>(state.range(1)));
  PlanOptions options;
  options.workers = static_cast<std::int32_t>(state.range(2));
  options.max_workers.assign(tree->size(), static_cast<double>(state.range(3)));
  state.SetLabel(kShapeNames[shape]);
  for (auto _ : state) benchmark::DoNotOptimize(make_plan(tree, options));
}
BENCHMARK(make_plan)
    ->ArgNames({"shape", "tasks", "workers", "useful"})
    ->ArgsProduct({{kRandom, kAssembly, kChain, kStar},
                   {10'000, 100'000, 1'000'000},
                   {16, 1024},
                   {1, 8}})
    ->Unit(benchmark::kMillisecond);

// Every task is activated and ended, in the order in which booking lets it start; the
// bound is a percentage of the least.
void memory_booking(benchmark::State& state) {
  const auto shape = static_cast<Shape>(state.range(0));
  const auto tree = make_tree(shape, static_cast<std::size_t>(state.range(1)));
  const Traversal liu = liu_traversal(*tree);
  state.SetLabel(kShapeNames[shape]);
  for (auto _ : state) {
    MemoryBooking booking(*tree, liu.order,
                          liu.peak / 100 * state.range(2) + liu.peak % 100);
    std::vector<TaskId> startable;
    booking.activate(startable);
    for (std::size_t next = 0; next < startable.size(); ++next) {
      booking.complete(startable[next], startable);
    }
    benchmark::DoNotOptimize(booking.booked_peak());
  }
}
BENCHMARK(memory_booking)
    ->ArgNames({"shape", "tasks", "percent"})
    ->ArgsProduct({{kRandom, kAssembly, kChain, kStar}, {10'000, 1'000'000}, {100, 200}})
    ->Unit(benchmark::kMillisecond);

void coarsen(benchmark::State& state) {
  const auto shape = static_cast<Shape>(state.range(0));
  const auto tree = make_tree(shape, static_cast<std::size_t>(state.range(1)));
  state.SetLabel(kShapeNames[shape]);
  for (auto _ : state) {
    benchmark::DoNotOptimize(coarsen(*tree, static_cast<std::int32_t>(state.range(2))));
  }
}
BENCHMARK(coarsen)
    ->ArgNames({"shape", "tasks", "workers"})
    ->ArgsProduct({{kRandom, kAssembly, kChain, kStar}, {1'000'000}, {16}})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace espalier
