// A plan inside a bound: leases, what goes out of core, the tree's own plan.

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "solver/api/solver_processes.h"
#include "solver/front/front_tasks.h"
#include "solver/memory/address_space.h"
#include "solver/runtime/blas_threads.h"
#include "solver/tree/spill_plan.h"
#include "solver/tree/tree_plan.h"

namespace espalier::solver {

void Solver::Impl::check_directory() const {
  if (!spills()) return;
  const auto check = [this] { SpillFile::check_directory(options_.out_of_core); };
  if (processes_)
    together(processes_->communicator, check);
  else
    check();
}

// Of the plan for the bound at hand.
void Solver::Impl::choose_spilled() {
  const Bytes tree_bound = bound_for_tree();
  Bytes target = tree_bound;
  for (;;) {
    spill_bytes_ = plan_spill(analysis_.symbolic, tree_, node_order(), target);
    const Bytes over = solve_bytes(at_hand(), 1) - tree_bound;
    if (over <= 0 || target <= 0) return;
    target -= over;
  }
}

// What a limit of the process leaves is found out before anything starts.
void Solver::Impl::check_room(std::optional<Bytes> bound) const {
  const Bytes least = least_for_fronts();
  const Bytes needed = bound ? std::min(memory_.tree_bound(*bound), least) : least;
  check_address_space(needed, [&] {
    return fmt::format("the fronts need {} more", format_size(needed));
  });
}

// Where what may be mapped has a limit, too, a plan for more than that leaves would fail.
Bytes Solver::Impl::within_address_space(Bytes bound) const {
  const std::optional<Bytes> left = address_space_left();
  if (!left) return bound;
  const Bytes mapped = checked_add(memory_.baseline, *left);
  return std::min(bound, std::max(mapped, needed_for_plan()));
}

// The bound that the lease stands for.
tl::expected<Bytes, Infeasible> Solver::Impl::take_lease(std::optional<Bytes> bound) {
  lease_.reset();
  const Bytes most = bound ? *bound - memory_.baseline : most_inside();
  auto lease =
      options_.budget->take(least_inside(memory_), most, options_.lease_patience);
  if (!lease)
    return tl::make_unexpected(
        Infeasible{.reason = Infeasible::Reason::kNoneFound,
                   .bound_bytes = lease.error().budget,
                   .least_bytes = lease.error().sufficient,
                   .lower_bound_bytes = lease.error().beside + lease.error().leased});
  lease_ = std::move(*lease);
  return checked_add(memory_.baseline, lease_->bytes());
}

// While the matrix is analysed; what stays of it is resident beside all leases then.
std::unique_ptr<Lease> Solver::Impl::lease_analysis(std::int64_t order,
                                                    std::int64_t entries) {
  if (!options_.budget) return nullptr;
  Bytes bytes = analysis_bytes(order, entries);
  if (given_runtime_ == nullptr)
    bytes = checked_add(bytes, start_bytes(options_.workers));
  auto lease = options_.budget->take(bytes, bytes, options_.lease_patience);
  if (!lease) throw BudgetExceeded(lease.error());
  return std::move(*lease);
}

// Whether compression may make up for what a bound has too little.
bool Solver::Impl::may_hope() const {
  return options_.low_rank > 0 && tree_.kind == FactorKind::kCholesky && !whole_ &&
         runtime_->espalier() && !options_.budget;
}

// What no compression can do without: each front in full, and the vectors of a solve.
Bytes Solver::Impl::least_hoped() const {
  Bytes factor = 0, most = 0;
  for (std::size_t i = 0; i < tree_.nodes.size(); ++i) {
    factor += tree_.nodes[i].factor_bytes;
    most = std::max(most, tree_.tasks.memory_requirement(task_id(i)));
  }
  return memory_.needed_for(std::max(most, solve_bytes(at_hand(), 1) - factor));
}

Bytes Solver::Impl::bound_for_tree() const {
  return bound_ ? memory_.tree_bound(*bound_) : std::numeric_limits<Bytes>::max();
}

// Of a bound, where threads take pieces of the only node: beside what the reserve has for
// one of them.
Bytes Solver::Impl::bytes_for_threads() const {
  const std::int32_t threads = pieces_.threads;
  const Bytes scratch =
      PageBuffer::footprint(scratch_bytes(analysis_.symbolic, tree_, accounted_kind()));
  return checked_add(pieces_.bytes(tree_), runtime_reserve(threads) - runtime_reserve(1) +
                                               checked_mul(threads - 1, scratch));
}

// Whether threads take pieces of the only node: they have more memory than one of them.
// What BLAS keeps for each is resident before, and takes a while to bring about.
bool Solver::Impl::may_share_node(std::optional<Bytes> bound) {
  constexpr Flops kWorthWarmingUp = 3e8;
  if (pieces_.pieces.size() < 2 || options_.budget) return false;
  if (!bound) return true;
  const Bytes needed = bytes_for_threads();
  if (tree_.tasks.work(task_id(0)) < kWorthWarmingUp ||
      memory_.tree_bound(*bound) < checked_add(needed, blas_bytes(pieces_.threads)))
    return false;
  const OneBlasThread one_thread;
  SharedWarmUp warm(pieces_.threads);
  warm.call_from_threads();
  measured_ = false;
  measure();
  return !warm.has_failed() && memory_.tree_bound(*bound) >= needed;
}

tl::expected<void, Infeasible> Solver::Impl::plan(std::optional<Bytes> bound) {
  if (processes_) return plan_together(bound);
  if (bound) {
    places_.reset();
    measure();
    settle_order(bound);
  }
  const bool hopes = bound && *bound < needed_for_plan();
  if (hopes && !(may_hope() && *bound >= least_hoped()))
    return tl::make_unexpected(Infeasible{
        .reason = Infeasible::Reason::kNoneFound,
        .bound_bytes = *bound,
        .least_bytes = spills() ? memory_.least_out_of_core() : memory_.least(),
        .lower_bound_bytes = may_hope() ? least_hoped() : memory_.baseline});
  release_plan();
  hopes_ = hopes;
  if (options_.budget) {
    auto leased = take_lease(bound);
    if (!leased) return tl::make_unexpected(leased.error());
    bound = *leased;
  }
  check_room(bound);
  if (bound) bound = within_address_space(*bound);
  bound_ = bound;
  shares_node_ = may_share_node(bound);
  if (bound) memory_.delays = more_for_delays(*bound);
  file_.reset();
  if (spills()) choose_spilled();
  planned_ = true;
  if (whole_ || !runtime_->espalier()) return {};
  plan_ = make_tree_plan(tree_.tasks, tree_.max_workers,
                         {options_.workers, options_.order, options_.mapping},
                         hopes_ ? memory_.tree_least : bound_for_tree());
  planned_ = plan_ != nullptr;
  if (!planned_) throw Error("the tree does not fit in its own least bound");
  return {};
}

}  // namespace espalier::solver
