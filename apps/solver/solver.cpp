#include "solver/solver.h"

#include <espalier.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "solver/front_tasks.h"
#include "solver/kind_of.h"
#include "solver/process_memory.h"
#include "solver/residual.h"
#include "solver/spill_plan.h"
#include "solver/system_map.h"

namespace espalier::solver {
namespace {

// What grows beside the fronts: the heap of the runtime and the system's own rounding.
constexpr Bytes kReserve = Bytes{2} << 20;
constexpr Bytes kReservePerWorker = Bytes{512} << 10;
// Solutions refined at once: GMRES keeps 61 vectors beside them.
constexpr std::int32_t kBlock = 16;
// Steps of GMRES before a restart that every bound leaves room for: fewer did not make up
// for perturbed pivots in single precision.
constexpr std::int32_t kLeastBasis = 4;

Seconds since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The C interface's view of a tree of the planner.
std::unique_ptr<espalier_tree, void (*)(espalier_tree*)> declare(const TaskTree& tasks) {
  const std::size_t n = tasks.size();
  std::vector<std::int32_t> parent(n);
  std::vector<Bytes> output(n), execution(n), retained(n);
  std::vector<Flops> work(n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto above = tasks.parent(task_id(i));
    parent[i] = above ? static_cast<std::int32_t>(index(*above)) : -1;
    output[i] = tasks.output_size(task_id(i));
    execution[i] = tasks.execution_size(task_id(i));
    retained[i] = tasks.retained_size(task_id(i));
    work[i] = tasks.work(task_id(i));
  }
  espalier_tree* tree = nullptr;
  if (espalier_tree_create(&tree, static_cast<std::int32_t>(n), parent.data(),
                           output.data(), execution.data(), retained.data(),
                           work.data()) != 0)
    throw Error(espalier_last_error());
  return {tree, espalier_tree_destroy};
}

// @return the plan, null when the bound is too small; `least` in any case
espalier_plan* make(const AssemblyTree& tree, const SolverOptions& options, Bytes bound,
                    Bytes& least) {
  espalier_plan_options request = ESPALIER_PLAN_OPTIONS_INIT;
  request.memory_bound = bound;
  request.workers = options.workers;
  request.order =
      options.order == OrderKind::kLiu ? ESPALIER_ORDER_LIU : ESPALIER_ORDER_POSTORDER;
  request.mapping =
      options.mapping == MappingKind::kAllToAll       ? ESPALIER_MAPPING_ALL_TO_ALL
      : options.mapping == MappingKind::kProportional ? ESPALIER_MAPPING_PROPORTIONAL
                                                      : ESPALIER_MAPPING_MEMORY_AWARE;
  request.max_workers = tree.max_workers.data();
  espalier_plan* plan = nullptr;
  const int status =
      espalier_plan_create(&plan, declare(tree.tasks).get(), &request, &least);
  if (status != 0 && status != -ENOMEM) throw Error(espalier_last_error());
  return plan;
}

}  // namespace

Solver::Solver(InputMatrix&& matrix, const SolverOptions& options,
               const std::function<void(std::string_view)>& step)
    : options_(options),
      numeric_(Numeric::create(options.precision)),
      plan_(nullptr, espalier_plan_destroy) {
  tree_workers_ = options.workers;
  if (step) step("analysing");
  const auto start = std::chrono::steady_clock::now();
  const FactorKind kind = options.kind.value_or(kind_of(matrix));
  if (options.kind) require_kind(matrix, kind);
  prepared_ = prepare(std::move(matrix), kind, options.prepare);
  analysis_ = analyse(std::move(prepared_.matrix), options.analysis, prepared_.partner);
  measure_entries();
  build(kind);
  analyse_seconds_ = since(start);
  if (step) step("starting the runtime");
  start_runtime();
}

// The runtime runs from here on, and what is resident is known.
void Solver::start_runtime() {
  runtime_.emplace(RuntimeOptions{options_.workers, options_.scheduler});
  runtime_->warm_up();
  account();
  trim_heap();
  memory_.analysis_peak = peak_resident_bytes();
  memory_.baseline = resident_bytes();
}

Solver::~Solver() = default;

AssemblyOptions Solver::assembly_options() const {
  return {.kind = tree_.kind,
          .entry_bytes = numeric_->entry_bytes(),
          .workers = tree_workers_};
}

void Solver::build(FactorKind kind) {
  tree_.kind = kind;
  tree_ = build_assembly_tree(analysis_.symbolic, assembly_options());
}

PivotOptions Solver::pivot_options() const {
  PivotOptions pivoting;
  // A semidefinite matrix goes on as L D L^T, which tells its null space.
  if (!options_.kind) pivoting.least_part = 100 * numeric_->epsilon();
  pivoting.threshold = options_.pivot_threshold;
  // Rounding errors of a sum of n terms, as they are on average.
  pivoting.zero = 4 * std::max(2.0, std::sqrt(analysis_.symbolic.size)) *
                  numeric_->epsilon() * largest_entry_;
  pivoting.perturbation = std::sqrt(numeric_->epsilon()) * largest_entry_;
  if (bound_)
    pivoting.delay_reserve =
        tree_.kind == FactorKind::kCholesky ? 0 : options_.delay_reserve;
  return pivoting;
}

FactorInput Solver::input() const {
  return {analysis_.symbolic,
          analysis_.permuted,
          tree_,
          pivot_options(),
          file_,
          bound_ ? memory_.tree_bound(*bound_) : memory_.tree_least};
}

// What is needed beside the fronts, and the least that they can do with.
void Solver::account() {
  // A Cholesky that fails goes on as L D L^T inside the same bound.
  const FactorKind kind = tree_.kind;
  if (!options_.kind && kind == FactorKind::kCholesky) tree_.kind = FactorKind::kLdlt;
  bound_ = 0;  // delays are paid for from the reserve
  memory_.reserve = checked_add(kReserve + kReservePerWorker * options_.workers,
                                numeric_->factor_bytes_beside(input(), options_.workers));
  bound_.reset();
  tree_.kind = kind;
  memory_.tree_least = least_bound(tree_.tasks, options_.order);
  memory_.solve = solve_bytes(1);
  if (options_.out_of_core.empty()) return;
  AssemblyTree in_core = tree_;
  memory_.tree_least_out_of_core =
      spill_everything(analysis_.symbolic, tree_, options_.order);
  memory_.solve_out_of_core = solve_bytes(1);
  memory_.reserve +=
      options_.workers * PageBuffer::footprint(scratch_bytes(analysis_.symbolic, tree_));
  tree_ = std::move(in_core);
}

// Resident while solving, with the panels that stay and the largest of those that do not.
Bytes Solver::solve_bytes(std::int32_t columns) const {
  Bytes resident = 0, largest = 0;
  for (const AssemblyTree::Node& node : tree_.nodes) {
    if (node.factor_at < 0)
      resident = checked_add(resident, node.factor_bytes);
    else
      largest = std::max(largest, node.factor_bytes);
  }
  const std::int32_t n = analysis_.symbolic.size;
  const Bytes vectors = checked_add(
      checked_mul(2 * std::int64_t{n} * columns, sizeof(double)),
      checked_add(refinement_bytes(n, columns, {.gmres_basis = least_basis()}),
                  options_.estimate_errors ? estimate_errors_bytes(n) : 0));
  return checked_add(checked_add(resident, largest),
                     checked_add(vectors, numeric_->solve_bytes_beside(
                                              input(), options_.workers, columns)));
}

void Solver::spill_to(Bytes tree_bound) {
  Bytes target = tree_bound;
  for (;;) {
    spill_bytes_ = plan_spill(analysis_.symbolic, tree_, options_.order, target);
    const Bytes over = solve_bytes(1) - tree_bound;
    if (over <= 0 || target <= 0) return;
    target -= over;
  }
}

tl::expected<void, Infeasible> Solver::plan(std::optional<Bytes> bound) {
  const bool spill = !options_.out_of_core.empty();
  const Bytes needed =
      spill ? std::min(memory_.needed(), memory_.needed_out_of_core()) : memory_.needed();
  if (bound && *bound < needed) {
    return tl::make_unexpected(
        Infeasible{.reason = Infeasible::Reason::kNoneFound,
                   .bound_bytes = *bound,
                   .least_bytes = spill ? memory_.least_out_of_core() : memory_.least(),
                   .lower_bound_bytes = memory_.baseline});
  }
  numeric_->forget();
  bound_ = bound;
  file_.reset();
  spill_bytes_ = 0;
  if (bound && spill) spill_to(memory_.tree_bound(*bound));
  if (!runtime_->espalier()) return {};
  const Bytes tree_bound =
      bound ? memory_.tree_bound(*bound) : std::numeric_limits<Bytes>::max();
  Bytes least = 0;
  plan_.reset(make(tree_, options_, tree_bound, least));
  if (plan_ == nullptr) throw Error("the tree does not fit in its own least bound");
  return {};
}

tl::expected<FactorReport, BadPivot> Solver::factorise(
    const std::function<void(double)>& progress) {
  file_.reset();
  if (spill_bytes_ > 0)
    file_ = std::make_shared<SpillFile>(options_.out_of_core, spill_bytes_);
  peak_resident_ = std::max(peak_resident_, peak_resident_bytes());
  const bool reset = reset_peak_resident();
  auto run = numeric_->factorise(input(), *runtime_, plan_.get(), progress);
  if (!run && !options_.kind) {
    // Not positive definite after all; sizes are the same, so the plan holds.
    tree_.kind = FactorKind::kLdlt;
    run = numeric_->factorise(input(), *runtime_, plan_.get(), progress);
  }
  // Where the peak cannot be reset, it includes the analysis and is all that is known.
  factor_growth_ = std::max<Bytes>(0, peak_resident_bytes() - memory_.baseline);
  if (!reset) peak_resident_ = 0;
  if (!run)
    return tl::make_unexpected(
        BadPivot{analysis_.symbolic.permutation[run.error().column]});
  null_space_ = run->pivots.null_space;
  return run;
}

void Solver::replace_values(const InputMatrix& matrix) {
  refill(analysis_.permuted, prepared_, analysis_.symbolic.permutation, matrix);
  measure_entries();
}

void Solver::measure_entries() {
  largest_entry_ = 0;
  for (const auto* values : {&analysis_.permuted.lower.value, &analysis_.permuted.upper})
    for (const double value : *values)
      largest_entry_ = std::max(largest_entry_, std::abs(value));
}

std::vector<double> Solver::row_sums(Operation operation) const {
  const auto n = static_cast<std::size_t>(analysis_.symbolic.size);
  const std::vector<double> ones(n, 1.0);
  std::vector<double> x(n), sums(n);
  const SystemMap map(prepared_, analysis_.symbolic, operation);
  map.solution_to_inner(ones, x);
  multiply(analysis_.permuted, operation, x, sums);
  map.rhs_to_outer(sums, x);
  return x;
}

Solution Solver::solve(std::span<double> b, std::int32_t columns, Operation operation,
                       std::span<const std::int64_t> rows) {
  Solution solution;
  const std::int64_t n = analysis_.symbolic.size;
  const SystemMap map(prepared_, analysis_.symbolic, operation);
  std::vector<std::int32_t> inner_rows = map.inner_rows(rows);
  const std::int32_t block = std::clamp(columns, 1, bound_ ? 1 : kBlock);
  const auto start = std::chrono::steady_clock::now();
  const Bytes limit =
      bound_ ? std::max<Bytes>(0, memory_.tree_bound(*bound_) - solve_bytes(block))
             : Bytes{1} << 62;
  numeric_->open_solve(analysis_.symbolic, tree_, *runtime_, block, limit);
  runtime_->wake();
  solution.seconds = since(start);
  try {
    for (std::int32_t k = 0; k < columns; k += block) {
      const std::int32_t count = std::min(block, columns - k);
      solve_block(
          b.subspan(static_cast<std::size_t>(k * n), static_cast<std::size_t>(count * n)),
          count, operation, inner_rows, solution);
    }
  } catch (...) {
    runtime_->sleep();
    numeric_->close_solve();
    throw;
  }
  runtime_->sleep();
  numeric_->close_solve();
  return solution;
}

void Solver::solve_block(std::span<double> b, std::int32_t columns, Operation operation,
                         std::span<const std::int32_t> rows, Solution& solution) {
  const auto start = std::chrono::steady_clock::now();
  const SystemMap map(prepared_, analysis_.symbolic, operation);
  const bool transposed = operation == Operation::kTransposed;
  const auto n = static_cast<std::size_t>(analysis_.symbolic.size);
  std::vector<double> rhs(b.size());
  for (std::size_t k = 0; k < b.size(); k += n)
    map.rhs_to_inner(b.subspan(k, n), std::span(rhs).subspan(k, n));
  std::vector<double> x = rhs;
  numeric_->solve(transposed, x, columns, rows);
  solution.seconds += since(start);
  const auto refining = std::chrono::steady_clock::now();
  // Without refinement the error is still measured. GMRES is not for singular matrices: a
  // solution that does not exist would grow along the null space until its backward error
  // is small.
  RefineOptions refine_options{.operation = operation, .gmres_basis = 0};
  if (!options_.refine) {
    refine_options.max_steps = 0;
  } else if (null_space_ == 0 && (kind() != FactorKind::kCholesky ||
                                  options_.precision == Precision::kSingle)) {
    refine_options.gmres_basis = gmres_basis();
  }
  const Refinement one = solver::refine(
      analysis_.permuted, rhs, x, columns,
      [&](std::span<double> block, std::int32_t count) {
        numeric_->solve(transposed, block, count, {});
      },
      refine_options);
  Refinement& worst = solution.refinement;
  worst.steps = std::max(worst.steps, one.steps);
  worst.gmres_steps += one.gmres_steps;
  worst.backward_error = std::max(worst.backward_error, one.backward_error);
  if (options_.estimate_errors)
    for (std::size_t k = 0; k < b.size(); k += n)
      estimate(std::span(rhs).subspan(k, n), std::span(x).subspan(k, n), operation,
               solution);
  for (std::size_t k = 0; k < b.size(); k += n)
    map.solution_to_outer(std::span(x).subspan(k, n), b.subspan(k, n));
  solution.refine_seconds += since(refining);
}

// Those of a Cholesky factor in double precision need none.
std::int32_t Solver::least_basis() const {
  const bool exact =
      kind() == FactorKind::kCholesky && options_.precision == Precision::kDouble;
  return exact ? 0 : kLeastBasis;
}

// Steps of GMRES before a restart: what the bound leaves.
std::int32_t Solver::gmres_basis() const {
  constexpr std::int32_t kMost = RefineOptions{}.gmres_basis;
  if (!bound_) return kMost;
  const Bytes left = memory_.tree_bound(*bound_) - solve_bytes(1);
  const Bytes a_step = 2 * static_cast<Bytes>(sizeof(double)) * analysis_.symbolic.size;
  return static_cast<std::int32_t>(std::clamp<Bytes>(
      least_basis() + (a_step > 0 ? left / a_step - (left < 0) : 0), 0, kMost));
}

void Solver::estimate(std::span<const double> b, std::span<const double> x,
                      Operation operation, Solution& solution) {
  const auto apply = [&](bool transposed) {
    return [this, transposed](std::span<double> block, std::int32_t count) {
      const std::size_t n = block.size() / static_cast<std::size_t>(count);
      for (std::size_t k = 0; k < block.size(); k += n)
        numeric_->solve(transposed, block.subspan(k, n), 1, {});
    };
  };
  const bool transposed = operation == Operation::kTransposed;
  const SystemMap map(prepared_, analysis_.symbolic, Operation::kPlain);
  const std::vector<double> rows = map.inner_row_scale(),
                            columns = map.inner_column_scale();
  const ErrorEstimate one = estimate_errors(
      analysis_.permuted, b, x, apply(transposed), apply(!transposed),
      {.operation = operation, .row_scale = rows, .column_scale = columns});
  ErrorEstimate worst = solution.errors.value_or(ErrorEstimate{});
  worst.condition_1norm = std::max(worst.condition_1norm, one.condition_1norm);
  worst.forward_error_bound =
      std::max(worst.forward_error_bound, one.forward_error_bound);
  solution.errors = worst;
}

SpillFile::Counters Solver::spilled() const {
  return file_ ? file_->counters() : SpillFile::Counters{};
}

Bytes Solver::peak_resident() const {
  return std::max(peak_resident_, peak_resident_bytes());
}

}  // namespace espalier::solver
