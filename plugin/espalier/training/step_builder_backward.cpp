// Backward and updates.

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "espalier/model/error.h"
#include "espalier/training/step_builder.h"

namespace espalier {
// Sums up the partial gradients of one tensor.
TensorId StepBuilder::accumulate(TensorId of_model, std::vector<TensorId> partials) {
  const Tensor& like = tensor(partials.front());
  const TensorId sum = add({.name = unused(model_.tensor(of_model).name + "/grad/sum"),
                            .type = like.type,
                            .shape = like.shape});
  Operator op{.type = "Accumulate", .outputs = {sum}};
  op.inputs.assign(partials.begin(), partials.end());
  (void)emit(std::move(op), StepPhase::kBackward);
  return sum;
}

void StepBuilder::add_partial(TensorId of_model, TensorId gradient) {
  std::vector<TensorId>& partials = partials_[index(of_model)];
  partials.push_back(gradient);
  if (partials.size() == 2 && !options_.accumulate_at_once)
    partials = {accumulate(of_model, partials)};
}

std::optional<TensorId> StepBuilder::total(TensorId of_model) {
  std::vector<TensorId>& partials = partials_[index(of_model)];
  if (partials.empty()) return std::nullopt;
  if (partials.size() > 1) partials = {accumulate(of_model, partials)};
  return partials.front();
}

void StepBuilder::add_backward(OperatorId id) {
  const Operator& from = model_.op(id);
  const auto rule = gradient_rule(from);
  if (rule && from.domain.empty()) {
    std::vector<std::optional<TensorId>> gradients;
    bool any = false;
    const std::size_t carriers = rule->many_outputs ? from.outputs.size() : 1;
    for (std::size_t j = 0; j < carriers; ++j) {
      const auto output = from.output(j);
      gradients.push_back(output ? total(*output) : std::nullopt);
      any = any || gradients.back();
    }
    PositionMask wanted = 0;
    for (std::size_t i = 0; any && i < from.inputs.size(); ++i) {
      const auto& input = from.inputs[i];
      if (!input || !has(rule->gives, i) || !analysis_.has_gradient[index(*input)])
        continue;
      const bool passes = options_.alias_views && has(rule->passes, i) &&
                          tensor(*gradients[0]).shape == model_.tensor(*input).shape;
      if (!passes) wanted |= PositionMask{1} << i;
    }
    const PositionMask data = wanted & 1U, weights = wanted ^ data;
    if (options_.split_weight_gradients && rule->can_split && data != 0 && weights != 0) {
      add_gradients(id, *rule, data, gradients);
      add_gradients(id, *rule, weights, gradients);
    } else if (wanted != 0) {
      add_gradients(id, *rule, wanted, gradients);
    }
    if (any && options_.alias_views) {
      for (std::size_t i = 0; i < from.inputs.size(); ++i) {
        if (from.inputs[i] && has(rule->passes & ~wanted, i) && has(rule->gives, i) &&
            analysis_.has_gradient[index(*from.inputs[i])])
          add_partial(*from.inputs[i], *gradients[0]);
      }
    }
  }
  add_gradients_done(id);
}

// What the way back reads of the forward operator: its inputs, then its outputs.
std::vector<std::optional<TensorId>> StepBuilder::reads(const Operator& op,
                                                        const GradientRule& rule,
                                                        PositionMask wanted) const {
  PositionMask inputs = rule.reads_inputs, outputs = rule.reads_outputs;
  if (rule.reads_others && has(wanted, 0)) inputs |= 2U;
  if (rule.reads_others && has(wanted, 1)) inputs |= 1U;
  if (rule.keeps == Kept::kIndices && options_.pool_keeps_inputs)
    inputs |= 1U, outputs |= 1U;
  std::vector<std::optional<TensorId>> read;
  for (std::size_t i = 0; i < op.inputs.size(); ++i)
    read.push_back(has(inputs, i) ? op.inputs[i] : std::nullopt);
  for (std::size_t j = 0; j < op.outputs.size(); ++j)
    read.push_back(has(outputs, j) ? op.outputs[j] : std::nullopt);
  while (!read.empty() && !read.back()) read.pop_back();
  return read;
}

// The extents of what a Concat joins or a Split gives along its axis; 0: left out.
Shape StepBuilder::pieces_of(const Operator& op,
                             const std::vector<std::optional<TensorId>>& list) const {
  Shape pieces;
  for (const auto& each : list) {
    pieces.push_back(0);
    if (!each) continue;
    const Shape& shape = model_.tensor(*each).shape;
    const std::int64_t axis = op.integer("axis", 0), rank = std::ssize(shape);
    if (axis < -rank || axis >= rank)
      throw InvalidInput(
          fmt::format("{}: axis {} of {}", label(op), axis, label(model_.tensor(*each))));
    pieces.back() = shape[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)];
  }
  return pieces;
}

// The operator that gives the wanted gradients of the inputs.
void StepBuilder::add_gradients(OperatorId id, const GradientRule& rule,
                                PositionMask wanted,
                                const std::vector<std::optional<TensorId>>& gradients) {
  const Operator& from = model_.op(id);
  const OperatorId forward = *here_op_[index(id)];
  const Operator& here = out_.graph().op(forward);
  Operator op{.name = from.name + "/grad", .type = from.type + "Grad"};
  op.attributes = here.attributes;
  op.attributes["gradients"] = static_cast<std::int64_t>(gradients.size());
  op.attributes["inputs"] = static_cast<std::int64_t>(here.inputs.size());
  op.attributes["outputs"] = static_cast<std::int64_t>(here.outputs.size());
  op.workspace = here.workspace;
  if (op.type == "ConcatGrad") op.attributes["pieces"] = pieces_of(from, from.inputs);
  if (op.type == "SplitGrad") op.attributes["pieces"] = pieces_of(from, from.outputs);
  op.inputs = gradients;
  const auto read = reads(here, rule, wanted);
  op.inputs.insert(op.inputs.end(), read.begin(), read.end());
  for (std::size_t i = 0;
       i < std::min(from.inputs.size(), kMostInputs) && wanted >> i != 0; ++i) {
    op.outputs.emplace_back();
    if (!has(wanted, i)) continue;
    const Tensor& input = model_.tensor(*from.inputs[i]);
    Tensor result{.name = unused(fmt::format("{}/grad/{}", input.name, from.name)),
                  .type = input.type,
                  .shape = input.shape};
    if (options_.alias_views && rule.view && tensor(*gradients[0]).type == input.type) {
      result.sharing = Sharing::kView;
      result.shared_with = *gradients[0];
    }
    op.outputs.back() = add(std::move(result));
  }
  const auto outputs = op.outputs;
  (void)emit(std::move(op), StepPhase::kBackward, forward);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i]) add_partial(*from.inputs[i], *outputs[i]);
  }
}

// Whose gradient is whole when the operator has been undone: what it is the first to
// read.
void StepBuilder::add_gradients_done(OperatorId id) {
  std::vector<TensorId> done;
  for (const auto& input : model_.op(id).inputs) {
    if (input && first_reader_[index(*input)] == id && total(*input) &&
        std::ranges::find(done, *input) == done.end())
      done.push_back(*input);
  }
  const bool wait = options_.updates == UpdateTime::kLast || options_.clip_gradients;
  for (const TensorId each : done) {
    if (wait) {
      ready_.push_back(each);
    } else {
      add_update(each, std::nullopt);
    }
  }
}

void StepBuilder::add_last_updates() {
  if (ready_.empty()) return;
  std::optional<TensorId> norm;
  Operator op{.name = "gradients", .type = "Barrier"};
  if (options_.clip_gradients) {
    norm = add({.name = unused("gradient_norm")});
    op.type = "GlobalNorm";
    for (const TensorId each : ready_) op.inputs.push_back(total(each));
    op.outputs = {norm};
  }
  if (options_.updates == UpdateTime::kLast) {
    for (std::size_t i = 0; i < step_.phase.size(); ++i) {
      if (step_.phase[i] == StepPhase::kBackward) op.after.push_back(operator_id(i));
    }
  }
  const OperatorId all = out_.add_operator(std::move(op));
  step_.phase.push_back(StepPhase::kUpdate);
  step_.undoes.emplace_back();
  for (const TensorId each : ready_) {
    before_next_ = {all};
    add_update(each, norm);
  }
}

TensorId StepBuilder::add_state(const Tensor& parameter, const char* what) {
  Tensor state{.name = unused(fmt::format("{}/{}", parameter.name, what)),
               .type = parameter.type,
               .shape = parameter.shape,
               .role = TensorRole::kState,
               .kept = true};
  return add(std::move(state));
}

TensorId StepBuilder::add_kept_sum(const Tensor& like, TensorId gradient,
                                   const std::vector<OperatorId>& after) {
  const TensorId kept = add_state(like, "gradient");
  step_.state_bytes = checked_add(step_.state_bytes, like.bytes);
  Tensor sum{.name = unused(like.name + "/gradient/sum"),
             .type = like.type,
             .shape = like.shape,
             .sharing = Sharing::kOverwrite,
             .shared_with = kept};
  const TensorId added = add(std::move(sum));
  (void)emit({.type = "Accumulate",
              .inputs = {kept, gradient},
              .outputs = {added},
              .after = after},
             StepPhase::kUpdate);
  return added;
}

void StepBuilder::add_update(TensorId of_model, std::optional<TensorId> norm) {
  const TensorId parameter = here(of_model);
  const Tensor like = tensor(parameter);
  const std::vector<OperatorId> after = std::exchange(before_next_, {});
  TensorId gradient = *total(of_model);
  if (options_.keep_gradients) gradient = add_kept_sum(like, gradient, after);
  Operator op{.name = like.name + "/update", .type = "SgdUpdate"};
  op.inputs = {gradient, parameter};
  Bytes temporaries = 0;
  if (options_.optimiser == Optimiser::kMomentum) {
    op.type = "MomentumUpdate";
    op.inputs.emplace_back(add_state(like, "momentum"));
    temporaries = like.bytes;
  } else if (options_.optimiser == Optimiser::kAdam) {
    op.type = "AdamUpdate";
    op.inputs.emplace_back(add_state(like, "first_moment"));
    op.inputs.emplace_back(add_state(like, "second_moment"));
    temporaries = checked_mul(2, like.bytes);
  }
  if (!options_.fused_updates) op.workspace = temporaries;
  for (std::size_t i = 1; i < op.inputs.size(); ++i) {
    const Tensor& old = tensor(*op.inputs[i]);
    Tensor updated{.name = unused(old.name + "/updated"),
                   .type = old.type,
                   .shape = old.shape,
                   .sharing = Sharing::kOverwrite,
                   .shared_with = *op.inputs[i]};
    if (i > 1) step_.state_bytes = checked_add(step_.state_bytes, like.bytes);
    op.outputs.emplace_back(add(std::move(updated)));
  }
  if (norm) op.inputs.push_back(norm);
  op.after = after;
  const OperatorId id = emit(std::move(op), StepPhase::kUpdate);
  if (options_.updates == UpdateTime::kImmediate) before_next_.push_back(id);
}

}  // namespace espalier
