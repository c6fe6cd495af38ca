#include "solver/bounded_job.h"

#include <espalier.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "solver/process_memory.h"
#include "solver/triangular_solve.h"

namespace espalier::solver {
namespace {

// What grows beside the fronts: the heap of the runtime and the system's own rounding.
constexpr Bytes kReserve = Bytes{2} << 20;
constexpr Bytes kReservePerWorker = Bytes{512} << 10;
constexpr Bytes kRunToRun = Bytes{2} << 20;
constexpr std::int64_t kVectors = 6;  // x, b and refinement's, of the matrix' order

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
espalier_plan* make(const AssemblyTree& tree, const JobOptions& options, Bytes bound,
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

Bytes MemoryAccount::needed() const {
  const Bytes beside = checked_add(baseline, reserve);
  return std::max(
      {analysis_peak, checked_add(tree_least, beside), checked_add(solve, beside)});
}

Bytes MemoryAccount::least() const { return checked_add(needed(), kRunToRun); }

BoundedJob::BoundedJob(SymmetricMatrix&& matrix, const JobOptions& options,
                       const std::function<void(std::string_view)>& step)
    : options_(options), plan_(nullptr, espalier_plan_destroy) {
  if (step) step("analysing");
  const auto start = std::chrono::steady_clock::now();
  analysis_ = analyse(std::move(matrix), options.analysis);
  tree_ = build_assembly_tree(analysis_.symbolic, {.workers = options.workers});
  analyse_seconds_ = since(start);
  if (step) step("starting the runtime");
  runtime_.emplace(RuntimeOptions{options.workers, options.scheduler});
  runtime_->warm_up();
  espalier_plan_destroy(make(tree_, options, 0, memory_.tree_least));

  Bytes factor = 0;
  for (std::size_t i = 0; i < tree_.nodes.size(); ++i)
    factor += tree_.tasks.retained_size(task_id(i));
  memory_.solve = checked_add(
      factor, kVectors * analysis_.symbolic.size * static_cast<Bytes>(sizeof(double)));
  memory_.reserve = kReserve + kReservePerWorker * options.workers;
  trim_heap();
  memory_.analysis_peak = peak_resident_bytes();
  memory_.baseline = resident_bytes();
}

BoundedJob::~BoundedJob() = default;

tl::expected<void, Infeasible> BoundedJob::plan(std::optional<Bytes> bound) {
  if (bound && *bound < memory_.needed()) {
    return tl::make_unexpected(Infeasible{.reason = Infeasible::Reason::kNoneFound,
                                          .bound_bytes = *bound,
                                          .least_bytes = memory_.least(),
                                          .lower_bound_bytes = memory_.baseline});
  }
  if (!runtime_->espalier()) return {};
  const Bytes tree_bound =
      bound ? memory_.tree_bound(*bound) : std::numeric_limits<Bytes>::max();
  Bytes least = 0;
  plan_.reset(make(tree_, options_, tree_bound, least));
  if (plan_ == nullptr) throw Error("the tree does not fit in its own least bound");
  return {};
}

tl::expected<FactorReport, BadPivot> BoundedJob::factorise(
    const std::function<void(double)>& progress) {
  FactorReport report;
  peak_resident_ = peak_resident_bytes();
  const bool reset = reset_peak_resident();
  auto factor = solver::factorise(analysis_.symbolic, analysis_.permuted.lower, tree_,
                                  *runtime_, plan_.get(), report, progress);
  // Where the peak cannot be reset, it includes the analysis and is all that is known.
  factor_growth_ = std::max<Bytes>(0, peak_resident_bytes() - memory_.baseline);
  if (!reset) peak_resident_ = 0;
  if (!factor)
    return tl::make_unexpected(
        BadPivot{analysis_.symbolic.permutation[factor.error().column]});
  factor_ = std::move(*factor);
  return report;
}

std::vector<double> BoundedJob::row_sums() const {
  const Symbolic& symbolic = analysis_.symbolic;
  const auto n = static_cast<std::size_t>(symbolic.size);
  const std::vector<double> ones(n, 1.0);
  std::vector<double> product(n), sums(n);
  multiply(analysis_.permuted, Operation::kPlain, ones, product);
  for (std::size_t i = 0; i < n; ++i) sums[symbolic.permutation[i]] = product[i];
  return sums;
}

Solution BoundedJob::solve(std::span<double> b) {
  const auto start = std::chrono::steady_clock::now();
  const Symbolic& symbolic = analysis_.symbolic;
  const auto n = static_cast<std::size_t>(symbolic.size);
  std::vector<double> rhs(n);
  for (std::size_t i = 0; i < n; ++i) rhs[i] = b[symbolic.permutation[i]];
  const auto apply = [&](std::span<double> v, std::int32_t) {
    solve_in_place(symbolic, tree_, factor_, v);
  };
  std::vector<double> x = rhs;
  apply(x, 1);
  Solution solution;
  solution.seconds = since(start);
  solution.refinement = refine(analysis_.permuted, rhs, x, 1, apply, {.gmres_basis = 0});
  for (std::size_t i = 0; i < n; ++i) b[symbolic.permutation[i]] = x[i];
  solution.refine_seconds = since(start) - solution.seconds;
  return solution;
}

Bytes BoundedJob::peak_resident() const {
  return std::max(peak_resident_, peak_resident_bytes());
}

}  // namespace espalier::solver
