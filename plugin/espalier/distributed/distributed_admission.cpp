#include "espalier/distributed/distributed_admission.h"

#include <algorithm>

namespace espalier {

PartForest::PartForest(std::span<const PartTree> processes) {
  std::size_t parts = 0;
  for (const PartTree& process : processes) parts += process.tree.size();
  std::vector<Task> tasks;
  tasks.reserve(parts);
  process_.reserve(parts);
  task_.reserve(parts);
  for (std::size_t p = 0; p < processes.size(); ++p) {
    const TaskTree& tree = processes[p].tree;
    const std::size_t first = tasks.size();
    first_.push_back(first);
    for (std::size_t i = 0; i < tree.size(); ++i) {
      const TaskId part = task_id(i);
      const auto parent = tree.parent(part);
      tasks.push_back({.output_size = tree.output_size(part),
                       .execution_size = tree.execution_size(part),
                       .retained_size = tree.retained_size(part),
                       .work = tree.work(part)});
      if (parent) tasks.back().parent = task_id(first + index(*parent));
      process_.push_back(static_cast<std::int32_t>(p));
      task_.push_back(processes[p].task[i]);
    }
  }
  tree_ = TaskTree(tasks);
}

DistributedAdmission::DistributedAdmission(std::span<const PartTree> processes,
                                           const PartForest& forest, Bytes bound)
    : forest_(forest) {
  booking_.reserve(processes.size());
  std::size_t tasks = 0;
  for (const PartTree& parts : processes) {
    booking_.emplace_back(parts.tree, witness_of(parts), bound);
    for (const TaskId task : parts.task) tasks = std::max(tasks, index(task) + 1);
  }
  missing_.assign(tasks, 0);
  for (const PartTree& parts : processes) {
    for (const TaskId task : parts.task) ++missing_[index(task)];
  }
  first_part_.assign(tasks + 1, 0);
  for (std::size_t i = 0; i < tasks; ++i) {
    first_part_[i + 1] = first_part_[i] + static_cast<std::size_t>(missing_[i]);
  }
  part_.resize(first_part_.back());
  std::vector<std::size_t> next = first_part_;
  for (std::size_t i = 0; i < forest.tree().size(); ++i) {
    part_[next[index(forest.task(task_id(i)))]++] = task_id(i);
  }
}

void DistributedAdmission::begin(std::vector<TaskId>& startable) {
  for (std::size_t p = 0; p < booking_.size(); ++p) {
    booking_[p].activate(admitted_);
    admit(static_cast<std::int32_t>(p), startable);
  }
}

void DistributedAdmission::complete(TaskId part, std::vector<TaskId>& startable) {
  const std::int32_t process = forest_.process()[index(part)];
  booking_[static_cast<std::size_t>(process)].complete(forest_.local(part), admitted_);
  admit(process, startable);
}

// What the booking of `process` has admitted is in admitted_.
void DistributedAdmission::admit(std::int32_t process, std::vector<TaskId>& startable) {
  for (const TaskId local : admitted_) {
    const TaskId task = forest_.task(forest_.part(process, local));
    if (--missing_[index(task)] > 0) continue;
    const auto first =
        part_.begin() + static_cast<std::ptrdiff_t>(first_part_[index(task)]);
    const auto last =
        part_.begin() + static_cast<std::ptrdiff_t>(first_part_[index(task) + 1]);
    startable.insert(startable.end(), first, last);
  }
  admitted_.clear();
}

std::vector<Bytes> DistributedAdmission::booked_peaks() const {
  std::vector<Bytes> peaks;
  for (const MemoryBooking& booking : booking_) peaks.push_back(booking.booked_peak());
  return peaks;
}

}  // namespace espalier
