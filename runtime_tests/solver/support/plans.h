#pragma once

// Plans of assembly trees for the policy, with all the calls that a program would make.

#include <espalier.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "solver/tree/assembly_tree.h"

namespace espalier::solver {

using PlanPointer = std::unique_ptr<espalier_plan, void (*)(espalier_plan*)>;

/// A plan of a tree for the policy.
/// @param bound  of the tree; 0: the least that suffices, which `least` receives
inline PlanPointer plan_for(const AssemblyTree& tree, std::int32_t workers, Bytes bound,
                            Bytes* least = nullptr) {
  const std::size_t n = tree.tasks.size();
  std::vector<std::int32_t> parent(n);
  std::vector<Bytes> output(n), execution(n), retained(n);
  std::vector<Flops> work(n);
  for (std::size_t i = 0; i < n; ++i) {
    const TaskId task = task_id(i);
    const auto above = tree.tasks.parent(task);
    parent[i] = above ? static_cast<std::int32_t>(index(*above)) : -1;
    output[i] = tree.tasks.output_size(task);
    execution[i] = tree.tasks.execution_size(task);
    retained[i] = tree.tasks.retained_size(task);
    work[i] = tree.tasks.work(task);
  }
  espalier_tree* declared = nullptr;
  EXPECT_EQ(
      espalier_tree_create(&declared, static_cast<std::int32_t>(n), parent.data(),
                           output.data(), execution.data(), retained.data(), work.data()),
      0)
      << espalier_last_error();
  espalier_plan_options options = ESPALIER_PLAN_OPTIONS_INIT;
  options.workers = workers;
  options.memory_bound = bound;
  options.max_workers = tree.max_workers.data();
  espalier_plan* plan = nullptr;
  EXPECT_EQ(espalier_plan_create(&plan, declared, &options, least), 0)
      << espalier_last_error();
  espalier_tree_destroy(declared);
  return {plan, espalier_plan_destroy};
}

}  // namespace espalier::solver
