// Ways to map the tree of a solver onto its processes, and the choice among them.

#include <algorithm>
#include <cmath>
#include <utility>

#include "espalier/model/free_memory.h"
#include "solver/api/solver_processes.h"
#include "solver/distributed/distribute_fronts.h"
#include "solver/distributed/move_columns.h"
#include "solver/distributed/original_tiles.h"
#include "solver/memory/process_memory.h"
#include "solver/tree/spill_plan.h"

namespace espalier::solver {
namespace {

// Memory of MPI and StarPU-MPI that comes with the first messages to another process.
constexpr Bytes kReservePerPeer = Bytes{128} << 10;
// What the first solve leaves: code that it met, and 1.2 MiB of the heap and of StarPU's.
// It is resident at the next factorisation, whose baseline stays that of the first.
constexpr Bytes kReserveOfSolves = Bytes{3} << 19;

// What the runtime keeps for each node that this process takes part in, however small,
// and for how many of them the reserve does.
constexpr Bytes kReservePerNode = 768;
constexpr std::int64_t kReservedNodes = 1024;

Bytes reserve_of_nodes(const AssemblyTree& tree) {
  const std::int64_t here = std::ranges::count_if(
      tree.nodes, [](const AssemblyTree::Node& node) { return node.part > 0; });
  return kReservePerNode * std::max<std::int64_t>(0, here - kReservedNodes);
}

// Part of the memory of program and libraries that counts in the choice among mappings.
constexpr Bytes kOfAnyProcess = Bytes{8} << 20;

// A job occupies memory for a time. Memory is known and times are rough: it counts more,
// but not where it is little beside what a process has anyway.
double cost(Seconds seconds, Bytes largest_peak) {
  return seconds * std::pow(static_cast<double>(kOfAnyProcess + largest_peak), 1.5);
}

}  // namespace

// Entries here, the list of whose columns are where, and what goes between rows.
Bytes Solver::Impl::matrix_bytes(const FrontDistribution& distribution) const {
  const Processes& all = *processes_;
  const std::int32_t values =
      analysis_.permuted.parts() * (all.whole.kind == FactorKind::kLu ? 2 : 1);
  const auto entry = static_cast<Bytes>(values * sizeof(double) + sizeof(std::int32_t));
  std::int64_t entries = 0;
  const std::vector<ColumnRange> ranges =
      column_ranges(analysis_.symbolic, all.whole, distribution);
  for (const ColumnRange& range : ranges)
    if (range.owner == all.communicator.rank())
      entries += all.entries_before[range.end] - all.entries_before[range.begin];
  const Bytes rows = RowExchange::bytes_under(
      all.communicator, ranges, analysis_.permuted)[all.communicator.rank()];
  const Bytes tiles = original_tile_bytes(
      analysis_.symbolic, all.whole, distribution, all.communicator.rank(),
      static_cast<Bytes>(analysis_.permuted.parts() * sizeof(double)),
      all.entries_before);
  return entries * entry + rows + tiles +
         static_cast<Bytes>((ranges.capacity() + ranges.size()) * sizeof(ColumnRange));
}

// After the analysis: ways to map the tree, and what each of them needs here.
void Solver::Impl::list_mappings() {
  Processes& all = *processes_;
  all.candidates.clear();
  let_go_of_part();
  all.rows.reset();
  trim_heap();
  // That of all that share a budget says nothing of this solver.
  memory_.analysis_peak = options_.budget ? 0 : peak_resident_bytes();
  all.entries_before = entries_before_columns(all.communicator, analysis_.permuted,
                                              analysis_.symbolic.size);
  all.sequential_least = least_bound(all.whole.tasks, OrderKind::kLiu);
  for (TreeMapping& mapping : tree_mappings(analysis_.symbolic, all.whole,
                                            all.communicator.size(), options_.workers))
    all.candidates.push_back(needs_of(std::move(mapping)));
  foresee_baselines();
  free_memory(all.entries_before);
  all.least_out_of_core =
      all.least_candidate(&MemoryAccount::needed_out_of_core).account.least_out_of_core();
  const MappingNeeds& least = all.least_candidate(&MemoryAccount::needed);
  all.least = least.account.least();
  memory_ = least.account;
  hold_under(least.mapping);
}

const Solver::Impl::MappingNeeds& Solver::Impl::Processes::least_candidate(
    Bytes (MemoryAccount::*needed)() const) const {
  return *std::ranges::min_element(candidates, {}, [needed](const MappingNeeds& each) {
    return (each.account.*needed)();
  });
}

// Lists of owners, block by block, and trees of thousands of shared fronts are megabytes
// that another mapping has not: the heap says what they are.
Solver::Impl::MappingNeeds Solver::Impl::needs_of(TreeMapping&& mapping) const {
  Communicator& communicator = processes_->communicator;
  const Bytes heap = heap_bytes();
  const ProcessPart part = part_under(mapping);
  MappingNeeds needs{.mapping = std::move(mapping),
                     .held = heap_bytes() - heap + matrix_bytes(part.distribution),
                     .account = account({analysis_.symbolic, part.tree, accounted_kind(),
                                         NodeOrder(part.witness), &part.distribution})};
  needs.seconds =
      communicator.largest(estimated_seconds(part.tree, part.received, options_.workers));
  needs.largest_peak = communicator.largest(needs.account.tree_least);
  needs.account.analysis_peak = memory_.analysis_peak;
  needs.account.reserve += kReservePerPeer * communicator.size() + kReserveOfSolves +
                           reserve_of_nodes(part.tree);
  return needs;
}

// What the matrix takes here as it is.
Bytes Solver::Impl::matrix_bytes_now() const {
  const auto& rows = processes_->rows;
  return analysis_.permuted.bytes() + (rows ? rows->bytes() : 0);
}

// What will be resident before the first front: all that is now, while no mapping is at
// hand, but for the matrix and the starts of its columns, which then take the place of
// `entries_before`.
void Solver::Impl::foresee_baselines() {
  trim_heap();
  Processes& all = *processes_;
  const Bytes beside = baseline_bytes() - matrix_bytes_now();
  for (MappingNeeds& candidate : all.candidates) {
    MemoryAccount& account = candidate.account;
    account.baseline = beside + candidate.held;
    account.elsewhere = all.communicator.largest(account.needed());
    account.elsewhere_out_of_core =
        all.communicator.largest(account.needed_out_of_core());
  }
}

Solver::Impl::ProcessPart Solver::Impl::part_under(const TreeMapping& mapping) const {
  const Processes& all = *processes_;
  // What may go on as L D L^T stays in block columns.
  const FrontGrids grids = options_.kind ? options_.front_grids : FrontGrids::kNever;
  ProcessPart part{
      .distribution = distribute_fronts(analysis_.symbolic, all.whole,
                                        all.communicator.size(), mapping.group, grids),
      .witness = mapping.witness};
  part.distribution.panels_at_once = mapping.panels_at_once;
  part.tree = part_of(analysis_.symbolic, all.whole, part.distribution,
                      all.communicator.rank(), &part.received);
  part.tree.kind = tree_.kind;
  return part;
}

void Solver::Impl::hold(ProcessPart&& part) {
  Processes& all = *processes_;
  all.distribution = std::move(part.distribution);
  all.witness = std::move(part.witness);
  tree_ = std::move(part.tree);
}

void Solver::Impl::let_go_of_part() {
  const FactorKind kind = tree_.kind;
  processes_->distribution = {};
  processes_->witness = {};
  tree_ = {};
  tree_.kind = kind;
}

// Two of them are not here at once.
void Solver::Impl::hold_under(const TreeMapping& mapping) {
  let_go_of_part();
  hold(part_under(mapping));
}

// Baselines are foreseen here: a mapping that would just fit is the last resort.
const Solver::Impl::MappingNeeds* Solver::Impl::Processes::choose(
    std::optional<Bytes> bound, bool spills, const std::vector<bool>& possible) const {
  const MappingNeeds* chosen = nullptr;
  const auto look = [&](auto fits) {
    if (chosen != nullptr) return;
    for (std::size_t k = 0; k < candidates.size(); ++k) {
      const MappingNeeds& each = candidates[k];
      if ((possible.empty() || possible[k]) && fits(each.account) &&
          (chosen == nullptr || cost(each.seconds, each.largest_peak) <
                                    cost(chosen->seconds, chosen->largest_peak)))
        chosen = &each;
    }
  };
  look([&](const MemoryAccount& needs) { return !bound || needs.fits(*bound); });
  if (!bound) return chosen;
  look([&](const MemoryAccount& needs) {
    return spills && needs.fits_out_of_core(*bound);
  });
  look([&](const MemoryAccount& needs) { return needs.needed() <= *bound; });
  look([&](const MemoryAccount& needs) {
    return spills && needs.needed_out_of_core() <= *bound;
  });
  return chosen;
}

}  // namespace espalier::solver
