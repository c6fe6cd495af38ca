// Sequential planning on trees of 10^4 to 10^6 tasks of every shape: construction, best
// postorder, Liu's optimal traversal, and reading the tree from text.

#include <benchmark/benchmark.h>

#include <sstream>
#include <string>
#include <vector>

#include "bench_on_shapes.h"
#include "espalier/io/tree_io.h"
#include "espalier/model/task_tree.h"
#include "espalier/sequential/tree/best_postorder.h"
#include "espalier/sequential/tree/liu_traversal.h"
#include "support/tree_shapes.h"

namespace espalier {
namespace {

using support::Shape;

void count_tasks(benchmark::State& state) {
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void bench_construction(benchmark::State& state, const Shape& shape) {
  const std::vector<Task> tasks = shape.make(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(TaskTree(tasks));
  count_tasks(state);
}

void bench_best_postorder(benchmark::State& state, const Shape& shape) {
  const TaskTree tree(shape.make(static_cast<std::size_t>(state.range(0))));
  for (auto _ : state) benchmark::DoNotOptimize(best_postorder(tree));
  count_tasks(state);
}

void bench_liu_traversal(benchmark::State& state, const Shape& shape) {
  const TaskTree tree(shape.make(static_cast<std::size_t>(state.range(0))));
  for (auto _ : state) benchmark::DoNotOptimize(liu_traversal(tree));
  count_tasks(state);
}

void bench_read_tree(benchmark::State& state, const Shape& shape) {
  std::ostringstream text;
  write_tree(text, TaskTree(shape.make(static_cast<std::size_t>(state.range(0)))));
  for (auto _ : state) {
    std::istringstream in(text.str());
    benchmark::DoNotOptimize(read_tree(in, "bench"));
  }
  count_tasks(state);
}

// Runs before main(): every algorithm on every shape.
[[maybe_unused]] const bool kRegistered =
    bench_on_shapes<Shape>({{"TaskTree", bench_construction},
                            {"best_postorder", bench_best_postorder},
                            {"liu_traversal", bench_liu_traversal},
                            {"read_tree", bench_read_tree}},
                           support::shapes());

}  // namespace
}  // namespace espalier
