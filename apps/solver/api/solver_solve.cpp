// Solutions: in blocks of right-hand sides, refined and judged.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "espalier/model/clock.h"
#include "solver/api/solver_impl.h"
#include "solver/api/worst_of.h"
#include "solver/matrix/check_matrix.h"
#include "solver/matrix/largest_modulus.h"
#include "solver/refine/residual.h"
#include "solver/refine/scaled_permutation.h"

namespace espalier::solver {
namespace {

// Binary orders of magnitude from 1 up to which right-hand sides are solved for as they
// are.
constexpr int kFar = 500;

// Vectors that products of BLAS have the same bits in groups of.
constexpr std::int32_t kAlike = 8;

void scale_by(std::span<double> vector, int exponent) {
  if (exponent == 0) return;
  for (double& each : vector) each = std::ldexp(each, exponent);
}

int exponent_of(double number) { return number == 0 ? 0 : std::ilogb(number); }

// Whether numbers that a solution has are below those of full precision in `given`.
bool lost_digits(std::span<const double> solution, std::span<const double> given) {
  const auto zero = [](double each) { return each == 0; };
  const auto small = [](double each) {
    return each != 0 && std::abs(each) < std::numeric_limits<double>::min();
  };
  return std::ranges::any_of(given, small) ||
         std::ranges::count_if(given, zero) > std::ranges::count_if(solution, zero);
}

// x of the system that was given, from 2^-exponent times that of the scaled one. Half of
// the exponent goes with either, so that no number between leaves the range alone.
void take_to_outer(const ScaledPermutation& map, int exponent, std::span<double> found,
                   std::span<double> x) {
  scale_by(found, exponent / 2);
  map.solution_to_outer(found, x);
  scale_by(found, -(exponent / 2));
  scale_by(x, exponent - exponent / 2);
}

// Back, of an x that has lost digits.
void take_to_inner(const ScaledPermutation& map, int exponent, std::span<double> x,
                   std::span<double> found) {
  scale_by(x, -(exponent - exponent / 2));
  map.solution_to_inner(x, found);
  scale_by(found, -(exponent / 2));
  scale_by(x, exponent - exponent / 2);
}

// What is not among the rows is left out of the sweeps. Kept variables are not read.
void check_zero_beside(std::span<const std::int64_t> rows, std::span<const double> b,
                       const Symbolic& symbolic, std::size_t parts) {
  if (rows.empty()) return;
  const auto order = static_cast<std::size_t>(symbolic.size);
  std::vector<bool> named(order);
  for (const std::int64_t row : rows) named[static_cast<std::size_t>(row)] = true;
  for (std::int32_t k = symbolic.inner(); k < symbolic.size; ++k)
    named[static_cast<std::size_t>(symbolic.permutation[k])] = true;
  for (std::size_t k = 0; k < b.size(); ++k)
    if (const std::size_t row = k / parts % order; b[k] != 0 && !named[row])
      throw InvalidInput(fmt::format(
          "right-hand side {} has {} in row {}, from 0, which is not among the rows",
          k / parts / order, b[k], row));
}

}  // namespace

// Right-hand sides of one pass: what the bound leaves, by eights as long as it can: these
// have the same bits however many there are.
std::int32_t Solver::Impl::nrhs_at_once(std::int32_t nrhs) {
  std::int32_t block = std::clamp(nrhs, 1, kBlock);
  while (bound_ && block > 1 && solve_bytes(at_hand(), block) > solve_room())
    block = block > kAlike ? (block - 1) / kAlike * kAlike : block - 1;
  return agree(block);
}

Solution Solver::Impl::solve(std::span<double> b, std::int32_t nrhs, Operation operation,
                             std::span<const std::int64_t> rows,
                             const std::function<void(double)>& progress) {
  if (!factored_) throw InvalidInput("solve: factorise first");
  check_vectors(vector_size(), nrhs, b);
  check_rows(analysis_.symbolic.size, rows);
  check_zero_beside(rows, b, analysis_.symbolic,
                    static_cast<std::size_t>(analysis_.permuted.parts()));
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

// Without refinement the error is still measured.
RefineOptions Solver::Impl::refine_options(const Pass& pass) {
  RefineOptions options{.operation = pass.operation, .gmres_basis = 0};
  if (!options_.refine)
    options.max_steps = 0;
  else if (may_take_gmres())
    options.gmres_basis = agree(refining_basis(pass.most));
  options.threads = refining_threads(pass.most, options.gmres_basis);
  return options;
}

// Right-hand sides in the order of elimination, nothing where variables are kept. One
// that is far from 1 is solved for as a multiple of itself that is not, by a power of
// two: nothing that is computed with it underflows or overflows.
void Solver::Impl::to_inner(std::span<const double> b, const ScaledPermutation& map,
                            BlockSpace& space) const {
  const auto n = static_cast<std::size_t>(vector_size());
  const auto inner = static_cast<std::size_t>(inner_size());
  space.rhs.resize(b.size());
  space.x.resize(b.size());
  space.exponents.assign(b.size() / std::max<std::size_t>(n, 1), 0);
  for (std::size_t k = 0; k < b.size(); k += n) {
    const std::span<double> one = std::span(space.rhs).subspan(k, n),
                            near = std::span(space.x).subspan(k, n);
    const auto take = [&](std::span<const double> given) {
      map.rhs_to_inner(given, one);
      std::ranges::fill(one.subspan(inner), 0.0);
      return largest_modulus(one);
    };
    const double largest = take(b.subspan(k, n));
    if (std::isfinite(largest) && std::abs(exponent_of(largest)) <= kFar && largest > 0)
      continue;
    const int first = exponent_of(largest_modulus(b.subspan(k, n)));
    std::ranges::copy(b.subspan(k, n), near.begin());
    scale_by(near, -first);
    const int second = exponent_of(take(near));
    scale_by(one, -second);
    space.exponents[k / n] = first + second;
  }
}

void Solver::Impl::solve_block(std::span<double> b, const Pass& pass, BlockSpace& space,
                               Solution& solution) {
  const auto start = Clock::now();
  const ScaledPermutation map = this->map(pass.operation);
  const bool transposed = pass.operation == Operation::kTransposed;
  const auto n = static_cast<std::size_t>(vector_size());
  const auto nrhs = static_cast<std::int32_t>(b.size() / std::max<std::size_t>(n, 1));
  to_inner(b, map, space);
  auto& [rhs, x, residuals, exponents] = space;
  x = rhs;
  if (pass.ask) pass.ask();
  numeric_->solve(transposed, x, nrhs, pass.rows, pass.ask);
  if (coupled_)
    for (std::size_t k = 0; k < x.size(); k += n)
      coupled_->complete(matrix(), transposed, std::span(rhs).subspan(k, n),
                         std::span(x).subspan(k, n));
  solution.seconds += since(start);
  if (options_.no_residual) {
    for (std::size_t k = 0; k < b.size(); k += n)
      take_to_outer(map, exponents[k / n], std::span(x).subspan(k, n), b.subspan(k, n));
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
  keep_worst(solution.refinement, one);
  refining_options.max_steps = refining_options.gmres_basis = 0;
  std::vector<Estimated> wanted;
  for (std::size_t k = 0; k < b.size(); k += n)
    if (const auto enough =
            give_solution({std::span(rhs).subspan(k, n), std::span(x).subspan(k, n),
                           b.subspan(k, n), exponents[k / n], one.strict},
                          pass, refining_options, solution))
      wanted.push_back({k, *enough});
  if (!wanted.empty()) estimate(wanted, pass, refining_options, space, solution);
  solution.refine_seconds += since(refining);
}

// Takes one solution to the system that was given.
// @return whether its error is to be estimated, as wants_estimate() says
std::optional<double> Solver::Impl::give_solution(const Refined& one, const Pass& pass,
                                                  const RefineOptions& measuring,
                                                  Solution& solution) {
  const auto& [side, found, given, exponent, refined] = one;
  const ScaledPermutation map = this->map(pass.operation);
  Refinement& worst = solution.refinement;
  take_to_outer(map, exponent, found, given);
  double strict = refined;
  if (lost_digits(found, given)) {  // what is left counts, not what was refined
    take_to_inner(map, exponent, given, found);
    const Refinement left = solver::refine(matrix(), side, found, 1, {}, measuring);
    keep_worst(worst, left);
    strict = std::max(strict, left.strict);
  }
  if (singular() && leaves_a_part(side, found, pass.operation))
    solution.doubts.backward_error = true;
  // What was measured is the scaled solution; the given one may be beyond all numbers.
  if (!std::ranges::all_of(given, [](double each) { return std::isfinite(each); }))
    worst.backward_error = std::numeric_limits<double>::infinity();
  return wants_estimate(side, found, measuring, strict);
}

}  // namespace espalier::solver
