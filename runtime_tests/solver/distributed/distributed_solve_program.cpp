// The solve, the refinement and the distribution by processes of a job: each makes the
// same random systems, keeps its part and compares with a solve by itself. mpirun starts
// it.

#include <espalier.h>

#include <cmath>
#include <limits>
#include <optional>

#include "cli/job/cluster.h"
#include "solver/distributed/cluster_solve.h"
#include "solver/distributed/distribute.h"
#include "solver/distributed/distributed_systems.h"
#include "solver/distributed/job_program.h"
#include "solver/refine/refine.h"

namespace espalier::solver {

using namespace cli;
namespace {

void require(Cluster& cluster, bool holds, const std::string& what) {
  if (!holds) cluster.fail(3, what);
}

// All that the others had from process 0 and nobody else could know.
void distribute(Communicator& communicator, const std::vector<ColumnRange>& ranges,
                Symbolic& symbolic, SquareMatrix& permuted) {
  if (communicator.rank() != 0) symbolic = {}, permuted = {};
  broadcast(communicator, symbolic);
  distribute_columns(communicator, ranges, permuted);
}

template <class T>
void check_system(Cluster& cluster, const Runtime& runtime, std::mt19937& random,
                  FactorKind kind, std::int32_t n) {
  DistributedSystem<T> system(of_kind(random_dominant(random, n), kind), kind, random);
  const FrontDistribution distribution = random_distribution(
      random, system.analysis.symbolic, system.tree, cluster.size(),
      draw(random, 0, 3) == 0 ? Sharing::kAll : Sharing::kRandom, system.may_share());
  const bool transposed = draw(random, 0, 1) == 1;
  const std::int32_t nrhs = draw(random, 1, 3);
  const std::vector<double> b = random_vector(random, n * nrhs);
  std::vector<T> alone(b.begin(), b.end()), expected(b.size());
  solve_sequentially<T>(system.view(), transposed, {alone.data(), n, nrhs},
                        {expected.data(), n, nrhs});

  const Factor<T> factor = system.part(distribution, cluster.rank());
  distribute(cluster, column_ranges(system.analysis.symbolic, system.tree, distribution),
             system.analysis.symbolic, system.analysis.permuted);
  ClusterSolve<T> solve({system.analysis.symbolic, system.tree, factor}, distribution,
                        cluster, runtime, nrhs, Bytes{1} << 62);
  const auto inverse = [&](std::span<double> block, std::int32_t count) {
    std::vector<T> rhs(block.begin(), block.end()), x(block.size());
    solve.solve(transposed, {rhs.data(), n, count}, {x.data(), n, count});
    std::ranges::copy(x, block.begin());
  };
  std::vector<double> x = b;
  inverse(x, nrhs);
  double largest = 0;
  for (const T value : expected) largest = std::max<double>(largest, std::abs(value));
  const double tolerance = (sizeof(T) == 8 ? 1e-12 : 1e-3) * largest;
  for (std::size_t i = 0; i < x.size(); ++i)
    require(cluster, std::abs(x[i] - expected[i]) <= tolerance,
            fmt::format("order {}, kind {}: x[{}] is {}, alone {}; {}", n, int(kind), i,
                        x[i], expected[i], describe(distribution)));
  const Refinement refinement =
      refine(matrix_part(system.analysis.permuted, cluster), b, x, nrhs, inverse,
             {.operation = transposed ? Operation::kTransposed : Operation::kPlain});
  // A first solution of up to eight epsilons stays.
  require(cluster,
          refinement.backward_error <= 8 * std::numeric_limits<double>::epsilon(),
          fmt::format("backward error {}", refinement.backward_error));
  const double first = x.empty() ? 0 : x.front();
  require(cluster, cluster.largest(first) == first && cluster.largest(-first) == -first,
          "solutions differ");
}

void run(Cluster& cluster) {
  const Runtime runtime({1, "espalier"});
  runtime.wake();
  std::mt19937 random(17);
  for (int instance = 0; instance < 4; ++instance)
    for (const FactorKind kind :
         {FactorKind::kCholesky, FactorKind::kLdlt, FactorKind::kLu}) {
      const std::int32_t n = instance == 0 ? 0 : draw(random, 1, 150);
      check_system<double>(cluster, runtime, random, kind, n);
      check_system<float>(cluster, runtime, random, kind, n);
    }
  runtime.sleep();
}

}  // namespace
}  // namespace espalier::solver

int main(int argc, char** argv) {
  return espalier::solver::run_job_program(
      argc, argv, "test=distributed solve\n",
      [&](auto& cluster) { espalier::solver::run(cluster); }, "solved");
}
