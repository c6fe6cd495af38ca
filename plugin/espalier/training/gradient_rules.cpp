#include "espalier/training/gradient_rules.h"

#include <array>
#include <utility>

namespace espalier {
namespace {

using Entry = std::pair<std::string_view, GradientRule>;
constexpr PositionMask kAll = ~PositionMask{0}, kFirst = 1, kFirstTwo = 3,
                       kFirstThree = 7;
constexpr PositionMask kKept = kAll ^ 1;  // all outputs but the first

constexpr GradientRule kProduct{.gives = kAll, .reads_others = true, .can_split = true};
constexpr GradientRule kFromOutput{.reads_outputs = 1, .grad_in_place = true};
constexpr GradientRule kFromOutputInPlace{
    .reads_outputs = 1, .grad_in_place = true, .in_place = true};
constexpr GradientRule kFromInputs{.reads_inputs = kAll, .grad_in_place = true};
constexpr GradientRule kFromShape{};
constexpr GradientRule kFromOthers{.reads_inputs = kAll ^ kFirst};
constexpr GradientRule kView{.view = true};
constexpr GradientRule kRowNormalization{.gives = kFirstThree,
                                         .reads_inputs = kFirstTwo,
                                         .reads_outputs = kKept,
                                         .keeps = Kept::kRowMoments};

constexpr std::array kRules = {
    Entry{"Conv", kProduct},
    Entry{"ConvTranspose", kProduct},
    Entry{"Gemm", kProduct},
    Entry{"MatMul", kProduct},
    Entry{"Mul", {.gives = kAll, .reads_others = true}},
    Entry{"Div", {.gives = kAll, .reads_inputs = kAll}},
    Entry{"Relu", kFromOutputInPlace},
    Entry{"LeakyRelu", kFromOutputInPlace},
    Entry{"Elu", kFromOutputInPlace},
    Entry{"Selu", kFromOutputInPlace},
    Entry{"Sigmoid", kFromOutputInPlace},
    Entry{"Tanh", kFromOutputInPlace},
    Entry{"Exp", kFromOutputInPlace},
    Entry{"Sqrt", kFromOutputInPlace},
    Entry{"Reciprocal", kFromOutputInPlace},
    Entry{"Softmax", kFromOutput},
    Entry{"LogSoftmax", kFromOutput},
    Entry{"CausalSoftmax", kFromOutput},
    Entry{"Gelu", kFromInputs},
    Entry{"Silu", kFromInputs},
    Entry{"HardSwish", kFromInputs},
    Entry{"HardSigmoid", kFromInputs},
    Entry{"Softplus", kFromInputs},
    Entry{"Erf", kFromInputs},
    Entry{"Log", kFromInputs},
    Entry{"Pow", kFromInputs},
    Entry{"Abs", kFromInputs},
    Entry{"Clip", kFromInputs},
    Entry{"Add", {.gives = kAll, .passes = kAll, .in_place = true}},
    Entry{"Sum", {.gives = kAll, .passes = kAll, .in_place = true}},
    Entry{"Sub", {.gives = kAll, .passes = kFirst, .in_place = true}},
    Entry{"Identity", {.passes = kFirst}},
    Entry{"Neg", {.grad_in_place = true, .in_place = true}},
    Entry{"Cast", kFromShape},
    Entry{"Max", {.gives = kAll, .reads_outputs = kKept, .keeps = Kept::kMask}},
    Entry{"Min", {.gives = kAll, .reads_outputs = kKept, .keeps = Kept::kMask}},
    Entry{"Where", {.gives = kAll ^ kFirst, .reads_inputs = kFirst}},
    Entry{"Dropout",
          {.reads_inputs = kAll ^ kFirst,
           .reads_outputs = kKept,
           .grad_in_place = true,
           .in_place = true,
           .keeps = Kept::kMask}},
    Entry{"BatchNormalization",
          {.gives = kFirstThree,
           .reads_inputs = kFirstTwo,
           .reads_outputs = kKept,
           .keeps = Kept::kChannelMoments}},
    Entry{"LayerNormalization", kRowNormalization},
    Entry{"InstanceNormalization", kRowNormalization},
    Entry{"GroupNormalization", kRowNormalization},
    Entry{"LRN", {.reads_inputs = kFirst, .reads_outputs = kAll, .keeps = Kept::kScale}},
    Entry{"MaxPool", {.reads_outputs = kKept, .keeps = Kept::kIndices}},
    Entry{"GlobalMaxPool", {.reads_inputs = kFirst, .reads_outputs = kFirst}},
    Entry{"AveragePool", kFromShape},
    Entry{"GlobalAveragePool", kFromShape},
    Entry{"ReduceMean", kFromOthers},
    Entry{"ReduceSum", kFromOthers},
    Entry{"Reshape", kView},
    Entry{"Flatten", kView},
    Entry{"Squeeze", kView},
    Entry{"Unsqueeze", kView},
    Entry{"Transpose", kFromShape},
    Entry{"Slice", kFromOthers},
    Entry{"Pad", kFromOthers},
    Entry{"Expand", kFromOthers},
    Entry{"Concat", {.gives = kAll}},
    Entry{"Split", {.reads_inputs = kAll ^ kFirst, .many_outputs = true}},
    Entry{"Gather", {.reads_inputs = kAll ^ kFirst}},
    Entry{"GroupCopy", kFromShape},
    Entry{"GroupSum", {.passes = kFirst}},
    Entry{"Attention",
          {.gives = kFirstThree,
           .reads_inputs = kFirstThree,
           .reads_outputs = kAll,
           .keeps = Kept::kRowSums}}};

bool turns_negative_side(const Operator& op) {
  const bool selu = op.type == "Selu";
  if (!selu && op.type != "LeakyRelu" && op.type != "Elu") return false;
  return !(op.real("alpha", 1) >= 0) || (selu && !(op.real("gamma", 1) >= 0));
}

}  // namespace

std::optional<GradientRule> gradient_rule(std::string_view type) {
  for (const auto& [name, rule] : kRules) {
    if (name == type) return rule;
  }
  return std::nullopt;
}

std::optional<GradientRule> gradient_rule(const Operator& op) {
  return turns_negative_side(op) ? kFromInputs : gradient_rule(op.type);
}

}  // namespace espalier
