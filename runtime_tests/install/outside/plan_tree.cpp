// Reads a task tree and asks what a bound on its memory costs on four workers.
//
//   plan_tree TREE

#include <cstdio>
#include <memory>

#include "espalier/io/tree_io.h"
#include "espalier/parallel/make_plan.h"

namespace {

long long number(espalier::Bytes bytes) { return bytes; }

void print_plans(const std::shared_ptr<const espalier::TaskTree>& tree) {
  // The orders depend neither on workers nor on the bound: once for all plans.
  const espalier::SequentialOrders orders = espalier::sequential_orders(*tree);
  const espalier::Bytes least = orders.liu.peak;
  for (const espalier::Bytes bound : {least - 1, least, 2 * least}) {
    const auto plan =
        espalier::make_plan(tree, {.workers = 4, .memory_bound = bound}, orders);
    if (plan)
      std::printf("%lld bytes: peak %lld, makespan %g of at least %g\n", number(bound),
                  number(plan->peak), plan->makespan, plan->lower_bounds.best());
    else
      std::printf("%lld bytes: not enough, %lld are\n", number(bound),
                  number(plan.error().least_bytes));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: plan_tree TREE\n");
    return 2;
  }
  try {
    print_plans(
        std::make_shared<const espalier::TaskTree>(espalier::read_tree(argv[1]).tree));
  } catch (const espalier::Error& error) {  // names the file, the line and the value
    std::fprintf(stderr, "plan_tree: %s\n", error.what());
    return 2;
  }
}
