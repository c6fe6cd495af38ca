#include "espalier/model/graph_builder.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <limits>
#include <queue>

#include "espalier/model/error.h"
#include "espalier/model/free_memory.h"
#include "espalier/model/work_sum.h"

namespace espalier {
namespace {

constexpr std::size_t kMostItems = std::numeric_limits<std::int32_t>::max();

// Operators whose inputs are all there, and how many inputs the others wait for.
std::vector<std::int32_t> inputs_to_come(const TaskGraph& graph) {
  std::vector<std::int32_t> count(graph.size(), 0);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    for (const DatumId datum : graph.inputs(task_id(i))) {
      if (graph.producer(datum)) ++count[i];
    }
  }
  return count;
}

bool ids_are_topological(const TaskGraph& graph) {
  for (std::size_t i = 0; i < graph.size(); ++i) {
    for (const DatumId datum : graph.inputs(task_id(i))) {
      const auto producer = graph.producer(datum);
      if (producer && index(*producer) >= i) return false;
    }
  }
  return true;
}

std::vector<TaskId> ids_in_order(std::size_t tasks) {
  std::vector<TaskId> order(tasks);
  for (std::size_t i = 0; i < tasks; ++i) order[i] = task_id(i);
  return order;
}

// A task that waits for itself, given one that waits for ever: back from producer to
// producer among those that wait until one comes again.
TaskId task_on_cycle(const TaskGraph& graph, std::span<const std::int32_t> waiting,
                     TaskId task) {
  std::vector<bool> seen(graph.size(), false);
  while (!seen[index(task)]) {
    seen[index(task)] = true;
    for (const DatumId datum : graph.inputs(task)) {
      const auto producer = graph.producer(datum);
      if (producer && waiting[index(*producer)] > 0) {
        task = *producer;
        break;
      }
    }
  }
  return task;
}

std::vector<TaskId> least_topological_order(const TaskGraph& graph) {
  std::vector<std::int32_t> waiting = inputs_to_come(graph);
  std::priority_queue<TaskId, std::vector<TaskId>, std::greater<>> ready;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (waiting[i] == 0) ready.push(task_id(i));
  }
  std::vector<TaskId> order;
  order.reserve(graph.size());
  while (!ready.empty()) {
    order.push_back(ready.top());
    ready.pop();
    for (const DatumId datum : graph.outputs(order.back())) {
      for (const TaskId reader : graph.consumers(datum)) {
        if (--waiting[index(reader)] == 0) ready.push(reader);
      }
    }
  }
  if (order.size() == graph.size()) return order;
  std::size_t left = 0;
  while (waiting[left] == 0) ++left;
  const TaskId task = task_on_cycle(graph, waiting, task_id(left));
  throw CycleError(fmt::format("{} waits for its own output: the graph has a cycle",
                               label(graph, task)),
                   task);
}

std::string quoted(const char* what, std::string_view name, std::size_t number) {
  return name.empty() ? fmt::format("{} {}", what, number)
                      : fmt::format("{} '{}'", what, name);
}

void check_size(const char* what, std::string_view name, std::size_t number,
                const char* quantity, Bytes size) {
  if (number >= kMostItems) {
    throw InvalidInput(fmt::format("more than 2^31 - 1 items: {}", name));
  }
  if (size < 0) {
    throw InvalidInput(
        fmt::format("{}: {} {} is negative", quoted(what, name, number), quantity, size));
  }
}

// The sum of all sizes with this one, once the name has been taken.
Bytes sum_with(Bytes total, Bytes size, NameTable& names, const char* what,
               std::string_view name) {
  const Bytes sum = checked_add(total, size);
  if (!names.add(name)) {
    throw InvalidInput(fmt::format("two {} have the name '{}'", what, name));
  }
  return sum;
}

}  // namespace

DatumId TaskGraphBuilder::add_datum(std::string_view name, Bytes size) {
  const std::size_t number = graph_.data();
  check_size("datum", name, number, "size", size);
  total_ = sum_with(total_, size, graph_.datum_names_, "data", name);
  graph_.size_.push_back(size);
  graph_.kept_.push_back(false);
  graph_.producer_.push_back(-1);
  return datum_id(number);
}

TaskId TaskGraphBuilder::add_task(std::string_view name, Bytes workspace, Flops work) {
  const std::size_t number = graph_.size();
  check_size("operator", name, number, "workspace", workspace);
  if (!std::isfinite(work) || work < 0) {
    throw InvalidInput(fmt::format("{}: work {} is negative or not finite",
                                   quoted("operator", name, number), work));
  }
  const Flops total_work = add_work(total_work_, work);
  total_ = sum_with(total_, workspace, graph_.task_names_, "operators", name);
  total_work_ = total_work;
  graph_.workspace_.push_back(workspace);
  graph_.work_.push_back(work);
  return task_id(number);
}

void TaskGraphBuilder::check(TaskId task) const {
  if (index(task) >= graph_.size()) {
    throw InvalidInput(fmt::format("operator {} is not one of the {}",
                                   static_cast<std::int32_t>(task), graph_.size()));
  }
}

void TaskGraphBuilder::check(DatumId datum) const {
  if (index(datum) >= graph_.data()) {
    throw InvalidInput(fmt::format("datum {} is not one of the {}",
                                   static_cast<std::int32_t>(datum), graph_.data()));
  }
}

void TaskGraphBuilder::reads(TaskId task, DatumId datum) {
  check(task);
  check(datum);
  reads_.emplace_back(task, datum);
}

void TaskGraphBuilder::writes(TaskId task, DatumId datum) {
  check(task);
  check(datum);
  if (const auto producer = graph_.producer(datum)) {
    throw InvalidInput(fmt::format("{} is written by {} and by {}", label(graph_, datum),
                                   label(graph_, *producer), label(graph_, task)));
  }
  graph_.producer_[index(datum)] = static_cast<std::int32_t>(task);
}

void TaskGraphBuilder::keep(DatumId datum) {
  check(datum);
  graph_.kept_[index(datum)] = true;
}

std::optional<DatumId> TaskGraphBuilder::find_datum(std::string_view name) const {
  const auto number = graph_.datum_names_.find(name);
  return number ? std::optional(datum_id(*number)) : std::nullopt;
}

std::optional<TaskId> TaskGraphBuilder::find_task(std::string_view name) const {
  const auto number = graph_.task_names_.find(name);
  return number ? std::optional(task_id(*number)) : std::nullopt;
}

// Sorted by task, each datum once.
void TaskGraphBuilder::list_inputs() {
  const std::size_t n = graph_.size();
  std::vector<std::size_t> first(n + 1, 0);
  for (const auto& [task, datum] : reads_) ++first[index(task) + 1];
  for (std::size_t i = 0; i < n; ++i) first[i + 1] += first[i];
  std::vector<DatumId> sorted(reads_.size());
  std::vector<std::size_t> end(first.begin(), first.end() - 1);
  for (const auto& [task, datum] : reads_) sorted[end[index(task)]++] = datum;
  free_memory(reads_);
  std::vector<std::size_t> last_reader(graph_.data(), 0);  // 1 + its number
  graph_.first_input_.assign(1, 0);
  graph_.first_input_.reserve(n + 1);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = first[i]; k < first[i + 1]; ++k) {
      std::size_t& reader = last_reader[index(sorted[k])];
      if (reader != i + 1) graph_.inputs_.push_back(sorted[k]);
      reader = i + 1;
    }
    graph_.first_input_.push_back(graph_.inputs_.size());
  }
}

void TaskGraphBuilder::list_outputs() {
  std::vector<std::size_t>& first = graph_.first_output_;
  first.assign(graph_.size() + 1, 0);
  for (const std::int32_t task : graph_.producer_) {
    if (task >= 0) ++first[static_cast<std::size_t>(task) + 1];
  }
  for (std::size_t i = 0; i < graph_.size(); ++i) first[i + 1] += first[i];
  graph_.outputs_.resize(first.back());
  std::vector<std::size_t> end(first.begin(), first.end() - 1);
  for (std::size_t d = 0; d < graph_.data(); ++d) {
    const auto task = graph_.producer(datum_id(d));
    if (task) graph_.outputs_[end[index(*task)]++] = datum_id(d);
  }
}

void TaskGraphBuilder::list_consumers() {
  std::vector<std::size_t>& first = graph_.first_consumer_;
  first.assign(graph_.data() + 1, 0);
  for (const DatumId datum : graph_.inputs_) ++first[index(datum) + 1];
  for (std::size_t d = 0; d < graph_.data(); ++d) first[d + 1] += first[d];
  graph_.consumers_.resize(first.back());
  std::vector<std::size_t> end(first.begin(), first.end() - 1);
  for (std::size_t i = 0; i < graph_.size(); ++i) {
    for (const DatumId datum : graph_.inputs(task_id(i))) {
      graph_.consumers_[end[index(datum)]++] = task_id(i);
    }
  }
}

void TaskGraphBuilder::sum_sizes() {
  for (std::size_t d = 0; d < graph_.data(); ++d) {
    const DatumId datum = datum_id(d);
    if (!graph_.producer(datum)) graph_.initial_bytes_ += graph_.size(datum);
    if (graph_.stays(datum)) graph_.final_bytes_ += graph_.size(datum);
  }
}

TaskGraph TaskGraphBuilder::build() && {
  list_inputs();
  list_outputs();
  list_consumers();
  sum_sizes();
  graph_.order_ = ids_are_topological(graph_) ? ids_in_order(graph_.size())
                                              : least_topological_order(graph_);
  graph_.task_names_.freeze();
  graph_.datum_names_.freeze();
  return std::move(graph_);
}

}  // namespace espalier
