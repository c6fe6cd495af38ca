// The factorisation by processes of a job: each makes the same random systems and shares,
// factors its part inside the least bound for it, and compares its block columns with the
// factor that one process makes alone. mpirun starts it with the number of workers.

#include <espalier.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>

#include "cli/job/cluster.h"
#include "espalier/model/replay.h"
#include "solver/distributed/assign_shares.h"
#include "solver/distributed/cluster_nodes.h"
#include "solver/distributed/distributed_systems.h"
#include "solver/distributed/process_part.h"
#include "solver/distributed/transport.h"
#include "solver/matrix/grid.h"
#include "solver/tree/tree_plan.h"

namespace espalier::solver {

using namespace cli;
namespace {

struct Job {
  Cluster& cluster;
  Runtime& runtime;
  Transport& transport;
  std::int32_t workers;
};

void require(Cluster& cluster, bool holds, const std::string& what) {
  if (!holds) cluster.fail(3, what);
}

// Own block columns against those of the factor that was made alone.
template <class T>
void compare(Cluster& cluster, const DistributedSystem<T>& system, const Shares& shares,
             const Factor<T>& factor) {
  const Symbolic& symbolic = system.analysis.symbolic;
  const AssemblyTree& tree = system.tree;
  double largest = 0, worst = 0;
  for (std::int32_t s = 0; s < symbolic.fronts(); ++s) {
    const std::int32_t node = tree.node_of_front[s];
    if (!shares.takes_part(node, cluster.rank())) continue;
    const Trapezoid panel = tree.panel(symbolic, s);
    const T* const alone =
        system.factor.panel_data(s, system.factor.storage[node].template as<T>());
    const T* const mine = factor.panel_data(s, factor.storage[node].template as<T>());
    for (std::int32_t side = 0; side < tree.sides(); ++side)
      for (std::int32_t k = 0; k < panel.blocks(); ++k) {
        if (shares.owner_of(node, k) != cluster.rank()) continue;
        for (std::int32_t j = 0; j < panel.width(k); ++j)
          for (std::int32_t i = side == 0 ? j : panel.width(k); i < panel.leading(k);
               ++i) {
            const std::int64_t at = side * panel.entries() + panel.offset(k) +
                                    std::int64_t{j} * panel.leading(k) + i;
            largest = std::max(largest, std::abs(static_cast<double>(alone[at])));
            const double difference = std::abs(static_cast<double>(alone[at] - mine[at]));
            worst = std::isnan(difference) ? HUGE_VAL : std::max(worst, difference);
          }
      }
  }
  require(
      cluster, worst <= (sizeof(T) == 8 ? 1e-11 : 1e-3) * (1 + largest),
      fmt::format("entries differ by {} of {}; {}", worst, largest, describe(shares)));
}

template <class T>
void check_system(Job& job, std::mt19937& random, SquareMatrix&& matrix,
                  FactorKind kind) {
  DistributedSystem<T> system(std::move(matrix), kind, random);
  const Symbolic& symbolic = system.analysis.symbolic;
  std::vector<bool> may_share;
  for (const AssemblyTree::Node& node : system.tree.nodes)
    may_share.push_back(node.first_front == node.last_front);
  Shares shares = random_shares(
      random, symbolic, system.tree, job.cluster.size(),
      draw(random, 0, 3) == 0 ? Sharing::kAll : Sharing::kRandom, may_share);
  if (draw(random, 0, 1) == 1)
    shares = assign_shares(symbolic, system.tree, job.cluster.size(), shares.group);
  const AssemblyTree part = part_of(symbolic, system.tree, shares, job.cluster.rank());
  const auto order = system.tree.tasks.postorder();
  const Bytes least = replay(part.tasks, order).peak;
  const TreePlan plan = make_tree_plan(part.tasks, part.max_workers,
                                       {.workers = job.workers}, least, order);
  require(job.cluster, plan != nullptr, "the witness does not fit in its own peak");
  PivotOptions pivoting;
  pivoting.perturbation = 1e-3;
  pivoting.delay_reserve = 0;
  const FactorInput input{symbolic, system.analysis.permuted, part, pivoting, nullptr,
                          least};
  ClusterNodes<T> nodes(job.cluster, job.transport, shares);
  FactorReport report;
  const auto factor = factorise<T>(input, job.runtime, plan.get(), report, {}, &nodes);
  job.cluster.barrier();
  require(job.cluster, factor.has_value() == system.factored,
          factor ? "factored what is not positive definite" : "a bad pivot");
  require(job.cluster, report.booked_peak <= least && report.allocated_peak <= least,
          fmt::format("booked {}, allocated {} of {}; {}", report.booked_peak,
                      report.allocated_peak, least, describe(shares)));
  if (factor) compare(job.cluster, system, shares, *factor);
}

void run(Cluster& cluster, std::int32_t workers) {
  Runtime runtime({workers, "espalier"});
  runtime.wake();
  std::optional<Transport> transport(std::in_place, cluster.data_communicator());
  Job job{cluster, runtime, *transport, workers};
  std::mt19937 random(31);
  for (int instance = 0; instance < 4; ++instance)
    for (const FactorKind kind :
         {FactorKind::kCholesky, FactorKind::kLdlt, FactorKind::kLu}) {
      const std::int32_t n = instance == 0 ? 0 : draw(random, 1, 220);
      check_system<double>(job, random, of_kind(random_dominant(random, n), kind), kind);
      check_system<float>(job, random, of_kind(random_dominant(random, n), kind), kind);
    }
  SquareMatrix grid;
  grid.lower = make_grid({9, 9, 9});
  check_system<double>(job, random, std::move(grid), FactorKind::kCholesky);
  runtime.wake();
  transport.reset();
  runtime.sleep();
}

}  // namespace
}  // namespace espalier::solver

int main(int argc, char** argv) {
  espalier::solver::Cluster cluster(argc, argv, "test=distributed factorisation\n");
  try {
    espalier::solver::run(cluster, argc > 1 ? std::atoi(argv[1]) : 1);
  } catch (const std::exception& error) {
    cluster.fail(3, error.what());
  }
  if (cluster.rank() == 0) std::puts("factored");
}
