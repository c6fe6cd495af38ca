#include "espalier/report/outline.h"

#include <algorithm>
#include <queue>

#include "espalier/parallel/worker_share.h"
#include "espalier/sequential/tree/best_postorder.h"

namespace espalier::report {
namespace {

constexpr double kNegligible = 1e-3;

/// Adds each task's value to its ancestors'.
template <class T>
std::vector<T> summed_up(const TaskTree& tree, std::vector<T> value) {
  for (const TaskId task : tree.postorder()) {
    const std::optional<TaskId> parent = tree.parent(task);
    if (parent) value[index(*parent)] += value[index(task)];
  }
  return value;
}

double part(double value, double all) { return all > 0 ? value / all : 0; }

class Outliner {
 public:
  Outliner(const Plan& plan, std::span<const Bytes> held, const OutlineOptions& options);
  std::vector<OutlineRow> run();

 private:
  struct Open {
    double weight;
    std::int32_t row;
    bool operator<(const Open& other) const {
      return weight != other.weight ? weight < other.weight : row > other.row;
    }
  };

  void sum_up();
  [[nodiscard]] double weight(TaskId task) const;
  [[nodiscard]] std::vector<TaskId> by_weight(std::span<const TaskId> tasks) const;
  void add_all(std::int32_t parent, std::span<const TaskId> siblings);
  void add(std::int32_t parent, TaskId task);
  void add_rest(std::int32_t parent, std::span<const TaskId> siblings);
  void follow_path(OutlineRow& row) const;
  [[nodiscard]] std::optional<TaskId> only_child_that_counts(TaskId task) const;
  void fill(OutlineRow& row, TaskId task) const;

  const Plan& plan_;
  const TaskTree& tree_;
  OutlineOptions options_;
  bool whole_;
  std::vector<std::int64_t> tasks_;
  std::vector<Flops> work_;
  std::vector<Bytes> held_, peak_;
  std::vector<Seconds> start_, end_;
  Flops all_work_ = 0;
  Bytes all_held_ = 0, largest_peak_ = 0;
  std::priority_queue<Open> open_;
  std::vector<OutlineRow> rows_;
};

Outliner::Outliner(const Plan& plan, std::span<const Bytes> held,
                   const OutlineOptions& options)
    : plan_(plan),
      tree_(*plan.tree),
      options_(options),
      whole_(plan.tree->size() <= options.most_rows),
      tasks_(summed_up(tree_, std::vector<std::int64_t>(tree_.size(), 1))),
      work_(subtree_works(tree_)),
      held_(summed_up(tree_, std::vector<Bytes>(held.begin(), held.end()))),
      peak_(subtree_postorder_peaks(tree_).peak),
      start_(plan.schedule.start),
      end_(plan.schedule.end) {
  for (const TaskId task : tree_.postorder()) {
    const std::size_t i = index(task);
    largest_peak_ = std::max(largest_peak_, peak_[i]);
    if (const std::optional<TaskId> parent = tree_.parent(task)) {
      start_[index(*parent)] = std::min(start_[index(*parent)], start_[i]);
      end_[index(*parent)] = std::max(end_[index(*parent)], end_[i]);
    } else {
      all_work_ += work_[i];
      all_held_ += held_[i];
    }
  }
}

double Outliner::weight(TaskId task) const {
  const std::size_t i = index(task);
  return std::max(
      {part(work_[i], all_work_),
       part(static_cast<double>(held_[i]), static_cast<double>(all_held_)),
       part(static_cast<double>(peak_[i]), static_cast<double>(largest_peak_))});
}

std::vector<TaskId> Outliner::by_weight(std::span<const TaskId> tasks) const {
  std::vector<TaskId> sorted(tasks.begin(), tasks.end());
  std::sort(sorted.begin(), sorted.end(), [this](TaskId a, TaskId b) {
    const double wa = weight(a), wb = weight(b);
    return wa != wb ? wa > wb : a < b;
  });
  return sorted;
}

std::vector<OutlineRow> Outliner::run() {
  add_all(-1, tree_.roots());
  while (!open_.empty() && (whole_ || rows_.size() < options_.most_rows)) {
    const std::int32_t row = open_.top().row;
    open_.pop();
    add_all(row, tree_.children(rows_[static_cast<std::size_t>(row)].last));
  }
  // Lines that found no room: each says how much is below it.
  for (; !open_.empty(); open_.pop()) {
    const std::int32_t row = open_.top().row;
    add_rest(row, tree_.children(rows_[static_cast<std::size_t>(row)].last));
  }
  return std::move(rows_);
}

void Outliner::add_all(std::int32_t parent, std::span<const TaskId> siblings) {
  const std::vector<TaskId> sorted = by_weight(siblings);
  std::size_t shown = sorted.size();
  if (!whole_ && shown > options_.most_children + 1) shown = options_.most_children;
  for (std::size_t k = 0; k < shown; ++k) add(parent, sorted[k]);
  add_rest(parent, std::span(sorted).subspan(shown));
}

void Outliner::add(std::int32_t parent, TaskId task) {
  OutlineRow row;
  row.parent = parent;
  fill(row, task);
  if (!whole_) follow_path(row);
  const auto number = static_cast<std::int32_t>(rows_.size());
  if (!tree_.children(row.last).empty()) open_.push({weight(row.last), number});
  rows_.push_back(row);
}

void Outliner::fill(OutlineRow& row, TaskId task) const {
  const std::size_t i = index(task);
  row.task = row.last = task;
  row.tasks = tasks_[i];
  row.work = work_[i];
  row.peak = peak_[i];
  row.held = held_[i];
  row.start = start_[i];
  row.end = end_[i];
  row.workers = plan_.mapping[i];
}

void Outliner::add_rest(std::int32_t parent, std::span<const TaskId> siblings) {
  if (siblings.empty()) return;
  OutlineRow rest;
  fill(rest, siblings.front());
  rest.parent = parent;
  rest.kind = OutlineRow::Kind::kRest;
  for (const TaskId task : siblings.subspan(1)) {
    OutlineRow one;
    fill(one, task);
    if (one.peak > rest.peak) rest.task = rest.last = task;
    ++rest.subtrees;
    rest.tasks += one.tasks;
    rest.work += one.work;
    rest.held += one.held;
    rest.peak = std::max(rest.peak, one.peak);
    rest.start = std::min(rest.start, one.start);
    rest.end = std::max(rest.end, one.end);
    const std::int32_t end = std::max(rest.workers.first + rest.workers.count,
                                      one.workers.first + one.workers.count);
    rest.workers.first = std::min(rest.workers.first, one.workers.first);
    rest.workers.count = end - rest.workers.first;
  }
  rows_.push_back(rest);
}

void Outliner::follow_path(OutlineRow& row) const {
  TaskId last = row.task;
  std::int64_t length = 1;
  while (const std::optional<TaskId> next = only_child_that_counts(last)) {
    last = *next;
    ++length;
  }
  if (length < 3) return;
  row.kind = OutlineRow::Kind::kPath;
  row.last = last;
  row.path_length = length;
}

std::optional<TaskId> Outliner::only_child_that_counts(TaskId task) const {
  const std::span<const TaskId> children = tree_.children(task);
  if (children.empty()) return std::nullopt;
  const TaskId first =
      *std::max_element(children.begin(), children.end(),
                        [this](TaskId a, TaskId b) { return weight(a) < weight(b); });
  Flops work = -work_[index(first)];
  Bytes held = -held_[index(first)], peak = 0;
  for (const TaskId child : children) {
    work += work_[index(child)];
    held += held_[index(child)];
    if (child != first) peak = std::max(peak, peak_[index(child)]);
  }
  const bool others_count =
      work > kNegligible * all_work_ ||
      static_cast<double>(held) > kNegligible * static_cast<double>(all_held_) ||
      peak > peak_[index(task)] / 2;
  return others_count ? std::nullopt : std::optional(first);
}

}  // namespace

std::vector<OutlineRow> outline(const Plan& plan, std::span<const Bytes> held,
                                const OutlineOptions& options) {
  return Outliner(plan, held, options).run();
}

std::optional<MainHolder> main_holder(const TaskTree& tree, std::span<const Bytes> held) {
  constexpr std::size_t kBelow = 3;
  const std::vector<Bytes> below =
      summed_up(tree, std::vector<Bytes>(held.begin(), held.end()));
  Bytes all = 0;
  for (const TaskId root : tree.roots()) all += below[index(root)];
  const auto most = [&](TaskId task) { return below[index(task)] > all / 2; };
  std::optional<TaskId> holder;
  std::span<const TaskId> among = tree.roots();
  for (auto next = std::find_if(among.begin(), among.end(), most); next != among.end();
       next = std::find_if(among.begin(), among.end(), most)) {
    holder = *next;
    among = tree.children(*next);
  }
  if (!holder) return std::nullopt;
  MainHolder result{{*holder, below[index(*holder)]}, {}};
  for (const TaskId child : among) {
    if (below[index(child)] > 0) result.below.push_back({child, below[index(child)]});
  }
  std::stable_sort(result.below.begin(), result.below.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  if (result.below.size() > kBelow) result.below.resize(kBelow);
  return result;
}

}  // namespace espalier::report
