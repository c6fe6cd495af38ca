#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "espalier/model/task_tree.h"
#include "espalier/parallel/memory_aware_mapping.h"
#include "espalier/parallel/memory_booking.h"

namespace espalier {

/// What decides which tasks may start. Both calls append the tasks that may start from
/// now on and could not before; each task is appended once, after its children have
/// ended.
class Admission {
 public:
  virtual ~Admission() = default;
  virtual void begin(std::vector<TaskId>& startable) = 0;
  virtual void complete(TaskId task, std::vector<TaskId>& startable) = 0;
};

/// Memory booking: what the policy does.
class BookingAdmission : public Admission {
 public:
  /// As MemoryBooking, throws with it.
  BookingAdmission(const TaskTree& tree, std::span<const TaskId> order, Bytes bound)
      : booking_(tree, order, bound) {}
  void begin(std::vector<TaskId>& startable) override { booking_.activate(startable); }
  void complete(TaskId task, std::vector<TaskId>& startable) override {
    booking_.complete(task, startable);
  }

 private:
  MemoryBooking booking_;
};

/// Tree and barriers alone: the memory-aware map as a static schedule, or, without
/// barriers, memory unbounded. O(1) amortised per call.
class BarrierAdmission : public Admission {
 public:
  explicit BarrierAdmission(const TaskTree& tree, Serialisation serialisation = {});
  void begin(std::vector<TaskId>& startable) override;
  void complete(TaskId task, std::vector<TaskId>& startable) override;

 private:
  const TaskTree* tree_;
  Serialisation serialisation_;
  std::vector<std::int32_t> children_left_, signals_left_;
  std::vector<std::vector<TaskId>> waiting_;  // per barrier
};

/// One task at a time in a given order: all-to-all. The order is not checked.
class SequenceAdmission : public Admission {
 public:
  explicit SequenceAdmission(std::span<const TaskId> order)
      : order_(order.begin(), order.end()) {}
  void begin(std::vector<TaskId>& startable) override {
    if (next_ < order_.size()) startable.push_back(order_[next_++]);
  }
  void complete(TaskId, std::vector<TaskId>& startable) override { begin(startable); }

 private:
  std::vector<TaskId> order_;
  std::size_t next_ = 0;
};

/// The simpler Activation heuristic [ABGL16], a baseline: strictly in activation order a
/// task books m + f + r while that fits; at its end m and its children's f are free.
/// Safe and free of deadlock under the same condition as memory booking, but whoever is
/// activated early holds memory that its children could have lent to it.
class ActivationAdmission : public Admission {
 public:
  /// `order` as for MemoryBooking, its peak at most `bound` (not checked).
  ActivationAdmission(const TaskTree& tree, std::span<const TaskId> order, Bytes bound);
  void begin(std::vector<TaskId>& startable) override;
  void complete(TaskId task, std::vector<TaskId>& startable) override;

 private:
  const TaskTree* tree_;
  std::vector<TaskId> order_;
  std::size_t next_ = 0;
  std::vector<std::int32_t> children_left_;
  std::vector<bool> activated_;
  Bytes bound_, booked_ = 0;
};

}  // namespace espalier
