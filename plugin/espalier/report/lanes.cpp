#include "espalier/report/lanes.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace espalier::report {

LaneBuilder::LaneBuilder(std::int32_t workers, Window window, const Subtrees& subtrees,
                         const LaneOptions& options)
    : window_(window),
      subtrees_(subtrees),
      width_((window.to - window.from) / static_cast<double>(options.columns)),
      columns_(options.columns) {
  const auto most = static_cast<std::int32_t>(options.most_lanes);
  workers_a_lane_ = (workers + most - 1) / most;
  const Tally none(subtrees.roots.size() + 1, 0);
  for (std::int32_t first = 0; first < workers; first += workers_a_lane_) {
    lanes_.push_back({first, std::min(workers_a_lane_, workers - first), {}});
  }
  if (workers_a_lane_ == 1) {
    mix_.assign(lanes_.size(), {GanttBar{}, none});
  } else {
    columns_of_.assign(lanes_.size(), std::vector<Column>(columns_, Column{0, none}));
  }
}

void LaneBuilder::worked(TaskId task, std::int32_t worker, Seconds from, Seconds to) {
  const Seconds begin = std::max(from, window_.from), end = std::min(to, window_.to);
  if (begin >= end) return;
  const GanttBar piece{begin, end, 1, task, subtrees_.of_task[index(task)], 1};
  const auto lane = static_cast<std::size_t>(worker / workers_a_lane_);
  if (workers_a_lane_ == 1) {
    add_alone(lanes_[lane], mix_[lane], piece);
  } else {
    add_shared(lane, piece);
  }
}

void LaneBuilder::add_alone(Lane& lane, Mix& mix, const GanttBar& piece) {
  GanttBar& open = mix.block;
  const bool apart = open.tasks > 0 && piece.from - open.to >= width_;
  if (apart || piece.to - piece.from >= width_) flush(lane, mix);
  if (piece.to - piece.from >= width_) {
    lane.blocks.push_back(piece);
    return;
  }
  if (open.tasks == 0) open = {piece.from, piece.to, 0, piece.task, 0, 0};
  open.to = piece.to;
  ++open.tasks;
  mix.time[slot(piece.subtree)] += piece.to - piece.from;
  if (open.to - open.from >= width_) flush(lane, mix);
}

void LaneBuilder::flush(Lane& lane, Mix& mix) const {
  GanttBar& open = mix.block;
  if (open.tasks == 0) return;
  const Seconds worked = std::accumulate(mix.time.begin(), mix.time.end(), Seconds{0});
  const auto largest = std::max_element(mix.time.begin(), mix.time.end());
  open.subtree = largest == mix.time.end() - 1
                     ? -1
                     : static_cast<std::int32_t>(largest - mix.time.begin());
  open.busy = open.to > open.from ? std::min(1.0, worked / (open.to - open.from)) : 1;
  if (open.tasks > 1) open.task.reset();
  lane.blocks.push_back(open);
  open = {};
  std::fill(mix.time.begin(), mix.time.end(), 0);
}

void LaneBuilder::add_shared(std::size_t lane, const GanttBar& piece) {
  const auto column_at = [this](Seconds time) {
    const double at = (time - window_.from) / width_;
    return std::min(static_cast<std::size_t>(std::max(at, 0.0)), columns_ - 1);
  };
  const std::size_t first = column_at(piece.from), last = column_at(piece.to);
  bool counted = false;
  for (std::size_t c = first; c <= last; ++c) {
    const Seconds begin = window_.from + width_ * static_cast<double>(c);
    const Seconds inside =
        std::min(piece.to, begin + width_) - std::max(piece.from, begin);
    if (inside <= 0) continue;
    columns_of_[lane][c].time[slot(piece.subtree)] += inside;
    if (!counted) ++columns_of_[lane][c].tasks;
    counted = true;
  }
}

void LaneBuilder::close_shared(std::size_t lane) {
  Lane& row = lanes_[lane];
  for (std::size_t c = 0; c < columns_; ++c) {
    const Column& column = columns_of_[lane][c];
    const Seconds worked =
        std::accumulate(column.time.begin(), column.time.end(), Seconds{0});
    if (worked <= 0) continue;
    const auto largest = std::max_element(column.time.begin(), column.time.end());
    GanttBar block;
    block.from = window_.from + width_ * static_cast<double>(c);
    block.to = block.from + width_;
    block.tasks = column.tasks;
    block.subtree = largest == column.time.end() - 1
                        ? -1
                        : static_cast<std::int32_t>(largest - column.time.begin());
    block.busy = std::min(1.0, worked / (width_ * row.workers));
    row.blocks.push_back(block);
  }
}

std::size_t LaneBuilder::slot(std::int32_t subtree) const {
  return subtree < 0 ? subtrees_.roots.size() : static_cast<std::size_t>(subtree);
}

std::vector<Lane> LaneBuilder::take() {
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    if (workers_a_lane_ == 1) {
      flush(lanes_[lane], mix_[lane]);
    } else {
      close_shared(lane);
    }
  }
  return std::move(lanes_);
}

}  // namespace espalier::report
