#include "espalier/training/kept_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "espalier/model/error.h"

namespace espalier {
namespace {

const Tensor& needed_input(const OperatorGraph& model, const Operator& op,
                           std::size_t position) {
  const auto input = op.input(position);
  if (!input)
    throw InvalidInput(fmt::format("{} lacks its input {}", label(op), position));
  return model.tensor(*input);
}

// One value for each row that is normalised by itself.
Shape row_shape(const OperatorGraph& model, const Operator& op) {
  const Shape& shape = needed_input(model, op, 0).shape;
  const auto rank = static_cast<std::int64_t>(shape.size());
  if (op.type == "LayerNormalization") {
    std::int64_t axis = op.integer("axis", -1);
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank)
      throw InvalidInput(fmt::format("{}: its axis is none of {}", label(op),
                                     label(needed_input(model, op, 0))));
    Shape rows = shape;
    std::fill(rows.begin() + axis, rows.end(), 1);
    return rows;
  }
  if (rank < 2)
    throw InvalidInput(fmt::format("{}: {} has no channels", label(op),
                                   label(needed_input(model, op, 0))));
  if (op.type != "GroupNormalization") return {shape[0], shape[1]};
  const std::int64_t groups = op.integer("num_groups", 1);
  if (groups < 1)
    throw InvalidInput(fmt::format("{}: {} groups of channels of {}", label(op), groups,
                                   label(needed_input(model, op, 0))));
  return {shape[0], groups};
}

}  // namespace

std::vector<Tensor> kept_tensors(const OperatorGraph& model, const Operator& op,
                                 Kept kept, const TrainingOptions& options) {
  if (kept == Kept::kNothing) return {};
  const Tensor& y = model.tensor(op.output(0).value());
  const auto named = [&y](const char* what, ElementType type, Shape shape) {
    return Tensor{.name = fmt::format("{}/{}", y.name, what),
                  .type = type,
                  .shape = std::move(shape)};
  };
  const auto moments = [&](const Shape& shape) {
    return std::vector{named("mean", y.type, shape),
                       named("inverse_deviation", y.type, shape)};
  };
  switch (kept) {
    case Kept::kChannelMoments:
      return moments(needed_input(model, op, 1).shape);
    case Kept::kRowMoments:
      return moments(row_shape(model, op));
    case Kept::kIndices:
      if (options.pool_keeps_inputs) return {};
      return {named("indices", options.pool_index, y.shape)};
    case Kept::kMask:
      if (op.type == "Dropout") return {named("mask", ElementType::kBool, y.shape)};
      return {named("choice", ElementType::kUint8, y.shape)};
    case Kept::kScale:
      if (!options.lrn_keeps_scale) return {};
      return {named("scale", y.type, y.shape)};
    default: {
      Shape rows = y.shape;
      if (!rows.empty()) rows.pop_back();
      return {named("logsumexp", ElementType::kFloat32, rows)};
    }
  }
}

}  // namespace espalier
