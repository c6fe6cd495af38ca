#include "solver/api/explain_solver.h"

#include "solver/tree/spill_plan.h"

namespace espalier::solver {
namespace {

MemoryExplanation explain(const Solver& solver, const AssemblyTree& tree, OrderKind order,
                          Bytes solve) {
  const Traversal traversal = sequential_order(tree.tasks, order);
  return explain_least(
      solver.memory(),
      {.fronts = traversal.peak,
       .solve = solve,
       .factor = factor_in_memory(tree),
       .at_peak = fronts_at_peak(solver.analysis().symbolic, tree, traversal.order)});
}

}  // namespace

MemoryExplanation explain_least(const Solver& solver, OrderKind order) {
  AssemblyTree tree = solver.tree();
  for (AssemblyTree::Node& node : tree.nodes) node.factor_at = node.contribution_at = -1;
  describe_tasks(solver.analysis().symbolic, tree);
  return explain(solver, tree, order, solver.memory().solve);
}

std::optional<MemoryExplanation> explain_least_out_of_core(const Solver& solver,
                                                           OrderKind order) {
  if (!solver.spills()) return std::nullopt;
  AssemblyTree tree = solver.tree();
  static_cast<void>(spill_everything(solver.analysis().symbolic, tree, order));
  return explain(solver, tree, order, solver.memory().solve_out_of_core);
}

MemoryExplanation explain_peak(const Solver& solver, const FactorReport& report) {
  return explain_peak(solver.memory(),
                      {.peak = solver.peak_resident(),
                       .growth = solver.factor_growth(),
                       .allocated_peak = report.allocated_peak},
                      factor_in_memory(solver.tree()));
}

}  // namespace espalier::solver
