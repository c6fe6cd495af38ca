#include "espalier/model/replay_graph.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "espalier/model/error.h"

namespace espalier {
namespace {

class GraphRun {
 public:
  explicit GraphRun(const TaskGraph& graph)
      : graph_(graph),
        ran_(graph.size(), false),
        readers_left_(graph.data()),
        bytes_(graph.initial_bytes()) {
    for (std::size_t d = 0; d < graph.data(); ++d) {
      readers_left_[d] = static_cast<std::int32_t>(graph.consumers(datum_id(d)).size());
    }
    result_.profile.reserve(2 * graph.size() + 1);
    result_.peak = bytes_;
    result_.profile.push_back({0, bytes_});
  }

  void run(TaskId task, Seconds time) {
    check(task);
    ran_[index(task)] = true;
    bytes_ += graph_.workspace(task);
    for (const DatumId datum : graph_.outputs(task)) bytes_ += graph_.size(datum);
    note(task, time);
    bytes_ -= graph_.workspace(task);
    for (const DatumId datum : graph_.inputs(task)) {
      if (--readers_left_[index(datum)] == 0) free_unless_kept(datum);
    }
    for (const DatumId datum : graph_.outputs(task)) {
      if (graph_.consumers(datum).empty()) free_unless_kept(datum);
    }
    result_.profile.push_back({time + 1, bytes_});
    result_.makespan = time + 1;
  }

  [[nodiscard]] Replay take_result() { return std::move(result_); }

 private:
  void check(TaskId task) const {
    if (index(task) >= graph_.size()) {
      throw InvalidInput(
          fmt::format("operator {} of the order is not one of the {} operators",
                      static_cast<std::int32_t>(task), graph_.size()));
    }
    if (ran_[index(task)]) {
      throw InvalidInput(fmt::format("{} runs twice", label(graph_, task)));
    }
    for (const DatumId datum : graph_.inputs(task)) {
      const auto producer = graph_.producer(datum);
      if (producer && !ran_[index(*producer)]) {
        throw InvalidInput(fmt::format("{} runs before {} has written {}",
                                       label(graph_, task), label(graph_, *producer),
                                       label(graph_, datum)));
      }
    }
  }

  void note(TaskId task, Seconds time) {
    if (bytes_ > result_.peak || (bytes_ == result_.peak && !result_.peak_task)) {
      result_.peak = bytes_;
      result_.peak_task = task;
      result_.peak_time = time;
    }
    result_.profile.push_back({time, bytes_});
  }

  void free_unless_kept(DatumId datum) {
    if (!graph_.kept(datum)) bytes_ -= graph_.size(datum);
  }

  const TaskGraph& graph_;
  std::vector<bool> ran_;
  std::vector<std::int32_t> readers_left_;  // by datum
  Bytes bytes_;
  Replay result_;
};

}  // namespace

Replay replay(const TaskGraph& graph, std::span<const TaskId> order) {
  if (order.size() != graph.size()) {
    throw InvalidInput(fmt::format("the order has {} operators, the graph {}",
                                   order.size(), graph.size()));
  }
  GraphRun run(graph);
  for (std::size_t k = 0; k < order.size(); ++k) {
    run.run(order[k], static_cast<Seconds>(k));
  }
  return run.take_result();
}

}  // namespace espalier
