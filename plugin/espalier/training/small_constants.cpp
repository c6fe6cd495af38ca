#include "espalier/training/small_constants.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

namespace espalier {
namespace {

using Elements = std::vector<std::int64_t>;
using Result = std::optional<Elements>;

Result gather(const Elements& data, const Elements& indices) {
  const auto size = static_cast<std::int64_t>(data.size());
  Elements result;
  for (std::int64_t i : indices) {
    if (i < 0) i += size;
    if (i < 0 || i >= size) return std::nullopt;
    result.push_back(data[static_cast<std::size_t>(i)]);
  }
  return result;
}

Result slice(const Elements& data, std::int64_t start, std::int64_t end,
             std::int64_t step) {
  if (step != 1) return std::nullopt;
  const auto size = static_cast<std::int64_t>(data.size());
  const auto within = [size](std::int64_t i) {
    return std::clamp<std::int64_t>(i < 0 ? i + size : i, 0, size);
  };
  start = within(start);
  end = std::max(start, within(end));
  return Elements(data.begin() + start, data.begin() + end);
}

// Starts and ends are attributes in old models, inputs in newer ones.
Result slice(const Operator& op, std::span<const SmallConstant> inputs) {
  const auto given = [&](std::size_t input, const char* attribute,
                         std::int64_t otherwise) -> std::int64_t {
    if (inputs.size() > input && inputs[input].elements.size() == 1)
      return inputs[input].elements.front();
    const auto values = op.integers(attribute);
    return values.size() == 1 ? values.front() : otherwise;
  };
  return slice(inputs[0].elements, given(1, "starts", 0),
               given(2, "ends", std::numeric_limits<std::int64_t>::max()),
               given(4, "steps", 1));
}

template <class Apply>
Result pair_up(const Elements& a, const Elements& b, const Apply& apply) {
  if (a.size() != b.size() && a.size() != 1 && b.size() != 1) return std::nullopt;
  Elements result(std::max(a.size(), b.size()));
  for (std::size_t i = 0; i < result.size(); ++i) {
    const auto value = apply(a[a.size() == 1 ? 0 : i], b[b.size() == 1 ? 0 : i]);
    if (!value) return std::nullopt;
    result[i] = *value;
  }
  return result;
}

Result arithmetic(const Operator& op, const Elements& a, const Elements& b) {
  using Integer = std::optional<std::int64_t>;
  return pair_up(a, b, [&op](std::int64_t x, std::int64_t y) -> Integer {
    std::int64_t value = 0;
    if (op.type == "Div")
      return y == 0 || (y == -1 && x == std::numeric_limits<std::int64_t>::min())
                 ? Integer()
                 : Integer(x / y);
    const bool overflow = op.type == "Add"   ? __builtin_add_overflow(x, y, &value)
                          : op.type == "Sub" ? __builtin_sub_overflow(x, y, &value)
                                             : __builtin_mul_overflow(x, y, &value);
    return overflow ? Integer() : Integer(value);
  });
}

template <class T>
TensorValue packed(std::span<const std::int64_t> elements) {
  std::string bytes(elements.size() * sizeof(T), '\0');
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const auto element = static_cast<T>(elements[i]);
    std::memcpy(bytes.data() + i * sizeof(T), &element, sizeof(T));
  }
  return TensorValue::of(std::move(bytes));
}

}  // namespace

std::optional<std::vector<std::int64_t>> evaluate_small(
    const Operator& op, std::span<const SmallConstant> inputs) {
  if (inputs.empty()) return std::nullopt;
  for (const SmallConstant& input : inputs) {
    if (input.shape.size() > 1) return std::nullopt;
  }
  const Elements& first = inputs[0].elements;
  if (op.type == "Cast") return first;
  if (op.type == "Slice") return slice(op, inputs);
  if (op.type == "Concat") {
    Elements all;
    for (const SmallConstant& input : inputs)
      all.insert(all.end(), input.elements.begin(), input.elements.end());
    return all;
  }
  if (inputs.size() != 2) return std::nullopt;
  const Elements& second = inputs[1].elements;
  if (op.type == "Gather") return gather(first, second);
  if (op.type == "Add" || op.type == "Sub" || op.type == "Mul" || op.type == "Div")
    return arithmetic(op, first, second);
  return std::nullopt;
}

std::optional<TensorValue> value_of_integers(std::span<const std::int64_t> elements,
                                             ElementType type) {
  switch (type) {
    case ElementType::kBool:
    case ElementType::kUint8:
      return packed<std::uint8_t>(elements);
    case ElementType::kInt32:
      return packed<std::int32_t>(elements);
    case ElementType::kInt64:
      return packed<std::int64_t>(elements);
    case ElementType::kFloat32:
      return packed<float>(elements);
    case ElementType::kFloat64:
      return packed<double>(elements);
    default:
      return std::nullopt;
  }
}

}  // namespace espalier
