// A solver on several processes: what is different up to the factorisation.

#include "solver/api/solver_processes.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "espalier/model/clock.h"
#include "solver/api/cluster_numeric.h"
#include "solver/distributed/distribute.h"
#include "solver/matrix/check_matrix.h"
#include "solver/scaling/prepare_complex.h"
#include "solver/tree/spill_plan.h"
#include "solver/tree/tree_plan.h"

namespace espalier::solver {
namespace {

// In a catch block. What goes wrong in the channel's thread cannot be thrown there, and
// the other processes wait for this one.
void end_all(Communicator& communicator) {
  try {
    throw;
  } catch (const std::exception& error) {
    communicator.fail(3, error.what());
  } catch (...) {
    communicator.fail(3, "unknown error");
  }
}

}  // namespace

// @return false: there are others, and nothing has been done but to know them
template <class Matrix>
bool Solver::Impl::begin_alone(Communicator& communicator, std::optional<Matrix>& matrix,
                               const std::function<void(std::string_view)>& step) {
  if (!communicator.alone()) {
    processes_ = std::make_unique<Processes>(communicator);
    return false;
  }
  if (!matrix) throw InvalidInput("a solver: process 0 has no matrix");
  begin(std::move(*matrix), step);
  return true;
}

Solver::Impl::Impl(Communicator& communicator, std::optional<InputMatrix>&& matrix,
                   const SolverOptions& options,
                   const std::function<void(std::string_view)>& step)
    : Impl(static_cast<Runtime*>(nullptr), options) {
  if (!begin_alone(communicator, matrix, step))
    begin_together(std::move(matrix), {}, step);
}

Solver::Impl::Impl(Communicator& communicator, std::optional<ComplexMatrix>&& matrix,
                   const SolverOptions& options,
                   const std::function<void(std::string_view)>& step)
    : Impl(static_cast<Runtime*>(nullptr), options) {
  if (begin_alone(communicator, matrix, step)) return;
  std::optional<InputMatrix> analysed;
  together(communicator, [&] {
    if (!matrix) return;
    check(*matrix);
    analysed = moduli(*matrix);
  });
  begin_together(std::move(analysed), std::move(matrix), step);
}

void Solver::Impl::check_options_together() const {
  check(options_);
  if (!options_.schur.empty())
    throw InvalidInput("a Schur complement: not on several processes");
  if (options_.scheduler != "espalier")
    throw InvalidInput(
        fmt::format("scheduler '{}': not on several processes", options_.scheduler));
  if (options_.record_run)
    throw InvalidInput("options.record_run: not on several processes");
  if (options_.low_rank > 0)
    throw InvalidInput(fmt::format("options.low_rank is {}: not on several processes",
                                   options_.low_rank));
  check_directory();
}

// @param numbers  of which `matrix` has the moduli; none: it is real
void Solver::Impl::begin_together(std::optional<InputMatrix>&& matrix,
                                  std::optional<ComplexMatrix>&& numbers,
                                  const std::function<void(std::string_view)>& step) {
  check_options_together();
  if (step) step("analysing");
  const auto start = Clock::now();
  const std::unique_ptr<Lease> analysing = lease_analysis_together(matrix);
  share_analysis(std::move(matrix), std::move(numbers));
  analyse_seconds_ = since(start);
  if (step) step("starting the runtime");
  open_channel();
  if (step) step("mapping the tree");
  list_mappings();
}

// Analysed at process 0, known everywhere but for the matrix.
void Solver::Impl::share_analysis(std::optional<InputMatrix>&& matrix,
                                  std::optional<ComplexMatrix>&& numbers) {
  Communicator& communicator = processes_->communicator;
  std::optional<ComplexSymmetry> complex;
  if (numbers) complex = numbers->symmetry;
  broadcast_value(communicator, complex);
  take_symmetry(complex);
  FactorKind kind = FactorKind::kCholesky;
  together(communicator, [&] {
    if (communicator.rank() > 0) return;
    if (!matrix) throw InvalidInput("a solver: process 0 has no matrix");
    if (!numbers) check(view_of(*matrix));
    analyse_given(std::move(*matrix), complex == ComplexSymmetry::kHermitian);
    kind = prepared_.kind;
    matrix.reset();
    take_numbers(numbers ? &*numbers : nullptr);
    numbers.reset();
  });
  broadcast_value(communicator, kind);
  broadcast_value(communicator, largest_entry_);
  analysis_.permuted.complex = complex;
  broadcast_maps(communicator, prepared_);
  share_order(kind);
}

// What process 0 has found, but for the matrix.
void Solver::Impl::share_order(FactorKind kind) {
  Communicator& communicator = processes_->communicator;
  broadcast_value(communicator, analysis_.seconds);
  broadcast(communicator, analysis_.symbolic);
  broadcast(communicator, analysis_.symbolic, analysis_.form);
  build_together(kind);
}

AssemblyTree Solver::Impl::tree_of_all(const Symbolic& symbolic) const {
  const std::int32_t processes = processes_->communicator.size();
  return build_assembly_tree(
      symbolic, {.kind = tree_.kind,
                 .entry_bytes = analysis_.permuted.parts() * bytes_of(options_.precision),
                 .workers = tree_workers_ * processes,
                 .processes = processes});
}

void Solver::Impl::build_together(FactorKind kind) {
  tree_.kind = kind;
  processes_->whole = tree_of_all(analysis_.symbolic);
}

void Solver::Impl::open_channel() {
  Communicator& communicator = processes_->communicator;
  start_runtime();
  {
    const Awake awake(*runtime_);
    processes_->channel =
        communicator.open_channel([&communicator] { end_all(communicator); });
    communicator.barrier();
  }
  numeric_ = make_cluster_numeric(
      options_.precision, complex(),
      {communicator, *processes_->channel, processes_->distribution});
}

void Solver::Impl::close_channel() {
  if (!processes_ || !processes_->channel) return;
  const Awake awake(*runtime_);
  numeric_.reset();
  processes_->channel.reset();
}

Infeasible Solver::Impl::too_little(Bytes bound, Bytes least) const {
  return {.reason = Infeasible::Reason::kNoneFound,
          .bound_bytes = bound,
          .least_bytes = least,
          .lower_bound_bytes = processes_->communicator.largest(memory_.baseline)};
}

tl::expected<void, Infeasible> Solver::Impl::plan_together(std::optional<Bytes> bound) {
  Processes& all = *processes_;
  if (bound) settle_order(bound);
  const MappingNeeds* chosen = all.choose(bound, spills());
  if (chosen == nullptr)
    return tl::make_unexpected(
        too_little(*bound, spills() ? all.least_out_of_core : all.least));
  release_plan();
  file_.reset();
  lease_.reset();
  if (options_.budget) chosen = &choose_in_budget(bound);
  hold_under(chosen->mapping);
  memory_ = chosen->account;
  move_matrix();
  if (options_.budget) {
    auto leased = lease_together(bound);
    if (!leased) return tl::make_unexpected(leased.error());
    bound = *leased;
  } else {
    memory_.baseline = *all.beside_matrix + matrix_bytes_now();
  }
  bound_ = bound;
  memory_.delays = bound ? all.communicator.smallest(more_for_delays(*bound)) : 0;
  Bytes missing = missing_together();
  if (missing > 0 && memory_.delays > 0) {
    memory_.delays = 0;
    missing = missing_together();
  }
  if (missing > 0) {
    lease_.reset();
    const Bytes enough = checked_add(all.communicator.largest(*bound), missing);
    for (Bytes* told : {&all.least, &all.least_out_of_core})
      *told = std::max(*told, enough);
    return tl::make_unexpected(too_little(*bound, enough));
  }
  plan_ = make_tree_plan(tree_.tasks, tree_.max_workers,
                         {options_.workers, options_.order, options_.mapping},
                         bound_for_tree(), all.witness);
  planned_ = plan_ != nullptr;
  if (!planned_) throw Error("the tree does not fit in its own least bound");
  return {};
}

// What leaves memory is chosen. @return what a process lacks then, at most; not above 0:
// the plan fits. More may be resident than was foreseen, as with ten thousand shared
// nodes
Bytes Solver::Impl::missing_together() {
  if (spills()) choose_spilled();
  return processes_->communicator.largest(
      std::max(least_bound(tree_.tasks, node_order()), solve_bytes(at_hand(), 1)) -
      bound_for_tree());
}

// Whether any process has somebody who may end a call: all of them ask at the same places
// then.
std::function<void()> Solver::Impl::asking(const std::function<void()>& ask) const {
  if (!processes_ || processes_->communicator.largest(std::int64_t{ask ? 1 : 0}) == 0)
    return ask;
  return [this, ask] {
    std::exception_ptr ended;
    try {
      if (ask) ask();
    } catch (...) {
      ended = std::current_exception();
    }
    end_together(processes_->communicator, ended);
  };
}

std::int32_t Solver::Impl::agree(std::int32_t value) const {
  if (!processes_) return value;
  return static_cast<std::int32_t>(processes_->communicator.smallest(value));
}

NodeOrder Solver::Impl::node_order() const {
  return processes_ ? NodeOrder(processes_->witness) : NodeOrder(options_.order);
}

Solver::Impl::Grouping Solver::Impl::at_hand() const {
  return {analysis_.symbolic, tree_, tree_.kind, node_order(),
          processes_ ? &processes_->distribution : nullptr};
}

// Of several processes each has a file of its own: where one cannot, none goes on.
void Solver::Impl::open_spill_file() {
  file_.reset();
  std::string trouble;
  try {
    if (spill_bytes_ > 0)
      file_ = std::make_shared<SpillFile>(options_.out_of_core, spill_bytes_);
  } catch (const FileError& error) {
    if (!processes_) throw;
    trouble =
        fmt::format("process {}: {}", processes_->communicator.rank(), error.what());
  }
  if (processes_ && spills()) fail_together(processes_->communicator, trouble);
}

Bytes Solver::Impl::least() const {
  return processes_ ? processes_->least : memory().least();
}

Bytes Solver::Impl::least_out_of_core() const {
  return processes_ ? processes_->least_out_of_core : memory().least_out_of_core();
}

ProcessFacts Solver::Impl::process_facts() const {
  if (!processes_) return {};
  const auto& groups = processes_->distribution.group;
  return {.predicted_peak = least_bound(tree_.tasks, node_order()),
          .sequential_least = processes_->sequential_least,
          .shared_nodes = std::ranges::count_if(
              groups, [](const WorkerRange& group) { return group.count > 1; }),
          .grid_nodes = std::ranges::count_if(
              processes_->distribution.grid,
              [](const FrontGrid& grid) { return grid.strips() > 1; }),
          .sent = processes_->channel->sent()};
}

}  // namespace espalier::solver
