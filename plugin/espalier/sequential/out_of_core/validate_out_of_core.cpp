#include "espalier/sequential/out_of_core/validate_out_of_core.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "espalier/model/task_number.h"

namespace espalier {
namespace {

class OutOfCoreCheck {
 public:
  OutOfCoreCheck(const TaskTree& tree, const OutOfCorePlan& plan)
      : tree_(tree), plan_(plan), position_(tree.size()), change_(tree.size() + 1, 0) {}

  Violations run() {
    list_positions();
    if (!wrong_.empty()) return std::move(wrong_);
    for (std::size_t i = 0; i < tree_.size(); ++i) add_lifetimes(task_id(i));
    for (const Eviction& eviction : plan_.evictions) add_absence(eviction);
    if (!wrong_.empty()) return std::move(wrong_);
    check_amounts();
    check_memory();
    return std::move(wrong_);
  }

 private:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    complain(wrong_, fmt::format(format, std::forward<Args>(args)...));
  }

  void list_positions() {
    std::vector<bool> seen(tree_.size(), false);
    for (std::size_t k = 0; k < plan_.order.size(); ++k) {
      const std::size_t task = index(plan_.order[k]);
      if (task >= tree_.size() || seen[task])
        return add("position {} holds task {}, which is none or has run", k, task);
      seen[task] = true;
      position_[task] = k;
    }
    if (plan_.order.size() != tree_.size())
      return add("the order has {} tasks, the tree {}", plan_.order.size(), tree_.size());
    for (std::size_t i = 0; i < tree_.size(); ++i)
      if (const auto parent = tree_.parent(task_id(i));
          parent && position_[i] > position_[index(*parent)])
        add("task {} runs after its parent {}", i, number(*parent));
  }

  // So many more bytes while the tasks at positions [from, to) run.
  void add_bytes(std::size_t from, std::size_t to, Bytes bytes) {
    change_[from] += bytes;
    change_[to] -= bytes;
  }

  // The position of the last task that needs an output to be there, and one more.
  [[nodiscard]] std::size_t end_of_output(TaskId task) const {
    const auto parent = tree_.parent(task);
    return parent ? position_[index(*parent)] + 1 : tree_.size();
  }

  void add_lifetimes(TaskId task) {
    const std::size_t start = position_[index(task)];
    add_bytes(start, start + 1, tree_.execution_size(task));
    add_bytes(start, end_of_output(task), tree_.output_size(task));
    add_bytes(start, tree_.size(), tree_.retained_size(task));
  }

  void add_absence(const Eviction& eviction) {
    const std::size_t task = index(eviction.task);
    if (task >= tree_.size() || eviction.bytes <= 0)
      return add("{} bytes of task {} leave", eviction.bytes, number(eviction.task));
    const std::size_t at = eviction.written_at;
    const bool output = eviction.datum == Eviction::Datum::kOutput;
    const std::size_t end = output ? end_of_output(eviction.task) : tree_.size();
    if (at <= position_[task] || at >= end || at >= tree_.size())
      return add("bytes of task {} leave at position {}: they wait from {} to {}", task,
                 at, position_[task] + 1, end);
    const bool returns = output && tree_.parent(eviction.task);
    if (eviction.read_at.has_value() != returns ||
        (returns && *eviction.read_at != end - 1))
      return add(
          "what leaves of task {} at position {} is read at another position than "
          "its parent's",
          task, at);
    add_bytes(at, returns ? end - 1 : end, -eviction.bytes);
    left_[{eviction.datum, task}] += eviction.bytes;
  }

  // No more leaves of a datum than there is, and the plan's sums are these.
  void check_amounts() {
    Bytes written = 0, read = 0;
    for (const Eviction& eviction : plan_.evictions) {
      written += eviction.bytes;
      if (eviction.read_at) read += eviction.bytes;
    }
    if (written != plan_.written || read != plan_.read)
      add("{} bytes are written and {} read, not {} and {}", written, read, plan_.written,
          plan_.read);
    for (const auto& [datum, bytes] : left_) {
      const TaskId task = task_id(datum.second);
      const Bytes whole = datum.first == Eviction::Datum::kOutput
                              ? tree_.output_size(task)
                              : tree_.retained_size(task);
      if (bytes > whole)
        add("{} bytes of task {} leave, there are {}", bytes, number(task), whole);
    }
  }

  void check_memory() {
    Bytes bytes = 0;
    for (std::size_t k = 0; k < tree_.size(); ++k) {
      bytes += change_[k];
      if (bytes > plan_.bound)
        add("task {} at position {} runs in {} bytes, the bound is {}",
            number(plan_.order[k]), k, bytes, plan_.bound);
    }
  }

  const TaskTree& tree_;
  const OutOfCorePlan& plan_;
  std::vector<std::size_t> position_;
  std::vector<Bytes> change_;  // of the bytes in memory, from each position on
  std::map<std::pair<Eviction::Datum, std::size_t>, Bytes> left_;
  Violations wrong_;
};

}  // namespace

Violations validate(const TaskTree& tree, const OutOfCorePlan& plan) {
  return OutOfCoreCheck(tree, plan).run();
}

}  // namespace espalier
