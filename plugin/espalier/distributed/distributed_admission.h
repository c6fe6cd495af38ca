#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "espalier/distributed/part_trees.h"
#include "espalier/parallel/admission.h"

namespace espalier {

/// The parts of all processes as one forest: those of process 0, then of process 1, ….
class PartForest {
 public:
  /// @throws OverflowError when the sizes of all processes together leave 64 bits
  explicit PartForest(std::span<const PartTree> processes);

  [[nodiscard]] const TaskTree& tree() const { return tree_; }
  [[nodiscard]] std::span<const std::int32_t> process() const { return process_; }
  /// Task that a part of the forest is a part of.
  [[nodiscard]] TaskId task(TaskId part) const { return task_[index(part)]; }
  [[nodiscard]] TaskId part(std::int32_t process, TaskId local) const {
    return task_id(first_[static_cast<std::size_t>(process)] + index(local));
  }
  [[nodiscard]] TaskId local(TaskId part) const {
    return task_id(index(part) - first_[static_cast<std::size_t>(process_[index(part)])]);
  }

 private:
  TaskTree tree_;
  std::vector<std::int32_t> process_;
  std::vector<TaskId> task_;
  std::vector<std::size_t> first_;  // by process
};

/// Memory booking on each process, over what it sees of the distribution and with the
/// witness restricted to it. The parts of a shared task may start when every process of
/// the task has admitted its part; each ends on its own.
///
/// No process exceeds its bound, whatever the durations, because memory booking on it
/// does not. And all tasks end: let i be the first task of the witness that has not
/// ended. On every process that has a part of it, all parts before that one in the
/// process's order have ended. If the part is not activated, none after it is, since
/// activation is strictly in order; so exactly what the sequential run holds before i is
/// booked, and what the part lacks fits. So i is activated on all its processes, all its
/// children have ended, and it may start.
class DistributedAdmission : public Admission {
 public:
  /// Both must outlive this object.
  /// @throws InvalidInput when `bound` is below the peak of a process
  DistributedAdmission(std::span<const PartTree> processes, const PartForest& forest,
                       Bytes bound);
  void begin(std::vector<TaskId>& startable) override;
  void complete(TaskId part, std::vector<TaskId>& startable) override;

  /// Most that was booked on each process so far.
  [[nodiscard]] std::vector<Bytes> booked_peaks() const;

 private:
  void admit(std::int32_t process, std::vector<TaskId>& startable);

  const PartForest& forest_;
  std::vector<MemoryBooking> booking_;   // by process
  std::vector<std::size_t> first_part_;  // by task: offsets into part_
  std::vector<TaskId> part_;
  std::vector<std::int32_t> missing_;  // by task: parts that are not admitted
  std::vector<TaskId> admitted_;
};

}  // namespace espalier
