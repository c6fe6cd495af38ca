#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>

#include "espalier/model/violations.h"
#include "espalier/training/arrange.h"

namespace espalier {
namespace {

// The arena while the operators run, one after the other.
class Arena {
 public:
  Arena(const TaskGraph& graph, const Arrangement& plan, Bytes alignment)
      : graph_(graph), plan_(plan), alignment_(alignment) {}

  Violations check() {
    if (!check_order() || !check_buffers()) return found_;
    left_.resize(graph_.data());
    for (std::size_t d = 0; d < graph_.data(); ++d) {
      left_[d] = graph_.consumers(datum_id(d)).size();
      if (!graph_.producer(datum_id(d))) take(datum_id(d));
    }
    for (const TaskId task : plan_.order.order) run(task);
    if (peak_ != plan_.order.least_bytes)
      complain(fmt::format("the peak is {}, not {}", peak_, plan_.order.least_bytes));
    const Bytes rounded = (top_ + alignment_ - 1) / alignment_ * alignment_;
    if (rounded != plan_.layout.capacity_bytes)
      complain(fmt::format("the arena ends at {}, not at {}", rounded,
                           plan_.layout.capacity_bytes));
    if (plan_.lower_bound_bytes() > peak_)
      complain(fmt::format("the bound {} is above the peak {}", plan_.lower_bound_bytes(),
                           peak_));
    return found_;
  }

 private:
  void complain(std::string sentence) { espalier::complain(found_, std::move(sentence)); }

  bool check_order() {
    std::vector<bool> ran(graph_.size());
    for (const TaskId task : plan_.order.order) {
      if (index(task) >= graph_.size() || ran[index(task)]) {
        complain(fmt::format("operator {} runs twice, or is none", index(task)));
        return false;
      }
      for (const DatumId input : graph_.inputs(task)) {
        const auto producer = graph_.producer(input);
        if (producer && !ran[index(*producer)])
          complain(fmt::format("{} runs before {}", label(graph_, task),
                               label(graph_, *producer)));
      }
      ran[index(task)] = true;
    }
    if (plan_.order.order.size() != graph_.size())
      complain(
          fmt::format("{} of {} operators run", plan_.order.order.size(), graph_.size()));
    return found_.empty();
  }

  bool check_buffers() {
    const std::size_t buffers = plan_.lifetimes.buffers.size();
    if (plan_.layout.offsets.size() != buffers ||
        plan_.lifetimes.of_datum.size() != graph_.data() ||
        plan_.lifetimes.of_workspace.size() != graph_.size())
      complain("there is not one offset for each buffer");
    return found_.empty();
  }

  void paint(std::optional<BufferId> buffer, Bytes size, const std::string& what) {
    if (size == 0) return;
    if (!buffer || index(*buffer) >= plan_.layout.offsets.size())
      return complain(what + " has no place");
    const Bytes from = plan_.layout.offsets[index(*buffer)], to = from + size;
    if (from < 0 || from % alignment_ != 0)
      complain(fmt::format("{} lies at {}", what, from));
    const auto next = painted_.lower_bound(from);
    if (next != painted_.end() && next->first < to)
      complain(fmt::format("{} shares bytes with another at {}", what, next->first));
    if (next != painted_.begin() && std::prev(next)->second > from)
      complain(fmt::format("{} shares bytes with another at {}", what, from));
    painted_[from] = to;
    top_ = std::max(top_, to);
    level_ += size;
  }

  void erase(std::optional<BufferId> buffer, Bytes size) {
    if (size == 0 || !buffer) return;
    painted_.erase(plan_.layout.offsets[index(*buffer)]);
    level_ -= size;
  }

  void take(DatumId datum) {
    paint(plan_.lifetimes.of_datum[index(datum)], graph_.size(datum),
          label(graph_, datum));
  }
  void release(DatumId datum) {
    if (!graph_.stays(datum))
      erase(plan_.lifetimes.of_datum[index(datum)], graph_.size(datum));
  }

  void run(TaskId task) {
    for (const DatumId output : graph_.outputs(task)) take(output);
    paint(plan_.lifetimes.of_workspace[index(task)], graph_.workspace(task),
          label(graph_, task));
    peak_ = std::max(peak_, level_);
    erase(plan_.lifetimes.of_workspace[index(task)], graph_.workspace(task));
    for (const DatumId input : graph_.inputs(task)) {
      if (--left_[index(input)] == 0) release(input);
    }
    for (const DatumId output : graph_.outputs(task)) {
      if (graph_.consumers(output).empty()) release(output);
    }
  }

  const TaskGraph& graph_;
  const Arrangement& plan_;
  Bytes alignment_;
  Violations found_;
  std::vector<std::size_t> left_;   // by datum: readers that have not run
  std::map<Bytes, Bytes> painted_;  // what is taken: from, to
  Bytes level_ = 0, peak_ = 0, top_ = 0;
};

}  // namespace

Violations validate(const TaskGraph& graph, const Arrangement& arrangement,
                    Bytes alignment) {
  return Arena(graph, arrangement, alignment).check();
}

}  // namespace espalier
