#include "espalier/report/graph_picture.h"

#include <algorithm>
#include <utility>

#include "espalier/model/replay_graph.h"

namespace espalier::report {
namespace {

constexpr std::size_t kParts = 3;

// Walks through an order and tells both charts.
class GraphWalk {
 public:
  GraphWalk(const TaskGraph& graph, std::span<const TaskId> order, GraphPicture& picture,
            std::vector<MemoryPoint> profile);
  void run();

 private:
  void list_last_uses();
  void change(GraphPart part, Bytes by);
  void moment(Seconds time);
  void note();
  void keep_held(std::size_t position);
  void free_data(std::size_t position);
  [[nodiscard]] GraphPart part_of(DatumId datum) const {
    return graph_.producer(datum) ? GraphPart::kWritten : GraphPart::kInitial;
  }

  const TaskGraph& graph_;
  std::span<const TaskId> order_;
  GraphPicture& picture_;
  std::vector<std::size_t> position_;                // by operator
  std::vector<std::vector<DatumId>> freed_after_;    // by position
  std::vector<std::optional<std::size_t>> free_at_;  // by datum; none: it stays
  ChartFolder whole_, peak_;
};

GraphWalk::GraphWalk(const TaskGraph& graph, std::span<const TaskId> order,
                     GraphPicture& picture, std::vector<MemoryPoint> profile)
    : graph_(graph),
      order_(order),
      picture_(picture),
      position_(graph.size()),
      freed_after_(graph.size()),
      free_at_(graph.data()),
      whole_(columns_of(profile, kPageColumns), kParts),
      peak_(columns_around(profile, picture.replay.peak_time, kPeakColumns), kParts) {
  picture_.while_running.assign(order.size(), 0);
  for (const MemoryPoint& point : profile) {  // the last of a time: while it runs
    const auto k = static_cast<std::size_t>(point.time);
    if (k < order.size()) picture_.while_running[k] = point.bytes;
  }
  for (std::size_t k = 0; k < order.size(); ++k) position_[index(order[k])] = k;
  list_last_uses();
}

void GraphWalk::list_last_uses() {
  for (std::size_t d = 0; d < graph_.data(); ++d) {
    const DatumId datum = datum_id(d);
    if (graph_.stays(datum)) continue;
    std::size_t last = 0;
    if (const auto producer = graph_.producer(datum)) last = position_[index(*producer)];
    for (const TaskId reader : graph_.consumers(datum)) {
      last = std::max(last, position_[index(reader)]);
    }
    free_at_[d] = last;
    freed_after_[last].push_back(datum);
  }
}

void GraphWalk::run() {
  moment(0);
  change(GraphPart::kInitial, graph_.initial_bytes());
  note();
  for (std::size_t k = 0; k < order_.size(); ++k) {
    const TaskId task = order_[k];
    for (const DatumId datum : graph_.outputs(task)) {
      change(GraphPart::kWritten, graph_.size(datum));
    }
    change(GraphPart::kWorkspace, graph_.workspace(task));
    note();
    if (picture_.replay.peak_task == task) keep_held(k);
    moment(static_cast<Seconds>(k + 1));
    change(GraphPart::kWorkspace, -graph_.workspace(task));
    free_data(k);
    note();
  }
  picture_.whole = whole_.take();
  picture_.peak = peak_.take();
}

void GraphWalk::change(GraphPart part, Bytes by) {
  whole_.change(static_cast<std::size_t>(part), by);
  peak_.change(static_cast<std::size_t>(part), by);
}

void GraphWalk::moment(Seconds time) {
  whole_.go_to(time);
  peak_.go_to(time);
}

void GraphWalk::note() {
  whole_.note();
  peak_.note();
}

void GraphWalk::free_data(std::size_t position) {
  for (const DatumId datum : freed_after_[position]) {
    change(part_of(datum), -graph_.size(datum));
  }
}

void GraphWalk::keep_held(std::size_t position) {
  for (std::size_t d = 0; d < graph_.data(); ++d) {
    const DatumId datum = datum_id(d);
    const auto producer = graph_.producer(datum);
    const bool written = !producer || position_[index(*producer)] <= position;
    const bool there = !free_at_[d] || *free_at_[d] >= position;
    if (!written || !there || graph_.size(datum) == 0) continue;
    HeldDatum held{datum, {}};
    for (const TaskId reader : graph_.consumers(datum)) {
      const std::size_t at = position_[index(reader)];
      if (at >= position) held.next_reader = std::min(held.next_reader.value_or(at), at);
    }
    picture_.held.push_back(held);
  }
  std::stable_sort(picture_.held.begin(), picture_.held.end(),
                   [this](const HeldDatum& a, const HeldDatum& b) {
                     return graph_.size(a.datum) > graph_.size(b.datum);
                   });
}

}  // namespace

GraphPicture picture_of(const TaskGraph& graph, std::span<const TaskId> order) {
  GraphPicture picture;
  picture.replay = replay(graph, order);
  std::vector<MemoryPoint> profile = std::move(picture.replay.profile);
  GraphWalk(graph, order, picture, std::move(profile)).run();
  return picture;
}

}  // namespace espalier::report
