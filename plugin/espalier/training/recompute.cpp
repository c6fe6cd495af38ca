#include "espalier/training/recompute.h"

#include <algorithm>
#include <utility>

#include "espalier/checkpoint/rotor.h"
#include "espalier/checkpoint/rotor_stream.h"
#include "espalier/model/operator_tasks.h"
#include "espalier/model/replay_graph.h"
#include "espalier/training/backbone.h"
#include "espalier/training/reuse_in_place.h"
#include "espalier/training/unroll_schedule.h"

namespace espalier {
namespace {

constexpr std::size_t kTriedForLeast = 8;
constexpr Seconds kOrderSeconds = 5;

// One schedule of the chain, as a graph of tasks.
struct Candidate {
  UnrolledStep unrolled;
  TaskGraph graph;
  Bytes peak = 0;
};

// What stays from start to end, and the operator that needs most beside it.
Bytes operator_bound(const TaskGraph& graph) {
  Bytes stays = 0, most = 0;
  const auto is_there = [&graph](DatumId datum) {
    return graph.stays(datum) && !graph.producer(datum);
  };
  for (std::size_t d = 0; d < graph.data(); ++d) {
    if (is_there(datum_id(d))) stays += graph.size(datum_id(d));
  }
  for (std::size_t i = 0; i < graph.size(); ++i) {
    Bytes needed = graph.memory_requirement(task_id(i));
    for (const DatumId input : graph.inputs(task_id(i))) {
      if (is_there(input)) needed -= graph.size(input);
    }
    most = std::max(most, needed);
  }
  return stays + most;
}

class RecomputeSearch {
 public:
  RecomputeSearch(const OperatorGraph& model, TrainingOptions options,
                  const RecomputeLimits& limits)
      : options_(options), limits_(limits) {
    options.in_place = false;
    step_ = training_graph(model, options);
    backbone_ = backbone(step_, limits.most_stages);
    table_ = std::make_shared<const RotorTable>(backbone_.chain);
    curve_ = table_->curve();
  }

  Expected<RecomputedStep> run(std::optional<Bytes> bound) {
    if (!bound) return finish(least());
    std::optional<Candidate> best;
    // The dearest schedules come first and need least: the last that fits is sought.
    std::size_t from = 0, to = curve_.size();
    while (from < to && going()) {
      const std::size_t middle = from + (to - from) / 2;
      Candidate candidate = unroll(middle);
      if (candidate.peak <= *bound) {
        best = std::move(candidate);
        from = middle + 1;
      } else {
        to = middle;
      }
    }
    if (best) {
      RecomputedStep found = finish(std::move(*best));
      if (found.plan.layout.capacity_bytes <= *bound) return found;
    }
    RecomputedStep last = finish(least());
    if (last.plan.layout.capacity_bytes <= *bound) return last;
    Infeasible no;
    no.reason = Infeasible::Reason::kNoneFound;
    no.bound_bytes = *bound;
    no.least_bytes = last.plan.layout.capacity_bytes;
    no.lower_bound_bytes = last.lower_bound_bytes;
    if (no.lower_bound_bytes > *bound) no.reason = Infeasible::Reason::kImpossible;
    return tl::unexpected(no);
  }

 private:
  [[nodiscard]] bool going() const { return !limits_.progress || limits_.progress(); }

  [[nodiscard]] Candidate unroll(std::size_t point) const {
    RotorStream actions(table_, curve_[point].bytes);
    Candidate candidate;
    candidate.unrolled = unroll_schedule(step_, backbone_, actions);
    OperatorGraph& graph = candidate.unrolled.step.graph;
    if (options_.in_place) graph = reuse_in_place(graph);
    candidate.graph = task_graph_of(graph).graph;
    candidate.peak = replay(candidate.graph, candidate.graph.topological_order()).peak;
    return candidate;
  }

  // The estimates may be off by a little: of the first schedules the one of least peak.
  [[nodiscard]] Candidate least() const {
    Candidate best = unroll(0);
    for (std::size_t i = 1; i < std::min(curve_.size(), kTriedForLeast); ++i) {
      Candidate candidate = unroll(i);
      if (candidate.peak < best.peak) best = std::move(candidate);
    }
    return best;
  }

  [[nodiscard]] RecomputedStep finish(Candidate candidate) const {
    RecomputedStep found;
    found.graph = std::move(candidate.graph);
    const auto given = found.graph.topological_order();
    found.plan =
        arrange_in_order(found.graph, {given.begin(), given.end()}, limits_.layout);
    ArrangeLimits limits;
    limits.order.time = kOrderSeconds;
    limits.order.progress = [this](const OrderProgress&) { return going(); };
    limits.layout = limits_.layout;
    Arrangement searched = arrange(found.graph, limits);
    if (searched.layout.capacity_bytes < found.plan.layout.capacity_bytes)
      found.plan = std::move(searched);
    found.step = std::move(candidate.unrolled.step);
    found.lower_bound_bytes = operator_bound(found.graph);
    found.stages = backbone_.stages.size();
    found.work = backbone_.all_work;
    found.recomputed_work = candidate.unrolled.again_work;
    found.recomputed_operators = candidate.unrolled.again;
    return found;
  }

  TrainingOptions options_;
  const RecomputeLimits& limits_;
  TrainingGraph step_;
  Backbone backbone_;
  std::shared_ptr<const RotorTable> table_;
  std::vector<BudgetPoint> curve_;
};

}  // namespace

Expected<RecomputedStep> recompute(const OperatorGraph& model,
                                   const TrainingOptions& options,
                                   std::optional<Bytes> bound,
                                   const RecomputeLimits& limits) {
  return RecomputeSearch(model, options, limits).run(bound);
}

}  // namespace espalier
