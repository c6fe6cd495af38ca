// One right-hand side of a small system about which there is no doubt: what all others
// need is left out, since it takes longer than such a system does.

#include <algorithm>
#include <cmath>

#include "espalier/model/clock.h"
#include "solver/api/solver_impl.h"
#include "solver/refine/refine.h"
#include "solver/refine/residual.h"
#include "solver/refine/scaled_permutation.h"
#include "solver/symbolic/front_cost.h"

namespace espalier::solver {
namespace {

// Unknowns up to which the surroundings of a solve count, and rows are of class 1 by the
// largest entry alone.
constexpr std::size_t kSmallSystem = 4096;
// Right-hand sides below are solved for as multiples of themselves.
constexpr double kTiny = 0x1p-500;

}  // namespace

// Neither scaled nor in blocks, by a definite factor without doubtful pivots.
bool Solver::Impl::may_solve_plainly(std::span<double> b, std::int32_t nrhs) const {
  return nrhs == 1 && whole_ && !b.empty() && b.size() <= kSmallSystem &&
         tree_.kind == FactorKind::kCholesky && !options_.estimate_errors &&
         analysis_.symbolic.kept() == 0 && prepared_.row_of.empty() &&
         prepared_.row_scale.empty() && analysis_.form.empty() &&
         !analysis_.permuted.complex && pivots_.null_space == 0 &&
         pivots_.perturbed == 0 && !doubtful_ && !null_vector_ && hides_nothing() &&
         prepared_.structural_rank == analysis_.symbolic.size;
}

// Room that nobody counts stays for the next time. What measuring the error takes is in
// the time of the solve.
// @return none: the solution is one to be refined or estimated, and b is as it was
std::optional<Solution> Solver::Impl::solve_plainly(std::span<double> b) {
  const bool timed = plain_.empty() || !is_too_short_to_time(analysis_.symbolic);
  const Clock::time_point start = timed ? Clock::now() : Clock::time_point();
  const std::size_t n = b.size();
  std::vector<double> room = std::move(plain_);
  if (room.empty()) {
    const std::int64_t local = numeric_->alone_entries(analysis_.symbolic, tree_);
    if (local == 0) return std::nullopt;
    room.resize(4 * n + static_cast<std::size_t>(local));
  }
  const std::span<double> side(room.data(), n), x(room.data() + n, n);
  const std::span<double> work = std::span(room).subspan(2 * n);
  const std::int32_t* const order = analysis_.symbolic.permutation.data();
  for (std::size_t k = 0; k < n; ++k) side[k] = x[k] = b[order[k]];
  numeric_->solve_alone(analysis_.symbolic, tree_, x, work.subspan(2 * n));
  Solution solution;
  if (!options_.no_residual) {
    const auto measured =
        clean_error(analysis_.permuted.lower, largest_entry_, x, side, work.first(2 * n));
    if (!measured || (options_.refine && measured->error > kEnoughToBegin) ||
        is_huge(measured->x_norm, measured->b_norm) ||
        (measured->b_norm > 0 && measured->b_norm < kTiny))
      return std::nullopt;
    solution.refinement.backward_error = measured->error;
  }
  for (std::size_t k = 0; k < n; ++k) b[order[k]] = without_sign_of_zero(x[k]);
  if (timed) solution.seconds = since(start);
  judge(solution);
  if (!bound_ && !options_.budget) plain_ = std::move(room);
  return solution;
}

}  // namespace espalier::solver
