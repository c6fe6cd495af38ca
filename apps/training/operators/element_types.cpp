#include "training/operators/element_types.h"

#include <algorithm>

#include "training/operators/plain_kernels.h"

namespace espalier::training {
namespace {

using Kind = OperatorKind;

// Masks, choices, indices and labels: a tensor of an operator that is no data.
struct Beside {
  bool output = false;
  std::size_t place = 0;
  bool is_mask = false;  // of bytes; the types of others are checked where they are read
};

std::optional<Beside> beside_data(Kind kind) {
  switch (kind) {
    case Kind::kWhere:
    case Kind::kChosen:
    case Kind::kDropoutBackward:
      return Beside{.is_mask = true};
    case Kind::kExtreme:
      return Beside{.output = true, .place = 1, .is_mask = true};
    case Kind::kDropout:  // an old model's mask has the type of its data
    case Kind::kMaxPool:
      return Beside{.output = true, .place = 1};
    case Kind::kMaxPoolBackward:
    case Kind::kGatherBackward:
      return Beside{};
    case Kind::kGather:
    case Kind::kCrossEntropy:
    case Kind::kCrossEntropyBackward:
      return Beside{.place = 1};
    default:
      return std::nullopt;
  }
}

// @throws InvalidInput where the data have several types, or a mask is none of bytes
ElementType data_type(Kind kind, const KernelTensors& tensors) {
  const auto beside = beside_data(kind);
  std::optional<ElementType> type;
  for (const bool output : {false, true}) {
    const auto& list = output ? tensors.outputs : tensors.inputs;
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (!list[i]) continue;
      const ElementType found = list[i]->type;
      const std::string_view side = output ? "output" : "input";
      if (beside && beside->output == output && beside->place == i) {
        if (beside->is_mask && found != ElementType::kUint8)
          throw InvalidInput(
              fmt::format("{} {} is a mask of type {}", side, i + 1, name(found)));
      } else if (type.value_or(found) != found) {
        throw InvalidInput(fmt::format("{} {} is of type {}, others are of type {}", side,
                                       i + 1, name(found), name(*type)));
      } else {
        type = found;
      }
    }
  }
  return type.value_or(ElementType::kFloat32);
}

bool all_plain(const KernelTensors& tensors) {
  const auto plain = [](const auto& shape) {
    return !shape || shape->format == TensorFormat::kPlain;
  };
  return std::ranges::all_of(tensors.inputs, plain) &&
         std::ranges::all_of(tensors.outputs, plain);
}

// Whether the elements of the result are elements of the data.
bool moves(const OperatorSpec& spec) {
  switch (spec.kind) {
    case Kind::kExpand:
      return spec.alpha == 1;
    case Kind::kTranspose:
    case Kind::kConcat:
    case Kind::kSplit:
    case Kind::kSlice:
    case Kind::kPad:
    case Kind::kGather:
    case Kind::kWhere:
    case Kind::kExtreme:
      return true;
    default:
      return false;
  }
}

template <class T>
std::unique_ptr<Kernel> make_moving(const OperatorSpec& spec,
                                    const KernelTensors& tensors) {
  if (auto kernel = make_plain_pieces<T>(spec, tensors)) return kernel;
  if (auto kernel = make_plain_select<T>(spec, tensors)) return kernel;
  return make_plain_movement<T>(spec, tensors);
}

}  // namespace

std::unique_ptr<Kernel> make_typed_kernel(const OperatorSpec& spec,
                                          const KernelTensors& tensors,
                                          ElementType real) {
  if (spec.kind == Kind::kCast) return nullptr;
  const ElementType type = data_type(spec.kind, tensors);
  if (type == real || spec.kind == Kind::kCopy) return nullptr;
  if (all_plain(tensors)) {
    if (moves(spec))
      return of_type(type, [&](auto element) {
        return make_moving<decltype(element)>(spec, tensors);
      });
    const bool adds = spec.kind == Kind::kBinary && spec.binary < BinaryFunction::kDivide;
    if (adds && type == ElementType::kInt64)
      return make_whole_binary<std::int64_t>(spec, tensors);
    if (adds && type == ElementType::kInt32)
      return make_whole_binary<std::int32_t>(spec, tensors);
  } else if (type == ElementType::kUint8 &&
             (spec.kind == Kind::kConcat || spec.kind == Kind::kSplit)) {
    return nullptr;  // oneDNN moves bytes in all formats
  }
  throw InvalidInput(fmt::format("it computes with elements of type {}, not of type {}",
                                 name(real), name(type)));
}

}  // namespace espalier::training
