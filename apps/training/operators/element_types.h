#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <memory>

#include "espalier/model/error.h"
#include "training/operators/kernel.h"

namespace espalier::training {

/// Calls with a value of the type that stands for an element type.
/// @throws InvalidInput for a type whose elements are not known
template <class Function>
auto of_type(ElementType type, const Function& function) {
  switch (type) {
    case ElementType::kFloat32:
      return function(float());
    case ElementType::kFloat64:
      return function(double());
    case ElementType::kInt64:
      return function(std::int64_t());
    case ElementType::kInt32:
      return function(std::int32_t());
    case ElementType::kInt8:
      return function(std::int8_t());
    case ElementType::kUint8:
      return function(std::uint8_t());
    default:
      throw InvalidInput(fmt::format("elements of type {} are not known", name(type)));
  }
}

/// The kernel of an operator whose data have another type than `real`, in which all else
/// is computed: data that are moved or chosen, sums and products of whole numbers. null:
/// they are real, or the operator takes any type (kCast, kCopy).
/// @throws InvalidInput for data of several types, or of one that the operator does not
///         compute with, and for masks that are no bytes
[[nodiscard]] std::unique_ptr<Kernel> make_typed_kernel(const OperatorSpec& spec,
                                                        const KernelTensors& tensors,
                                                        ElementType real);

}  // namespace espalier::training
