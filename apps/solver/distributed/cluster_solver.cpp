#include "solver/distributed/cluster_solver.h"

#include <espalier.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "espalier/distributed/distribute.h"
#include "espalier/model/replay.h"
#include "espalier/sequential/tree/liu_traversal.h"
#include "solver/distributed/assign_shares.h"
#include "solver/distributed/cluster_numeric.h"
#include "solver/distributed/columns.h"
#include "solver/distributed/distribute.h"
#include "solver/distributed/process_part.h"
#include "solver/distributed/replace_columns.h"
#include "solver/distributed/subtree_groups.h"
#include "solver/matrix/check_matrix.h"
#include "solver/matrix/kind_of.h"
#include "solver/memory/clock.h"
#include "solver/memory/process_memory.h"
#include "solver/tree/tree_plan.h"

namespace espalier::solver {
namespace {

// Memory of MPI and StarPU-MPI that comes with the first messages to another process.
constexpr Bytes kReservePerPeer = Bytes{128} << 10;

// Budgets to map for, in units of the least that the planner finds.
constexpr std::array kBudgets = {1.02, 1.05, 1.1, 1.25, 1.6};

// Work of the subtrees of one process, in units of its share, at which the tree is cut.
constexpr std::array kSubtrees = {1.0, 0.85, 0.7, 0.5, 0.3};

// What the choice among mappings goes by: a worker, a message over StarPU-MPI, and bytes
// a second into one process. Only their order of magnitude matters.
constexpr double kFlopRate = 2e10, kLatency = 100e-6, kBandwidth = 1e9;

// Part of the memory of program and libraries that counts in that choice.
constexpr Bytes kOfAnyProcess = Bytes{8} << 20;

// Block columns of each node's front; 1 where a node is a subtree.
std::vector<std::int32_t> most_parts(const Symbolic& symbolic, const AssemblyTree& tree) {
  std::vector<std::int32_t> parts;
  for (const AssemblyTree::Node& node : tree.nodes) {
    const bool one = node.first_front == node.last_front;
    parts.push_back(
        one ? std::max(1, tree.panel(symbolic, node.last_front).blocks() +
                              tree.contribution(symbolic, node.last_front).blocks())
            : 1);
  }
  return parts;
}

// Several fronts that are one task cannot be shared, nor what is below them.
std::vector<WorkerRange> groups_of(const AssemblyTree& tree, const Distribution& found) {
  std::vector<WorkerRange> groups = found.group;
  for (std::size_t i = groups.size(); i-- > 0;) {
    const auto parent = tree.tasks.parent(task_id(i));
    if (parent && groups[index(*parent)].count == 1)
      groups[i] = groups[index(*parent)];
    else if (tree.nodes[i].first_front != tree.nodes[i].last_front && groups[i].count > 1)
      groups[i] = {found.owners(task_id(i)).front().process, 1};
  }
  return groups;
}

}  // namespace

ClusterSolver::ClusterSolver(Communicator& communicator,
                             std::optional<InputMatrix>&& matrix,
                             const SolverOptions& options,
                             const std::function<void(std::string_view)>& step)
    : Solver(options, nullptr), communicator_(communicator) {
  if (!options.out_of_core.empty())
    throw InvalidInput("out of core: not on several processes");
  if (!options.schur.empty())
    throw InvalidInput("a Schur complement: not on several processes");
  if (options.scheduler != "espalier")
    throw InvalidInput(
        fmt::format("scheduler '{}': not on several processes", options.scheduler));
  if (step) step("analysing");
  const auto begin = Clock::now();
  share_analysis(std::move(matrix));
  analyse_seconds_ = since(begin);
  if (step) step("starting the runtime");
  start();
  if (step) step("mapping the tree");
  list_candidates();
}

ClusterSolver::~ClusterSolver() {
  if (transport_ == nullptr) return;
  runtime_->wake();
  numeric_.reset();
  transport_.reset();
}

// Analysed at process 0, known everywhere but for the matrix.
void ClusterSolver::share_analysis(std::optional<InputMatrix>&& matrix) {
  FactorKind kind = FactorKind::kCholesky;
  if (matrix) {
    check(view_of(*matrix));
    kind = options_.kind.value_or(kind_of(*matrix));
    if (options_.kind) require_kind(*matrix, kind);
    PrepareOptions preparing = options_.prepare;
    preparing.block_triangular = false;  // one tree is what processes share
    prepared_ = prepare(std::move(*matrix), kind, preparing);
    AnalyseOptions analysing = options_.analysis;
    analysing.workers = options_.workers;
    analysis_ = analyse(std::move(prepared_), analysing);
    matrix.reset();
    measure_entries();
  }
  broadcast_value(communicator_, kind);
  broadcast_value(communicator_, largest_entry_);
  broadcast_value(communicator_, analysis_.seconds);
  broadcast(communicator_, analysis_.symbolic);
  broadcast_maps(communicator_, prepared_);
  if (communicator_.rank() == 0) entries_before_ = analysis_.permuted.lower.column_start;
  broadcast(communicator_, entries_before_);
  whole_.kind = tree_.kind = kind;
  whole_ = build_assembly_tree(analysis_.symbolic,
                               {.kind = kind,
                                .entry_bytes = bytes_of(options_.precision),
                                .workers = options_.workers * communicator_.size(),
                                .processes = communicator_.size()});
}

// In a catch block of StarPU-MPI's thread: the other processes wait for this one.
void ClusterSolver::end_the_job() noexcept {
  try {
    throw;
  } catch (const std::exception& error) {
    communicator_.fail(3, error.what());
  } catch (...) {
    communicator_.fail(3, "unknown error");
  }
}

void ClusterSolver::start() {
  start_runtime();
  runtime_->wake();
  transport_ = std::make_unique<Transport>(communicator_.data_communicator(),
                                           [this] { end_the_job(); });
  communicator_.barrier();
  runtime_->sleep();
  numeric_ =
      make_cluster_numeric(options_.precision, {communicator_, *transport_, shares_});
  trim_heap();
  memory_.analysis_peak = peak_resident_bytes();
}

// Entries here under the shares at hand.
Bytes ClusterSolver::matrix_bytes() const {
  std::int64_t entries = 0;
  for (const ColumnRange& range : column_ranges(analysis_.symbolic, whole_, shares_))
    if (range.owner == communicator_.rank())
      entries += entries_before_[range.end] - entries_before_[range.begin];
  return entries * entry_bytes();
}

// Ways to map the tree, and what each of them needs here.
void ClusterSolver::list_candidates() {
  const std::vector<std::int32_t> parts = most_parts(analysis_.symbolic, whole_);
  DistributionOptions options{.processes = communicator_.size(),
                              .workers = options_.workers,
                              .most_parts = parts,
                              .max_workers = whole_.max_workers,
                              .network = {kLatency, kBandwidth, kFlopRate}};
  const Traversal liu = liu_traversal(whole_.tasks);
  sequential_least_ = liu.peak;
  const auto add_groups = [&](std::vector<WorkerRange>&& group,
                              std::vector<TaskId>&& witness) {
    for (const Candidate& known : candidates_)
      if (known.group == group && known.witness == witness) return;
    candidates_.push_back(evaluate(std::move(group), std::move(witness)));
  };
  const auto add = [&](Distribution&& found) {
    add_groups(groups_of(whole_, found), std::move(found.witness));
  };
  Distribution least = distribute_least(whole_.tasks, options);
  const auto least_bytes = static_cast<double>(least.largest_peak());
  add(std::move(least));
  for (const double budget : kBudgets) {
    options.memory_bound = static_cast<Bytes>(budget * least_bytes);
    if (auto found = distribute(whole_.tasks, options)) add(std::move(*found));
  }
  options.memory_bound = std::numeric_limits<Bytes>::max();
  for (const auto kind :
       {DistributedMapping::kMemoryAware, DistributedMapping::kProportional}) {
    options.kind = kind;
    if (auto found = distribute(whole_.tasks, options)) add(std::move(*found));
  }
  std::vector<bool> may_share;
  for (const AssemblyTree::Node& node : whole_.nodes)
    may_share.push_back(node.first_front == node.last_front);
  for (const double most : kSubtrees)
    add_groups(subtree_groups(whole_.tasks, communicator_.size(), may_share, most),
               std::vector(liu.order));
  // What is small, or one long path, is done sooner without messages.
  add_groups(std::vector(whole_.nodes.size(), WorkerRange{0, 1}), std::vector(liu.order));
  foresee_baselines();
  memory_ = std::min_element(candidates_.begin(), candidates_.end(),
                             [](const Candidate& a, const Candidate& b) {
                               return a.account.needed() < b.account.needed();
                             })
                ->account;
  least_ = memory_.least();
}

// A job occupies memory for a time. Memory is known and times are rough: it counts more,
// but not where it is little beside what a process has anyway.
double ClusterSolver::cost(const Candidate& candidate) {
  return candidate.seconds *
         std::pow(static_cast<double>(kOfAnyProcess + candidate.largest_peak), 1.5);
}

ClusterSolver::Candidate ClusterSolver::evaluate(std::vector<WorkerRange> group,
                                                 std::vector<TaskId> witness) {
  Candidate candidate{std::move(group), std::move(witness)};
  take(candidate);
  candidate.seconds = communicator_.largest(estimate_seconds());
  const FactorKind kind = tree_.kind;
  // A Cholesky that fails goes on as L D L^T inside the same bound.
  if (!options_.kind && kind == FactorKind::kCholesky) tree_.kind = FactorKind::kLdlt;
  candidate.account = memory_;
  candidate.account.baseline = matrix_bytes();  // and what foresee_baselines() adds
  candidate.account.reserve = reserve_bytes() + kReservePerPeer * communicator_.size();
  candidate.account.tree_least = predicted_peak_;
  candidate.largest_peak = communicator_.largest(predicted_peak_);
  candidate.account.solve = solve_bytes(1);
  tree_.kind = kind;
  return candidate;
}

// What will be resident before the first front: all that is now, but for the matrix,
// which is at process 0, and the starts of its columns, which then take the place of
// ours.
void ClusterSolver::foresee_baselines() {
  trim_heap();
  const Bytes matrix =
      communicator_.rank() == 0
          ? entries_before_.back() * entry_bytes() +
                std::ssize(entries_before_) * static_cast<Bytes>(sizeof(std::int64_t))
          : 0;
  const Bytes beside = resident_bytes() - matrix;
  for (Candidate& candidate : candidates_) {
    candidate.account.baseline += beside;
    candidate.account.elsewhere = communicator_.largest(candidate.account.needed());
  }
}

// Of an entry of the matrix.
Bytes ClusterSolver::entry_bytes() const {
  const std::size_t values = whole_.kind == FactorKind::kLu ? 2 : 1;
  return static_cast<Bytes>(values * sizeof(double) + sizeof(std::int32_t));
}

// Time of this process's work and of what it receives, one after the other. Opening a
// shared front takes as long as a message.
Seconds ClusterSolver::estimate_seconds() const {
  Flops work = 0;
  std::int64_t waits = received_.messages;
  for (std::size_t i = 0; i < tree_.tasks.size(); ++i) {
    work += tree_.tasks.work(task_id(i));
    waits += tree_.nodes[i].shared && tree_.nodes[i].part > 0;
  }
  return work / (kFlopRate * options_.workers) +
         static_cast<double>(received_.bytes) / kBandwidth +
         static_cast<double>(waits) * kLatency;
}

void ClusterSolver::take(const Candidate& candidate) {
  shares_ =
      assign_shares(analysis_.symbolic, whole_, communicator_.size(), candidate.group);
  const FactorKind kind = tree_.kind;
  received_ = {};
  tree_ = part_of(analysis_.symbolic, whole_, shares_, communicator_.rank(), &received_);
  tree_.kind = kind;
  predicted_peak_ = replay(tree_.tasks, candidate.witness).peak;
}

// Of those that fit, the one of least cost. Baselines are foreseen here: a mapping that
// would just fit is the last resort.
const ClusterSolver::Candidate* ClusterSolver::choose(std::optional<Bytes> bound) const {
  const Candidate* chosen = nullptr;
  for (const Candidate& candidate : candidates_) {
    if (bound && !candidate.account.fits(*bound)) continue;
    if (chosen == nullptr || cost(candidate) < cost(*chosen)) chosen = &candidate;
  }
  for (const Candidate& candidate : candidates_)
    if (chosen == nullptr && candidate.account.needed() <= *bound) chosen = &candidate;
  return chosen;
}

tl::expected<void, Infeasible> ClusterSolver::plan(std::optional<Bytes> bound) {
  if (planned_) throw InvalidInput("on several processes there is one plan only");
  const Candidate* const chosen = choose(bound);
  if (chosen == nullptr)
    return tl::make_unexpected(
        Infeasible{.reason = Infeasible::Reason::kNoneFound,
                   .bound_bytes = *bound,
                   .least_bytes = least_,
                   .lower_bound_bytes = communicator_.largest(memory_.baseline)});
  take(*chosen);
  memory_ = chosen->account;
  const std::vector<TaskId> witness = chosen->witness;
  distribute_columns(communicator_, column_ranges(analysis_.symbolic, whole_, shares_),
                     analysis_.permuted);
  entries_before_ = std::vector<std::int64_t>();
  candidates_ = std::vector<Candidate>();
  trim_heap();
  memory_.baseline = resident_bytes();
  bound_ = bound;
  const Bytes tree_bound =
      bound ? memory_.tree_bound(*bound) : std::numeric_limits<Bytes>::max();
  plan_ = make_tree_plan(tree_.tasks, tree_.max_workers,
                         {options_.workers, options_.order, options_.mapping}, tree_bound,
                         witness);
  planned_ = true;
  // More is resident than was foreseen; never seen where least() was asked for.
  const Bytes missing =
      communicator_.largest(std::max(predicted_peak_, memory_.solve) - tree_bound);
  if (missing > 0)
    return tl::make_unexpected(Infeasible{.reason = Infeasible::Reason::kNoneFound,
                                          .bound_bytes = *bound,
                                          .least_bytes = *bound + missing,
                                          .lower_bound_bytes = memory_.baseline});
  return {};
}

MatrixPart ClusterSolver::matrix() const {
  return matrix_part(analysis_.permuted, communicator_);
}

std::int32_t ClusterSolver::agree(std::int32_t value) const {
  return static_cast<std::int32_t>(communicator_.smallest(value));
}

void ClusterSolver::save(const std::string& /*path*/) const {
  throw InvalidInput("saving a factorisation: not on several processes");
}

void ClusterSolver::replace_values(const InputMatrix& matrix) {
  if (!planned_) throw InvalidInput("new values before the plan");
  if (communicator_.rank() == 0) check(view_of(matrix));
  factored_ = has_values_ = false;
  replace_columns(communicator_, column_ranges(analysis_.symbolic, whole_, shares_),
                  analysis_.symbolic.permutation, prepared_,
                  communicator_.rank() == 0 ? &matrix : nullptr, analysis_.permuted);
  measure_entries();
  largest_entry_ = communicator_.largest(largest_entry_);
  has_values_ = true;
}

}  // namespace espalier::solver
