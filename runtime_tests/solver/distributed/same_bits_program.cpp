// The factor of a system has the same pivots, and the solution the same bits, on one
// process, by the calling thread or the runtime, and on those of a job: of every kind,
// with and without delayed columns, without a bound and inside the least.
// usage: (real | complex) [grids | grid_delays [SIDE]]. mpirun starts it. What does not
// hold ends the job.

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/job/cluster.h"
#include "solver/api/solver.h"
#include "solver/distributed/bits.h"
#include "solver/distributed/job_program.h"
#include "solver/distributed/whole_systems.h"

namespace espalier::solver {

using namespace cli;
namespace {

struct Case {
  std::string name;
  SystemKind kind;
  std::function<AnyMatrix()> system;
  bool delays = false;  ///< many columns are delayed
  FrontGrids grids = FrontGrids::kNever;
};

struct Outcome {
  PivotStatistics pivots;
  // As the factor gives it, after refinement, and of the transposed matrix, which of a
  // complex one is A^H.
  std::vector<double> raw, refined, transposed;
  std::int64_t shared_nodes = 0, grid_nodes = 0;
};

std::vector<double> solution(Solver& solver, Operation operation = Operation::kPlain) {
  std::vector<double> x = solver.apply_to_ones();
  (void)solver.solve(x, 1, operation);
  return x;
}

// Of two solvers, one of which does not refine.
Outcome outcome(const std::function<std::unique_ptr<Solver>(const SolverOptions&)>& make,
                SolverOptions options, bool least) {
  Outcome result;
  for (const bool refine : {false, true}) {
    options.refine = refine;
    options.no_residual = !refine;
    const std::unique_ptr<Solver> solver = make(options);
    const auto planned =
        solver->plan(least ? std::optional(solver->least()) : std::nullopt);
    if (!planned) throw Error(planned.error().message());
    const auto report = solver->factorise();
    if (!report) throw Error("no factorisation");
    result.pivots = report->pivots;
    result.shared_nodes = solver->process_facts().shared_nodes;
    result.grid_nodes = solver->process_facts().grid_nodes;
    (refine ? result.refined : result.raw) = solution(*solver);
    if (!refine) result.transposed = solution(*solver, Operation::kTransposed);
  }
  return result;
}

class SameBits {
 public:
  explicit SameBits(Cluster& cluster) : cluster_(cluster) {}

  void check(const Case& of) {
    SolverOptions options;
    options.kind = of.kind.factor;
    options.runtime_flops = 0;
    options.pivot_threshold = 0.1;
    options.delay_reserve = Bytes{of.grids == FrontGrids::kNever ? 192 : 1024} << 20;
    options.prepare.scaling = PrepareOptions::Scaling::kNone;
    options.prepare.block_triangular = false;
    options.analysis.ordering = OrderingKind::kMetis;
    options.front_grids = of.grids;
    Outcome alone;
    if (cluster_.rank() == 0) {
      const auto make = [&](const SolverOptions& mine) {
        return solver_of(of.system(), mine);
      };
      alone = outcome(make, options, false);
      SolverOptions here = options;
      here.runtime_flops = 1e18;
      compare(of.name + ", by the calling thread", alone, outcome(make, here, false));
    }
    cluster_.barrier();
    for (const bool least : {false, true}) {
      const Outcome together = outcome(
          [&](const SolverOptions& mine) {
            return solver_on(cluster_, of.kind, of.system, mine);
          },
          options, least);
      if (cluster_.rank() > 0) continue;
      const std::string where = fmt::format("{}, {}", of.name, least ? "least" : "free");
      expect(!least || together.shared_nodes > 0 || cluster_.size() == 1,
             where + ": no node is shared");
      expect(of.grids == FrontGrids::kNever || !least || together.grid_nodes > 0,
             where + ": no node is in tiles over a grid");
      compare(where, alone, together);
      if (of.delays)
        expect(alone.pivots.delayed > 100, where + ": no columns are delayed");
    }
  }

 private:
  void expect(bool holds, const std::string& what) {
    if (!holds) cluster_.fail(3, what);
  }
  void compare(const std::string& where, const Outcome& alone, const Outcome& together) {
    const auto words = [](const PivotStatistics& of) {
      return fmt::format("{} delayed, {} perturbed, {} negative, {} of order 2, {}",
                         of.delayed, of.perturbed, of.negative, of.two_by_two,
                         of.smallest);
    };
    expect(words(alone.pivots) == words(together.pivots),
           fmt::format("{}: {}; alone {}", where, words(together.pivots),
                       words(alone.pivots)));
    compare(where + ", as the factor gives it", alone.raw, together.raw);
    compare(where + ", refined", alone.refined, together.refined);
    compare(where + ", transposed", alone.transposed, together.transposed);
  }
  void compare(const std::string& where, const std::vector<double>& a,
               const std::vector<double>& b) {
    const std::string others = other_bits(a, b);
    expect(others.empty(), where + ": " + others);
  }

  Cluster& cluster_;
};

std::string name_of(const SystemKind& kind) {
  const std::string factor = kind.factor == FactorKind::kCholesky ? "definite"
                             : kind.factor == FactorKind::kLdlt   ? "symmetric"
                                                                  : "general";
  if (!kind.complex) return factor;
  return (*kind.complex == ComplexSymmetry::kHermitian ? "Hermitian, " : "complex, ") +
         factor;
}

// With fronts in tiles over grids where `grids` says so, of a side that makes fronts
// large enough for them.
void run(Cluster& cluster, bool complex, FrontGrids grids, bool saddle, int side) {
  SameBits bits(cluster);
  const auto kinds =
      complex ? std::span<const SystemKind>(kComplexKinds) : std::span(kRealKinds);
  for (const SystemKind& kind : kinds) {
    if (saddle && kind.factor == FactorKind::kCholesky) continue;
    bits.check({name_of(kind) + (saddle ? " saddle point" : "") +
                    (grids == FrontGrids::kNever ? "" : " over grids"),
                kind, [=] { return system_of(kind, side, saddle); }, saddle, grids});
  }
}

void run(Cluster& cluster, bool complex, const std::string& what, int side) {
  if (what == "grids")
    return run(cluster, complex, FrontGrids::kAlways, false, side > 0 ? side : 30);
  if (what == "grid_delays")
    return run(cluster, complex, FrontGrids::kAlways, true, side > 0 ? side : 30);
  for (const bool saddle : {false, true})
    run(cluster, complex, FrontGrids::kNever, saddle, 18);
}

}  // namespace
}  // namespace espalier::solver

int main(int argc, char** argv) {
  return espalier::solver::run_job_program(
      argc, argv, "test=same bits\n",
      [&](auto& cluster) {
        const bool complex = argc > 1 && std::strcmp(argv[1], "complex") == 0;
        espalier::solver::run(cluster, complex, argc > 2 ? argv[2] : "",
                              argc > 3 ? std::atoi(argv[3]) : 0);
      },
      "the same bits");
}
