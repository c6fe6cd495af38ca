#include "training/step/placement.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "espalier/model/error.h"
#include "espalier/model/operator_tasks.h"

namespace espalier::training {

StepPlan step_plan(const OperatorGraph& graph, const Arrangement& arrangement) {
  const OperatorTasks tasks = task_graph_of(graph);
  const Lifetimes& lifetimes = arrangement.lifetimes;
  const auto offset = [&](const std::optional<BufferId>& buffer) {
    return buffer ? arrangement.layout.offsets[index(*buffer)] : 0;
  };
  StepPlan plan{.order = {},
                .tensors = {},
                .workspaces = {},
                .bytes = arrangement.layout.capacity_bytes};
  for (const TaskId task : arrangement.order.order)
    plan.order.push_back(operator_id(index(task)));
  for (std::size_t i = 0; i < graph.tensors().size(); ++i)
    plan.tensors.push_back(offset(lifetimes.of_datum[index(tasks.datum_of[i])]));
  for (std::size_t i = 0; i < graph.size(); ++i)
    plan.workspaces.push_back(offset(lifetimes.of_workspace[i]));
  return plan;
}

Placement::Placement(const OperatorGraph& graph, const StepPlan& plan)
    : arena_(std::make_unique<Arena>(plan.bytes)), bytes_(plan.bytes) {
  for (std::size_t i = 0; i < graph.tensors().size(); ++i)
    tensors_.push_back(arena_->data() + plan.tensors[i]);
  for (std::size_t i = 0; i < graph.size(); ++i)
    workspaces_.push_back(arena_->data() + plan.workspaces[i]);
}

Placement::Placement(const OperatorGraph& graph) {
  tensors_.resize(graph.tensors().size());
  for (std::size_t i = 0; i < tensors_.size(); ++i)
    if (graph.storage(tensor_id(i)) == tensor_id(i))
      tensors_[i] = take(graph.tensors()[i].bytes);
  for (std::size_t i = 0; i < tensors_.size(); ++i)
    tensors_[i] = tensors_[index(graph.storage(tensor_id(i)))];
  for (const Operator& op : graph.operators()) workspaces_.push_back(take(op.workspace));
}

Placement::~Placement() {
  for (void* const block : blocks_) std::free(block);
}

std::byte* Placement::take(Bytes bytes) {
  const Bytes all = std::max(kTensorAlignment, checked_add(bytes, kTensorAlignment - 1) /
                                                   kTensorAlignment * kTensorAlignment);
  blocks_.push_back(nullptr);
  void* const block = std::aligned_alloc(kTensorAlignment, static_cast<std::size_t>(all));
  if (block == nullptr) throw std::bad_alloc();
  blocks_.back() = block;
  std::memset(block, 0, static_cast<std::size_t>(all));
  bytes_ = checked_add(bytes_, all);
  return static_cast<std::byte*>(block);
}

}  // namespace espalier::training
