#include "espalier/report/run_picture.h"

#include <algorithm>
#include <utility>

namespace espalier::report {
namespace {

constexpr std::size_t kUseColumns = 400;  // of what workers do
constexpr std::size_t kBlocks = 40'000;   // of all lanes of a view, about

std::size_t lane_columns(std::int32_t workers) {
  const auto lanes = std::min<std::size_t>(workers, LaneOptions{}.most_lanes);
  return std::clamp<std::size_t>(kBlocks / lanes, 300, 1200);
}

// What is built of one window.
struct ViewBuilder {
  Window window;
  MemoryChartBuilder memory;
  LaneBuilder lanes;
  OccupancyBuilder occupancy;

  ViewBuilder(const TaskTree& tree, std::int32_t workers, const Subtrees& subtrees,
              const Columns& columns)
      : window{columns.start.empty() ? 0 : columns.start.front(), columns.end},
        memory(tree, subtrees, columns),
        lanes(workers, window, subtrees, {.columns = lane_columns(workers)}),
        occupancy(workers, window, kUseColumns) {}

  RunView take() { return {window, memory.take(), lanes.take(), occupancy.take()}; }
};

// Tells all that is built.
class Builders : public RunObserver {
 public:
  Builders(ViewBuilder& whole, ViewBuilder& peak, HoldingBuilder& holding)
      : whole_(whole), peak_(peak), holding_(holding) {}

  void started(TaskId task, Seconds time) override {
    whole_.memory.started(task, time);
    peak_.memory.started(task, time);
    holding_.started(task, time);
  }
  void ended(TaskId task, Seconds time) override {
    whole_.memory.ended(task, time);
    peak_.memory.ended(task, time);
    holding_.ended(task, time);
  }
  void worked(TaskId task, std::int32_t worker, Seconds from, Seconds to) override {
    whole_.lanes.worked(task, worker, from, to);
    peak_.lanes.worked(task, worker, from, to);
  }
  void passed(Seconds from, Seconds to, std::int32_t busy, std::int64_t wanted) override {
    whole_.occupancy.passed(from, to, busy, wanted);
    peak_.occupancy.passed(from, to, busy, wanted);
  }

 private:
  ViewBuilder& whole_;
  ViewBuilder& peak_;
  HoldingBuilder& holding_;
};

}  // namespace

RunPicture picture_of_run(const TaskTree& tree, const Schedule& schedule,
                          const SweepOptions& options, const Subtrees& subtrees) {
  RunPicture picture;
  picture.replay = replay(tree, schedule);
  const std::vector<MemoryPoint> profile = std::move(picture.replay.profile);
  ViewBuilder whole(tree, schedule.workers, subtrees, columns_of(profile, kPageColumns));
  ViewBuilder peak(tree, schedule.workers, subtrees,
                   columns_around(profile, picture.replay.peak_time, kPeakColumns));
  HoldingBuilder holding(tree, picture.replay.peak_task.value_or(TaskId{}));
  Builders builders(whole, peak, holding);
  sweep(tree, schedule, options, builders);
  picture.whole = whole.take();
  picture.peak = peak.take();
  picture.held = holding.take();
  return picture;
}

RunPicture picture_of_order(const TaskTree& tree, std::span<const TaskId> order,
                            const Subtrees& subtrees) {
  Schedule schedule;
  (void)replay(tree, order);  // refuses what is no order
  schedule.start.resize(tree.size());
  schedule.end.resize(tree.size());
  for (std::size_t k = 0; k < order.size(); ++k) {
    schedule.start[index(order[k])] = static_cast<Seconds>(k);
    schedule.end[index(order[k])] = static_cast<Seconds>(k + 1);
  }
  schedule.sequence.assign(order.begin(), order.end());
  RunPicture picture = picture_of_run(tree, schedule, {}, subtrees);
  for (RunView* view : {&picture.whole, &picture.peak}) {
    view->lanes.clear();
    view->occupancy = {};
  }
  return picture;
}

}  // namespace espalier::report
