#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "espalier/model/error.h"
#include "espalier/model/task_tree.h"

namespace espalier {

/// An OverflowError that names the task whose sizes were added last: over several
/// processes parts are rounded up and have buffers, so that sizes which fit in 64 bits
/// together may not when they are dealt out.
class TaskOverflow : public OverflowError {
 public:
  TaskOverflow(TaskId task, const std::string& why)
      : OverflowError("task " + std::to_string(index(task)) + ": " + why),
        task_(task),
        why_(why) {}
  [[nodiscard]] TaskId task() const { return task_; }
  /// The values, without the task.
  [[nodiscard]] const std::string& why() const { return why_; }

 private:
  TaskId task_;
  std::string why_;
};

/// What `compute` returns. @throws TaskOverflow for an OverflowError of it
template <class Compute>
decltype(auto) naming(TaskId task, Compute&& compute) {
  try {
    return std::forward<Compute>(compute)();
  } catch (const OverflowError& error) {
    throw TaskOverflow(task, error.what());
  }
}

}  // namespace espalier
