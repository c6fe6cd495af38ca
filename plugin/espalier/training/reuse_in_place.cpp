#include "espalier/training/reuse_in_place.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "espalier/training/gradient_rules.h"

namespace espalier {
namespace {

constexpr std::string_view kGrad = "Grad";

// Inputs that the first output may overwrite: positions from the first to the last.
std::pair<std::size_t, std::size_t> candidates(const Operator& op) {
  if (!op.domain.empty() || !op.captured.empty()) return {0, 0};
  if (op.type == "Accumulate") return {0, op.inputs.size()};
  if (op.type == "SoftmaxCrossEntropyLossGrad") return {4, 5};
  if (op.type.ends_with(kGrad)) {
    const auto rule =
        gradient_rule(std::string_view(op.type).substr(0, op.type.size() - kGrad.size()));
    return {0, rule && rule->grad_in_place ? 1U : 0U};
  }
  const auto rule = gradient_rule(op);
  return {0, rule && rule->in_place ? op.inputs.size() : 0U};
}

class Reuse {
 public:
  explicit Reuse(const OperatorGraph& graph)
      : graph_(graph), tensors_(graph.tensors().begin(), graph.tensors().end()) {
    for (std::size_t t = 0; t < tensors_.size(); ++t) version_.push_back(tensor_id(t));
    last_reader_.resize(tensors_.size());
    frozen_.resize(tensors_.size());
    for (std::size_t t = 0; t < tensors_.size(); ++t) describe(tensor_id(t));
  }

  OperatorGraph reuse() {
    for (std::size_t i = 0; i < graph_.size(); ++i) visit(operator_id(i));
    OperatorGraphBuilder builder(graph_.operator_set());
    for (Tensor& tensor : tensors_) {
      const Bytes bytes = tensor.bytes;
      (void)builder.add_tensor(std::move(tensor), bytes);
    }
    for (const Operator& op : graph_.operators()) (void)builder.add_operator(op);
    return std::move(builder).build();
  }

 private:
  // What a version is before anything is overwritten here.
  void describe(TensorId id) {
    const Tensor& tensor = graph_.tensor(id);
    const std::size_t version = index(graph_.version(id));
    version_[index(id)] = graph_.version(id);
    if (tensor.role != TensorRole::kComputed || tensor.kept ||
        tensor.sharing == Sharing::kOverwrite)
      frozen_[version] = true;
    if (tensor.sharing == Sharing::kOverwrite)
      frozen_[index(graph_.version(tensor.shared_with))] = true;
    if (graph_.readers(id).empty()) return;
    auto& last = last_reader_[version];
    last = std::max(last.value_or(operator_id(0)), graph_.readers(id).back());
  }

  void visit(OperatorId id) {
    const Operator& op = graph_.op(id);
    const auto output = op.output(0);
    if (!output || tensors_[index(*output)].sharing != Sharing::kOwn) return;
    const auto [first, last] = candidates(op);
    for (std::size_t i = first; i < last; ++i) {
      const auto input = op.input(i);
      if (!input || !may_overwrite(id, *output, *input)) continue;
      frozen_[index(version_[index(*input)])] = true;
      tensors_[index(*output)].sharing = Sharing::kOverwrite;
      tensors_[index(*output)].shared_with = *input;
      return;
    }
  }

  bool may_overwrite(OperatorId id, TensorId output, TensorId input) const {
    const Tensor &to = tensors_[index(output)], &from = tensors_[index(input)];
    const TensorId version = version_[index(input)];
    if (to.kept || to.bytes != from.bytes || to.type != from.type) return false;
    if (frozen_[index(version)] || last_reader_[index(version)] != id) return false;
    const auto same = [&](const std::optional<TensorId>& other) {
      return other && version_[index(*other)] == version;
    };
    return std::ranges::count_if(graph_.op(id).inputs, same) == 1;
  }

  const OperatorGraph& graph_;
  std::vector<Tensor> tensors_;
  std::vector<TensorId> version_;                       // by tensor
  std::vector<std::optional<OperatorId>> last_reader_;  // by version
  std::vector<bool> frozen_;                            // by version: stays as it is
};

}  // namespace

OperatorGraph reuse_in_place(const OperatorGraph& graph) { return Reuse(graph).reuse(); }

}  // namespace espalier
