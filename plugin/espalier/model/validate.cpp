#include "espalier/model/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <compare>
#include <limits>
#include <span>
#include <utility>

namespace espalier {
namespace {

class Report {
 public:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    complain(violations_, fmt::format(format, std::forward<Args>(args)...));
  }
  // Adds when `holds` is false.
  template <class... Args>
  void require(bool holds, fmt::format_string<Args...> format, Args&&... args) {
    if (!holds) add(format, std::forward<Args>(args)...);
  }
  [[nodiscard]] bool clean() const { return violations_.empty(); }
  [[nodiscard]] Violations take() { return std::move(violations_); }

 private:
  Violations violations_;
};

// The position of each task in `order`; complaints when some is missing or repeated.
std::vector<std::size_t> positions(const TaskTree& tree, std::span<const TaskId> order,
                                   Report& report) {
  constexpr std::size_t kMissing = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> position(tree.size(), kMissing);
  for (std::size_t k = 0; k < order.size(); ++k) {
    const std::size_t i = index(order[k]);
    if (i >= tree.size()) {
      report.add("position {} holds task {}, the tree has {} tasks", k,
                 static_cast<std::int32_t>(order[k]), tree.size());
    } else if (position[i] != kMissing) {
      report.add("task {} is at positions {} and {}", i, position[i], k);
    } else {
      position[i] = k;
    }
  }
  for (std::size_t i = 0; i < tree.size(); ++i) {
    report.require(position[i] != kMissing, "task {} is missing from the order", i);
  }
  return position;
}

// The most bytes alive at once, data living from the position of one task to the position
// of another, both included: sums of differences.
Bytes peak_of_lifetimes(const TaskTree& tree, std::span<const std::size_t> position) {
  const std::size_t n = tree.size();
  std::vector<Bytes> change(n + 1, 0);
  const auto lives = [&](Bytes size, std::size_t first, std::size_t last) {
    change[first] += size;
    change[last + 1] -= size;
  };
  for (std::size_t i = 0; i < n; ++i) {
    const TaskId task = task_id(i);
    const std::optional<TaskId> parent = tree.parent(task);
    const std::size_t at = position[i];
    lives(tree.execution_size(task), at, at);
    lives(tree.output_size(task), at, parent ? position[index(*parent)] : n - 1);
    lives(tree.retained_size(task), at, n - 1);
  }
  Bytes bytes = 0, peak = 0;
  for (const Bytes step : change) peak = std::max(peak, bytes += step);
  return peak;
}

// A point in time, with the order of what happens then: ends, tasks of no duration one by
// one, starts.
struct Moment {
  Seconds time = 0;
  std::size_t step = 0;
  friend auto operator<=>(const Moment&, const Moment&) = default;
};
constexpr std::size_t kLastStep = std::numeric_limits<std::size_t>::max();

struct Lifetimes {
  std::vector<Moment> start, end;  // by task
};

Lifetimes moments(const Schedule& schedule, std::span<const std::size_t> rank) {
  Lifetimes lives;
  for (std::size_t i = 0; i < rank.size(); ++i) {
    const Seconds start = schedule.start[i], end = schedule.end[i];
    const bool no_duration = start == end;
    lives.start.push_back({start, no_duration ? 2 * rank[i] + 1 : kLastStep});
    lives.end.push_back({end, no_duration ? 2 * rank[i] + 2 : 0});
  }
  return lives;
}

// Amounts that are held from one moment until another.
template <class Amount>
class Holdings {
 public:
  void hold(Amount amount, Moment from, std::optional<Moment> until) {
    if (amount == 0) return;
    taken_.push_back({from, amount});
    if (until) given_.push_back({*until, amount});
  }

  struct Most {
    Amount amount = 0;
    Seconds time = 0;
  };
  // Held at a moment = all taken by then less all given back by then.
  [[nodiscard]] Most most() {
    const auto earlier = [](const auto& a, const auto& b) { return a.first < b.first; };
    std::sort(taken_.begin(), taken_.end(), earlier);
    std::sort(given_.begin(), given_.end(), earlier);
    Most most;
    Amount held = 0;
    auto given = given_.begin();
    for (auto taken = taken_.begin(); taken != taken_.end();) {
      const Moment now = taken->first;
      for (; taken != taken_.end() && taken->first <= now; ++taken) held += taken->second;
      for (; given != given_.end() && given->first <= now; ++given) held -= given->second;
      if (held > most.amount) most = {held, now.time};
    }
    return most;
  }

 private:
  std::vector<std::pair<Moment, Amount>> taken_, given_;
};

void check_times(const TaskTree& tree, const Schedule& schedule, Report& report) {
  const std::size_t n = tree.size();
  report.require(schedule.start.size() == n && schedule.end.size() == n,
                 "{} starts and {} ends for {} tasks", schedule.start.size(),
                 schedule.end.size(), n);
  report.require(schedule.share.empty() || schedule.share.size() == n,
                 "{} shares for {} tasks", schedule.share.size(), n);
  report.require(schedule.workers >= 1, "{} workers", schedule.workers);
  if (!report.clean()) return;
  for (std::size_t i = 0; i < n; ++i) {
    const Seconds start = schedule.start[i], end = schedule.end[i];
    report.require(std::isfinite(start) && std::isfinite(end) && start <= end,
                   "task {} runs from {} to {}", i, start, end);
    if (!schedule.share.empty()) {
      const double share = schedule.share[i];
      report.require(std::isfinite(share) && share >= 0, "task {} runs on {} workers", i,
                     share);
    }
  }
}

void check_precedence(const TaskTree& tree, const Lifetimes& lives, Report& report) {
  for (std::size_t i = 0; i < tree.size(); ++i) {
    const std::optional<TaskId> parent = tree.parent(task_id(i));
    if (!parent) continue;
    const Moment& start = lives.start[index(*parent)];
    report.require(start >= lives.end[i], "task {} starts at {}, its child {} ends at {}",
                   index(*parent), start.time, i, lives.end[i].time);
  }
}

void check_workers(const Schedule& schedule, const Lifetimes& lives, Report& report) {
  Holdings<double> busy;
  for (std::size_t i = 0; i < schedule.share.size(); ++i) {
    busy.hold(schedule.share[i], lives.start[i], lives.end[i]);
  }
  const auto most = busy.most();
  // Room for the rounding of a million additions.
  report.require(most.amount <= schedule.workers * (1 + 1e-6),
                 "{} workers are busy at {}, there are {}", most.amount, most.time,
                 schedule.workers);
}

void check_memory(const TaskTree& tree, const Lifetimes& lives, Bytes memory_bound,
                  Report& report) {
  Holdings<Bytes> memory;
  for (std::size_t i = 0; i < tree.size(); ++i) {
    const TaskId task = task_id(i);
    const std::optional<TaskId> parent = tree.parent(task);
    memory.hold(tree.execution_size(task), lives.start[i], lives.end[i]);
    memory.hold(tree.retained_size(task), lives.start[i], std::nullopt);
    memory.hold(tree.output_size(task), lives.start[i],
                parent ? std::optional(lives.end[index(*parent)]) : std::nullopt);
  }
  const auto most = memory.most();
  report.require(most.amount <= memory_bound,
                 "{} bytes are in memory at {}, the bound is {}", most.amount, most.time,
                 memory_bound);
}

void check_order(const TaskTree& tree, std::span<const TaskId> order, Bytes peak,
                 Report& report) {
  const std::vector<std::size_t> position = positions(tree, order, report);
  if (!report.clean()) return;
  for (std::size_t i = 0; i < tree.size(); ++i) {
    const std::optional<TaskId> parent = tree.parent(task_id(i));
    report.require(!parent || position[i] < position[index(*parent)],
                   "task {} runs after its parent {}", i,
                   parent ? static_cast<std::int32_t>(*parent) : -1);
  }
  if (!report.clean()) return;
  const Bytes actual = peak_of_lifetimes(tree, position);
  report.require(actual == peak, "the peak is {}, not {}", actual, peak);
}

void check_mapping(const Plan& plan, Report& report) {
  const TaskTree& tree = *plan.tree;
  for (std::size_t i = 0; i < tree.size(); ++i) {
    const WorkerRange& range = plan.mapping[i];
    report.require(
        range.first >= 0 && range.count >= 1 && range.count <= plan.workers - range.first,
        "task {} is mapped to {} workers from {} on, there are {}", i, range.count,
        range.first, plan.workers);
    const std::optional<TaskId> parent = tree.parent(task_id(i));
    const Seconds above = parent ? plan.priority[index(*parent)] : 0;
    report.require(plan.priority[i] >= above, "task {} has priority {}, its parent {}", i,
                   plan.priority[i], above);
  }
}

void check_figures(const Plan& plan, Report& report) {
  report.require(plan.least_bytes <= plan.witness_peak,
                 "the least bound is {}, but the witness needs {}", plan.least_bytes,
                 plan.witness_peak);
  report.require(plan.witness_peak <= plan.memory_bound,
                 "the witness needs {}, the bound is {}", plan.witness_peak,
                 plan.memory_bound);
  report.require(plan.peak <= plan.memory_bound, "the run needs {}, the bound is {}",
                 plan.peak, plan.memory_bound);
  const Seconds least = plan.lower_bounds.best();
  report.require(plan.makespan >= least * (1 - 1e-9),
                 "the makespan {} is below its lower bound {}", plan.makespan, least);
}

}  // namespace

Violations validate(const TaskTree& tree, const Traversal& traversal) {
  Report report;
  check_order(tree, traversal.order, traversal.peak, report);
  return report.take();
}

Violations validate(const TaskTree& tree, const Schedule& schedule,
                    std::optional<Bytes> memory_bound) {
  Report report;
  check_times(tree, schedule, report);
  const std::vector<std::size_t> rank = positions(
      tree, schedule.sequence.empty() ? tree.postorder() : std::span(schedule.sequence),
      report);
  if (!report.clean()) return report.take();
  const Lifetimes lives = moments(schedule, rank);
  check_precedence(tree, lives, report);
  if (!report.clean()) return report.take();  // lifetimes may be reversed
  check_workers(schedule, lives, report);
  if (memory_bound) check_memory(tree, lives, *memory_bound, report);
  return report.take();
}

Violations validate(const Plan& plan) {
  Report report;
  report.require(plan.tree != nullptr, "there is no tree");
  report.require(plan.workers >= 1, "{} workers", plan.workers);
  if (!report.clean()) return report.take();
  const std::size_t n = plan.tree->size();
  report.require(plan.mapping.size() == n, "{} tasks are mapped, the tree has {}",
                 plan.mapping.size(), n);
  report.require(plan.priority.size() == n, "{} priorities for {} tasks",
                 plan.priority.size(), n);
  check_order(*plan.tree, plan.witness, plan.witness_peak, report);
  if (!report.clean()) return report.take();
  check_mapping(plan, report);
  check_figures(plan, report);
  Violations violations = report.take();
  const Violations run = validate(*plan.tree, plan.schedule, plan.memory_bound);
  violations.insert(violations.end(), run.begin(), run.end());
  return violations;
}

}  // namespace espalier
