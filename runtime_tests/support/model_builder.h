#pragma once

// Small forward models, put together in tests.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "espalier/model/operator_graph.h"

namespace espalier::support {

class ModelBuilder {
 public:
  using Attributes = std::map<std::string, AttributeValue, std::less<>>;

  TensorId input(const std::string& name, Shape shape,
                 ElementType type = ElementType::kFloat32) {
    return builder_.add_tensor({.name = name,
                                .type = type,
                                .shape = std::move(shape),
                                .role = TensorRole::kInput});
  }
  TensorId weight(const std::string& name, Shape shape) {
    return builder_.add_tensor({.name = name,
                                .shape = std::move(shape),
                                .role = TensorRole::kConstant,
                                .kept = true,
                                .value = TensorValue::repeated(std::string(4, '\0'))});
  }
  /// What training leaves alone.
  TensorId literal(const std::string& name, Shape shape) {
    return builder_.add_tensor({.name = name,
                                .shape = std::move(shape),
                                .role = TensorRole::kConstant,
                                .kept = true,
                                .trained = Trained::kNever,
                                .value = TensorValue::repeated(std::string(4, '\0'))});
  }
  TensorId integers(const std::string& name, const Shape& values) {
    return builder_.add_tensor({.name = name,
                                .type = ElementType::kInt64,
                                .shape = {static_cast<std::int64_t>(values.size())},
                                .role = TensorRole::kConstant,
                                .kept = true,
                                .value = TensorValue::of(values)});
  }
  /// An operator named after its type and number, and its one result.
  TensorId op(const std::string& type, const std::vector<TensorId>& inputs, Shape shape,
              Attributes attributes = {}, ElementType element = ElementType::kFloat32) {
    const std::string name = type + std::to_string(builder_.graph().size());
    const TensorId y = builder_.add_tensor(
        {.name = name + "/y", .type = element, .shape = std::move(shape)});
    Operator added{.name = name, .type = type, .outputs = {y}};
    added.inputs.assign(inputs.begin(), inputs.end());
    added.attributes = std::move(attributes);
    (void)builder_.add_operator(std::move(added));
    return y;
  }
  OperatorGraph build(TensorId output) { return build(std::vector{output}); }
  OperatorGraph build(const std::vector<TensorId>& outputs) {
    for (const TensorId output : outputs) builder_.keep(output);
    return std::move(builder_).build();
  }

 private:
  OperatorGraphBuilder builder_{9};
};

/// x (b, 8) -> Gemm 8x16 -> Relu -> Gemm 16x4.
inline OperatorGraph perceptron(std::int64_t batch = 2) {
  ModelBuilder model;
  TensorId x = model.input("x", {batch, 8});
  x = model.op("Gemm", {x, model.weight("w0", {8, 16}), model.weight("b0", {16})},
               {batch, 16});
  x = model.op("Relu", {x}, {batch, 16});
  x = model.op("Gemm", {x, model.weight("w1", {16, 4}), model.weight("b1", {4})},
               {batch, 4});
  return model.build(x);
}

}  // namespace espalier::support
