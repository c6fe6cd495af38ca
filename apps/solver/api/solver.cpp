// The phases up to the plan, and what a factorisation is told.

#include "solver/api/solver_impl.h"

#include <espalier.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "espalier/model/clock.h"
#include "solver/api/solver_processes.h"
#include "solver/matrix/check_matrix.h"
#include "solver/matrix/kind_of.h"
#include "solver/matrix/largest_modulus.h"
#include "solver/memory/process_memory.h"
#include "solver/refine/residual.h"
#include "solver/refine/scaled_permutation.h"
#include "solver/scaling/prepare_complex.h"
#include "solver/symbolic/keep_variables.h"

namespace espalier::solver {
namespace {

// The options with the workers and the scheduler of a runtime.
SolverOptions on_runtime(SolverOptions options, const Runtime* runtime) {
  if (runtime == nullptr) return options;
  options.workers = runtime->workers();
  options.scheduler = runtime->scheduler();
  return options;
}

InvalidInput low_rank_needs_cholesky(double tolerance) {
  return InvalidInput(fmt::format(
      "options.low_rank is {}: L L^T alone is compressed, of symmetric positive definite "
      "matrices",
      tolerance));
}

}  // namespace

void check(const SolverOptions& options) {
  if (!(options.pivot_threshold > 0 && options.pivot_threshold <= 1))
    throw InvalidInput(fmt::format("options.pivot_threshold is {}: not in (0, 1]",
                                   options.pivot_threshold));
  if (options.delay_reserve && *options.delay_reserve < 0)
    throw InvalidInput(
        fmt::format("options.delay_reserve is {}: negative", *options.delay_reserve));
  if (options.prepare.weak_diagonal < 0 || std::isnan(options.prepare.weak_diagonal))
    throw InvalidInput(fmt::format("options.prepare.weak_diagonal is {}: negative",
                                   options.prepare.weak_diagonal));
  if (!(options.low_rank >= 0 && options.low_rank < 1))
    throw InvalidInput(
        fmt::format("options.low_rank is {}: not in [0, 1)", options.low_rank));
  if (options.low_rank > 0 && !options.out_of_core.empty())
    throw InvalidInput(fmt::format(
        "options.low_rank is {}: not with options.out_of_core, whose panels are read as "
        "they were laid out",
        options.low_rank));
  if (options.low_rank > 0 && options.kind && options.kind != FactorKind::kCholesky)
    throw low_rank_needs_cholesky(options.low_rank);
  if (options.record_run && !options.out_of_core.empty())
    throw InvalidInput(
        "options.record_run: what a run out of core waits for is not known");
}

Solver::Impl::Impl(Runtime* runtime, const SolverOptions& options)
    : options_(on_runtime(options, runtime)),
      tree_workers_(options_.workers),
      given_runtime_(runtime),
      plan_(nullptr, espalier_plan_destroy) {}

Solver::Impl::Impl(Runtime* runtime, InputMatrix&& matrix, const SolverOptions& options,
                   const std::function<void(std::string_view)>& step)
    : Impl(runtime, options) {
  begin(std::move(matrix), step);
}

Solver::Impl::Impl(Runtime* runtime, ComplexMatrix&& matrix, const SolverOptions& options,
                   const std::function<void(std::string_view)>& step)
    : Impl(runtime, options) {
  begin(std::move(matrix), step);
}

Solver::Impl::~Impl() { close_channel(); }

void Solver::Impl::begin(InputMatrix&& matrix,
                         const std::function<void(std::string_view)>& step,
                         const ComplexMatrix* numbers) {
  check(options_);
  check_directory();
  numeric_ = Numeric::create(options_.precision, numbers != nullptr
                                                     ? std::optional(numbers->symmetry)
                                                     : std::nullopt);
  if (given_runtime_ == nullptr) {
    const RuntimeOptions own{options_.workers, options_.scheduler};
    check(own);
    // BLAS keeps what a thread of the program has had room for once.
    static thread_local bool had_room = false;
    if (!had_room || !is_surely_small(order_of(matrix))) solver::check_room(own);
    had_room = true;
  }
  if (numbers == nullptr) check(view_of(matrix));  // theirs were, by themselves
  check_given_order(options_.analysis.order, order_of(matrix), "options.analysis.order");
  if (step) step("analysing");
  if (options_.analysis.interrupt) options_.analysis.interrupt();
  const MatrixView view = view_of(matrix);
  const std::unique_ptr<Lease> analysing =
      lease_analysis(view.order, std::ssize(view.rows));
  const auto start = Clock::now();
  if (options_.schur.empty())
    analyse_given(std::move(matrix),
                  numbers != nullptr && numbers->symmetry == ComplexSymmetry::kHermitian);
  else
    analyse_inner(matrix);
  take_numbers(numbers);
  whole_ = is_small(analysis_.symbolic, prepared_.kind);
  build(prepared_.kind);
  analyse_seconds_ = since(start);
  if (step && !whole_ && given_runtime_ == nullptr) step("starting the runtime");
  prepare_runtime();
}

void Solver::Impl::start_runtime() {
  if (runtime_ == nullptr)
    runtime_ =
        given_runtime_ != nullptr
            ? given_runtime_
            : &own_runtime_.emplace(RuntimeOptions{options_.workers, options_.scheduler});
  runtime_->warm_up();
}

AnalyseOptions Solver::Impl::analyse_options() const {
  AnalyseOptions analysing = options_.analysis;
  analysing.workers = options_.workers;
  if (options_.low_rank > 0) analysing.clusters = {kLowRankPivots, kLowRankWidth};
  return analysing;
}

// @param hermitian  what stands for a pair of a Hermitian matrix whose rows are exchanged
//                   is no entry of one
void Solver::Impl::analyse_given(InputMatrix&& matrix, bool hermitian) {
  const FactorKind kind = options_.kind ? *options_.kind : kind_of(matrix);
  if (options_.kind) require_kind(matrix, kind);
  if (options_.low_rank > 0 && kind != FactorKind::kCholesky)
    throw low_rank_needs_cholesky(options_.low_rank);
  PrepareOptions preparing = options_.prepare;
  preparing.block_triangular &= !options_.factor_parts;
  preparing.exchange_singletons &= !hermitian;
  prepared_ = prepare(std::move(matrix), kind, preparing, options_.analysis.interrupt);
  analysis_ = analyse(std::move(prepared_), analyse_options());
}

// Ordered, scaled and matched without the kept variables, which come in at the end.
void Solver::Impl::analyse_inner(const InputMatrix& matrix) {
  const VariableSplit split(order_of(matrix), options_.schur);
  InputMatrix inner = inner_block(matrix, split);
  const bool symmetric = kind_of(matrix) != FactorKind::kLu;
  const FactorKind kind =
      options_.kind.value_or(symmetric ? kind_of(inner) : FactorKind::kLu);
  require_kind(matrix, kind);
  PrepareOptions preparing = options_.prepare;
  preparing.block_triangular = false;
  prepared_ = prepare(std::move(inner), kind, preparing, options_.analysis.interrupt);
  AnalyseOptions analysing = analyse_options();
  analysing.order = split.inner_order(options_.analysis.order);
  analysis_ = analyse(std::move(prepared_), analysing);
  keep_variables(matrix, split, prepared_, analysis_);
}

// The runtime runs from here on where there is one, and what is resident is known then.
void Solver::Impl::prepare_runtime() {
  if (!whole_) start_runtime();
  accounted_ = measured_ = false;
  if (!whole_ || options_.budget) measure();
}

AssemblyOptions Solver::Impl::assembly_options(FactorKind kind) const {
  return {.kind = kind,
          .entry_bytes = numeric_->entry_bytes(),
          .workers = tree_workers_,
          .whole = whole_,
          .low_rank = options_.low_rank > 0 && kind == FactorKind::kCholesky && !whole_};
}

bool Solver::Impl::may_be_whole() const {
  return options_.scheduler == "espalier" && options_.out_of_core.empty() &&
         !options_.record_run;
}

// Operations, of complex numbers four of real ones, from which on a factorisation is the
// runtime's.
Flops Solver::Impl::whole_flops(FactorKind kind) const {
  constexpr Flops kSmall = 4e9;
  const int real = numeric_->parts() * numeric_->parts();
  const Flops given = options_.runtime_flops.value_or(kSmall);
  return given / (kind == FactorKind::kLu ? 2 * real : real);
}

// Before anything is known but the order: whatever its factor is like.
bool Solver::Impl::is_surely_small(std::int64_t order) const {
  const auto n = static_cast<Flops>(order);
  return may_be_whole() && n * n * n < whole_flops(FactorKind::kLu);
}

bool Solver::Impl::is_small(const Symbolic& symbolic, FactorKind kind) const {
  return may_be_whole() && symbolic.factor_flops < whole_flops(kind);
}

void Solver::Impl::build(FactorKind kind) {
  take_tree(build_assembly_tree(analysis_.symbolic, assembly_options(kind)));
  plain_ = {};
}

// Of the analysis that is here.
void Solver::Impl::take_tree(AssemblyTree&& tree) {
  tree_ = std::move(tree);
  const std::int32_t threads = whole_ ? useful_threads(tree_, options_.workers) : 1;
  pieces_ =
      threads > 1 ? cut_into_pieces(analysis_.symbolic, tree_, threads) : NodePieces();
  if (is_one_path(pieces_)) pieces_ = {};
}

PivotOptions Solver::Impl::pivot_options() const {
  PivotOptions pivoting;
  // A semidefinite matrix goes on as L D L^T, which tells its null space.
  if (!options_.kind) pivoting.least_part = 100 * numeric_->epsilon();
  pivoting.threshold = options_.pivot_threshold;
  // Rounding errors of a sum of n terms, as they are on average.
  pivoting.zero = 4 * std::max(2.0, std::sqrt(analysis_.symbolic.size)) *
                  numeric_->epsilon() * largest_entry_;
  pivoting.perturbation = std::sqrt(numeric_->epsilon()) * largest_entry_;
  if (bound_) pivoting.delay_reserve = delay_reserve(tree_.kind) + memory_.delays;
  return pivoting;
}

// Without low_rank, which takes a pass over the matrix: sizes do not depend on it.
FactorInput Solver::Impl::input(const Grouping& of) const {
  return {of.symbolic,
          analysis_.permuted,
          of.tree,
          pivot_options(),
          file_,
          bound_         ? memory_.tree_bound(*bound_)
          : shares_node_ ? pieces_.bytes(tree_)
                         : memory_.tree_least,
          options_.record_run,
          lease_ ? &lease_->held() : nullptr,
          {},
          !bound_ && !processes_,
          nullptr,
          {},
          shares_node_ ? &pieces_ : nullptr};
}

LowRankOptions Solver::Impl::low_rank_options() const {
  if (options_.low_rank == 0) return {};
  const SquareMatrix& matrix = analysis_.permuted;
  std::vector<double> sums(static_cast<std::size_t>(matrix.size()));
  multiply_moduli(matrix, Operation::kPlain, ones(matrix), sums);
  const double norm = sums.empty() ? 0 : std::ranges::max(sums);
  return {.tolerance = options_.low_rank * std::sqrt(norm),
          .contribution_tolerance = options_.low_rank * norm};
}

void Solver::Impl::release_plan() {
  planned_ = false;
  memory_.delays = 0;  // of its bound
  release_factor();
}

void Solver::Impl::release_factor() {
  factored_ = false;
  drop_factor();
}

void Solver::Impl::drop_factor() {
  numeric_->release_factor();
  coupled_.reset();
  if (lease_) lease_->hold(0);
}

ScaledPermutation Solver::Impl::map(Operation operation) const {
  return {prepared_, analysis_.symbolic, operation, analysis_.permuted.parts()};
}

SpillFile::Counters Solver::Impl::spilled() const {
  return file_ ? file_->counters() : SpillFile::Counters{};
}

Bytes Solver::Impl::peak_resident() const {
  return std::max(peak_resident_, peak_resident_bytes());
}

}  // namespace espalier::solver
