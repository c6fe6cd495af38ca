// Leases of a solver on several processes: each of its own process's budget, all or none.

#include <algorithm>
#include <utility>

#include "solver/api/solver_processes.h"
#include "solver/distributed/distribute.h"
#include "solver/matrix/check_matrix.h"
#include "solver/memory/budget.h"
#include "solver/memory/process_memory.h"

namespace espalier::solver {
namespace {

// What the first process that was refused was told, at all of them; null: none was.
std::optional<LeaseRefused> first_refusal(Communicator& communicator,
                                          const std::optional<LeaseRefused>& here) {
  const auto none = std::int64_t{communicator.size()};
  const std::int64_t first = communicator.smallest(here ? communicator.rank() : none);
  if (first == none) return std::nullopt;
  LeaseRefused refused = here.value_or(LeaseRefused{});
  communicator.broadcast(std::as_writable_bytes(std::span(&refused, 1)),
                         static_cast<std::int32_t>(first));
  return refused;
}

}  // namespace

// While process 0 analyses and the others receive what it found: all have the structure.
std::unique_ptr<Lease> Solver::Impl::lease_analysis_together(
    const std::optional<InputMatrix>& matrix) {
  Communicator& communicator = processes_->communicator;
  const std::int64_t with = communicator.sum(std::int64_t{options_.budget ? 1 : 0});
  if (with == 0) return nullptr;
  if (with < communicator.size())
    throw InvalidInput("options.budget: at some processes, and not at others");
  std::int64_t sizes[2] = {};
  if (matrix) {
    const MatrixView view = view_of(*matrix);
    sizes[0] = view.order;
    sizes[1] = std::ssize(view.rows);
  }
  broadcast_value(communicator, sizes);
  std::unique_ptr<Lease> lease;
  std::optional<LeaseRefused> refused;
  const Bytes bytes =
      checked_add(analysis_bytes(sizes[0], sizes[1]), start_bytes(options_.workers));
  if (auto taken = options_.budget->take(bytes, bytes, options_.lease_patience))
    lease = std::move(*taken);
  else
    refused = taken.error();
  if (const auto first = first_refusal(communicator, refused))
    throw BudgetExceeded(*first);
  return lease;
}

// Of the mappings that every process has room for now the one of least cost, as choose()
// finds it; where there is none, the one that needs least, whose lease is waited for.
// What a part takes beside its lease counts whole, though some of it is there already.
const Solver::Impl::MappingNeeds& Solver::Impl::choose_in_budget(
    std::optional<Bytes> bound) const {
  const Processes& all = *processes_;
  trim_heap();
  const Bytes left = options_.budget->left();
  std::vector<bool> possible;
  for (const MappingNeeds& each : all.candidates)
    possible.push_back(all.communicator.smallest(
        checked_add(least_inside(each.account), each.held) <= left ? 1 : 0));
  const MappingNeeds* const chosen = all.choose(bound, spills(), possible);
  if (chosen != nullptr) return *chosen;
  return all.least_candidate(spills() ? &MemoryAccount::needed_out_of_core
                                      : &MemoryAccount::needed);
}

// As take_lease(), at every process or at none.
tl::expected<Bytes, Infeasible> Solver::Impl::lease_together(std::optional<Bytes> bound) {
  Communicator& communicator = processes_->communicator;
  const auto leased = take_lease(bound);
  const Bytes enough = communicator.largest(leased ? 0 : leased.error().least_bytes);
  const Bytes budget = communicator.smallest(options_.budget->bytes());
  if (enough == 0) return *leased;
  lease_.reset();
  Infeasible refused = too_little(budget, enough);
  return tl::make_unexpected(refused);
}

}  // namespace espalier::solver
