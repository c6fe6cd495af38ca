#include "espalier/training/operator_work.h"

#include <algorithm>
#include <string_view>

namespace espalier {
namespace {

Flops elements(const OperatorGraph& graph, TensorId tensor) {
  return static_cast<Flops>(element_count(graph.tensor(tensor).shape));
}

bool is_product(std::string_view type) {
  return type == "Conv" || type == "ConvTranspose" || type == "Gemm" || type == "MatMul";
}

// Multiplications for each element of the result.
Flops depth(const Operator& op, const Shape& left, const Shape& right) {
  if (op.type.starts_with("Conv")) {
    Flops all = 1;
    for (std::size_t axis = 1; axis < right.size(); ++axis)
      all *= static_cast<Flops>(right[axis]);
    return all;  // by group: the weight's second extent is divided already
  }
  if (left.empty()) return 1;
  const bool transposed = op.integer("transA", 0) != 0;
  return static_cast<Flops>(transposed ? left.front() : left.back());
}

Flops product_work(const OperatorGraph& graph, const Operator& op) {
  const auto left = op.input(0), right = op.input(1), result = op.output(0);
  if (!left || !right || !result) return 0;
  const Shape &a = graph.tensor(*left).shape, &b = graph.tensor(*right).shape;
  const Flops size = elements(graph, op.type == "ConvTranspose" ? *left : *result);
  return 2 * size * depth(op, a, b);
}

Flops moved_elements(const OperatorGraph& graph, const Operator& op) {
  Flops sum = 0;
  for (const auto* list : {&op.inputs, &op.outputs}) {
    for (const auto& tensor : *list) {
      if (tensor) sum += elements(graph, *tensor);
    }
  }
  return sum;
}

// The forward operator's work, from what its gradient reads and gives: the result is as
// large as its gradient.
Flops product_grad_work(const OperatorGraph& graph, const Operator& op) {
  const auto gradient = op.input(0);
  const auto pick = [&op](std::size_t in, std::size_t out) {
    return op.input(in) ? op.input(in) : op.output(out);
  };
  const auto left = pick(1, 0), right = pick(2, 1);
  if (!gradient || !left || !right) return moved_elements(graph, op);
  Operator forward{.type = op.type.substr(0, op.type.size() - 4)};
  forward.inputs = {left, right};
  forward.outputs = {gradient};
  forward.attributes = op.attributes;
  const Flops once = product_work(graph, forward);
  return (op.output(0) ? once : 0) + (op.output(1) ? once : 0);
}

}  // namespace

Flops operator_work(const OperatorGraph& graph, OperatorId id) {
  const Operator& op = graph.op(id);
  const auto result = op.output(0);
  if (result && graph.tensor(*result).sharing == Sharing::kView) return 0;
  if (is_product(op.type)) return product_work(graph, op);
  const std::string_view type = op.type;
  if (type.ends_with("Grad") && is_product(type.substr(0, type.size() - 4)))
    return product_grad_work(graph, op);
  return moved_elements(graph, op);
}

}  // namespace espalier
