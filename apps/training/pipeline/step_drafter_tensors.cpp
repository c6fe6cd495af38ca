// Tensors of the processes, and messages between two of them.

#include <fmt/format.h>

#include "training/pipeline/step_drafter.h"
#include "training/step/messages.h"

namespace espalier::training {

// What the template's tensor is at a process.
TensorId StepDrafter::value(Draft& draft, TensorId of, std::int32_t micro_batch,
                            bool again) {
  const auto i = static_cast<std::size_t>(micro_batch);
  const Tensor& tensor = of_template(of);
  if (again)
    if (const auto found = draft.again[i].find(of); found != draft.again[i].end())
      return found->second;
  if (tensor.role == TensorRole::kComputed) return draft.values[i].at(of);
  if (tensor.role != TensorRole::kInput) {
    const bool gathered = divides(ZeroStage::kParameters) && trained(of);
    return gathered ? draft.gathered.at(of) : known(draft, of);
  }
  const auto [place, is_new] = draft.values[i].emplace(of, TensorId{});
  if (is_new) {
    const std::int64_t number = this->number(draft, micro_batch);
    Tensor input = fresh(tensor, fmt::format("@{}", number));
    input.role = TensorRole::kInput;
    place->second = add_tensor(draft, std::move(input));
    draft.step.inputs.push_back({place->second, of, number});
  }
  return place->second;
}

// What is there from the start: a rank's elements where parameters and states are
// divided.
TensorId StepDrafter::known(Draft& draft, TensorId of) {
  const auto [place, is_new] = draft.known.emplace(of, TensorId{});
  if (!is_new) return place->second;
  Tensor tensor = of_template(of);
  const Bytes whole = tensor.bytes;
  const bool parameter = trained(of);
  const bool state =
      tensor.role == TensorRole::kState && !tensor.value && !parameter &&
      micro_.step.graph.readers(of).size() == 1 &&
      micro_.part[index(micro_.step.graph.readers(of)[0])] == PipelineKind::kBoth;
  std::int64_t first = 0;
  if ((parameter && divides(ZeroStage::kParameters)) ||
      (state && divides(ZeroStage::kStates))) {
    const ElementRange range = elements(of, draft.rank);
    tensor = fresh(tensor, "/part", range.count);
    tensor.role = of_template(of).role;
    first = range.first;
  }
  tensor.kept = true;
  tensor.sharing = Sharing::kOwn;
  const bool divided = tensor.shape != of_template(of).shape;
  place->second = divided ? add_tensor(draft, std::move(tensor))
                          : draft.builder.add_tensor(std::move(tensor), whole);
  const Tensor& added = draft.builder.graph().tensor(place->second);
  draft.step.known.push_back({place->second, of, first});
  if (parameter) draft.step.parameter_bytes += added.bytes;
  if (parameter) draft.step.training.parameters += element_count(added.shape);
  if (state) draft.step.state_bytes += added.bytes;
  return place->second;
}

TensorId StepDrafter::pass(std::int32_t from, TensorId x, ElementRange part,
                           std::int32_t to, std::optional<TensorId> over,
                           const Tensor& like) {
  Draft &source = drafts_[static_cast<std::size_t>(from)],
        &target = drafts_[static_cast<std::size_t>(to)];
  const Bytes whole = source.builder.graph().tensor(x).bytes;
  const Bytes first =
      part.count < 0 ? 0 : tensor_bytes(ElementType::kFloat32, {part.first});
  const Bytes bytes =
      part.count < 0 ? whole : tensor_bytes(ElementType::kFloat32, {part.count});
  const bool whole_there = !over && tensor_bytes(like.type, like.shape) == bytes;
  const std::int64_t number = messages_++;
  add(source, message_operator({to, number, first, bytes, true}, x, std::nullopt));
  const TensorId y = add_tensor(target, over ? StepDrafter::over(target, *over) : like);
  add(target,
      message_operator({from, number, whole_there ? 0 : first, bytes, false}, over, y));
  return y;
}

TensorId StepDrafter::add_tensor(Draft& draft, Tensor tensor) {
  if (draft.builder.graph().find_tensor(tensor.name))
    tensor.name += fmt::format("_{}", names_++);
  return draft.builder.add_tensor(std::move(tensor));
}

void StepDrafter::add(Draft& draft, Operator op, PipelineKind part) {
  (void)draft.builder.add_operator(std::move(op));
  draft.step.part.push_back(part);
}

// A tensor that an operator writes, like another one, or with so many elements in a row.
Tensor StepDrafter::fresh(const Tensor& like, const std::string& suffix,
                          std::optional<std::int64_t> elements) {
  Tensor tensor{.name = like.name + suffix, .type = like.type, .shape = like.shape};
  if (elements) tensor.shape = {*elements};
  return tensor;
}

Tensor StepDrafter::over(const Draft& draft, TensorId old) {
  const Tensor& like = draft.builder.graph().tensor(old);
  return {.name = like.name + "'",
          .type = like.type,
          .shape = like.shape,
          .sharing = Sharing::kOverwrite,
          .shared_with = old};
}

}  // namespace espalier::training
