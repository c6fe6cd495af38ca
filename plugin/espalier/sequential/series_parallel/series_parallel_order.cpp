#include "espalier/sequential/series_parallel/series_parallel_order.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "espalier/model/error.h"
#include "espalier/model/replay_graph.h"
#include "espalier/sequential/downsets/dominant_schedule.h"
#include "espalier/sequential/series_parallel/series_parallel_traversal.h"
#include "espalier/sequential/series_parallel/shared_fork_order.h"

namespace espalier {
namespace {

// The arcs of the graph, those of source and sink included.
std::vector<Arc> arcs_of(const TaskGraph& graph) {
  const TaskId source = task_id(graph.size()), sink = task_id(graph.size() + 1);
  std::vector<Arc> arcs;
  std::vector<bool> has_predecessor(graph.size()), has_successor(graph.size());
  for (std::size_t d = 0; d < graph.data(); ++d) {
    const auto producer = graph.producer(datum_id(d));
    const auto readers = graph.consumers(datum_id(d));
    if (!producer && (readers.size() < 2 || graph.kept(datum_id(d)))) continue;
    if (producer)
      has_successor[index(*producer)] =
          has_successor[index(*producer)] || !readers.empty();
    for (const TaskId reader : readers) {
      has_predecessor[index(reader)] = true;
      arcs.push_back({producer.value_or(source), reader});
    }
  }
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (!has_predecessor[i]) arcs.push_back({source, task_id(i)});
    if (!has_successor[i]) arcs.push_back({task_id(i), sink});
  }
  return arcs;
}

// Each operator alone. A datum is freed by its only reader; one with several is freed by
// the one at `which` of 2 along its readers, or, without `which`, by none.
std::vector<Segment> segments_of(const TaskGraph& graph,
                                 std::optional<std::size_t> which) {
  std::vector<Segment> segments;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const TaskId task = task_id(i);
    Segment s{graph.workspace(task), 0, task, task};
    for (const DatumId datum : graph.outputs(task)) {
      s.peak += graph.size(datum);
      if (graph.kept(datum) || !graph.consumers(datum).empty())
        s.net += graph.size(datum);
    }
    segments.push_back(s);
  }
  for (std::size_t d = 0; d < graph.data(); ++d) {
    const auto readers = graph.consumers(datum_id(d));
    if (graph.kept(datum_id(d)) || readers.empty()) continue;
    if (readers.size() > 1 && !which) continue;
    const std::size_t at = which.value_or(0) * (readers.size() - 1) / 2;
    segments[index(readers[at])].net -= graph.size(datum_id(d));
  }
  return segments;
}

// The graph while its blocks become chains.
class Contraction {
 public:
  Contraction(const TaskGraph& graph, std::span<const Arc> arcs,
              const SeriesParallelLimits& limits)
      : graph_(graph),
        limits_(limits),
        next_(graph.size()),
        profiles_(next_),
        segment_(segments_of(graph, std::nullopt)),
        follower_(graph.size() + 1),
        first_(graph.size() + 2),
        leaving_(graph.size() + 1),
        number_(graph.size(), kNoRun),
        has_least_peak_(graph.size(), false) {
    for (const Arc& arc : arcs) ++first_[index(arc.from) + 1];
    for (std::size_t v = 0; v <= graph.size(); ++v) {
      leaving_[v] = first_[v + 1];
      first_[v + 1] += first_[v];
    }
    successors_.resize(arcs.size());
    std::vector<std::size_t> end(first_.begin(), first_.end() - 1);
    for (const Arc& arc : arcs) {
      follower_[index(arc.from)] = arc.to;  // the only one, or replaced by close()
      successors_[end[index(arc.from)]++] = arc.to;
    }
    for (std::size_t d = 0; d < graph.data(); ++d) {
      const bool is_shared = graph.consumers(datum_id(d)).size() > 1;
      if (!graph.producer(datum_id(d)) && is_shared) initial_.push_back(datum_id(d));
    }
  }

  void run(const TwoTerminalDecomposition& decomposition) {
    for (const Reduction& step : decomposition.steps) {
      if (step.kind != Reduction::Kind::kParallel) continue;
      if (--leaving_[index(step.ends.from)] == 1) close(step.ends.from, step.ends.to);
    }
  }

  [[nodiscard]] std::vector<TaskId> order() const {
    std::vector<TaskId> all;
    for (TaskId v = follower_[graph_.size()]; index(v) < graph_.size();
         v = follower_[index(v)]) {
      const std::vector<TaskId> run = rope(segment_[index(v)], next_);
      all.insert(all.end(), run.begin(), run.end());
    }
    return all;
  }

  [[nodiscard]] bool is_exact() const { return is_exact_; }

 private:
  // All branches of u have come to t: what is between becomes a chain.
  void close(TaskId u, TaskId t) {
    SharedFork block = block_between(u, t);
    if (block.runs.empty()) {
      follower_[index(u)] = t;
      return;
    }
    TaskId* link = &follower_[index(u)];
    const Profile chain = linearise(std::move(block));
    if (std::exchange(is_least_peak_, false)) {
      has_least_peak_[index(chain.front().first)] = true;
    }
    for (const Segment& segment : chain) {
      *link = segment.first;
      segment_[index(segment.first)] = segment;
      link = &follower_[index(segment.first)];
    }
    *link = t;
  }

  SharedFork block_between(TaskId u, TaskId t) {
    SharedFork block;
    IdVector<RunId, TaskId> inside;
    for (std::size_t k = first_[index(u)]; k < first_[index(u) + 1]; ++k) {
      for (TaskId v = successors_[k]; v != t && number_[index(v)] == kNoRun;
           v = follower_[index(v)]) {
        number_[index(v)] = inside.push_back(v);
      }
    }
    for (const TaskId v : inside) {
      // An order of least peak, but perhaps not dominant, will do outside all blocks
      // only.
      if (has_least_peak_[index(v)]) is_exact_ = false;
      const TaskId follower = follower_[index(v)];
      block.runs.push_back(segment_[index(v)]);
      block.follower.push_back(follower == t ? kNoRun : number_[index(follower)]);
    }
    share(index(u) < graph_.size() ? graph_.outputs(u) : std::span(initial_), t, block);
    for (const TaskId v : inside) number_[index(v)] = kNoRun;
    return block;
  }

  // Data of u with several readers. What t reads too is freed by t.
  void share(std::span<const DatumId> data, TaskId t, SharedFork& block) {
    for (const DatumId datum : data) {
      const auto readers = graph_.consumers(datum);
      if (graph_.kept(datum) || readers.size() < 2) continue;
      if (std::find(readers.begin(), readers.end(), t) != readers.end()) {
        segment_[index(t)].net -= graph_.size(datum);
        continue;
      }
      block.shared.push_back({graph_.size(datum), {}});
      for (const TaskId reader : readers) {
        block.shared.back().readers.push_back(number_[index(reader)]);
      }
    }
  }

  Profile linearise(SharedFork block) {
    FoldedBlock folded = fold(std::move(block), profiles_);
    if (folded.is_chain()) return std::move(folded.nodes);
    std::vector<ForkNodeId> order;
    if (limits_.stop && limits_.stop())
      limits_.most_downsets_in_all = limits_.most_checks = 0;
    const std::size_t most =
        std::min(limits_.most_downsets, limits_.most_downsets_in_all);
    if (const std::size_t number = downsets(folded, most + 1); number <= most) {
      limits_.most_downsets_in_all -= number;
      const auto segments = dominant_schedule(downset_block_of(folded), number);
      ESPALIER_ASSERT(segments.has_value(), "they have been counted");
      for (const BlockSegment& segment : *segments) {
        for (const BlockTaskId task : segment.tasks) {
          order.push_back(ForkNodeId{static_cast<std::int32_t>(task)});
        }
      }
    } else {
      SharedForkOrder best = shared_fork_order(folded, limits_.most_checks);
      limits_.most_checks -= best.checks;
      order = std::move(best.order);
      is_least_peak_ = best.peak == best.lower_bound;
      is_exact_ = is_exact_ && is_least_peak_;
    }
    return profile_of(folded, order, next_);
  }

  const TaskGraph& graph_;
  SeriesParallelLimits limits_;  // what is left of them
  std::vector<TaskId> next_;     // ropes
  ProfileHeaps profiles_;
  // By the first operator of each run that is left. Vertices count the source.
  std::vector<Segment> segment_;
  std::vector<TaskId> follower_;
  std::vector<std::size_t> first_;  // of successors_, by vertex
  std::vector<TaskId> successors_;
  std::vector<std::size_t> leaving_;  // arcs that leave a vertex, by now
  std::vector<RunId> number_;         // in the block at hand; kNoRun: not in it
  std::vector<DatumId> initial_;      // without a producer, with several readers
  std::vector<bool> has_least_peak_;  // by the first operator of a block's chain
  bool is_least_peak_ = false;        // the block at hand
  bool is_exact_ = true;
};

Bytes lower_bound(const TaskGraph& graph, const TwoTerminalDecomposition& decomposition) {
  Bytes bound = std::max(graph.initial_bytes(), graph.final_bytes());
  for (std::size_t i = 0; i < graph.size(); ++i) {
    bound = std::max(bound, graph.memory_requirement(task_id(i)));
  }
  for (const std::size_t which : {0, 1, 2}) {
    const auto segments = segments_of(graph, which);
    bound = std::max(bound, graph.initial_bytes() +
                                series_parallel_traversal(decomposition, segments).peak);
  }
  return bound;
}

}  // namespace

tl::expected<SeriesParallelOrder, NotSeriesParallel> series_parallel_order(
    const TaskGraph& graph, const SeriesParallelLimits& limits) {
  const std::vector<Arc> arcs = arcs_of(graph);
  const auto decomposition = two_terminal_decomposition(graph.size(), arcs);
  if (!decomposition) return tl::unexpected(decomposition.error());
  SeriesParallelOrder result;
  Contraction contraction(graph, arcs, limits);
  contraction.run(*decomposition);
  result.order = contraction.order();
  result.peak = replay(graph, result.order).peak;
  result.lower_bound =
      contraction.is_exact() ? result.peak : lower_bound(graph, *decomposition);
  return result;
}

}  // namespace espalier
