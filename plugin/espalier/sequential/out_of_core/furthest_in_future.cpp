#include "espalier/sequential/out_of_core/furthest_in_future.h"

#include <algorithm>
#include <cstdint>
#include <queue>
#include <utility>

#include "espalier/model/replay.h"

namespace espalier {
namespace {

// Data that wait in memory, those that leave first on top.
class Waiting {
 public:
  explicit Waiting(std::size_t tasks) : output_(tasks, 0) {}

  void add_output(TaskId task, Bytes bytes, std::size_t reader) {
    output_[index(task)] = bytes;
    if (bytes > 0) outputs_.emplace(reader, task);
    bytes_ += bytes;
  }
  void add_unread(TaskId task, Eviction::Datum datum, Bytes bytes) {
    if (bytes > 0) unread_.push_back({task, datum, bytes});
    bytes_ += bytes;
  }
  // The output is read: all of it is in memory, and it waits no more. What a heap still
  // holds of it comes after all that is read later, and is never seen.
  void take_output(TaskId task) {
    bytes_ -= output_[index(task)];
    output_[index(task)] = 0;
  }

  [[nodiscard]] Bytes bytes() const { return bytes_; }

  // At most `most` bytes of the datum that leaves first. Something must wait.
  Eviction evict(Bytes most) {
    const bool unread = next_unread_ < unread_.size();
    Eviction eviction;
    Bytes* left = nullptr;
    if (unread) {
      Unread& datum = unread_[next_unread_];
      eviction = {datum.task, datum.datum};
      left = &datum.bytes;
    } else {
      const auto [reader, task] = outputs_.top();
      eviction = {task, Eviction::Datum::kOutput};
      eviction.read_at = reader;
      left = &output_[index(task)];
    }
    eviction.bytes = std::min(most, *left);
    *left -= eviction.bytes;
    bytes_ -= eviction.bytes;
    if (*left == 0 && unread) ++next_unread_;
    if (*left == 0 && !unread) outputs_.pop();
    return eviction;
  }

 private:
  struct Unread {
    TaskId task;
    Eviction::Datum datum;
    Bytes bytes;
  };
  std::vector<Bytes> output_;                                    // in memory, by task
  std::priority_queue<std::pair<std::size_t, TaskId>> outputs_;  // reader, task
  std::vector<Unread> unread_;  // never read again, oldest first
  std::size_t next_unread_ = 0;
  Bytes bytes_ = 0;
};

class FurthestInFuture {
 public:
  FurthestInFuture(const TaskTree& tree, std::span<const TaskId> order, Bytes bound,
                   detail::OutOfCoreLevels* levels)
      : tree_(tree), levels_(levels), position_(tree.size()), waiting_(tree.size()) {
    plan_.order.assign(order.begin(), order.end());
    plan_.bound = bound;
    for (std::size_t k = 0; k < order.size(); ++k) position_[index(order[k])] = k;
  }

  OutOfCorePlan run() {
    for (std::size_t k = 0; k < plan_.order.size(); ++k) run(k);
    return std::move(plan_);
  }

 private:
  void run(std::size_t k) {
    const TaskId task = plan_.order[k];
    for (const TaskId child : tree_.children(task)) waiting_.take_output(child);
    const Bytes needed = tree_.memory_requirement(task);
    while (waiting_.bytes() > plan_.bound - needed) {
      plan_.evictions.push_back(waiting_.evict(waiting_.bytes() - plan_.bound + needed));
      Eviction& eviction = plan_.evictions.back();
      eviction.written_at = k;
      plan_.written += eviction.bytes;
      if (eviction.read_at) plan_.read += eviction.bytes;
    }
    if (levels_ != nullptr) levels_->running.push_back(waiting_.bytes() + needed);
    const Bytes output = tree_.output_size(task);
    if (const std::optional<TaskId> parent = tree_.parent(task)) {
      waiting_.add_output(task, output, position_[index(*parent)]);
    } else {
      waiting_.add_unread(task, Eviction::Datum::kOutput, output);
    }
    waiting_.add_unread(task, Eviction::Datum::kRetained, tree_.retained_size(task));
    if (levels_ != nullptr) levels_->after.push_back(waiting_.bytes());
  }

  const TaskTree& tree_;
  detail::OutOfCoreLevels* levels_;
  std::vector<std::size_t> position_;  // in the order, by task
  Waiting waiting_;
  OutOfCorePlan plan_;
};

}  // namespace

Bytes least_out_of_core(const TaskTree& tree) {
  Bytes least = 0;
  for (const TaskId task : tree.postorder()) {
    least = std::max(least, tree.memory_requirement(task));
  }
  return least;
}

Expected<OutOfCorePlan> furthest_in_future(const TaskTree& tree,
                                           std::span<const TaskId> order, Bytes bound) {
  (void)replay(tree, order);  // refuses what is no order of the tree
  const Bytes least = least_out_of_core(tree);
  if (bound < least) {
    return tl::make_unexpected(
        Infeasible{Infeasible::Reason::kImpossible, bound, least, least});
  }
  return detail::furthest_in_future(tree, order, bound, nullptr);
}

OutOfCorePlan detail::furthest_in_future(const TaskTree& tree,
                                         std::span<const TaskId> order, Bytes bound,
                                         OutOfCoreLevels* levels) {
  return FurthestInFuture(tree, order, bound, levels).run();
}

}  // namespace espalier
