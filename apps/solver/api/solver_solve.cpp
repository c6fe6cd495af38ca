// Solutions: in blocks of right-hand sides, refined and judged.

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "espalier/model/clock.h"
#include "solver/api/solver_impl.h"
#include "solver/matrix/check_matrix.h"
#include "solver/refine/residual.h"
#include "solver/refine/scaled_permutation.h"

namespace espalier::solver {
namespace {

void keep_worst(Refinement& worst, const Refinement& one) {
  worst.steps = std::max(worst.steps, one.steps);
  worst.gmres_steps += one.gmres_steps;
  worst.backward_error = std::max(worst.backward_error, one.backward_error);
  worst.strict = std::max(worst.strict, one.strict);
}

}  // namespace

// Right-hand sides of one pass: what the bound leaves.
std::int32_t Solver::Impl::nrhs_at_once(std::int32_t nrhs) {
  std::int32_t block = std::clamp(nrhs, 1, kBlock);
  while (bound_ && block > 1 && solve_bytes(at_hand(), block) > solve_room()) --block;
  return agree(block);
}

Solution Solver::Impl::solve(std::span<double> b, std::int32_t nrhs, Operation operation,
                             std::span<const std::int64_t> rows,
                             const std::function<void(double)>& progress) {
  if (!factored_) throw InvalidInput("solve: factorise first");
  check_vectors(vector_size(), nrhs, b);
  check_rows(analysis_.symbolic.size, rows);
  if (may_solve_plainly(b, nrhs)) {
    if (progress) progress(0);
    if (const auto found = solve_plainly(b)) return *found;
  }
  Solution solution;
  const auto n = static_cast<std::size_t>(vector_size());
  const std::vector<std::int32_t> inner_rows = map(operation).inner_rows(rows);
  const std::int32_t block = nrhs_at_once(nrhs);
  std::int32_t solved = 0;
  std::function<void()> ask;
  if (progress) ask = [&] { progress(static_cast<double>(solved) / nrhs); };
  const Pass pass{operation, block, inner_rows, asking(ask)};
  const auto start = Clock::now();
  with_open_solve(block, [&] {
    solution.seconds = since(start);
    BlockSpace space;
    for (; solved < nrhs; solved += block)
      solve_block(b.subspan(solved * n, std::min(block, nrhs - solved) * n), pass, space,
                  solution);
  });
  judge(solution);
  return solution;
}

// Without refinement the error is still measured. GMRES is not for singular matrices: a
// solution that does not exist would grow along the null space until its backward error
// is small.
RefineOptions Solver::Impl::refine_options(const Pass& pass) {
  RefineOptions options{.operation = pass.operation, .gmres_basis = 0};
  if (!options_.refine)
    options.max_steps = 0;
  else if (!singular() && least_basis(kind()) > 0)
    options.gmres_basis = agree(refining_basis(pass.most));
  options.threads = refining_threads(pass.most, options.gmres_basis);
  return options;
}

// Right-hand sides in the order of elimination, nothing where variables are kept.
void Solver::Impl::to_inner(std::span<const double> b, const ScaledPermutation& map,
                            std::vector<double>& rhs) const {
  const auto n = static_cast<std::size_t>(vector_size());
  const auto inner = static_cast<std::size_t>(inner_size());
  rhs.resize(b.size());
  for (std::size_t k = 0; k < b.size(); k += n) {
    const std::span<double> one = std::span(rhs).subspan(k, n);
    map.rhs_to_inner(b.subspan(k, n), one);
    std::ranges::fill(one.subspan(inner), 0.0);
  }
}

void Solver::Impl::solve_block(std::span<double> b, const Pass& pass, BlockSpace& space,
                               Solution& solution) {
  const auto start = Clock::now();
  const ScaledPermutation map = this->map(pass.operation);
  const bool transposed = pass.operation == Operation::kTransposed;
  const auto n = static_cast<std::size_t>(vector_size());
  const auto nrhs = static_cast<std::int32_t>(b.size() / std::max<std::size_t>(n, 1));
  auto& [rhs, x, residuals] = space;
  to_inner(b, map, rhs);
  x = rhs;
  if (pass.ask) pass.ask();
  numeric_->solve(transposed, x, nrhs, pass.rows, pass.ask);
  solution.seconds += since(start);
  if (options_.no_residual) {
    for (std::size_t k = 0; k < b.size(); k += n)
      map.solution_to_outer(std::span(x).subspan(k, n), b.subspan(k, n));
    return;
  }
  const auto refining = Clock::now();
  RefineOptions refining_options = refine_options(pass);
  const std::vector<double> scale = map.solution_scale();
  const std::vector<std::int32_t> systems =
      independent_systems(analysis_.symbolic, analysis_.form);
  refining_options.given = {scale, systems, largest_anywhere()};
  const Refinement one =
      solver::refine(matrix(), rhs, x, nrhs, factored(transposed, pass.ask),
                     refining_options, &residuals);
  Refinement& worst = solution.refinement;
  keep_worst(worst, one);
  // From here on a pair of vectors is room for what is estimated of it.
  for (std::size_t k = 0; k < b.size(); k += n) {
    const auto side = std::span(rhs).subspan(k, n), found = std::span(x).subspan(k, n);
    map.solution_to_outer(found, b.subspan(k, n));
    if (singular() && leaves_a_part(side, found, pass.operation))
      solution.doubts.backward_error = true;
    if (!needs_estimate(side, found, one.strict)) continue;
    residuals = std::vector<double>();  // an estimate has their memory
    estimate(side, found, pass, refining_options.given, solution);
  }
  // What was measured is the scaled solution; the given one may be beyond all numbers.
  if (!std::ranges::all_of(b, [](double each) { return std::isfinite(each); }))
    worst.backward_error = std::numeric_limits<double>::infinity();
  solution.refine_seconds += since(refining);
}

}  // namespace espalier::solver
