#include "espalier/parallel/admission.h"

#include <utility>

namespace espalier {
namespace {

std::vector<std::int32_t> child_counts(const TaskTree& tree) {
  std::vector<std::int32_t> counts(tree.size());
  for (std::size_t i = 0; i < tree.size(); ++i) {
    counts[i] = static_cast<std::int32_t>(tree.children(task_id(i)).size());
  }
  return counts;
}

}  // namespace

BarrierAdmission::BarrierAdmission(const TaskTree& tree, Serialisation serialisation)
    : tree_(&tree),
      serialisation_(std::move(serialisation)),
      children_left_(child_counts(tree)),
      signals_left_(static_cast<std::size_t>(serialisation_.barriers), 0),
      waiting_(static_cast<std::size_t>(serialisation_.barriers)) {
  serialisation_.waits.resize(tree.size(), -1);
  serialisation_.signals.resize(tree.size(), -1);
  for (const std::int32_t barrier : serialisation_.signals) {
    if (barrier >= 0) ++signals_left_[static_cast<std::size_t>(barrier)];
  }
  for (std::size_t i = 0; i < tree.size(); ++i) {
    const std::int32_t barrier = serialisation_.waits[i];
    if (barrier >= 0) waiting_[static_cast<std::size_t>(barrier)].push_back(task_id(i));
  }
}

void BarrierAdmission::begin(std::vector<TaskId>& startable) {
  for (std::size_t i = 0; i < tree_->size(); ++i) {
    if (children_left_[i] == 0 && serialisation_.waits[i] < 0) {
      startable.push_back(task_id(i));
    }
  }
}

void BarrierAdmission::complete(TaskId task, std::vector<TaskId>& startable) {
  const auto parent = tree_->parent(task);
  if (parent && --children_left_[index(*parent)] == 0) startable.push_back(*parent);
  const std::int32_t barrier = serialisation_.signals[index(task)];
  if (barrier < 0 || --signals_left_[static_cast<std::size_t>(barrier)] > 0) return;
  // Only leaves wait, so that nothing else can be missing.
  const std::vector<TaskId>& released = waiting_[static_cast<std::size_t>(barrier)];
  startable.insert(startable.end(), released.begin(), released.end());
}

ActivationAdmission::ActivationAdmission(const TaskTree& tree,
                                         std::span<const TaskId> order, Bytes bound)
    : tree_(&tree),
      order_(order.begin(), order.end()),
      children_left_(child_counts(tree)),
      activated_(tree.size(), false),
      bound_(bound) {}

void ActivationAdmission::begin(std::vector<TaskId>& startable) {
  for (; next_ < order_.size(); ++next_) {
    const TaskId task = order_[next_];
    const Bytes need = tree_->memory_requirement(task) - tree_->input_size(task);
    if (need > bound_ - booked_) return;
    booked_ += need;
    activated_[index(task)] = true;
    if (children_left_[index(task)] == 0) startable.push_back(task);
  }
}

void ActivationAdmission::complete(TaskId task, std::vector<TaskId>& startable) {
  booked_ -= tree_->execution_size(task) + tree_->input_size(task);
  const auto parent = tree_->parent(task);
  if (parent && --children_left_[index(*parent)] == 0 && activated_[index(*parent)]) {
    startable.push_back(*parent);
  }
  begin(startable);
}

}  // namespace espalier
