#pragma once

// Runs an operator graph on symbols instead of numbers, in an arena: what a tensor holds
// is a hash of the operator that wrote it and of what that one read. Whoever finds
// anything but its tensor at the tensor's bytes has been planned wrongly.

#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/model/operator_graph.h"
#include "espalier/model/operator_tasks.h"
#include "espalier/training/arrange.h"

namespace espalier::support {

class SymbolicRun {
 public:
  /// `plan` is one of task_graph_of(graph).
  SymbolicRun(const OperatorGraph& graph, const Arrangement& plan)
      : graph_(graph), plan_(plan), tasks_(task_graph_of(graph)) {
    for (std::size_t t = 0; t < graph.tensors().size(); ++t) {
      const Tensor& tensor = graph.tensor(tensor_id(t));
      if (!graph.producer(tensor_id(t)))
        write(tensor_id(t), std::hash<std::string>()(tensor.name));
    }
    for (const TaskId task : plan.order.order) run(graph.op(operator_id(index(task))));
  }

  /// What parameters and states hold in the end, by name.
  [[nodiscard]] std::map<std::string, std::size_t> results() const {
    std::map<std::string, std::size_t> held;
    for (std::size_t t = 0; t < graph_.tensors().size(); ++t) {
      const Tensor& tensor = graph_.tensor(tensor_id(t));
      if (tensor.role == TensorRole::kParameter || tensor.role == TensorRole::kState)
        held[tensor.name] = read(tensor_id(t));
    }
    return held;
  }

 private:
  struct Block {
    Bytes end;
    std::size_t symbol;
  };

  void run(const Operator& op) {
    std::string name = op.name;
    constexpr std::string_view kAgain = "/again";
    while (name.ends_with(kAgain)) name.resize(name.size() - kAgain.size());
    std::size_t symbol = std::hash<std::string>()(name);
    for (const auto& input : op.inputs)
      symbol = symbol * 1'000'003 + (input ? read(*input) : 17);
    std::size_t number = 0;
    for (const auto& output : op.outputs) {
      ++number;
      if (output && graph_.tensor(*output).sharing != Sharing::kView)
        write(*output, (symbol ^ number) * 0x9E3779B97F4A7C15U);
    }
  }

  [[nodiscard]] std::optional<Bytes> offset(TensorId tensor) const {
    const auto buffer = plan_.lifetimes.of_datum[index(tasks_.datum_of[index(tensor)])];
    if (!buffer) return std::nullopt;
    return plan_.layout.offsets[index(*buffer)];
  }

  void write(TensorId tensor, std::size_t symbol) {
    const auto from = offset(tensor);
    if (!from) return;
    const Bytes to = *from + graph_.tensor(tensor).bytes;
    auto block = memory_.lower_bound(*from);
    if (block != memory_.begin() && std::prev(block)->second.end > *from) --block;
    while (block != memory_.end() && block->first < to) block = memory_.erase(block);
    memory_[*from] = {to, symbol};
  }

  [[nodiscard]] std::size_t read(TensorId tensor) const {
    const auto from = offset(tensor);
    if (!from) return 1;
    const auto block = memory_.find(*from);
    if (block == memory_.end() ||
        block->second.end != *from + graph_.tensor(tensor).bytes)
      throw std::logic_error("overwritten: " + graph_.tensor(tensor).name);
    return block->second.symbol;
  }

  const OperatorGraph& graph_;
  const Arrangement& plan_;
  OperatorTasks tasks_;
  std::map<Bytes, Block> memory_;  // by first byte
};

}  // namespace espalier::support
