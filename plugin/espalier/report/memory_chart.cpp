#include "espalier/report/memory_chart.h"

#include <algorithm>
#include <utility>

namespace espalier::report {
namespace {

std::vector<Seconds> moments(std::span<const MemoryPoint> profile) {
  std::vector<Seconds> times;
  for (const MemoryPoint& point : profile) {
    if (times.empty() || point.time > times.back()) times.push_back(point.time);
  }
  return times;
}

}  // namespace

Columns columns_of(std::span<const MemoryPoint> profile, std::size_t most) {
  std::vector<Seconds> times = moments(profile);
  if (times.empty()) return {};
  const Seconds first = times.front(), last = times.back();
  if (times.size() <= most) return {std::move(times), last, true};
  Columns columns{{}, last, false};
  for (std::size_t k = 0; k < most; ++k) {
    columns.start.push_back(first + (last - first) * static_cast<double>(k) /
                                        static_cast<double>(most));
  }
  return columns;
}

Columns columns_around(std::span<const MemoryPoint> profile, Seconds middle,
                       std::size_t most) {
  const std::vector<Seconds> times = moments(profile);
  const auto at = std::lower_bound(times.begin(), times.end(), middle) - times.begin();
  const auto all = std::ssize(times), half = static_cast<std::ptrdiff_t>(most) / 2;
  const auto first = std::max<std::ptrdiff_t>(0, at - half);
  const auto last =
      std::min<std::ptrdiff_t>(all, first + static_cast<std::ptrdiff_t>(most));
  if (first >= last) return {};
  const Seconds end = last < all ? times[static_cast<std::size_t>(last)] : times.back();
  return {{times.begin() + first, times.begin() + last}, end, true};
}

ChartFolder::ChartFolder(Columns columns, std::size_t parts) : now_(parts, 0) {
  const std::size_t count = columns.start.size();
  chart_.columns = std::move(columns);
  chart_.high.assign(count, 0);
  chart_.low.assign(count, 0);
  chart_.part.assign(parts, std::vector<Bytes>(count, 0));
  filled_.assign(count, false);
}

void ChartFolder::go_to(Seconds time) {
  const Columns& columns = chart_.columns;
  while (column_ < columns.start.size() && columns.start[column_] <= time) {
    ++column_;
    if (columns.start[column_ - 1] < time) note();
  }
  past_ = time > columns.end ||
          (time == columns.end && columns.exact && time > columns.start.back());
}

void ChartFolder::change(std::size_t part, Bytes by) {
  now_[part] += by;
  bytes_ += by;
}

void ChartFolder::note() {
  if (column_ == 0 || past_) return;
  const std::size_t c = column_ - 1;
  if (!filled_[c] || bytes_ > chart_.high[c]) {
    chart_.high[c] = bytes_;
    for (std::size_t p = 0; p < now_.size(); ++p) chart_.part[p][c] = now_[p];
  }
  if (!filled_[c] || bytes_ < chart_.low[c]) chart_.low[c] = bytes_;
  filled_[c] = true;
}

MemoryChart ChartFolder::take() {
  go_to(chart_.columns.end);
  return std::move(chart_);
}

MemoryChartBuilder::MemoryChartBuilder(const TaskTree& tree, const Subtrees& subtrees,
                                       Columns columns)
    : tree_(tree),
      subtrees_(subtrees),
      folder_(std::move(columns), subtrees.roots.size() + 1) {}

void MemoryChartBuilder::started(TaskId task, Seconds time) {
  folder_.go_to(time);
  folder_.change(part_of(task), tree_.execution_size(task) + tree_.output_size(task) +
                                    tree_.retained_size(task));
  folder_.note();
}

void MemoryChartBuilder::ended(TaskId task, Seconds time) {
  folder_.go_to(time);
  folder_.change(part_of(task), -tree_.execution_size(task));
  for (const TaskId child : tree_.children(task)) {
    folder_.change(part_of(child), -tree_.output_size(child));
  }
  folder_.note();
}

std::size_t MemoryChartBuilder::part_of(TaskId task) const {
  const std::int32_t subtree = subtrees_.of_task[index(task)];
  return subtree < 0 ? subtrees_.roots.size() : static_cast<std::size_t>(subtree);
}

void HoldingBuilder::started(TaskId task, Seconds /*time*/) {
  if (done_) return;
  held_[index(task)] =
      tree_.execution_size(task) + tree_.output_size(task) + tree_.retained_size(task);
  done_ = task == peak_task_;
}

void HoldingBuilder::ended(TaskId task, Seconds /*time*/) {
  if (done_) return;
  held_[index(task)] -= tree_.execution_size(task);
  for (const TaskId child : tree_.children(task)) {
    held_[index(child)] -= tree_.output_size(child);
  }
}

}  // namespace espalier::report
