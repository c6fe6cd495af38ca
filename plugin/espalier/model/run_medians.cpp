#include "espalier/model/run_medians.h"

#include <algorithm>

namespace espalier {

void RunMedians::Times::add(Seconds value) { values_[added_++ % kMostRuns] = value; }

Seconds RunMedians::Times::median() const {
  const std::size_t count = std::min<std::size_t>(added_, kMostRuns);
  std::array<Seconds, kMostRuns> sorted = values_;
  std::sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(count));
  return sorted[(count - 1) / 2];
}

RunMedians::Key RunMedians::key_of(const RunRecord::Task& task) {
  return {task.node, task.kind, task.column, task.row, task.source};
}

void RunMedians::add(const RunRecord& run) {
  run_.add(run.seconds);
  for (const RunRecord::Task& task : run.tasks) {
    TaskTimes& times = tasks_[key_of(task)];
    times.seconds.add(task.seconds);
    times.processor.add(task.processor);
  }
}

void RunMedians::put_into(RunRecord& run) const {
  run.seconds = run_.median();
  for (RunRecord::Task& task : run.tasks) {
    const TaskTimes& times = tasks_.at(key_of(task));
    task.seconds = times.seconds.median();
    task.processor = times.processor.median();
  }
}

}  // namespace espalier
