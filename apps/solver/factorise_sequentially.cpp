#include <chrono>

#include "solver/factorise.h"
#include "solver/front_tasks.h"

namespace espalier::solver {

tl::expected<Factor, BadPivot> factorise_sequentially(const Symbolic& symbolic,
                                                      const SymmetricMatrix& permuted,
                                                      const AssemblyTree& tree,
                                                      std::span<const TaskId> order,
                                                      FactorReport& report) {
  const auto start = std::chrono::steady_clock::now();
  MemoryMeter meter;
  PivotCheck pivots;
  Factor factor(symbolic, tree);
  std::vector<PageBuffer> contributions(tree.nodes.size());
  const FrontContext context{symbolic,      permuted, tree,  factor,
                             contributions, pivots,   &meter};
  for (const TaskId task : order) {
    run_sequential_node(context, static_cast<std::int32_t>(index(task)));
    if (pivots.failed()) return tl::make_unexpected(*pivots.result());
  }
  report.allocated_peak = meter.peak();
  report.tasks = static_cast<std::int64_t>(order.size());
  report.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  factor.forget_meter();
  return factor;
}

}  // namespace espalier::solver
