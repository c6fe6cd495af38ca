// Gradients, updates, and the collective operations of ranks: all of them messages
// between two processes into planned memory.

#include <algorithm>

#include "training/pipeline/step_drafter.h"

namespace espalier::training {
namespace {

void say_part(Operator& op, const ElementRange& range) {
  op.attributes["first"] = range.first;
  op.attributes["elements"] = range.count;
}

}  // namespace

// One more partial gradient at every rank.
void StepDrafter::add_partial(std::size_t k, TensorId of, std::int32_t micro_batch,
                              std::int32_t device) {
  std::vector<TensorId> whole;
  for (std::int32_t rank = 0; rank < shared_.ranks; ++rank)
    whole.push_back(
        draft(device, rank).values[static_cast<std::size_t>(micro_batch)].at(of));
  if (divides(ZeroStage::kGradients)) {
    const auto parts = reduce_scatter(device, of, whole);
    for (std::int32_t rank = 0; rank < shared_.ranks; ++rank)
      sum_up(draft(device, rank), k, parts[static_cast<std::size_t>(rank)]);
  } else {
    for (std::int32_t rank = 0; rank < shared_.ranks; ++rank)
      sum_up(draft(device, rank), k, {whole[static_cast<std::size_t>(rank)]});
  }
  if (--left_[k] == 0) finish_gradient(k);
}

void StepDrafter::sum_up(Draft& draft, std::size_t k, std::vector<TensorId> terms) {
  if (const auto sum = draft.sums.find(k); sum != draft.sums.end())
    terms.insert(terms.begin(), sum->second);
  if (terms.empty()) return;  // a rank without elements
  TensorId sum = terms.front();
  if (terms.size() > 1) {
    const Tensor like = draft.builder.graph().tensor(terms.back());
    Operator op{.type = "Accumulate"};
    op.inputs.assign(terms.begin(), terms.end());
    sum = add_tensor(
        draft, fresh({.name = of_template(micro_.trained[k].parameter).name + "/gradient",
                      .type = like.type,
                      .shape = like.shape},
                     ""));
    op.outputs = {sum};
    add(draft, std::move(op));
  }
  draft.sums[k] = sum;
}

std::vector<std::int32_t> StepDrafter::devices_of(TensorId parameter) const {
  std::vector<std::int32_t> devices;
  for (const OperatorId reader : micro_.step.graph.readers(parameter)) {
    if (micro_.part[index(reader)] == PipelineKind::kBoth) continue;
    if (std::ranges::find(devices, device(reader)) == devices.end())
      devices.push_back(device(reader));
  }
  return devices;
}

void StepDrafter::finish_gradient(std::size_t k) {
  const std::int32_t home = devices_of(micro_.trained[k].parameter).front();
  join_devices(k, home);
  for (std::int32_t rank = 0; rank < shared_.ranks; ++rank) {
    Draft& draft = this->draft(home, rank);
    if (const auto sum = draft.sums.find(k); sum != draft.sums.end())
      draft.step.gradient_bytes += draft.builder.graph().tensor(sum->second).bytes;
  }
  update(k, home);
}

// The gradients of the other devices that share the parameter go home.
void StepDrafter::join_devices(std::size_t k, std::int32_t home) {
  for (const std::int32_t other : devices_of(micro_.trained[k].parameter))
    for (std::int32_t rank = 0; rank < shared_.ranks && other != home; ++rank) {
      Draft& source = draft(other, rank);
      const auto sum = source.sums.find(k);
      if (sum == source.sums.end()) continue;
      const Tensor& like = source.builder.graph().tensor(sum->second);
      source.step.gradient_bytes += like.bytes;
      const Tensor there =
          fresh({.name = like.name, .type = like.type, .shape = like.shape}, "/there");
      sum_up(draft(home, rank), k,
             {pass(process(other, rank), sum->second, {0, -1}, process(home, rank),
                   std::nullopt, there)});
    }
}

// Of every owner its part of all ranks' tensors, in the order of the ranks.
std::vector<std::vector<TensorId>> StepDrafter::reduce_scatter(
    std::int32_t device, TensorId of, const std::vector<TensorId>& whole) {
  std::vector<std::vector<TensorId>> parts(whole.size());
  for (std::int32_t owner = 0; owner < shared_.ranks; ++owner) {
    const ElementRange range = elements(of, owner);
    if (range.count == 0) continue;
    for (std::int32_t rank = 0; rank < shared_.ranks; ++rank) {
      const TensorId x = whole[static_cast<std::size_t>(rank)];
      const Tensor like = fresh(of_template(of), "/part", range.count);
      auto& mine = parts[static_cast<std::size_t>(owner)];
      if (rank != owner) {
        mine.push_back(
            pass(process(device, rank), x, range, process(device, owner), {}, like));
        continue;
      }
      Draft& draft = this->draft(device, owner);
      mine.push_back(add_tensor(draft, like));
      Operator take{.type = "TakeSlice", .inputs = {x}, .outputs = {mine.back()}};
      say_part(take, range);
      add(draft, std::move(take));
    }
  }
  return parts;
}

// Below stage 2 ranks have summed up whole gradients: reduced to parts and, at stage 0,
// gathered again.
void StepDrafter::reduce_whole(std::size_t k, std::int32_t home) {
  const TensorId of = micro_.trained[k].parameter;
  std::vector<TensorId> whole;
  for (std::int32_t rank = 0; rank < shared_.ranks; ++rank)
    whole.push_back(draft(home, rank).sums.at(k));
  const auto parts = reduce_scatter(home, of, whole);
  for (std::int32_t rank = 0; rank < shared_.ranks; ++rank) {
    Draft& draft = this->draft(home, rank);
    draft.sums.erase(k);
    sum_up(draft, k, parts[static_cast<std::size_t>(rank)]);
    if (shared_.zero != ZeroStage::kNone) continue;
    const ElementRange range = elements(of, rank);
    TensorId& sum = whole[static_cast<std::size_t>(rank)];
    if (range.count > 0) {
      const TensorId filled = add_tensor(draft, over(draft, sum));
      Operator put{
          .type = "PutSlice", .inputs = {draft.sums.at(k), sum}, .outputs = {filled}};
      say_part(put, range);
      add(draft, std::move(put));
      sum = filled;
    }
    draft.gathered[of] = sum;
  }
  if (shared_.zero != ZeroStage::kNone) return;
  all_gather(home, of, &Draft::gathered);
  for (std::int32_t rank = 0; rank < shared_.ranks; ++rank) {
    draft(home, rank).sums[k] = draft(home, rank).gathered.at(of);
    draft(home, rank).gathered.erase(of);
  }
}

void StepDrafter::update(std::size_t k, std::int32_t home) {
  const TensorId of = micro_.trained[k].parameter;
  if (shared_.ranks > 1 && !divides(ZeroStage::kGradients)) reduce_whole(k, home);
  for (std::int32_t rank = 0; rank < shared_.ranks; ++rank) add_update(k, home, rank);
  if (divides(ZeroStage::kStates) && !divides(ZeroStage::kParameters))
    all_gather(home, of, &Draft::known);
  for (const std::int32_t other : devices_of(of))
    for (std::int32_t rank = 0; rank < shared_.ranks && other != home; ++rank) {
      if (divides(ZeroStage::kParameters) && elements(of, rank).count == 0) continue;
      Draft& target = draft(other, rank);
      target.known[of] =
          pass(process(home, rank), draft(home, rank).known.at(of), {0, -1},
               process(other, rank), known(target, of, rank), of_template(of));
    }
}

void StepDrafter::add_update(std::size_t k, std::int32_t home, std::int32_t rank) {
  Draft& draft = this->draft(home, rank);
  const MicroStep::Trained& trained = micro_.trained[k];
  const ElementRange range = elements(trained.parameter, rank);
  const bool divided = divides(ZeroStage::kStates);
  Operator op = micro_.step.graph.op(trained.update);
  op.after.clear();
  const auto outputs = std::exchange(op.outputs, {});
  for (std::size_t i = 1; i < op.inputs.size(); ++i) {
    const TensorId of = *op.inputs[i];
    const TensorId old = known(draft, of, rank);
    if (divided && range.count == 0) continue;
    op.inputs[i] = old;
    op.outputs.emplace_back(add_tensor(draft, over(draft, old)));
    draft.known[of] = *op.outputs.back();
  }
  if (divided && range.count == 0) return;
  op.inputs[0] = draft.sums.at(k);
  if (divided && !divides(ZeroStage::kParameters)) say_part(op, range);
  add(draft, std::move(op));
}

// Whole, for what follows in this operation of the pipeline.
void StepDrafter::gather(TensorId of, std::int32_t device) {
  if (draft(device, 0).gathered.contains(of)) return;
  for (std::int32_t rank = 0; rank < shared_.ranks; ++rank) {
    Draft& draft = this->draft(device, rank);
    const ElementRange range = elements(of, rank);
    const TensorId part = known(draft, of, rank);
    const TensorId whole = add_tensor(draft, fresh(of_template(of), "/whole"));
    Operator put{.type = "PutSlice", .inputs = {part}, .outputs = {whole}};
    say_part(put, range);
    add(draft, std::move(put));
    draft.gathered[of] = whole;
  }
  all_gather(device, of, &Draft::gathered);
}

// Each rank's part of a tensor that all have whole goes to the others.
void StepDrafter::all_gather(std::int32_t device, TensorId of, Values Draft::*where) {
  for (std::int32_t from = 0; from < shared_.ranks; ++from) {
    const ElementRange range = elements(of, from);
    for (std::int32_t to = 0; to < shared_.ranks && range.count > 0; ++to) {
      if (to == from) continue;
      TensorId& there = (draft(device, to).*where).at(of);
      there = pass(process(device, from), (draft(device, from).*where).at(of), range,
                   process(device, to), there, of_template(of));
    }
  }
}

}  // namespace espalier::training
