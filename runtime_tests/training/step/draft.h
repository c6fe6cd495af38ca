#pragma once

#include <fmt/format.h>

#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "espalier/model/operator_graph.h"

namespace espalier::training {

using Attributes = std::map<std::string, AttributeValue, std::less<>>;

/// A model under construction, batch first. Names count: p1, t2, …
class Draft {
 public:
  explicit Draft(std::int64_t operator_set = 17) : builder_(operator_set) {}

  TensorId input(Shape shape, std::string name = "image") {
    return builder_.add_tensor(
        {.name = std::move(name), .shape = std::move(shape), .role = TensorRole::kInput});
  }
  TensorId parameter(Shape shape) {
    return builder_.add_tensor({.name = fmt::format("p{}", ++count_),
                                .shape = std::move(shape),
                                .role = TensorRole::kParameter,
                                .kept = true});
  }
  TensorId op(const std::string& type, std::vector<std::optional<TensorId>> inputs,
              Shape shape, Attributes with = {}) {
    return several(type, std::move(inputs), {std::move(shape)}, std::move(with))[0];
  }
  /// With as many results as shapes.
  std::vector<TensorId> several(const std::string& type,
                                std::vector<std::optional<TensorId>> inputs,
                                const std::vector<Shape>& shapes, Attributes with = {}) {
    std::vector<TensorId> to;
    for (const Shape& shape : shapes)
      to.push_back(
          builder_.add_tensor({.name = fmt::format("t{}", ++count_), .shape = shape}));
    builder_.add_operator({.name = fmt::format("{}{}", type, count_),
                           .type = type,
                           .domain = {},
                           .inputs = std::move(inputs),
                           .outputs = {to.begin(), to.end()},
                           .attributes = std::move(with)});
    return to;
  }
  TensorId constant(float value) {
    return constant(ElementType::kFloat32, {}, &value, sizeof value);
  }
  TensorId constant(const std::vector<std::int64_t>& values) {
    return constant(ElementType::kInt64, {std::ssize(values)}, values.data(),
                    values.size() * sizeof(std::int64_t));
  }
  OperatorGraph build(TensorId kept) {
    builder_.keep(kept);
    return std::move(builder_).build();
  }

 private:
  TensorId constant(ElementType type, Shape shape, const void* values,
                    std::size_t bytes) {
    return builder_.add_tensor(
        {.name = fmt::format("c{}", ++count_),
         .type = type,
         .shape = std::move(shape),
         .role = TensorRole::kConstant,
         .kept = true,
         .value = TensorValue::of(std::string(static_cast<const char*>(values), bytes))});
  }

  OperatorGraphBuilder builder_;
  int count_ = 0;
};

}  // namespace espalier::training
