// Operators and what passes between devices.

#include "training/pipeline/step_drafter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "espalier/model/replay_pipeline.h"
#include "espalier/training/reuse_in_place.h"
#include "training/pipeline/divide_layers.h"

namespace espalier::training {
StepDrafter::StepDrafter(const MicroStep& micro, const SharedStep& shared,
                         const Pipeline& pipeline)
    : micro_(micro),
      shared_(shared),
      pipeline_(pipeline),
      runs_again_(micro.step.graph.size()),
      needed_again_(static_cast<std::size_t>(micro.chunks)) {
  const auto batches = static_cast<std::size_t>(shared.micro_batches);
  for (std::int32_t p = 0; p < shared.processes(); ++p) {
    drafts_.push_back({p,
                       p / shared.tensor % shared.ranks,
                       p % shared.tensor,
                       OperatorGraphBuilder(micro.step.graph.operator_set()),
                       {},
                       {},
                       {},
                       {},
                       {},
                       {}});
    drafts_.back().values.resize(batches);
    drafts_.back().again.resize(batches);
  }
  for (std::size_t k = 0; k < micro.trained.size(); ++k) {
    const MicroStep::Trained& each = micro.trained[k];
    trained_.emplace(each.parameter, k);
    for (const TensorId partial : each.partials) partial_of_.emplace(partial, k);
    left_.push_back(std::ssize(each.partials) * shared.micro_batches);
  }
  find_needed_again();
}

// Of the operators that may run again, those without which the way back lacks something.
void StepDrafter::find_needed_again() {
  const OperatorGraph& graph = micro_.step.graph;
  std::vector<std::vector<OperatorId>> forward(needed_again_.size());
  for (std::size_t i = 0; i < graph.size(); ++i)
    if (micro_.step.phase[i] == StepPhase::kForward)
      forward[static_cast<std::size_t>(micro_.chunk[i])].push_back(operator_id(i));
  for (std::size_t c = 0; c < shared_.recomputed.size(); ++c) {
    const auto count =
        std::llround(shared_.recomputed[c] * static_cast<double>(forward.at(c).size()));
    for (std::int64_t i = 0; i < count; ++i)
      runs_again_[index(forward[c][static_cast<std::size_t>(i)])] = true;
  }
  std::vector<bool> needed(graph.size());
  for (std::size_t i = graph.size(); i-- > 0;) {
    if (!runs_again_[i]) continue;
    for (const auto& output : graph.operators()[i].outputs) {
      if (!output) continue;
      for (const OperatorId reader : graph.readers(*output))
        if (uses_again(reader) || needed[index(reader)]) needed[i] = true;
    }
    auto& list = needed_again_[static_cast<std::size_t>(micro_.chunk[i])];
    if (needed[i]) list.insert(list.begin(), operator_id(i));
  }
}

bool StepDrafter::uses_again(OperatorId id) const {
  const auto undone = micro_.step.undoes[index(id)];
  return undone && runs_again_[index(*undone)];
}

void StepDrafter::add_operations(const PipelineSchedule& schedule) {
  const auto run = replay_pipeline(pipeline_, schedule);
  if (!run) throw std::logic_error("the schedule waits for itself");
  struct Timed {
    Nanoseconds end;
    PipelineOperation operation;
  };
  std::vector<Timed> all;
  for (std::size_t d = 0; d < schedule.orders.size(); ++d)
    for (std::size_t i = 0; i < schedule.orders[d].size(); ++i)
      all.push_back({run->starts[d][i] + duration(pipeline_, schedule.orders[d][i]),
                     schedule.orders[d][i]});
  std::ranges::stable_sort(all, {}, &Timed::end);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i > 0 && all[i].end != all[i - 1].end) pass_queued();
    add_operation(all[i].operation);
  }
  pass_queued();
}

// Operators of B and W together in the order of the step: no gradient is kept longer than
// it must be.
void StepDrafter::add_operation(const PipelineOperation& operation) {
  for (Draft& each : drafts_) each.gathered.clear();
  const PipelineKind kind = operation.kind;
  for (std::size_t i = 0; i < micro_.part.size(); ++i) {
    const PipelineKind part = micro_.part[i];
    const bool takes = kind == PipelineKind::kBoth ? part == PipelineKind::kBackward ||
                                                         part == PipelineKind::kWeight
                                                   : part == kind;
    if (takes && micro_.chunk[i] == operation.chunk)
      add_operator(operator_id(i), operation.micro_batch, false);
  }
}

void StepDrafter::add_again(std::int32_t chunk, std::int32_t micro_batch) {
  if (!again_.emplace(chunk, micro_batch).second) return;
  for (const OperatorId id : needed_again_[static_cast<std::size_t>(chunk)])
    add_operator(id, micro_batch, true);
}

void StepDrafter::add_operator(OperatorId id, std::int32_t micro_batch, bool again) {
  if (!again && uses_again(id)) add_again(micro_.chunk[index(id)], micro_batch);
  const Operator& op = micro_.step.graph.op(id);
  if (divides(ZeroStage::kParameters))
    for (const auto& input : op.inputs)
      if (input && trained(*input)) gather(*input, device(id));
  if (is_group_operator(op.type)) {
    add_group_operator(id, micro_batch, again);
  } else {
    for (Draft& each : drafts_on(device(id))) add_on(each, id, micro_batch, again);
  }
  if (again) return;
  for (const auto& output : op.outputs) {
    if (!output) continue;
    queue(*output, micro_batch, device(id));
    const auto [first, last] = partial_of_.equal_range(*output);
    for (auto each = first; each != last; ++each)
      add_partial(each->second, *output, micro_batch, device(id));
  }
}

void StepDrafter::add_on(Draft& draft, OperatorId id, std::int32_t micro_batch,
                         bool again) {
  const std::int64_t number = this->number(draft, micro_batch);
  const std::string suffix = fmt::format("@{}{}", number, again ? "/again" : "");
  const bool of_again = again || uses_again(id);
  const auto here = [&](TensorId of) { return value(draft, of, micro_batch, of_again); };
  Operator op = micro_.step.graph.op(id);
  op.name += suffix;
  op.after.clear();
  if (op.type == "Dropout") {  // another mask for each micro-batch, the same again
    constexpr std::int64_t kApart = 1'000'003;
    op.attributes["seed"] = op.integer("seed", 0) + number * kApart;
    if (const std::int64_t run = op.integer("run", 0); run > 0)
      op.attributes["first"] = run * draft.part;
  }
  if (again && op.type == "BatchNormalization")
    op.attributes["updates_statistics"] = std::int64_t{0};
  for (auto& input : op.inputs)
    if (input) input = here(*input);
  for (TensorId& input : op.captured) input = here(input);
  for (auto& output : op.outputs) {
    if (!output) continue;
    const TensorId of = *output;
    Tensor tensor = fresh(of_template(of), suffix);
    tensor.sharing = of_template(of).sharing;
    if (tensor.sharing != Sharing::kOwn)
      tensor.shared_with = here(of_template(of).shared_with);
    output = add_tensor(draft, std::move(tensor));
    results(draft, micro_batch, again)[of] = *output;
  }
  add(draft, std::move(op), micro_.part[index(id)]);
}

// To every other device where an operation reads it.
void StepDrafter::queue(TensorId of, std::int32_t micro_batch, std::int32_t from) {
  std::set<std::int32_t> devices;
  for (const OperatorId reader : micro_.step.graph.readers(of))
    if (micro_.part[index(reader)] != PipelineKind::kBoth) devices.insert(device(reader));
  for (const std::int32_t to : devices)
    if (to != from) queue_.push_back({of, micro_batch, from, to});
}

void StepDrafter::pass_queued() {
  for (const Passing& each : queue_) {
    const std::span<Draft> sources = drafts_on(each.from), targets = drafts_on(each.to);
    for (std::size_t p = 0; p < sources.size(); ++p) {
      const auto i = static_cast<std::size_t>(each.micro_batch);
      const TensorId x = sources[p].values[i].at(each.of);
      const Tensor there = fresh(
          of_template(each.of), fmt::format("@{}", number(targets[p], each.micro_batch)));
      targets[p].values[i][each.of] =
          pass(sources[p].process, x, {0, -1}, targets[p].process, std::nullopt, there);
    }
  }
  queue_.clear();
}

// The sum over all micro-batches, in their order, at every process. Those of one tensor
// group have the same loss.
void StepDrafter::add_loss() {
  const TensorId of = micro_.step.loss;
  const std::span<Draft> owners = drafts_on(device(*micro_.step.graph.producer(of)));
  Draft& root = owners.front();
  std::optional<TensorId> sum;
  for (std::int32_t i = 0; i < shared_.micro_batches; ++i)
    for (Draft& each : owners) {
      if (each.part != 0) continue;
      TensorId loss = each.values[static_cast<std::size_t>(i)].at(of);
      if (each.process != root.process)
        loss = pass(each.process, loss, {0, -1}, root.process, std::nullopt,
                    fresh(of_template(of), fmt::format("@{}", number(each, i))));
      sum = sum ? accumulate(root, fresh(of_template(of), "/sum"), {*sum, loss}) : loss;
    }
  root.step.training.loss = *sum;
  for (Draft& each : drafts_)
    if (each.process != root.process)
      each.step.training.loss = pass(root.process, *sum, {0, -1}, each.process,
                                     std::nullopt, fresh(of_template(of), "/sum"));
}

std::vector<ProcessStep> StepDrafter::finish() {
  if (std::ranges::any_of(left_, [](std::int64_t left) { return left != 0; }))
    throw std::logic_error("a gradient is not whole at the end of the step");
  add_loss();
  std::vector<ProcessStep> steps;
  for (Draft& each : drafts_) {
    TrainingGraph& training = each.step.training;
    training.graph = reuse_in_place(std::move(each.builder).build());
    training.parameter_bytes = each.step.parameter_bytes;
    training.state_bytes = each.step.state_bytes;
    steps.push_back(std::move(each.step));
  }
  return steps;
}

std::vector<ProcessStep> process_steps(const MicroStep& micro, const SharedStep& shared,
                                       const Pipeline& pipeline,
                                       const PipelineSchedule& schedule) {
  StepDrafter drafter(micro, shared, pipeline);
  drafter.add_operations(schedule);
  return drafter.finish();
}

ElementRange rank_elements(std::int64_t elements, std::int32_t ranks, std::int32_t rank) {
  const std::int64_t each = padded_elements(elements, ranks) / ranks;
  const std::int64_t first = std::min(elements, each * rank);
  return {first, std::min(elements - first, each)};
}

}  // namespace espalier::training
