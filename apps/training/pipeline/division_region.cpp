#include "training/pipeline/division_region.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>

namespace espalier::training {
namespace {

constexpr std::array<std::string_view, 22> kUnary = {
    "Relu",       "LeakyRelu",   "Elu",  "Selu",   "Sigmoid", "Tanh",
    "Exp",        "Sqrt",        "Gelu", "Silu",   "Neg",     "Identity",
    "Softplus",   "HardSwish",   "Erf",  "Log",    "Abs",     "Clip",
    "Reciprocal", "HardSigmoid", "Cast", "Dropout"};
constexpr std::array<std::string_view, 5> kBroadcast = {"Add", "Sub", "Mul", "Div",
                                                        "Sum"};
constexpr std::array<std::string_view, 4> kReshape = {"Reshape", "Flatten", "Squeeze",
                                                      "Unsqueeze"};

bool is_one_of(const auto& names, std::string_view type) {
  return std::ranges::find(names, type) != names.end();
}

// Elements from an axis on.
std::int64_t elements_from(const Shape& shape, std::size_t axis) {
  return element_count(
      Shape(shape.begin() + static_cast<std::ptrdiff_t>(axis), shape.end()));
}

}  // namespace

std::optional<LinearLayer> linear_layer(const OperatorGraph& graph, const Operator& op) {
  if (!op.domain.empty() || (op.type != "Gemm" && op.type != "MatMul"))
    return std::nullopt;
  LinearLayer layer{.x = *op.input(0), .w = *op.input(1), .y = *op.output(0)};
  const Tensor& weight = graph.tensor(layer.w);
  const bool known =
      weight.role == TensorRole::kParameter || weight.role == TensorRole::kConstant;
  if (!known || weight.shape.size() != 2 || graph.tensor(layer.x).shape.size() < 2 ||
      op.integer("transA", 0) != 0)
    return std::nullopt;
  if (op.integer("transB", 0) != 0) std::swap(layer.in, layer.out);
  if (op.type == "Gemm") layer.b = op.input(2);
  return layer;
}

DivisionRegion::DivisionRegion(const OperatorGraph& graph, std::int32_t parts)
    : graph_(graph),
      parts_(parts),
      has_parameters_(std::ranges::any_of(graph.tensors(), [](const Tensor& each) {
        return each.role == TensorRole::kParameter;
      })) {}

bool DivisionRegion::grow(TensorId seed, TensorDivision division) {
  if (!demand(seed, division)) return false;
  while (!queue_.empty()) {
    const TensorId id = queue_.back();
    queue_.pop_back();
    const auto producer = graph_.producer(id);
    if (producer && !follow(*producer)) return false;
    for (const OperatorId reader : graph_.readers(id))
      if (!follow(reader)) return false;
    if (graph_.readers(id).empty()) return false;
  }
  // A layer is divided one way.
  return std::ranges::none_of(by_columns_,
                              [&](OperatorId id) { return by_rows_.contains(id); });
}

DivisionRegion::Division DivisionRegion::of(TensorId id) const {
  const auto found = divisions_.find(id);
  return found == divisions_.end() ? std::nullopt : Division(found->second);
}

// What somebody outside gives or wants is whole.
bool DivisionRegion::demand(TensorId id, TensorDivision division) {
  const auto [place, is_new] = divisions_.emplace(id, division);
  if (!is_new) return place->second == division;
  const Tensor& tensor = graph_.tensor(id);
  const bool computed = tensor.role == TensorRole::kComputed;
  if (tensor.role == TensorRole::kInput || (computed && tensor.kept)) return false;
  if (division.axis >= tensor.shape.size() ||
      tensor.shape[division.axis] % (division.groups * parts_) != 0)
    return false;
  queue_.push_back(id);
  return true;
}

bool DivisionRegion::may_be_trained(TensorId id) const {
  const Tensor& tensor = graph_.tensor(id);
  if (tensor.role == TensorRole::kComputed) return true;
  return tensor.role == TensorRole::kParameter ||
         (!has_parameters_ && !tensor.shape.empty());
}

bool DivisionRegion::follow(OperatorId id) {
  const Operator& op = graph_.op(id);
  if (!op.domain.empty() || !op.captured.empty()) return false;
  if (const auto layer = linear_layer(graph_, op)) return follow_linear(id, *layer);
  if (is_one_of(kUnary, op.type)) {
    const TensorId x = *op.input(0), y = *op.output(0);
    return follow_pair(op, of(x), of(y));
  }
  if (is_one_of(kBroadcast, op.type)) return follow_elementwise(op);
  if (is_one_of(kReshape, op.type)) return follow_reshape(op);
  if (op.type == "Transpose") return follow_transpose(op);
  if (op.type == "Split") return follow_split(op);
  const std::size_t axes = graph_.tensor(*op.output(0)).shape.size();
  if (op.type == "MatMul" || op.type == "Attention" || op.type == "CausalSoftmax")
    return axes > 2 && follow_leading(op, axes - 2);
  if (op.type == "Softmax" || op.type == "LogSoftmax") {
    const std::int64_t axis = op.integer("axis", graph_.operator_set() < 13 ? 1 : -1);
    return follow_leading(
        op, static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(axes)
                                              : axis));
  }
  return false;
}

// By columns: w's and b's are those of y, and x is whole. By rows: those of x, and y is
// whole, as the sum over the group.
bool DivisionRegion::follow_linear(OperatorId id, const LinearLayer& layer) {
  const std::size_t last = graph_.tensor(layer.x).shape.size() - 1;
  const Division x = of(layer.x), y = of(layer.y), w = of(layer.w);
  const Division b = layer.b ? of(*layer.b) : std::nullopt;
  if ((x && x->axis != last) || (y && y->axis != last)) return false;
  if (x || (w && w->axis == layer.in)) {
    const std::int64_t groups = x ? x->groups : w->groups;
    by_rows_.insert(id);
    const Operator& op = graph_.op(id);
    return !b && (!layer.b || op.real("beta", 1) == 1) && !y &&
           demand(layer.x, {last, groups}) && demand(layer.w, {layer.in, groups});
  }
  by_columns_.insert(id);
  const std::int64_t groups = y ? y->groups : w ? w->groups : b->groups;
  if (!demand(layer.y, {last, groups}) || !demand(layer.w, {layer.out, groups}))
    return false;
  if (!layer.b) return true;
  const Shape& bias = graph_.tensor(*layer.b).shape;
  return !bias.empty() && bias.back() == graph_.tensor(layer.y).shape[last] &&
         element_count(bias) == bias.back() &&
         demand(*layer.b, {bias.size() - 1, groups});
}

// First input and first output are divided alike, or as what is known of them says.
bool DivisionRegion::follow_pair(const Operator& op, const Division& there,
                                 const Division& back) {
  if (there && !demand(*op.output(0), *there)) return false;
  return !back || demand(*op.input(0), *back);
}

// Axes are counted from the last one. What is broadcast along the divided axis has a
// gradient that is a sum over the group: only for constants.
bool DivisionRegion::follow_elementwise(const Operator& op) {
  const Shape& whole = graph_.tensor(*op.output(0)).shape;
  Division division = of(*op.output(0));
  for (const auto& input : op.inputs) {
    const Division own = of(*input);
    if (division || !own) continue;
    division = {own->axis + whole.size() - graph_.tensor(*input).shape.size(),
                own->groups};
  }
  if (!demand(*op.output(0), *division)) return false;
  for (const auto& input : op.inputs) {
    const Shape& shape = graph_.tensor(*input).shape;
    const std::size_t before = whole.size() - shape.size();
    const bool along = division->axis >= before &&
                       shape[division->axis - before] == whole[division->axis];
    if (along ? !demand(*input, {division->axis - before, division->groups})
              : may_be_trained(*input))
      return false;
  }
  return true;
}

// Along the divided axis each result is a group of what is split.
bool DivisionRegion::follow_split(const Operator& op) {
  const TensorId x = *op.input(0);
  const std::int64_t rank = std::ssize(graph_.tensor(x).shape),
                     given = op.integer("axis", 0);
  const auto axis = static_cast<std::size_t>(given < 0 ? given + rank : given);
  const std::int64_t count = std::ssize(op.outputs);
  const bool equal = std::ranges::all_of(op.outputs, [&](const auto& output) {
    return output && graph_.tensor(*output).shape == graph_.tensor(*op.output(0)).shape;
  });
  Division division = of(x);
  for (const auto& output : op.outputs)
    if (!division && of(*output)) {
      division = of(*output);
      if (division->axis == axis) division->groups *= count;
    }
  if (!demand(x, *division)) return false;
  if (division->axis == axis) {
    if (!equal || division->groups != count) {
      if (equal && division->groups == 1) wanted_groups_ = count;
      return false;
    }
    division->groups = 1;
  }
  return std::ranges::all_of(
      op.outputs, [&](const auto& output) { return demand(*output, *division); });
}

// The axis that begins where the divided one does.
DivisionRegion::Division DivisionRegion::reshaped(TensorId from, TensorId to) const {
  const Division division = of(from);
  const Shape &before = graph_.tensor(from).shape, &after = graph_.tensor(to).shape;
  const std::int64_t inside = elements_from(before, division->axis);
  for (std::size_t axis = 0; axis < after.size(); ++axis)
    if (after[axis] > 1 && elements_from(after, axis) == inside)
      return TensorDivision{axis, division->groups};
  return std::nullopt;
}

bool DivisionRegion::follow_reshape(const Operator& op) {
  const TensorId x = *op.input(0), y = *op.output(0);
  const Division there = of(x) ? reshaped(x, y) : std::nullopt;
  const Division back = of(y) ? reshaped(y, x) : std::nullopt;
  return (there || back) && follow_pair(op, there, back);
}

bool DivisionRegion::follow_transpose(const Operator& op) {
  const Division x = of(*op.input(0)), y = of(*op.output(0));
  std::vector<std::int64_t> order(graph_.tensor(*op.input(0)).shape.size());
  std::iota(order.rbegin(), order.rend(), 0);
  order = op.integers("perm", order);
  Division there, back;
  if (x)
    there = {
        static_cast<std::size_t>(
            std::ranges::find(order, static_cast<std::int64_t>(x->axis)) - order.begin()),
        x->groups};
  if (y) back = {static_cast<std::size_t>(order[y->axis]), y->groups};
  return follow_pair(op, there, back);
}

// All inputs and the result are divided along one of the first axes, which they share.
bool DivisionRegion::follow_leading(const Operator& op, std::size_t axes) {
  const Shape& shape = graph_.tensor(*op.output(0)).shape;
  Division division = of(*op.output(0));
  for (const auto& input : op.inputs)
    if (!division) division = of(*input);
  if (division->axis >= axes || !demand(*op.output(0), *division)) return false;
  return std::ranges::all_of(op.inputs, [&](const auto& input) {
    const Shape& own = graph_.tensor(*input).shape;
    return own.size() == shape.size() && own[division->axis] == shape[division->axis] &&
           demand(*input, *division);
  });
}

}  // namespace espalier::training
