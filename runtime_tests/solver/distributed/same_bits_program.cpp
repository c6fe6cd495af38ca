// The factor of a system has the same pivots, and the solution of a grid the same bits,
// on one process and on those of a job: of every kind, with and without delayed columns,
// without a bound and inside the least. usage: real | complex | grids [SIDE]. mpirun
// starts it. What does not hold ends the job.

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
#include "solver/distributed/job_program.h"
#include "solver/distributed/whole_systems.h"

namespace espalier::solver {

using namespace cli;
namespace {

struct Case {
  std::string name;
  SystemKind kind;
  std::function<AnyMatrix()> system;
  /// Many columns are delayed, of constraints that are fronts of a chain: it ends
  /// elsewhere on several processes, and vectors are summed up in another order then.
  bool delays = false;
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

// Of two solvers, one of which does not refine; of one where nothing is solved.
Outcome outcome(const std::function<std::unique_ptr<Solver>(const SolverOptions&)>& make,
                SolverOptions options, bool least, bool solves) {
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
    if (!solves) break;
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
    options.delay_reserve = Bytes{192} << 20;
    options.prepare.scaling = PrepareOptions::Scaling::kNone;
    options.prepare.block_triangular = false;
    options.analysis.ordering = OrderingKind::kMetis;
    options.front_grids = of.grids;
    Outcome alone;
    if (cluster_.rank() == 0)
      alone =
          outcome([&](const SolverOptions& mine) { return solver_of(of.system(), mine); },
                  options, false, !of.delays);
    cluster_.barrier();
    for (const bool least : {false, true}) {
      const Outcome together = outcome(
          [&](const SolverOptions& mine) {
            return solver_on(cluster_, of.kind, of.system, mine);
          },
          options, least, !of.delays);
      if (cluster_.rank() > 0) continue;
      const std::string where = fmt::format("{}, {}", of.name, least ? "least" : "free");
      expect(!least || together.shared_nodes > 0 || cluster_.size() == 1,
             where + ": no node is shared");
      expect(of.grids == FrontGrids::kNever || !least || together.grid_nodes > 0,
             where + ": no node is in tiles over a grid");
      compare(where, alone, together, !of.delays);
      if (of.delays)
        expect(alone.pivots.delayed > 100, where + ": no columns are delayed");
    }
  }

 private:
  void expect(bool holds, const std::string& what) {
    if (!holds) cluster_.fail(3, what);
  }
  void compare(const std::string& where, const Outcome& alone, const Outcome& together,
               bool bits) {
    const auto words = [](const PivotStatistics& of) {
      return fmt::format("{} delayed, {} perturbed, {} negative, {} of order 2, {}",
                         of.delayed, of.perturbed, of.negative, of.two_by_two,
                         of.smallest);
    };
    expect(words(alone.pivots) == words(together.pivots),
           fmt::format("{}: {}; alone {}", where, words(together.pivots),
                       words(alone.pivots)));
    if (!bits) return;
    compare(where + ", as the factor gives it", alone.raw, together.raw);
    compare(where + ", refined", alone.refined, together.refined);
    compare(where + ", transposed", alone.transposed, together.transposed);
  }
  void compare(const std::string& where, const std::vector<double>& a,
               const std::vector<double>& b) {
    std::size_t others = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
      others += std::memcmp(&a[i], &b[i], sizeof a[i]) != 0 ? 1 : 0;
    expect(others == 0,
           fmt::format("{}: {} of {} entries have other bits", where, others, a.size()));
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

// Fronts that are large enough for tiles.
void run_grids(Cluster& cluster, int side) {
  SameBits bits(cluster);
  for (const SystemKind& kind :
       {kRealKinds[0], kRealKinds[1], kRealKinds[2], kComplexKinds[2]})
    bits.check({name_of(kind) + " over grids", kind,
                [=] { return system_of(kind, side, false); }, false,
                FrontGrids::kAlways});
}

void run(Cluster& cluster, bool complex) {
  const int side = 18;
  SameBits bits(cluster);
  const auto kinds =
      complex ? std::span<const SystemKind>(kComplexKinds) : std::span(kRealKinds);
  for (const SystemKind& kind : kinds)
    for (const bool saddle : {false, true}) {
      if (saddle && kind.factor == FactorKind::kCholesky) continue;
      bits.check({name_of(kind) + (saddle ? " saddle point" : ""), kind,
                  [=] { return system_of(kind, side, saddle); }, saddle});
    }
}

}  // namespace
}  // namespace espalier::solver

int main(int argc, char** argv) {
  return espalier::solver::run_job_program(
      argc, argv, "test=same bits\n",
      [&](auto& cluster) {
        const std::string what = argc > 1 ? argv[1] : "real";
        if (what == "grids")
          espalier::solver::run_grids(cluster, argc > 2 ? std::atoi(argv[2]) : 32);
        else
          espalier::solver::run(cluster, what == "complex");
      },
      "the same bits");
}
