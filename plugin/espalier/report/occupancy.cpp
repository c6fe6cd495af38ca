#include "espalier/report/occupancy.h"

#include <algorithm>
#include <utility>

namespace espalier::report {
namespace {

void add(WorkerUse& use, Seconds time, double busy, double held) {
  use.busy += time * busy;
  use.held += time * held;
}

// Worker-seconds -> workers.
void average(WorkerUse& use, Seconds time, std::int32_t workers) {
  if (time > 0) {
    use.busy /= time;
    use.held /= time;
  }
  use.short_of_work = std::max(0.0, workers - use.busy - use.held);
}

}  // namespace

OccupancyBuilder::OccupancyBuilder(std::int32_t workers, Window window,
                                   std::size_t columns)
    : workers_(workers), result_{window, std::vector<WorkerUse>(columns), {}} {}

void OccupancyBuilder::passed(Seconds from, Seconds to, std::int32_t busy,
                              std::int64_t wanted) {
  const Window& window = result_.window;
  const Seconds begin = std::max(from, window.from), end = std::min(to, window.to);
  if (begin >= end) return;
  const auto held = static_cast<double>(std::min<std::int64_t>(wanted, workers_ - busy));
  add(result_.mean, end - begin, busy, held);
  const std::size_t columns = result_.column.size();
  const Seconds width = (window.to - window.from) / static_cast<double>(columns);
  const auto first = static_cast<std::size_t>((begin - window.from) / width);
  for (std::size_t c = std::min(first, columns - 1); c < columns; ++c) {
    const Seconds left = window.from + width * static_cast<double>(c);
    if (left >= end) break;
    const Seconds inside = std::min(end, left + width) - std::max(begin, left);
    if (inside > 0) add(result_.column[c], inside, busy, held);
  }
}

Occupancy OccupancyBuilder::take() {
  const Seconds time = result_.window.to - result_.window.from;
  for (WorkerUse& use : result_.column) {
    average(use, time / static_cast<double>(result_.column.size()), workers_);
  }
  average(result_.mean, time, workers_);
  return std::move(result_);
}

}  // namespace espalier::report
