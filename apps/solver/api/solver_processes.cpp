// A solver on several processes: what is different up to the factorisation.

#include "solver/api/solver_processes.h"

#include <espalier.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "espalier/model/replay.h"
#include "espalier/sequential/tree/liu_traversal.h"
#include "solver/api/cluster_numeric.h"
#include "solver/distributed/distribute.h"
#include "solver/distributed/distribute_fronts.h"
#include "solver/distributed/move_columns.h"
#include "solver/distributed/replace_columns.h"
#include "solver/front/front_tasks.h"
#include "solver/matrix/check_matrix.h"
#include "solver/matrix/kind_of.h"
#include "solver/memory/clock.h"
#include "solver/memory/process_memory.h"
#include "solver/tree/spill_plan.h"
#include "solver/tree/tree_plan.h"

namespace espalier::solver {
namespace {

// Memory of MPI and StarPU-MPI that comes with the first messages to another process.
constexpr Bytes kReservePerPeer = Bytes{128} << 10;

// Part of the memory of program and libraries that counts in the choice among mappings.
constexpr Bytes kOfAnyProcess = Bytes{8} << 20;

// A job occupies memory for a time. Memory is known and times are rough: it counts more,
// but not where it is little beside what a process has anyway.
double cost(Seconds seconds, Bytes largest_peak) {
  return seconds * std::pow(static_cast<double>(kOfAnyProcess + largest_peak), 1.5);
}

Bytes bytes_here(const SquareMatrix& matrix) {
  const auto bytes = [](const auto& list) {
    return static_cast<Bytes>(list.size() * sizeof(list[0]));
  };
  const SymmetricMatrix& lower = matrix.lower;
  return bytes(lower.row) + bytes(lower.value) + bytes(matrix.upper) +
         bytes(lower.column_start);
}

// Everything at process 0.
std::vector<ColumnRange> at_first(std::int32_t size) { return {{0, size, 0}}; }

}  // namespace

Solver::Solver(Communicator& communicator, std::optional<InputMatrix>&& matrix,
               const SolverOptions& options,
               const std::function<void(std::string_view)>& step)
    : Solver(static_cast<Runtime*>(nullptr), options) {
  if (communicator.alone()) {
    if (!matrix) throw InvalidInput("a solver: process 0 has no matrix");
    begin(std::move(*matrix), step);
    return;
  }
  processes_ = std::make_unique<Processes>(communicator);
  begin_together(std::move(matrix), step);
}

void Solver::check_options_together() const {
  check(options_);
  if (!options_.schur.empty())
    throw InvalidInput("a Schur complement: not on several processes");
  if (options_.scheduler != "espalier")
    throw InvalidInput(
        fmt::format("scheduler '{}': not on several processes", options_.scheduler));
  if (options_.record_run)
    throw InvalidInput("options.record_run: not on several processes");
  if (options_.budget) throw InvalidInput("a budget: not on several processes");
}

void Solver::begin_together(std::optional<InputMatrix>&& matrix,
                            const std::function<void(std::string_view)>& step) {
  check_options_together();
  if (step) step("analysing");
  const auto start = Clock::now();
  share_analysis(std::move(matrix));
  analyse_seconds_ = since(start);
  if (step) step("starting the runtime");
  open_channel();
  if (step) step("mapping the tree");
  list_mappings();
}

// Analysed at process 0, known everywhere but for the matrix.
void Solver::share_analysis(std::optional<InputMatrix>&& matrix) {
  Communicator& communicator = processes_->communicator;
  FactorKind kind = FactorKind::kCholesky;
  std::string trouble;
  if (communicator.rank() == 0) try {
      if (!matrix) throw InvalidInput("a solver: process 0 has no matrix");
      check(view_of(*matrix));
      analyse_given(std::move(*matrix));
      kind = prepared_.kind;
      matrix.reset();
      measure_entries();
    } catch (const InvalidInput& error) {
      trouble = error.what();
    }
  fail_together(communicator, trouble);
  broadcast_value(communicator, kind);
  broadcast_value(communicator, largest_entry_);
  broadcast_value(communicator, analysis_.seconds);
  broadcast(communicator, analysis_.symbolic);
  broadcast_maps(communicator, prepared_);
  build_together(kind);
}

void Solver::build_together(FactorKind kind) {
  const std::int32_t processes = processes_->communicator.size();
  tree_.kind = kind;
  processes_->whole = build_assembly_tree(analysis_.symbolic,
                                          {.kind = kind,
                                           .entry_bytes = bytes_of(options_.precision),
                                           .workers = tree_workers_ * processes,
                                           .processes = processes});
}

// What goes wrong in the channel's thread cannot be thrown there, and the other processes
// wait for this one.
void Solver::open_channel() {
  Communicator& communicator = processes_->communicator;
  start_runtime();
  {
    const Awake awake(*runtime_);
    processes_->channel = communicator.open_channel([&communicator] {
      try {
        throw;
      } catch (const std::exception& error) {
        communicator.fail(3, error.what());
      } catch (...) {
        communicator.fail(3, "unknown error");
      }
    });
    communicator.barrier();
  }
  numeric_ = make_cluster_numeric(
      options_.precision, {communicator, *processes_->channel, processes_->distribution});
  trim_heap();
  memory_.analysis_peak = peak_resident_bytes();
}

void Solver::close_channel() {
  if (!processes_ || !processes_->channel) return;
  const Awake awake(*runtime_);
  numeric_.reset();
  processes_->channel.reset();
}

// Entries here under the mapping at hand.
Bytes Solver::matrix_bytes() const {
  const Processes& all = *processes_;
  const std::size_t values = all.whole.kind == FactorKind::kLu ? 2 : 1;
  const auto entry = static_cast<Bytes>(values * sizeof(double) + sizeof(std::int32_t));
  std::int64_t entries = 0;
  for (const ColumnRange& range :
       column_ranges(analysis_.symbolic, all.whole, all.distribution))
    if (range.owner == all.communicator.rank())
      entries += all.entries_before[range.end] - all.entries_before[range.begin];
  return entries * entry;
}

// Ways to map the tree, and what each of them needs here.
void Solver::list_mappings() {
  Processes& all = *processes_;
  all.entries_before = entries_before_columns(all.communicator, analysis_.permuted,
                                              analysis_.symbolic.size);
  all.sequential_least = liu_traversal(all.whole.tasks).peak;
  for (TreeMapping& mapping : tree_mappings(analysis_.symbolic, all.whole,
                                            all.communicator.size(), options_.workers))
    evaluate(std::move(mapping));
  foresee_baselines();
  all.entries_before = std::vector<std::int64_t>();
  const auto least = [&](auto needed) {
    return std::ranges::min_element(
               all.candidates, {},
               [&](const Processes::Candidate& each) { return (each.account.*needed)(); })
        ->account;
  };
  memory_ = least(&MemoryAccount::needed_out_of_core);
  all.least_out_of_core = memory_.least_out_of_core();
  memory_ = least(&MemoryAccount::needed);
  all.least = memory_.least();
}

void Solver::evaluate(TreeMapping&& mapping) {
  Processes& all = *processes_;
  take(mapping);
  Processes::Candidate candidate{std::move(mapping)};
  candidate.seconds =
      all.communicator.largest(estimated_seconds(tree_, all.received, options_.workers));
  candidate.largest_peak = all.communicator.largest(all.predicted_peak);
  const Bytes analysis_peak = memory_.analysis_peak, matrix = matrix_bytes();
  account();
  memory_.analysis_peak = analysis_peak;
  memory_.reserve += kReservePerPeer * all.communicator.size();
  memory_.baseline = matrix;  // and what foresee_baselines() adds
  memory_.elsewhere = memory_.elsewhere_out_of_core = 0;
  candidate.account = memory_;
  all.candidates.push_back(std::move(candidate));
}

// What will be resident before the first front: all that is now, but for the matrix and
// the starts of its columns, which then take the place of `entries_before`.
void Solver::foresee_baselines() {
  trim_heap();
  Processes& all = *processes_;
  const Bytes beside = resident_bytes() - bytes_here(analysis_.permuted);
  for (Processes::Candidate& candidate : all.candidates) {
    MemoryAccount& account = candidate.account;
    account.baseline += beside;
    account.elsewhere = all.communicator.largest(account.needed());
    account.elsewhere_out_of_core =
        all.communicator.largest(account.needed_out_of_core());
  }
}

void Solver::take(const TreeMapping& mapping) {
  Processes& all = *processes_;
  const std::int32_t rank = all.communicator.rank();
  all.distribution = distribute_fronts(analysis_.symbolic, all.whole,
                                       all.communicator.size(), mapping.group);
  all.witness = mapping.witness;
  all.received = {};
  const FactorKind kind = tree_.kind;
  tree_ = part_of(analysis_.symbolic, all.whole, all.distribution, rank, &all.received);
  tree_.kind = kind;
  all.predicted_peak = least_bound(tree_.tasks, node_order());
}

// Baselines are foreseen here: a mapping that would just fit is the last resort.
const Solver::Processes::Candidate* Solver::Processes::choose(std::optional<Bytes> bound,
                                                              bool spills) const {
  const Candidate* chosen = nullptr;
  const auto look = [&](auto fits) {
    if (chosen != nullptr) return;
    for (const Candidate& each : candidates)
      if (fits(each.account) &&
          (chosen == nullptr || cost(each.seconds, each.largest_peak) <
                                    cost(chosen->seconds, chosen->largest_peak)))
        chosen = &each;
  };
  look([&](const MemoryAccount& needs) { return !bound || needs.fits(*bound); });
  look([&](const MemoryAccount& needs) {
    return spills && needs.fits_out_of_core(*bound);
  });
  look([&](const MemoryAccount& needs) { return needs.needed() <= *bound; });
  look([&](const MemoryAccount& needs) {
    return spills && needs.needed_out_of_core() <= *bound;
  });
  return chosen;
}

Infeasible Solver::too_little(Bytes bound, Bytes least) const {
  return {.reason = Infeasible::Reason::kNoneFound,
          .bound_bytes = bound,
          .least_bytes = least,
          .lower_bound_bytes = processes_->communicator.largest(memory_.baseline)};
}

tl::expected<void, Infeasible> Solver::plan_together(std::optional<Bytes> bound) {
  Processes& all = *processes_;
  const Processes::Candidate* const chosen = all.choose(bound, spills());
  if (chosen == nullptr)
    return tl::make_unexpected(
        too_little(*bound, spills() ? all.least_out_of_core : all.least));
  forget_factor();
  file_.reset();
  take(chosen->mapping);
  memory_ = chosen->account;
  std::vector<ColumnRange> columns =
      column_ranges(analysis_.symbolic, all.whole, all.distribution);
  if (all.columns.empty())
    distribute_columns(all.communicator, columns, analysis_.permuted);
  else
    move_columns(all.communicator, all.columns, columns, analysis_.permuted);
  all.columns = std::move(columns);
  trim_heap();
  // What a factorisation leaves of its reserve is resident at the next plan, and counted.
  if (!all.beside_matrix)
    all.beside_matrix = resident_bytes() - bytes_here(analysis_.permuted);
  memory_.baseline = *all.beside_matrix + bytes_here(analysis_.permuted);
  bound_ = bound;
  const Bytes tree_bound =
      bound ? memory_.tree_bound(*bound) : std::numeric_limits<Bytes>::max();
  if (spills()) spill_to(tree_bound);
  all.predicted_peak = least_bound(tree_.tasks, node_order());
  // More is resident than was foreseen; never seen where least() was asked for.
  const Bytes missing =
      all.communicator.largest(std::max(all.predicted_peak, solve_bytes(1)) - tree_bound);
  if (missing > 0) return tl::make_unexpected(too_little(*bound, *bound + missing));
  plan_ = make_tree_plan(tree_.tasks, tree_.max_workers,
                         {options_.workers, options_.order, options_.mapping}, tree_bound,
                         all.witness);
  planned_ = plan_ != nullptr;
  if (!planned_) throw Error("the tree does not fit in its own least bound");
  return {};
}

void Solver::replace_together(const InputMatrix& matrix) {
  Processes& all = *processes_;
  std::string trouble;
  if (all.communicator.rank() == 0) try {
      check(view_of(matrix));
    } catch (const InvalidInput& error) {
      trouble = error.what();
    }
  fail_together(all.communicator, trouble);
  factored_ = has_values_ = false;
  replace_columns(all.communicator,
                  all.columns.empty() ? at_first(analysis_.symbolic.size) : all.columns,
                  analysis_.symbolic.permutation, prepared_,
                  all.communicator.rank() == 0 ? &matrix : nullptr, analysis_.permuted);
  measure_entries();
  largest_entry_ = all.communicator.largest(largest_entry_);
  has_values_ = true;
}

MatrixPart Solver::matrix() const {
  if (processes_) return matrix_part(analysis_.permuted, processes_->communicator);
  if (analysis_.symbolic.kept() > 0)
    return MatrixPart::leading(analysis_.permuted, analysis_.symbolic.inner());
  return {analysis_.permuted, analysis_.form.coupling};
}

std::int32_t Solver::agree(std::int32_t value) const {
  if (!processes_) return value;
  return static_cast<std::int32_t>(processes_->communicator.smallest(value));
}

NodeOrder Solver::node_order() const {
  return processes_ ? NodeOrder(processes_->witness) : NodeOrder(options_.order);
}

// Of several processes each has a file of its own: where one cannot, none goes on.
void Solver::open_spill_file() {
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

Bytes Solver::least() const { return processes_ ? processes_->least : memory_.least(); }

Bytes Solver::least_out_of_core() const {
  return processes_ ? processes_->least_out_of_core : memory_.least_out_of_core();
}

ProcessFacts Solver::process_facts() const {
  if (!processes_) return {};
  const auto& groups = processes_->distribution.group;
  return {.predicted_peak = processes_->predicted_peak,
          .sequential_least = processes_->sequential_least,
          .shared_nodes = std::ranges::count_if(
              groups, [](const WorkerRange& group) { return group.count > 1; }),
          .sent = processes_->channel->sent()};
}

}  // namespace espalier::solver
