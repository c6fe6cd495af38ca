// Another order of elimination, where the one that kAuto took needs more than there is.

#include <algorithm>
#include <utility>

#include "espalier/model/clock.h"
#include "solver/api/solver_processes.h"
#include "solver/distributed/distribute.h"
#include "solver/matrix/permute.h"
#include "solver/memory/process_memory.h"
#include "solver/ordering/other_ordering.h"
#include "solver/tree/spill_plan.h"

namespace espalier::solver {
namespace {

// Of the resident set, for each entry and each row: a graph, its levels, and the
// structure that is found, beside the first one.
constexpr Bytes kOrderingPerEntry = 32, kOrderingPerRow = 64;

// Partners by their numbers in an order.
std::vector<std::int32_t> renumbered(const std::vector<std::int32_t>& partner,
                                     const std::vector<std::int32_t>& order) {
  if (partner.empty()) return {};
  return composed(inverse_permutation(order), composed(partner, order));
}

}  // namespace

// Of a system that needs little there is nothing to be saved.
bool Solver::Impl::may_try_another() const {
  const AnalyseOptions& analysing = options_.analysis;
  if (analysing.ordering != OrderingKind::kAuto || !analysing.order.empty()) return false;
  if (!tried_.empty() || !analysis_.seconds.ordering_taken) return false;
  if (options_.budget || analysis_.symbolic.kept() > 0) return false;
  if (processes_ && !processes_->columns.empty()) return false;
  if (!processes_) find_account();
  const Bytes needed = processes_ ? processes_->sequential_least
                                  : std::max(memory_.tree_least, memory_.solve);
  return needed > ProcessAccount::kRunToRun &&
         other_ordering(*analysis_.seconds.ordering_taken, analysis_.symbolic.size);
}

// Whether an analysis is certain not to need more than what it may save.
bool Solver::Impl::has_room_to_analyse(Bytes least) const {
  const std::int64_t entries = std::ssize(analysis_.permuted.lower.row);
  const Bytes more = checked_add(checked_mul(entries, kOrderingPerEntry),
                                 checked_mul(analysis_.symbolic.size, kOrderingPerRow));
  return checked_add(resident_bytes(), more) < least;
}

void Solver::Impl::settle_order(std::optional<Bytes> bound) {
  if (!may_try_another()) return;
  if (processes_) {
    if (bound && processes_->choose(bound, spills()) != nullptr) return;
    const bool room = agree(has_room_to_analyse(processes_->least) ? 1 : 0) != 0;
    if (bound || room) try_other_order_together();
    return;
  }
  measure();
  if (bound ? *bound >= needed_for_plan() : !has_room_to_analyse(least_for_plan()))
    return;
  try_other_order();
}

Analysis Solver::Impl::analyse_again(OrderingKind ordering) const {
  AnalyseOptions analysing = analyse_options();
  analysing.ordering = ordering;
  Analysis next;
  next.symbolic = analyse_pattern(
      analysis_.permuted.lower, analysing, &next.seconds,
      renumbered(prepared_.partner, analysis_.symbolic.permutation), nullptr,
      substitution_order(analysis_.permuted.lower, analysis_.form.coupling));
  return next;
}

// The matrix follows: `next` is an analysis of it in the order of the one at hand.
void Solver::Impl::take_analysis(Analysis&& next) {
  places_.reset();
  const std::vector<std::int32_t> step = next.symbolic.permutation;
  next.symbolic.permutation = composed(analysis_.symbolic.permutation, step);
  next.permuted = permuted(std::exchange(analysis_.permuted, {}), step);
  if (!analysis_.form.empty())
    next.form = block_form(next.symbolic,
                           permuted(std::exchange(analysis_.form.coupling, {}), step));
  next.seconds.ordering += analysis_.seconds.ordering;
  analysis_ = std::move(next);
}

void Solver::Impl::try_other_order() {
  const auto start = Clock::now();
  release_plan();
  const OrderingKind first = *analysis_.seconds.ordering_taken;
  Analysis next = analyse_again(*other_ordering(first, analysis_.symbolic.size));
  tried_.push_back({first, least_for_plan(), true});
  const OrderingKind other = *next.seconds.ordering_taken;
  const FactorKind kind = tree_.kind;
  AssemblyTree tree = build_assembly_tree(next.symbolic, assembly_options(kind));
  const MemoryAccount there =
      account({next.symbolic, tree, accounted_kind(), node_order()});
  const Bytes more = least_inside(there) - least_inside(memory_);
  const bool better = more < 0 && !(whole_ && !is_small(next.symbolic, kind));
  if (better) {
    take_analysis(std::move(next));
    take_tree(std::move(tree));
    memory_ = there;
    tried_[0].taken = false;
  }
  measured_ = false;
  measure();
  tried_.push_back({other, better ? least_for_plan() : tried_[0].least + more, better});
  analyse_seconds_ += since(start);
}

// Process 0 decides by the tree of all, before anybody else knows of another.
void Solver::Impl::try_other_order_together() {
  const auto start = Clock::now();
  Processes& all = *processes_;
  Communicator& communicator = all.communicator;
  const OrderingKind first = *analysis_.seconds.ordering_taken;
  const OrderingKind other = *other_ordering(first, analysis_.symbolic.size);
  const Bytes least = least_for_plan();
  tried_.push_back({first, least, true});
  release_plan();
  bool better = false;
  together(communicator, [&] {
    if (communicator.rank() > 0) return;
    Analysis next = analyse_again(other);
    const Bytes there = least_bound(tree_of_all(next.symbolic).tasks, OrderKind::kLiu);
    better = there < all.sequential_least;
    tried_.push_back({other, least + there - all.sequential_least, false});
    if (better) take_analysis(std::move(next));
  });
  broadcast_value(communicator, better);
  if (better) share_order(tree_.kind);
  list_mappings();
  tried_.resize(2, {other, 0, false});
  if (better) {
    std::swap(tried_[0].taken, tried_[1].taken);
    tried_[1].least = least_for_plan();
  }
  broadcast_value(communicator, tried_[1].least);
  analyse_seconds_ += since(start);
}

}  // namespace espalier::solver
