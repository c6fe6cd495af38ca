// What a solver finds out of its own accord about how far it is to be trusted: the way
// from a factorisation to a judgement, over 300 lines.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "espalier/machine/blas_kernel.h"
#include "espalier/model/numbers.h"
#include "solver/api/solver_processes.h"
#include "solver/api/worst_of.h"
#include "solver/matrix/largest_modulus.h"
#include "solver/memory/process_memory.h"
#include "solver/refine/residual.h"
#include "solver/refine/scaled_permutation.h"
#include "solver/refine/singularity.h"

namespace espalier::solver {
namespace {

// Factorisations that are made to find out which pivots are zero, at most.
constexpr int kTries = 6;
// Another elimination leaves other rounding of a pivot that is rounding, of its order.
constexpr double kOfRounding = 4;
// Beside what takes the place of zeros: null vectors are those of a pivot that is so much
// smaller, whatever its size.
constexpr double kFarSmaller = 1e-2;
// Times kZeroQuotient: only quotients above it say that what was taken for zero is none.
constexpr double kClearly = 8;
// Of the largest entry: pivots above this part of it are never taken for what is left of
// a zero; and where the factor is one of a matrix that is not so near.
constexpr double kMostDoubtful = 1e-3, kMostDoubtfulOfRough = 0.1;
// Tiles may lose so much of the norm together, as a multiple of what one may.
constexpr double kLossOfTiles = 100;
constexpr double kHugeSolution = 1e10;
// What hidden_in() is of trustworthy solutions, at most: an error is u times it times the
// condition number of the scaled system, which may be 1e11 and not show. Where pivots
// show one it is at most that many times the least part of a pivot that is left.
constexpr double kMostHidden = 1e4, kMostSpread = 1e10;
// Largest entry up to which values are of the scale of the first ones, whose is 1 or 2.
constexpr double kOfScale = 1e4;
// Part of b that a singular matrix may leave in the norm, of a b in its range.
constexpr double kLeftByRounding = 1e-6;
// BackwardError::strict above which the rows that it is of are not solved for certain.
constexpr double kExcused = 1e-12;
// Backward error above which a solve says nothing of the inverse.
constexpr double kUnrefined = 1e-12;
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
// Of double precision the compiler's: the first call into libm costs a tiny system more
// than its solution.
const double kEpsilonToTwoThirds = std::cbrt(kEpsilon * kEpsilon);

// Whether a row or column has a sum of moduli of less than `size`.
bool has_less_than(const MatrixPart& a, double size) {
  const std::vector<double> x = ones(a.here());
  std::vector<double> sum(x.size());
  for (const Operation operation : {Operation::kPlain, Operation::kTransposed}) {
    multiply_moduli(a, operation, x, sum);
    if (std::ranges::any_of(sum, [&](double each) { return each < size; })) return true;
  }
  return false;
}

Operation other_of(Operation operation) {
  return operation == Operation::kPlain ? Operation::kTransposed : Operation::kPlain;
}

// The largest part of the solution that was given that an error may be, which is a
// roundoff of the largest unknown of the scaled one: in roundoffs. A solve spreads errors
// over all unknowns of a system, and those of the largest scale need not be the largest
// scaled ones. Each independent system by itself.
// @param x  scaled; `parts` numbers each unknown
double hidden_in(std::span<const double> x, const GivenUnknowns& given,
                 std::size_t parts) {
  struct Largest {
    double scale = 0, x = 0;
    void add(double by, double each) {
      scale = std::max(scale, by);
      x = std::max(x, std::abs(each));
    }
  } all;
  double shown = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    all.add(given.scale[k], x[k]);
    shown = std::max(shown, given.scale[k] * std::abs(x[k]));
  }
  double hidden = all.scale * all.x;
  if (!given.block.empty() && hidden > kMostHidden * shown) {
    const std::int32_t last = *std::ranges::max_element(given.block);
    std::vector<Largest> systems(static_cast<std::size_t>(last) + 1);
    for (std::size_t k = 0; k < x.size(); ++k)
      systems[given.block[k / parts]].add(given.scale[k], x[k]);
    hidden = 0;
    for (const Largest& each : systems) hidden = std::max(hidden, each.scale * each.x);
  }
  return hidden > 0 ? hidden / shown : 1;
}

bool are_equal(std::span<const double> scale) {
  return std::ranges::all_of(scale, [&](double each) { return each == scale.front(); });
}

// A pair of singletons is (0 a; a d), with one negative eigenvalue, and was factored as
// a and a. @return what the number of negative pivots lacks, twice: of columns that are
// here
std::int64_t negative_of_exchanged(const PreparedMatrix& prepared,
                                   const Analysis& analysis) {
  if (prepared.kind != FactorKind::kLdlt || prepared.row_of.empty()) return 0;
  if (analysis.permuted.complex) return 0;  // symmetric: pivots have no sign
  std::int64_t lacks = 0;
  const SymmetricMatrix& lower = analysis.permuted.lower;
  for (std::int32_t k = 0; k < lower.size; ++k) {
    const std::int32_t i = analysis.symbolic.permutation[k];
    if (prepared.row_of[i] == i || lower.column_start[k] == lower.column_start[k + 1])
      continue;
    lacks += lower.value[lower.column_start[k]] < 0 ? -1 : 1;
  }
  return lacks;
}

}  // namespace

BlockOperator Solver::Impl::factored(bool transposed, const std::function<void()>& ask) {
  return [this, transposed, ask](std::span<double> block, std::int32_t count) {
    if (ask) ask();
    const BlockOperator by_blocks = [&](std::span<double> x, std::int32_t nrhs) {
      numeric_->solve(transposed, x, nrhs, {}, ask);
    };
    if (coupled_) return coupled_->solve(matrix(), transposed, block, count, by_blocks);
    by_blocks(block, count);
  };
}

std::int64_t Solver::Impl::zeros_of_values() const {
  const auto unmatched = std::ssize(analysis_.form.coupling.unmatched);
  return std::max<std::int64_t>(0, pivots_.null_space - unmatched);
}

bool Solver::Impl::singular() const {
  return pivots_.null_space > 0 || null_vector_ ||
         prepared_.structural_rank < analysis_.symbolic.size;
}

tl::expected<FactorReport, NotPositiveDefinite> Solver::Impl::factorise(
    const std::function<void(double)>& progress) {
  if (!planned_) throw InvalidInput("factorise: plan first");
  if (!has_values_)
    throw InvalidInput("factorise: the last values did not fit; replace them");
  factored_ = false;
  open_spill_file();
  const bool measures = bound_ || runtime_ != nullptr;
  if (measures) peak_resident_ = std::max(peak_resident_, peak_resident_bytes());
  // Others in the budget have a part in the peak: it stays that of them all.
  const bool reset = measures && !options_.budget && reset_peak_resident();
  coupled_.reset();
  zeros_of_blocks_ = 0;
  auto run = factorise_in_hope(progress);
  if (run && singular_in_blocks()) {
    if (join_blocks())
      run = factorise_until_clear(progress);
    else
      couple_blocks(*run, progress);
  }
  // Where the peak cannot be reset, it includes the analysis and is all that is known.
  if (measures)
    factor_growth_ = std::max<Bytes>(0, peak_resident_bytes() - memory_.baseline);
  if (!reset) peak_resident_ = 0;
  if (processes_) trim_heap();  // of tasks and messages, which solving has none of
  if (!run)
    return tl::make_unexpected(
        NotPositiveDefinite{analysis_.symbolic.permutation[run.error().column]});
  factored_ = true;
  run->advice = blas_advice();
  return run;
}

tl::expected<FactorReport, NotPositiveDefinite> Solver::Impl::factorise_once(
    ZeroPivots zero, const std::function<void(double)>& progress) {
  if (options_.budget) drop_factor();
  FactorInput given = input(at_hand());
  given.pivoting.zero = zero_ = zero.below;
  given.pivoting.of_zero = zero.replacement;
  given.low_rank = low_rank_options();
  if (hopes_) given.hoped_bound = memory_.tree_bound(*bound_);
  auto run = numeric_->factorise(given, runtime_, plan_.get(), progress);
  if (!run) return run;
  if (whole_) {
    run->booked_peak = std::max(run->booked_peak, least_for_fronts());
    if (run->allocated_peak > run->booked_peak)
      throw Error("more was allocated than booked");
  }
  PivotStatistics& pivots = run->pivots;
  std::int64_t lacks = negative_of_exchanged(prepared_, analysis_);
  if (processes_) lacks = processes_->communicator.sum(lacks);
  pivots.negative += lacks / 2;
  // After perturbations what is small at a root may come of them: no estimate then.
  if (pivots.perturbed > 0) pivots.perturbed += std::exchange(pivots.null_space, 0);
  pivots_ = pivots;
  doubtful_ = pivots.smallest <= doubtful_pivot();
  null_vector_ = false;
  return run;
}

// What is known of a bound that may not do is said where it does not.
tl::expected<FactorReport, NotPositiveDefinite> Solver::Impl::factorise_in_hope(
    const std::function<void(double)>& progress) try {
  auto run = factorise_until_clear(progress);
  if (run && hopes_) check_room_to_solve();
  return run;
} catch (const DoesNotFit& error) {
  release_factor();
  throw DoesNotFit(fmt::format("does not fit: {}; {} suffice whatever the ranks are",
                               error.what(), format_size(memory_.least())));
}

// Nothing of an indefinite factor is compressed.
void Solver::Impl::go_on_as_ldlt() {
  tree_.kind = FactorKind::kLdlt;
  for (AssemblyTree::Node& node : tree_.nodes)
    node.low_rank = node.low_rank_contribution = false;
}

std::function<void()> Solver::Impl::asking_by(
    const std::function<void(double)>& progress) const {
  std::function<void()> ask;
  if (progress) ask = [&progress] { progress(1); };
  return asking(ask);
}

// Which pivots are zero is found out by their null vectors, not by their size alone:
// where the size leaves a doubt and the null vector contradicts what was taken for zero,
// the matrix is factored once more with another idea of zero. Sizes are the same, so the
// plan holds.
tl::expected<FactorReport, NotPositiveDefinite> Solver::Impl::factorise_until_clear(
    const std::function<void(double)>& progress) {
  double zero = is_of_scale() ? pivot_options().zero : 0;
  Seconds seconds = 0;
  bool lowered = false;
  const std::function<void()> ask = asking_by(progress);
  auto run = factorise_once({zero}, progress);
  if (!run && !options_.kind) {  // not positive definite after all
    go_on_as_ldlt();
    run = factorise_once({zero}, progress);
  }
  for (int left = kTries; run && left > 0; --left) {
    if (zeros_of_values() == 0 && pivots_.perturbed == 0 && !doubtful_) break;
    const NullQuotient quotient = null_vector_quotient(ask);
    null_vector_ = quotient.last <= kZeroQuotient;
    const double smallest = run->pivots.smallest;
    const double clear = std::max(kClearly, numeric_->epsilon() / kEpsilon);
    if (null_vector_ ||
        (zeros_of_values() > 0 && quotient.last <= clear * kZeroQuotient)) {
      const bool own = smallest <= kFarSmaller * pivot_options().perturbation;
      const bool taken = (doubtful_ || own) && quotient.first <= kZeroQuotient;
      if (pivots_.perturbed > 0 || !taken || lowered || left == 1) break;
      if (tree_.kind == FactorKind::kCholesky) {
        if (options_.kind) break;
        go_on_as_ldlt();
      } else {
        zero = kOfRounding * smallest;
      }
    } else {
      const auto matched =
          analysis_.symbolic.size - std::ssize(analysis_.form.coupling.unmatched);
      const bool deficient = prepared_.structural_rank < matched;
      if (zeros_of_values() == 0 || lowered || deficient) break;
      zero = 0;
      lowered = true;
    }
    seconds += run->seconds;
    run = factorise_once({zero}, progress);
  }
  if (run) run->seconds += seconds;
  return run;
}

// Smaller pivots may be what rounding, or compression, left of a zero: errors are summed
// along the elimination, over no more than some entries a row.
// What is zero beside the largest entry is zero where scaling has made entries alike. Of
// values that came later the largest may say nothing of the others, as in the steps of an
// interior-point method: then pivots are taken as they are, unless there turns out to be
// a null vector.
bool Solver::Impl::is_of_scale() const {
  return prepared_.row_scale.empty() || largest_entry_ <= kOfScale;
}

double Solver::Impl::doubtful_pivot() const {
  const double epsilon = std::max(numeric_->epsilon(), options_.low_rank);
  const double loss = kLossOfTiles * options_.low_rank;
  const double part =
      std::max({epsilon == kEpsilon ? kEpsilonToTwoThirds : std::cbrt(epsilon * epsilon),
                16 * epsilon * analysis_.symbolic.size, loss});
  const double most =
      epsilon > kEpsilon ? std::max(kMostDoubtfulOfRough, loss) : kMostDoubtful;
  return std::min(part, most) * unit_of_pivots();
}

// PivotStatistics::smallest is a part of it.
double Solver::Impl::unit_of_pivots() const {
  return tree_.kind == FactorKind::kCholesky ? 1 : largest_entry_;
}

NullQuotient Solver::Impl::null_vector_quotient(const std::function<void()>& ask) {
  NullQuotient result;
  with_open_solve(1, [&] {
    // Left null vectors of complex symmetric matrices are conjugated.
    const bool symmetric = tree_.kind != FactorKind::kLu && analysis_.form.empty() &&
                           complex() != ComplexSymmetry::kSymmetric;
    result =
        null_quotient(matrix(), symmetric, factored(false, ask), factored(true, ask));
  });
  return result;
}

void Solver::Impl::make_room_to_solve(std::int32_t nrhs) {
  if (numeric_->waiting_bytes() > 0)
    numeric_->make_room(solve_bytes(at_hand(), nrhs) - numeric_->held_bytes());
}

// @param beside  what the body allocates that no solve has
void Solver::Impl::with_open_solve(std::int32_t nrhs, const std::function<void()>& body,
                                   Bytes beside) {
  const Bytes limit =
      bound_ ? std::max<Bytes>(0, solve_room() - solve_bytes(at_hand(), nrhs) - beside)
             : Bytes{1} << 62;
  make_room_to_solve(nrhs);
  // Nobody counts what threads have beside one.
  const NodePieces* const pieces =
      shares_node_ && !bound_ && runtime_ == nullptr ? &pieces_ : nullptr;
  numeric_->open_solve(analysis_.symbolic, tree_, analysis_.form, runtime_, nrhs, limit,
                       pieces);
  try {
    body();
  } catch (...) {
    numeric_->close_solve();
    throw;
  }
  numeric_->close_solve();
}

// A solution that is as large as this belongs to a matrix that is nearly singular, by the
// norms of the scaled system: ||A|| ||x|| / ||b|| is at most its condition number. And
// where rows are far from solved by their own size, and count as solved since an unknown
// is huge beside them, that unknown may be what is wrong. In single precision without
// refinement small unknowns are lost beside large ones, however small the residual is.
// Where that is so of the scaled unknowns, small ones may be the large ones of the
// solution that was given.
// @return what the estimate need not tell from less; none: there is nothing to estimate
std::optional<double> Solver::Impl::wants_estimate(std::span<const double> b,
                                                   std::span<const double> x,
                                                   const RefineOptions& measuring,
                                                   double strict) {
  if (options_.estimate_errors || strict > kExcused) return 0;
  if (singular()) return std::nullopt;  // not to be trusted as it is
  if (pivots_.perturbed > 0 || doubtful_ || is_rough() ||
      is_huge(largest_modulus(x), largest_modulus(b)))
    return 0;
  const double hidden = hidden_by_scale(x, measuring);
  if (hidden > kMostHidden || hidden > kMostSpread * least_part_of_pivot())
    return kGoodForwardError;
  return std::nullopt;
}

// Where unknowns were not scaled apart, their scales are those of their columns: a solve
// is as wrong as that of a matrix with columns of one size, whose unknowns are larger by
// what the columns were divided by. Collective then.
double Solver::Impl::hidden_by_scale(std::span<const double> x,
                                     const RefineOptions& measuring) {
  const auto parts = static_cast<std::size_t>(analysis_.permuted.parts());
  const GivenUnknowns& given = measuring.given;
  if (!are_equal(given.scale)) return hidden_in(x, given, parts);
  if (hides_nothing()) return 1;
  std::vector<double> scale(x.size()), even(x.begin(), x.end());
  multiply_moduli(matrix(), other_of(measuring.operation), ones(matrix().here()), scale);
  for (std::size_t k = 0; k < x.size(); ++k) {
    even[k] *= scale[k];
    if (scale[k] > 0) scale[k] = 1 / scale[k];
  }
  return hidden_in(even, {scale, given.block}, parts);
}

// Whether no error hides in an unscaled matrix, whatever the solution is: where `auto`
// has left a definite one as it is units differ by 1e4 at most, and that does not matter
// while its pivots are not small.
bool Solver::Impl::hides_nothing() const {
  return kind() == FactorKind::kCholesky &&
         options_.prepare.scaling == PrepareOptions::Scaling::kAuto &&
         kMostHidden <= kMostSpread * least_part_of_pivot();
}

// Of what a column had in the scaled matrix; the condition number is some inverse of it,
// or more: where the factor is of less than double precision, its pivots are rounding
// before they show that, and the third power is what was seen.
double Solver::Impl::least_part_of_pivot() const {
  const double part = pivots_.smallest / unit_of_pivots();
  const bool exact = options_.precision == Precision::kDouble && options_.low_rank == 0;
  return exact ? part : std::min(part, part * part * part);
}

// By the norms of a solution and its right-hand side.
bool Solver::Impl::is_huge(double x, double b) const {
  return largest_entry_ * x > kHugeSolution * b;
}

// What replaced a pivot must not be more than all there was in its row or column: the
// factor, and whatever is estimated with it, knows nothing of that then.
bool Solver::Impl::lost_a_row() const {
  return pivots_.perturbed > 0 &&
         has_less_than(matrix(), 10 * pivot_options().perturbation);
}

// Where the factor is that of a matrix nearby, as one in single precision is, every solve
// is refined: what it knows of the inverse by itself may be too small by orders of
// magnitude. Where a solve stays unrefined, as GMRES may without room in the bound,
// nothing is known; after the first of these none is tried as hard any more.
// @param scratch    a vector
// @param unrefined  takes the largest error that is left
BlockOperator Solver::Impl::estimating(bool transposed, const Pass& pass,
                                       const GivenUnknowns& given,
                                       std::span<double> scratch, double& unrefined) {
  const bool rough =
      pivots_.perturbed > 0 || doubtful_ || options_.precision == Precision::kSingle;
  const RefineOptions options{
      .operation = transposed ? Operation::kTransposed : Operation::kPlain,
      .given = {.scale = {}, .block = given.block, .largest_entry = 0},
      .max_steps = 3,
      .gmres_basis = rough && may_take_gmres() ? agree(estimating_basis(pass.most)) : 0,
      .gmres_cycles = 1};
  return [this, solve = factored(transposed, pass.ask), rough, options, scratch,
          &unrefined](std::span<double> block, std::int32_t) {
    for (std::size_t k = 0; k < block.size(); k += scratch.size()) {
      const std::span<double> y = block.subspan(k, scratch.size());
      if (rough) std::ranges::copy(y, scratch.begin());
      solve(y, 1);  // there may be room for one only
      if (!rough) continue;
      RefineOptions tried = options;
      if (unrefined > kUnrefined) tried.gmres_basis = 0;
      const Refinement one = refine(matrix(), scratch, y, 1, solve, tried);
      unrefined = std::max(unrefined, one.backward_error);
    }
  };
}

// Of a block that is refined and was given. Where verdicts are sought one solve does for
// all of them, as a rule.
// @param space  its vectors are overwritten
void Solver::Impl::estimate(std::span<const Estimated> wanted, const Pass& pass,
                            const RefineOptions& measuring, BlockSpace& space,
                            Solution& solution) {
  const auto n = static_cast<std::size_t>(vector_size());
  const bool transposed = pass.operation == Operation::kTransposed;
  const GivenUnknowns& given = measuring.given;
  const std::vector<double> other = has_one_scale()
                                        ? std::vector<double>()
                                        : map(other_of(pass.operation)).solution_scale();
  const std::span<const double> second = has_one_scale() ? given.scale : other;
  ErrorEstimateOptions options{.operation = pass.operation,
                               .row_scale = transposed ? given.scale : second,
                               .column_scale = transposed ? second : given.scale};
  std::vector<std::size_t> places;
  for (const Estimated& each : wanted) places.push_back(each.at);
  const std::vector<double> norms =
      weigh_errors(matrix(), space.x, space.rhs, places, options, measuring.threads);
  const std::span<double> scratch = std::span(space.x).first(n);  // not read any more
  double unrefined = 0;
  const BlockOperator solve = estimating(transposed, pass, given, scratch, unrefined),
                      solve_transposed =
                          estimating(!transposed, pass, given, scratch, unrefined);
  options.enough = kGoodForwardError;
  const bool settled =
      std::ranges::any_of(wanted, [](const auto& each) { return each.enough > 0; }) &&
      !is_doubtful(weights_of_verdicts(wanted, norms, space), 1, solve, options) &&
      unrefined <= kUnrefined;
  space.residuals = std::vector<double>();  // an estimate has their memory
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    const auto& [at, enough] = wanted[k];
    if (enough > 0 && settled) continue;
    if (k > 0 && unrefined > kUnrefined) break;  // what was told of the first is of all
    options.enough = enough;
    ErrorEstimate one = estimate_errors(matrix(), std::span(space.rhs).subspan(at, n),
                                        norms[k], solve, solve_transposed, options);
    if (lost_a_row() || unrefined > kUnrefined) one.forward_error_bound = kInfinity;
    if (singular() && enough == 0)  // a factor of other pivots does not know how singular
      one.condition_1norm = std::max(one.condition_1norm, 1 / numeric_->epsilon());
    keep_worst(solution.errors, one);
  }
}

// Where verdicts are sought: of each equation the largest weight, as a part of the norm
// of its solution. An error that is good enough with these is so for all.
// @return in the space's residuals
std::span<double> Solver::Impl::weights_of_verdicts(std::span<const Estimated> wanted,
                                                    std::span<const double> norms,
                                                    BlockSpace& space) const {
  const auto n = static_cast<std::size_t>(vector_size());
  const std::span<double> largest = std::span(space.residuals).first(n);
  std::ranges::fill(largest, 0.0);
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    if (wanted[k].enough == 0) continue;
    const double* const weight = &space.rhs[wanted[k].at];
    const bool finite = std::isfinite(norms[k]);
    for (std::size_t i = 0; i < n; ++i)
      if (!finite || weight[i] > 0)
        largest[i] = std::max(largest[i], finite ? weight[i] / norms[k] : kInfinity);
  }
  return largest;
}

// Of a singular matrix: whether b seems to have a part outside of its range. The error
// row by row does not tell: what rounding leaves of b ends in the row of the pivot that
// replaced a zero, where the unknown is as small as that.
bool Solver::Impl::leaves_a_part(std::span<const double> b, std::span<const double> x,
                                 Operation operation) const {
  std::vector<double> r(b.size());
  residual(matrix(), operation, x, b, r);
  const bool finite =
      std::ranges::all_of(x, [](double each) { return std::isfinite(each); });
  const double left = std::max(kLeftByRounding, good_backward_error(is_rough()));
  return !finite || largest_modulus(r) > left * largest_modulus(b);
}

// As good as a factor in single precision is, and no better.
bool Solver::Impl::is_rough() const {
  return options_.precision == Precision::kSingle && !options_.refine;
}

void Solver::Impl::judge(Solution& solution) const {
  const double error = solution.refinement.backward_error;
  const bool left = solution.doubts.backward_error || !std::isfinite(error);
  solution.doubts = {
      .singular = singular(),
      .backward_error = singular() ? left : !(error <= good_backward_error(is_rough())),
      .forward_error = solution.errors &&
                       !(solution.errors->forward_error_bound <= kGoodForwardError)};
}

}  // namespace espalier::solver
