// What a solver needs of its bound, one account of all phases: over 300 lines.

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "solver/api/solver_impl.h"
#include "solver/front/front_tasks.h"
#include "solver/memory/address_space.h"
#include "solver/refine/scaled_permutation.h"
#include "solver/tree/spill_plan.h"
#include "solver/tree/tree_plan.h"

namespace espalier::solver {
namespace {

// All leaves are submitted at the start: what the runtime keeps for the task of each, and
// for how many of them the reserve does.
constexpr Bytes kReservePerLeaf = 1536;
constexpr std::int64_t kReservedLeaves = 512;
// Steps of GMRES before a restart that every bound leaves room for: fewer did not make up
// for perturbed pivots in single precision.
constexpr std::int32_t kLeastBasis = 4;

// Of the resident set, for each entry that is given and for each row: at most 108 bytes
// an entry in all were seen, of a symmetric grid's lower triangle in L U.
constexpr Bytes kAnalysisPerEntry = 96, kAnalysisPerRow = 128;
constexpr Bytes kAnalysisAtLeast = Bytes{2} << 20;

// What BLAS keeps for the calling thread is resident before memory is measured.
void warm_up_here(const Symbolic& symbolic) {
  std::int32_t rows = 0, columns = 0;
  for (std::int32_t s = 0; s < symbolic.fronts(); ++s) {
    rows = std::max(rows, symbolic.front_order(s));
    columns = std::max(columns, symbolic.pivots(s));
  }
  warm_up_blas(rows, columns);
}

}  // namespace

Bytes analysis_bytes(std::int64_t order, std::int64_t entries) {
  return checked_add(kAnalysisAtLeast,
                     checked_add(checked_mul(order, kAnalysisPerRow),
                                 checked_mul(entries, kAnalysisPerEntry)));
}

// Beside the fronts while factorising.
Bytes Solver::Impl::reserve_bytes(const Grouping& of) const {
  FactorInput given = input(of);
  given.pivoting.delay_reserve = delay_reserve(of.kind);
  const Bytes beside = numeric_->factor_workspace_bytes(given, of.kind, workers());
  std::int64_t leaves = 0;
  for (std::size_t i = 0; i < of.tree.nodes.size(); ++i)
    leaves += of.tree.nodes[i].part > 0 && of.tree.tasks.children(task_id(i)).empty();
  const Bytes tasks =
      kReservePerLeaf * std::max<std::int64_t>(0, leaves - kReservedLeaves);
  return checked_add(runtime_reserve(workers()), checked_add(tasks, beside));
}

// A Cholesky that fails goes on as L D L^T inside the same bound.
FactorKind Solver::Impl::accounted_kind() const {
  const bool may_go_on = !options_.kind && tree_.kind == FactorKind::kCholesky;
  return may_go_on ? FactorKind::kLdlt : tree_.kind;
}

// What is needed beside the fronts, and the least that they can do with. What is resident
// before them is for measure() to find out.
MemoryAccount Solver::Impl::account(const Grouping& of) const {
  MemoryAccount needs{.reserve = reserve_bytes(of),
                      .tree_least = least_bound(of.tree.tasks, of.order),
                      .solve = solve_bytes(of, 1)};
  if (!spills()) return needs;
  AssemblyTree spilled = of.tree;
  needs.tree_least_out_of_core = spill_everything(of.symbolic, spilled, of.order);
  needs.solve_out_of_core =
      solve_bytes({of.symbolic, spilled, of.kind, of.order, of.distribution}, 1);
  needs.reserve += options_.workers *
                   PageBuffer::footprint(scratch_bytes(of.symbolic, spilled, of.kind));
  return needs;
}

const MemoryAccount& Solver::Impl::memory() const {
  measure();
  return memory_;
}

// What a small system does without: nobody asks before there is a bound.
void Solver::Impl::find_account() const {
  if (accounted_) return;
  memory_ = account({analysis_.symbolic, tree_, accounted_kind(), node_order()});
  accounted_ = true;
}

// One node's is what it takes: known without an account.
Bytes Solver::Impl::least_for_fronts() const {
  if (!whole_) return memory_.tree_least;
  return tree_.tasks.empty() ? 0 : tree_.tasks.memory_requirement(task_id(0));
}

// To measure takes as long as a small system does, and the pages that go back to the
// system for it are touched once more: not before somebody needs to know.
void Solver::Impl::measure() const {
  if (measured_ || processes_) return;
  find_account();
  if (whole_) warm_up_here(analysis_.symbolic);
  const ProcessAccount now = measure_process(memory_.reserve);
  memory_.analysis_peak = now.peak_before;
  memory_.baseline = std::max<Bytes>(0, now.baseline - numeric_->held_bytes());
  measured_ = true;
}

// Of panels that stay, and of what stands in memory with them.
Bytes Solver::Impl::factor_bytes_in_memory(const Grouping& of) const {
  Bytes resident = 0;
  for (const AssemblyTree::Node& node : of.tree.nodes)
    if (node.factor_at < 0) resident = checked_add(resident, node.factor_bytes);
  if (of.symbolic.kept() > 0)
    resident = checked_add(resident, of.tree.nodes.back().contribution_bytes);
  return resident;
}

// Resident while solving, with the panels that stay and the largest of those that do not,
// apart from what refinement and estimates take in turn.
Bytes Solver::Impl::bare_solve_bytes(const Grouping& of, std::int32_t nrhs) const {
  Bytes resident = checked_add(factor_bytes_in_memory(of), schur_bytes(of.symbolic));
  Bytes largest = 0;
  for (const AssemblyTree::Node& node : of.tree.nodes)
    if (node.factor_at >= 0) largest = std::max(largest, node.factor_bytes);
  // Right-hand sides and solutions.
  const Bytes vectors =
      checked_mul(2 * nrhs * std::int64_t{vector_size()}, sizeof(double));
  if (coupled_) resident = checked_add(resident, coupling_bytes());
  return checked_add(checked_add(resident, largest),
                     checked_add(checked_add(vectors, mapping_bytes(of.symbolic)),
                                 numeric_->solve_workspace_bytes(
                                     input(of), of.kind, workers(), nrhs,
                                     !analysis_.form.empty(), of.distribution)));
}

// The block that schur() fills, which a caller makes when there is a factor.
Bytes Solver::Impl::schur_bytes(const Symbolic& symbolic) const {
  const std::int64_t kept = symbolic.kept();
  return checked_mul(checked_mul(kept, kept),
                     analysis_.permuted.parts() * static_cast<Bytes>(sizeof(double)));
}

// Of so many vectors: the basis and three more of its size, and three vectors beside
// them.
Bytes Solver::Impl::null_basis_bytes(std::int64_t vectors) const {
  return checked_mul(checked_add(checked_mul(4, vectors), 3),
                     vector_size() * static_cast<Bytes>(sizeof(double)));
}

// Nobody knows before the factorisation how many null vectors there are. What of the
// bound was for delayed pivots, and they did not take, is free by now.
void Solver::Impl::check_room_for_null_basis(std::int64_t vectors,
                                             std::int32_t block) const {
  Bytes missing = 0;
  if (bound_) {
    const Bytes more = numeric_->held_bytes() - factor_bytes_in_memory(at_hand());
    const Bytes left = memory_.delays - std::clamp<Bytes>(more, 0, memory_.delays);
    const Bytes needed =
        checked_add(null_basis_bytes(vectors), bare_solve_bytes(at_hand(), block));
    missing = needed - checked_add(solve_room(), left);
  }
  if (processes_) missing = processes_->communicator.largest(missing);
  if (missing > 0)
    throw DoesNotFit(fmt::format("null_space_basis: {} vectors miss {} in the bound",
                                 vectors, format_size(missing)));
}

// What maps vectors to the given system: scale factors, the system of each unknown, and
// the rows where right-hand sides may have entries.
Bytes Solver::Impl::mapping_bytes(const Symbolic& symbolic) const {
  const Bytes scale = prepared_.row_scale.empty()
                          ? 0
                          : vector_size() * static_cast<Bytes>(sizeof(double));
  const Bytes size = symbolic.size;
  const auto number = static_cast<Bytes>(sizeof(std::int32_t));
  // Processes solve for all rows.
  const Bytes rows = processes_ ? 0 : size * number / ScaledPermutation::kFewRows;
  return scale + (systems(symbolic) > 1 ? size * number : 0) + rows;
}

// Independent ones, at most.
std::int32_t Solver::Impl::systems(const Symbolic& symbolic) const {
  std::int32_t roots = 0;
  for (std::int32_t s = 0; s < symbolic.fronts(); ++s)
    roots += symbolic.rows_of(s).empty() || symbolic.parent[s] < 0;
  return std::max(roots, 1);
}

Bytes Solver::Impl::refining_bytes(const Symbolic& symbolic, std::int32_t nrhs,
                                   std::int32_t basis, std::int32_t threads) const {
  return refinement_bytes(vector_size(), nrhs, {.gmres_basis = basis, .threads = threads},
                          systems(symbolic));
}

// Where there is doubt each solve of an estimate is refined, too.
Bytes Solver::Impl::estimating_bytes(const Symbolic& symbolic, std::int32_t basis) const {
  const std::int32_t n = vector_size();
  const Bytes scale = prepared_.row_scale.empty() || has_one_scale()
                          ? 0
                          : n * static_cast<Bytes>(sizeof(double));
  return checked_add(scale, estimate_errors_bytes(n, refining_bytes(symbolic, 1, basis)));
}

// Estimates come after refinement, and have GMRES where the bound leaves room for it;
// singular blocks have none, but the vectors that they are coupled by.
Bytes Solver::Impl::solve_bytes(const Grouping& of, std::int32_t nrhs) const {
  const Bytes estimating = estimating_bytes(of.symbolic, 0);
  const Bytes bare = bare_solve_bytes(of, nrhs);
  const Bytes singular = std::max(refining_bytes(of.symbolic, nrhs, 0), estimating);
  if (coupled_) return checked_add(bare, singular);
  return checked_add(
      bare, std::max({refining_bytes(of.symbolic, nrhs, least_basis(of.kind)), estimating,
                      checked_add(coupling_bytes(), singular)}));
}

Bytes Solver::Impl::least_inside(const MemoryAccount& account) const {
  return spills() ? std::min(account.inside(), account.inside_out_of_core())
                  : account.inside();
}

Bytes Solver::Impl::least_for_plan() const {
  measure();
  if (options_.budget && !processes_)
    return checked_add(memory_.baseline, least_inside(memory_));
  return spills() ? std::min(least(), least_out_of_core()) : least();
}

// A smaller bound is refused. The peak so far is of all that share a budget.
Bytes Solver::Impl::needed_for_plan() const {
  if (options_.budget) return checked_add(memory_.baseline, least_inside(memory_));
  return spills() ? std::min(memory_.needed(), memory_.needed_out_of_core())
                  : memory_.needed();
}

// What no order of the tree and no solve goes beyond.
Bytes Solver::Impl::most_inside() const {
  const TaskTree& tasks = tree_.tasks;
  Bytes all = 0;
  for (std::size_t i = 0; i < tasks.size(); ++i)
    for (const Bytes bytes :
         {tasks.output_size(task_id(i)), tasks.execution_size(task_id(i)),
          tasks.retained_size(task_id(i))})
      all = checked_add(all, std::max<Bytes>(0, bytes));
  return checked_add(
      std::max({all, solve_bytes(at_hand(), kBlock), least_inside(memory_)}),
      memory_.reserve);
}

// What of every bound is for delayed pivots.
Bytes Solver::Impl::delay_reserve(FactorKind kind) const {
  constexpr Bytes kDefault = Bytes{1} << 20;
  return kind == FactorKind::kCholesky ? 0 : options_.delay_reserve.value_or(kDefault);
}

// What of a bound is so where it has more than the least: a part of that, and what
// nothing else would use. One thread that has all in memory uses what it needs. Nothing
// of what is likely to need none, though it may go on as L D L^T. Processes take the
// least that one of them has: what is dealt out to shared fronts is the same everywhere.
Bytes Solver::Impl::more_for_delays(Bytes bound) const {
  constexpr Bytes kPart = 4;
  if (options_.delay_reserve || tree_.kind == FactorKind::kCholesky) return 0;
  const bool alone = workers() == 1 && !processes_ && !spills();
  const Bytes tree = shares_node_ ? bytes_for_threads() : memory_.tree_least;
  const Bytes used = alone ? std::max(tree, solve_bytes(at_hand(), kBlock))
                           : most_inside() - memory_.reserve;
  const Bytes part = memory_.spare(bound, spills()) / kPart;
  const Bytes most = memory_.tree_bound(bound) - tree;
  return std::max(shares_node_ ? std::min(part, most) : part,
                  memory_.beyond(bound, used));
}

// Those of a Cholesky factor in double precision need none.
std::int32_t Solver::Impl::least_basis(FactorKind kind) const {
  const bool exact = kind == FactorKind::kCholesky &&
                     options_.precision == Precision::kDouble && options_.low_rank == 0;
  return exact ? 0 : kLeastBasis;
}

// Of a singular matrix a solution that does not exist would grow along the null space
// until its backward error is small.
bool Solver::Impl::may_take_gmres() const {
  return !singular() && least_basis(kind()) > 0;
}

// Of the factor that is there, by compression.
Bytes Solver::Impl::given_back() const {
  const Bytes held = options_.low_rank > 0 ? numeric_->held_bytes() : 0;
  if (held == 0) return 0;
  Bytes full = 0;
  for (const AssemblyTree::Node& node : tree_.nodes) full += node.factor_bytes;
  return full - held;
}

// Of a bound, for solve_bytes(), which count the factor in full.
Bytes Solver::Impl::solve_room() const {
  return checked_add(memory_.tree_bound(*bound_), given_back());
}

void Solver::Impl::check_room_to_solve() const {
  const Bytes missing = solve_bytes(at_hand(), 1) - solve_room();
  if (missing > 0)
    throw DoesNotFit(fmt::format("a solve misses {} in the bound", format_size(missing)));
}

// Steps of GMRES before a restart, the most whose bytes the bound leaves beside a solve.
std::int32_t Solver::Impl::basis_within_bound(
    std::int32_t nrhs, const std::function<Bytes(std::int32_t)>& bytes) const {
  std::int32_t basis = RefineOptions{}.gmres_basis;
  if (!bound_) return basis;
  const Bytes left = solve_room() - bare_solve_bytes(at_hand(), nrhs);
  while (basis > 0 && bytes(basis) > left) --basis;
  return basis;
}

std::int32_t Solver::Impl::refining_basis(std::int32_t nrhs) const {
  return basis_within_bound(nrhs, [&](std::int32_t basis) {
    return refining_bytes(analysis_.symbolic, nrhs, basis);
  });
}

// Which measure errors of other vectors at the same time: each needs room of its own.
std::int32_t Solver::Impl::refining_threads(std::int32_t nrhs, std::int32_t basis) const {
  std::int32_t threads = processes_ ? 1 : std::min(workers(), nrhs);
  if (!bound_) return threads;
  const Bytes left = solve_room() - bare_solve_bytes(at_hand(), nrhs);
  while (threads > 1 && refining_bytes(analysis_.symbolic, nrhs, basis, threads) > left)
    --threads;
  return threads;
}

std::int32_t Solver::Impl::estimating_basis(std::int32_t nrhs) const {
  return basis_within_bound(nrhs, [&](std::int32_t basis) {
    return estimating_bytes(analysis_.symbolic, basis);
  });
}

}  // namespace espalier::solver
