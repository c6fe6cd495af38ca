// The solver as a library, asked and measured as the peers are: from a matrix in memory
// to the refined solution, the start of the runtime included.

#include <stdexcept>
#include <variant>
#include <vector>

#include "peer_matrix.h"
#include "peer_run.h"
#include "solver/api/solver.h"

namespace {

using namespace espalier::bench;
namespace solver = espalier::solver;

solver::InputMatrix convert(const PeerMatrix& a) {
  if (a.symmetric) return solver::SymmetricMatrix{a.size, a.column_start, a.row, a.value};
  return solver::GeneralMatrix{a.size, a.column_start, a.row, a.value};
}

solver::SolverOptions choose(const PeerOptions& given) {
  solver::SolverOptions options;
  options.kind = given.kind == "spd"         ? solver::FactorKind::kCholesky
                 : given.kind == "symmetric" ? solver::FactorKind::kLdlt
                                             : solver::FactorKind::kLu;
  options.workers = given.threads;
  if (given.ordering == "given") options.analysis.ordering = solver::OrderingKind::kMetis;
  return options;
}

PeerResult solve(const PeerOptions& given) {
  const PeerMatrix matrix = read_input(given.input);
  solver::InputMatrix input = convert(matrix);
  const std::vector<double> b = apply_to_ones(matrix);
  std::vector<double> x = b;
  PeerResult result;
  RunTimer timer;
  timer.resume();
  solver::Solver ours(std::move(input), choose(given));
  if (const auto planned = ours.plan(std::nullopt); !planned)
    throw std::runtime_error("no plan without a bound");
  const auto run = ours.factorise();
  if (!run) {
    result.failure = "not SPD";
    return result;
  }
  const solver::Solution solution = ours.solve(x);
  timer.pause();
  timer.write(result);
  result.ordering_seconds = ours.analysis().seconds.ordering;
  result.analyse_seconds = ours.analyse_seconds();
  result.factor_seconds = run->seconds;
  result.solve_seconds = solution.seconds;
  result.refine_seconds = solution.refine_seconds;
  result.factor_rss_bytes = result.factor_rss_sum_bytes = ours.factor_growth();
  result.factor_flops = ours.analysis().symbolic.factor_flops;
  result.backward_error = backward_error(matrix, x, b);
  result.note = solver::name(*ours.analysis().seconds.ordering_taken);
  return result;
}

}  // namespace

int main(int argc, char** argv) { return peer_main(argc, argv, solve); }
