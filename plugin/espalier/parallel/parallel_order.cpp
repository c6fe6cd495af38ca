#include "espalier/parallel/parallel_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "espalier/model/error.h"
#include "espalier/model/replay.h"
#include "espalier/parallel/admission.h"
#include "espalier/parallel/bounds.h"
#include "espalier/parallel/coarsen.h"
#include "espalier/parallel/memory_aware_mapping.h"
#include "espalier/parallel/simulate.h"

namespace espalier {
namespace {

constexpr std::size_t kCoarseFrom = 2000;         // tasks
constexpr std::size_t kTasksSimulated = 300'000;  // at most, in all orders tried
constexpr int kRepeats = 4;

// Those that are best most often come first: a search may not get to the last.
struct Candidate {
  std::int32_t workers;
  double relaxation;  // M' / M
};
constexpr std::array<Candidate, 12> kCandidates = {{{8, 1.2},
                                                    {16, 1.35},
                                                    {4, 1.0},
                                                    {8, 1.0},
                                                    {2, 1.0},
                                                    {16, 1.2},
                                                    {8, 1.35},
                                                    {16, 1.0},
                                                    {4, 1.35},
                                                    {4, 1.2},
                                                    {2, 1.2},
                                                    {2, 1.35}}};

Bytes relaxed(Bytes bound, double factor) {
  const double most = static_cast<double>(std::numeric_limits<Bytes>::max());
  const double wanted = factor * static_cast<double>(bound);
  return wanted < most ? std::max(bound, static_cast<Bytes>(wanted)) : bound;
}

class OrderSearch {
 public:
  OrderSearch(const TaskTree& tree, const SequentialOrders& orders,
              const ParallelOrderOptions& options)
      : tree_(tree),
        orders_(orders),
        options_(options),
        lower_(
            lower_bounds(tree, options.workers, options.memory_bound, options.max_workers)
                .best()),
        best_{orders.liu} {}

  // Takes `order` if its run is the first or ends before the best one.
  bool consider(std::vector<TaskId> order) {
    ++tried_;
    const Bytes peak = replay(tree_, order).peak;
    if (peak > options_.memory_bound) return false;
    BookingAdmission admission(tree_, order, options_.memory_bound);
    Simulation run =
        simulate(tree_, admission, {options_.workers, options_.max_workers, {}});
    if (makespan_ && run.makespan >= *makespan_) return false;
    makespan_ = run.makespan;
    starts_ = std::move(run.schedule.sequence);
    best_ = {std::move(order), peak};
    return true;
  }

  void search() {
    if (exhausted() || !consider(orders_.liu.order)) return;
    for (const Candidate& candidate : kCandidates) {
      if (exhausted()) return;
      if (candidate.workers <= std::max(4, options_.workers)) try_mapping(candidate);
    }
    for (int i = 0; i < kRepeats && !exhausted(); ++i) {
      if (!consider(starts_)) return;
    }
  }

  [[nodiscard]] Traversal take_best() { return std::move(best_); }

 private:
  // Nothing to gain, or enough done.
  [[nodiscard]] bool exhausted() const {
    return (makespan_ && *makespan_ <= lower_) ||
           (tried_ + 1) * tree_.size() > kTasksSimulated;
  }

  void try_mapping(const Candidate& candidate) {
    const Bytes bound = relaxed(options_.memory_bound, candidate.relaxation);
    if (orders_.postorder.peak > bound) return;
    BarrierAdmission admission(
        tree_,
        memory_aware(tree_, orders_.postorder, candidate.workers, bound).serialisation);
    consider(simulate(tree_, admission, {candidate.workers, options_.max_workers, {}})
                 .schedule.sequence);
  }

  const TaskTree& tree_;
  const SequentialOrders& orders_;
  ParallelOrderOptions options_;
  Seconds lower_;
  Traversal best_;
  std::optional<Seconds> makespan_;  // of the best run
  std::vector<TaskId> starts_;       // likewise
  std::size_t tried_ = 0;            // orders
};

// What a coarse task can use: what its only member can, or one worker for a subtree.
std::vector<double> coarse_workers(const CoarseTree& coarse,
                                   std::span<const double> max_workers) {
  std::vector<double> useful(coarse.tree.size(), 1.0);
  for (std::size_t i = 0; i < useful.size(); ++i) {
    const std::span<const TaskId> members = coarse.members(task_id(i));
    if (members.size() == 1) useful[i] = max_workers[index(members.front())];
  }
  return useful;
}

// The best order of the coarse tree, in fine tasks; empty when the coarse tree needs more
// than M or is still too large.
std::vector<TaskId> coarse_order(const TaskTree& tree, ParallelOrderOptions options) {
  const CoarseTree coarse = coarsen(tree, options.workers);
  if (3 * coarse.tree.size() > kTasksSimulated) return {};
  const SequentialOrders orders = sequential_orders(coarse.tree);
  if (orders.liu.peak > options.memory_bound) return {};
  std::vector<double> useful;
  if (!options.max_workers.empty()) {
    useful = coarse_workers(coarse, options.max_workers);
    options.max_workers = useful;
  }
  OrderSearch search(coarse.tree, orders, options);
  search.search();
  return coarse.expand(search.take_best().order);
}

}  // namespace

Traversal parallel_order(const TaskTree& tree, const SequentialOrders& orders,
                         const ParallelOrderOptions& options) {
  if (orders.liu.peak > options.memory_bound) {
    throw InvalidInput(fmt::format("Liu's order needs {} bytes, the bound is {}",
                                   orders.liu.peak, options.memory_bound));
  }
  OrderSearch search(tree, orders, options);
  if (options.workers == 1) return search.take_best();
  if (tree.size() < kCoarseFrom) {
    search.search();
    return search.take_best();
  }
  std::vector<TaskId> order = coarse_order(tree, options);
  if (order.empty() || order == orders.liu.order) return search.take_best();
  search.consider(orders.liu.order);
  search.consider(std::move(order));
  return search.take_best();
}

}  // namespace espalier
