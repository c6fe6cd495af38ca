#include "espalier/sequential/dag/order_graph.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "espalier/model/replay_graph.h"
#include "espalier/sequential/dag/decompose.h"
#include "espalier/sequential/dag/least_peak.h"
#include "espalier/sequential/dag/linearise.h"
#include "espalier/sequential/downsets/downset_walk.h"
#include "espalier/sequential/downsets/lowest_downset.h"
#include "espalier/sequential/series_parallel/series_parallel_order.h"
#include "espalier/sequential/tree/in_forest.h"
#include "espalier/sequential/tree/liu_traversal.h"

namespace espalier {
namespace {

// Beyond it, neither the cut of a lowest downset nor dominant schedules are tried.
constexpr std::size_t kLargestCut = 20'000;
// A sum of all requirements with room for the arithmetic of series_parallel_order().
constexpr Bytes kMostSeriesParallelBytes = Bytes{1} << 58;

GraphOrder proved_order(const TaskGraph& graph, std::vector<TaskId> order,
                        OrderMethod method) {
  GraphOrder result;
  result.order = std::move(order);
  result.least_bytes = result.lower_bound_bytes = replay(graph, result.order).peak;
  result.method = method;
  return result;
}

std::optional<std::vector<TaskId>> order_by_profiles(const TaskGraph& graph,
                                                     const DownsetBlock& block,
                                                     SearchBudget& budget) {
  std::vector<TaskId> names(graph.size()), next(graph.size());
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = task_id(i);
  const auto profile = dominant_profile(
      block, names, next, {.stop = [&budget] { return budget.is_spent(); }});
  if (!profile) return std::nullopt;
  return rope(whole(*profile, next), next);
}

// A piece of the graph that is ordered on its own.
struct Piece {
  TaskSet tasks;
  std::optional<BlockIndex> block;  // none: the order is known to be best
  Bytes base;                       // what is in memory beside the data of the piece
  PeakOrder found;

  [[nodiscard]] Bytes peak() const { return base + found.peak; }
  [[nodiscard]] Bytes lower_bound() const { return base + found.lower_bound; }
};

// Pieces of a graph in the order in which they run.
class Pieces {
 public:
  Pieces(const BlockIndex& whole, SearchBudget& budget)
      : whole_(whole),
        stop_([&budget] { return budget.is_spent(); }),
        cutter_(whole),
        walk_(whole, DownsetWalk::Direction::kForwards),
        has_run_(whole.size(), false) {
    for (const TaskSet& tasks : consecutive_parts(whole)) add_halves(tasks);
  }

  void search(SearchBudget& budget) {
    std::vector<Piece*> by_peak;
    for (Piece& piece : pieces_) {
      if (piece.block) by_peak.push_back(&piece);
    }
    std::stable_sort(by_peak.begin(), by_peak.end(), [](const Piece* a, const Piece* b) {
      return a->peak() > b->peak();
    });
    for (Piece* piece : by_peak) {
      report(budget);
      narrow(*piece->block, lower_bound() - piece->base, piece->found, budget);
    }
    report(budget);
  }

  [[nodiscard]] Bytes peak() const {
    Bytes most = whole_.start_level();
    for (const Piece& piece : pieces_) most = std::max(most, piece.peak());
    return most;
  }
  [[nodiscard]] Bytes lower_bound() const {
    Bytes most = whole_.start_level();
    for (const Piece& piece : pieces_) most = std::max(most, piece.lower_bound());
    return most;
  }
  [[nodiscard]] std::vector<BlockTaskId> order() const {
    std::vector<BlockTaskId> order;
    order.reserve(whole_.size());
    for (const Piece& piece : pieces_) {
      for (const BlockTaskId task : piece.found.order) {
        order.push_back(piece.tasks[index(task)]);
      }
    }
    return order;
  }

 private:
  // Below and above a downset of least level, which a best order passes through.
  void add_halves(const TaskSet& tasks) {
    if (tasks.size() == 1 || tasks.size() > kLargestCut || stop_()) return add(tasks);
    const BlockIndex block(cutter_.part(tasks, has_run_));
    IdVector<BlockTaskId, bool> is_below(tasks.size(), false);
    for (const BlockTaskId task : lowest_downset(block, stop_)) is_below[task] = true;
    TaskSet below, above;
    for (const BlockTaskId part : is_below.ids()) {
      (is_below[part] ? below : above).push_back(tasks[index(part)]);
    }
    if (!below.empty()) add(below);
    if (!above.empty()) add(above);
  }

  void add(const TaskSet& tasks) {
    if (tasks.size() == 1 || stop_()) return add_as_given(tasks);
    const DownsetBlock part = cutter_.part(tasks, has_run_);
    if (stop_()) return add_as_given(tasks);
    std::optional<BlockIndex> block(part);
    if (stop_()) return add_as_given(tasks);
    PeakOrder found = first_order(*block, stop_);
    const Bytes base = walk_.level() - block->start_level();
    if (found.peak == found.lower_bound) block.reset();
    pieces_.push_back({tasks, std::move(block), base, std::move(found)});
    for (const BlockTaskId task : tasks) run(task);
  }

  // One task, or several without looking for a better order.
  void add_as_given(const TaskSet& tasks) {
    Piece piece{tasks, std::nullopt, 0, {{}, walk_.level(), 0}};
    for (const BlockTaskId part : ids<BlockTaskId>(tasks.size())) {
      const BlockTaskId task = tasks[index(part)];
      piece.found.order.push_back(part);
      piece.found.peak = std::max(piece.found.peak, walk_.hill(task));
      run(task);
    }
    piece.found.peak = std::max(piece.found.peak, walk_.level());
    piece.found.lower_bound = tasks.size() == 1 ? piece.found.peak : walk_.level();
    pieces_.push_back(std::move(piece));
  }

  void run(BlockTaskId task) {
    walk_.run(task);
    has_run_[task] = true;
  }

  void report(SearchBudget& budget) const {
    budget.best_bytes = peak();
    budget.lower_bound_bytes = lower_bound();
  }

  const BlockIndex& whole_;
  std::function<bool()> stop_;
  BlockCutter cutter_;
  DownsetWalk walk_;
  IdVector<BlockTaskId, bool> has_run_;
  std::vector<Piece> pieces_;
};

// Proved or not at all.
std::optional<std::vector<TaskId>> order_if_series_parallel(const TaskGraph& graph,
                                                            SearchBudget& budget) {
  Bytes all = graph.initial_bytes();
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (all > kMostSeriesParallelBytes) return std::nullopt;
    all += graph.memory_requirement(task_id(i));
  }
  auto found =
      series_parallel_order(graph, {.stop = [&budget] { return budget.is_spent(); }});
  if (!found || !found->proved()) return std::nullopt;
  return std::move(found->order);
}

// What is known without any search; the order itself is left to with_order().
GraphOrder given_order(const TaskGraph& graph) {
  GraphOrder result;
  result.least_bytes = replay(graph, graph.topological_order()).peak;
  result.lower_bound_bytes = std::max(graph.initial_bytes(), graph.final_bytes());
  for (const TaskId task : graph.topological_order())
    result.lower_bound_bytes =
        std::max(result.lower_bound_bytes, graph.memory_requirement(task));
  return result;
}

// The given one where none was found.
GraphOrder with_order(GraphOrder result, const TaskGraph& graph) {
  const std::span<const TaskId> given = graph.topological_order();
  if (result.order.empty()) result.order.assign(given.begin(), given.end());
  return result;
}

// @return what was found; nullopt when the budget was spent before there was an order
std::optional<GraphOrder> search_order(const TaskGraph& graph, DownsetBlock block,
                                       SearchBudget& budget) {
  const auto stop = [&budget] { return budget.is_spent(); };
  LinearisedBlock linearised = linearise(std::move(block), {.stop = stop});
  if (stop()) return std::nullopt;
  const BlockIndex index(linearised.block);
  linearised.block = DownsetBlock();
  if (stop()) return std::nullopt;
  Pieces pieces(index, budget);
  if (pieces.peak() > pieces.lower_bound() && !stop()) {
    if (auto order = order_if_series_parallel(graph, budget)) {
      return proved_order(graph, std::move(*order), OrderMethod::kSeriesParallel);
    }
  }
  pieces.search(budget);
  GraphOrder result;
  for (const BlockTaskId task : pieces.order()) {
    for (const BlockTaskId operation : linearised.tasks[task]) {
      result.order.push_back(static_cast<TaskId>(operation));
    }
  }
  result.least_bytes = pieces.peak();
  result.lower_bound_bytes = pieces.lower_bound();
  result.states = budget.states();
  result.method = result.states > 0 ? OrderMethod::kSearch : OrderMethod::kGreedy;
  return result;
}

// Whether it has pieces that do not touch; false when the budget was spent before.
bool falls_apart(const DownsetBlock& block, SearchBudget& budget) {
  const BlockIndex index(block);
  return !budget.is_spent() && independent_parts(index).size() > 1;
}

// The given order where none better was found. What a step does not need any more is gone
// before it begins: the pieces and their searches are the peak.
GraphOrder order_by_search(const TaskGraph& graph, SearchBudget& budget) {
  GraphOrder given = given_order(graph);
  budget.best_bytes = given.least_bytes;
  budget.lower_bound_bytes = given.lower_bound_bytes;
  const auto finished = [&](GraphOrder result) {
    result.stopped = budget.was_spent() && !result.proved();
    return with_order(std::move(result), graph);
  };
  if (given.proved() || budget.is_spent()) return finished(std::move(given));
  DownsetBlock block = block_of(graph);
  if (budget.is_spent()) return finished(std::move(given));
  if (falls_apart(block, budget)) {
    if (auto order = order_by_profiles(graph, block, budget))
      return proved_order(graph, std::move(*order), OrderMethod::kProfiles);
  }
  if (budget.is_spent()) return finished(std::move(given));
  std::optional<GraphOrder> found = search_order(graph, std::move(block), budget);
  if (!found) return finished(std::move(given));
  found->lower_bound_bytes = std::max(found->lower_bound_bytes, given.lower_bound_bytes);
  if (found->least_bytes <= given.least_bytes) return finished(std::move(*found));
  given.lower_bound_bytes = found->lower_bound_bytes;
  given.method = found->method;
  given.states = found->states;
  return finished(std::move(given));
}

}  // namespace

std::string_view name(OrderMethod method) {
  switch (method) {
    case OrderMethod::kTree:
      return "tree";
    case OrderMethod::kProfiles:
      return "profiles";
    case OrderMethod::kSeriesParallel:
      return "series-parallel";
    case OrderMethod::kGreedy:
      return "greedy";
    case OrderMethod::kSearch:
      return "search";
  }
  return "";
}

double GraphOrder::gap() const {
  if (proved()) return 0;
  return static_cast<double>(least_bytes - lower_bound_bytes) /
         static_cast<double>(std::max<Bytes>(1, lower_bound_bytes));
}

GraphOrder order_graph(const TaskGraph& graph, const OrderLimits& limits) {
  if (graph.empty()) return proved_order(graph, {}, OrderMethod::kGreedy);
  if (const auto tree = in_forest(graph)) {
    return proved_order(graph, liu_traversal(*tree).order, OrderMethod::kTree);
  }
  SearchBudget budget(limits);
  return order_by_search(graph, budget);
}

}  // namespace espalier
