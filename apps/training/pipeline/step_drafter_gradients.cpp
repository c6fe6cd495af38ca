// Gradients and updates.

#include <algorithm>

#include "training/pipeline/step_drafter.h"

namespace espalier::training {

// One more partial gradient at every rank.
void StepDrafter::add_partial(std::size_t k, TensorId of, std::int32_t micro_batch,
                              std::int32_t device) {
  const auto whole = [&](std::int32_t p) {
    return draft(p).values[static_cast<std::size_t>(micro_batch)].at(of);
  };
  for (const Group& ranks : rank_groups(device)) {
    if (!divides(ZeroStage::kGradients)) {
      for (const std::int32_t p : ranks) sum_up(draft(p), k, {whole(p)});
      continue;
    }
    std::vector<TensorId> all;
    for (const std::int32_t p : ranks) all.push_back(whole(p));
    const auto parts = reduce_scatter(ranks, of, all);
    for (std::size_t i = 0; i < ranks.size(); ++i) sum_up(draft(ranks[i]), k, parts[i]);
  }
  if (--left_[k] == 0) finish_gradient(k);
}

void StepDrafter::sum_up(Draft& draft, std::size_t k, std::vector<TensorId> terms) {
  if (const auto sum = draft.sums.find(k); sum != draft.sums.end())
    terms.insert(terms.begin(), sum->second);
  if (terms.empty()) return;  // a rank without elements
  const Tensor like = draft.builder.graph().tensor(terms.back());
  const std::string name = of_template(micro_.trained[k].parameter).name + "/gradient";
  draft.sums[k] =
      accumulate(draft, {.name = name, .type = like.type, .shape = like.shape}, terms);
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
  for (Draft& each : drafts_on(home))
    if (const auto sum = each.sums.find(k); sum != each.sums.end())
      each.step.gradient_bytes += each.builder.graph().tensor(sum->second).bytes;
  update(k, home);
}

// The gradients of all other devices go home: of those that share the parameter, and of
// one that has given it as the gradient of a result, such as of an addition.
void StepDrafter::join_devices(std::size_t k, std::int32_t home) {
  const std::span<Draft> targets = drafts_on(home);
  for (std::int32_t other = 0; other < shared_.devices; ++other)
    for (std::size_t i = 0; i < targets.size() && other != home; ++i) {
      Draft& source = drafts_on(other)[i];
      const auto sum = source.sums.find(k);
      if (sum == source.sums.end()) continue;
      const Tensor& like = source.builder.graph().tensor(sum->second);
      source.step.gradient_bytes += like.bytes;
      const Tensor there =
          fresh({.name = like.name, .type = like.type, .shape = like.shape}, "/there");
      sum_up(targets[i], k,
             {pass(source.process, sum->second, {0, -1}, targets[i].process, std::nullopt,
                   there)});
    }
}

// Below stage 2 ranks have summed up whole gradients: reduced to parts and, at stage 0,
// gathered again.
void StepDrafter::reduce_whole(std::size_t k, const Group& ranks) {
  const TensorId of = micro_.trained[k].parameter;
  std::vector<TensorId> whole;
  for (const std::int32_t p : ranks) whole.push_back(draft(p).sums.at(k));
  const auto parts = reduce_scatter(ranks, of, whole);
  std::vector<TensorId*> sums;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    Draft& draft = this->draft(ranks[i]);
    draft.sums.erase(k);
    sum_up(draft, k, parts[i]);
    if (shared_.zero != ZeroStage::kNone) continue;
    const ElementRange range = elements(of, draft.rank);
    if (range.count > 0) whole[i] = put(draft, range, draft.sums.at(k), whole[i]);
    draft.sums[k] = whole[i];
    sums.push_back(&draft.sums[k]);
  }
  if (shared_.zero == ZeroStage::kNone) all_gather(ranks, of, sums);
}

void StepDrafter::update(std::size_t k, std::int32_t home) {
  const TensorId of = micro_.trained[k].parameter;
  const std::span<Draft> owners = drafts_on(home);
  for (const Group& ranks : rank_groups(home))
    if (shared_.ranks > 1 && !divides(ZeroStage::kGradients)) reduce_whole(k, ranks);
  for (Draft& each : owners) add_update(k, each);
  if (divides(ZeroStage::kStates) && !divides(ZeroStage::kParameters))
    for (const Group& ranks : rank_groups(home)) {
      std::vector<TensorId*> whole;
      for (const std::int32_t p : ranks) whole.push_back(&draft(p).known.at(of));
      all_gather(ranks, of, whole);
    }
  for (const std::int32_t other : devices_of(of))
    for (std::size_t i = 0; i < owners.size() && other != home; ++i) {
      Draft& target = drafts_on(other)[i];
      if (divides(ZeroStage::kParameters) && elements(of, target.rank).count == 0)
        continue;
      target.known[of] = pass(owners[i].process, owners[i].known.at(of), {0, -1},
                              target.process, known(target, of), of_template(of));
    }
}

void StepDrafter::add_update(std::size_t k, Draft& draft) {
  const MicroStep::Trained& trained = micro_.trained[k];
  const ElementRange range = elements(trained.parameter, draft.rank);
  const bool divided = divides(ZeroStage::kStates);
  Operator op = micro_.step.graph.op(trained.update);
  op.after.clear();
  const auto outputs = std::exchange(op.outputs, {});
  for (std::size_t i = 1; i < op.inputs.size(); ++i) {
    const TensorId of = *op.inputs[i];
    const TensorId old = known(draft, of);
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
  if (drafts_on(device).front().gathered.contains(of)) return;
  for (const Group& ranks : rank_groups(device)) {
    std::vector<TensorId*> all;
    for (const std::int32_t p : ranks) {
      Draft& draft = this->draft(p);
      const TensorId part = known(draft, of);
      const TensorId whole = add_tensor(draft, fresh(of_template(of), "/whole"));
      Operator put{.type = "PutSlice", .inputs = {part}, .outputs = {whole}};
      say_part(put, elements(of, draft.rank));
      add(draft, std::move(put));
      all.push_back(&(draft.gathered[of] = whole));
    }
    all_gather(ranks, of, all);
  }
}

}  // namespace espalier::training
