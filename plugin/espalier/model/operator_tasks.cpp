#include "espalier/model/operator_tasks.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "espalier/model/error.h"
#include "espalier/model/graph_builder.h"

namespace espalier {
namespace {

class Converter {
 public:
  Converter(const OperatorGraph& graph, Bytes alignment)
      : graph_(graph),
        alignment_(alignment),
        token_(graph.size()),
        versions_(graph.tensors().size()) {}

  OperatorTasks convert() {
    add_data();
    for (const Operator& op : graph_.operators())
      (void)builder_.add_task(op.name, aligned(op.workspace));
    for (std::size_t i = 0; i < graph_.size(); ++i) connect(operator_id(i));
    for (std::size_t t = 0; t < graph_.tensors().size(); ++t)
      wait_for_readers(tensor_id(t));
    return {std::move(builder_).build(), std::move(datum_of_)};
  }

 private:
  [[nodiscard]] Bytes aligned(Bytes bytes) const {
    return checked_add(bytes, alignment_ - 1) / alignment_ * alignment_;
  }

  void add_data() {
    for (std::size_t t = 0; t < graph_.tensors().size(); ++t) {
      const Tensor& tensor = graph_.tensor(tensor_id(t));
      versions_[index(graph_.version(tensor_id(t)))].push_back(tensor_id(t));
      datum_of_.push_back({});
      if (tensor.sharing == Sharing::kOwn)
        datum_of_.back() = builder_.add_datum(tensor.name, aligned(tensor.bytes));
    }
    for (std::size_t t = 0; t < graph_.tensors().size(); ++t) {
      datum_of_[t] = datum_of_[index(graph_.storage(tensor_id(t)))];
      if (graph_.tensor(tensor_id(t)).kept) builder_.keep(datum_of_[t]);
    }
  }

  void connect(OperatorId id) {
    const Operator& op = graph_.op(id);
    for (const auto& input : op.inputs) {
      if (input) read(id, *input);
    }
    for (const TensorId input : op.captured) read(id, input);
    for (const OperatorId before : op.after) wait(id, before);
    for (const auto& output : op.outputs) {
      if (output && graph_.tensor(*output).sharing == Sharing::kOwn)
        builder_.writes(task(id), datum_of_[index(*output)]);
    }
  }

  void read(OperatorId id, TensorId input) {
    const Tensor& tensor = graph_.tensor(input);
    if (tensor.role == TensorRole::kComputed && !graph_.producer(input))
      throw InvalidInput(fmt::format("{} reads tensor '{}', which nothing writes",
                                     label(graph_.op(id)), tensor.name));
    builder_.reads(task(id), datum_of_[index(input)]);
    if (tensor.sharing != Sharing::kOwn) wait(id, *graph_.producer(input));
  }

  // Whoever overwrites comes after all that read what it overwrites.
  void wait_for_readers(TensorId written) {
    const Tensor& tensor = graph_.tensor(written);
    if (tensor.sharing != Sharing::kOverwrite) return;
    const OperatorId writer = *graph_.producer(written);
    for (const TensorId each : versions_[index(graph_.version(tensor.shared_with))]) {
      for (const OperatorId reader : graph_.readers(each)) wait(writer, reader);
    }
  }

  void wait(OperatorId id, OperatorId before) {
    if (id == before) return;
    std::optional<DatumId>& token = token_[index(before)];
    if (!token) {
      token = builder_.add_datum("", 0);
      builder_.writes(task(before), *token);
    }
    builder_.reads(task(id), *token);
  }

  static TaskId task(OperatorId id) { return task_id(index(id)); }

  const OperatorGraph& graph_;
  Bytes alignment_;
  TaskGraphBuilder builder_;
  std::vector<std::optional<DatumId>> token_;    // by operator
  std::vector<std::vector<TensorId>> versions_;  // by the first tensor of each
  std::vector<DatumId> datum_of_;
};

}  // namespace

OperatorTasks task_graph_of(const OperatorGraph& graph, Bytes alignment) {
  return Converter(graph, alignment).convert();
}

}  // namespace espalier
