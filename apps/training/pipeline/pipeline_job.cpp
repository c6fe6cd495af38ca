#include "training/pipeline/pipeline_job.h"

#include <algorithm>
#include <utility>

#include "training/step/initial_values.h"
#include "training/step/input_values.h"

namespace espalier::training {
namespace {

// Whether a schedule has W by itself.
bool splits(PipelineScheme scheme) {
  return scheme == PipelineScheme::kZeroBubbleH1 ||
         scheme == PipelineScheme::kZeroBubbleH2 ||
         scheme == PipelineScheme::kZeroBubbleV;
}

PipelineScheme scheme_of(const PipelineForm& form) {
  if (!form.scheme)
    throw InvalidInput("a schedule that is searched for: not for runs, only for plans");
  return *form.scheme;
}

Nanoseconds as_time(Flops work) {
  return std::max(Nanoseconds{1}, static_cast<Nanoseconds>(work));
}

Pipeline pipeline_of(const MicroStep& micro, const SharedStep& shared,
                     const PipelineForm& form) {
  const auto devices = chunk_devices(*form.scheme, shared.devices, form.per_device);
  std::vector<PipelineChunk> chunks;
  for (std::size_t c = 0; c < micro.work.size(); ++c)
    chunks.push_back({.device = devices.at(c),
                      .forward = as_time(micro.work[c].forward),
                      .backward = as_time(micro.work[c].backward),
                      .weight = as_time(micro.work[c].weight)});
  return {std::move(chunks), shared.micro_batches};
}

}  // namespace

SharedTraining::SharedTraining(const OperatorGraph& model, Optimiser optimiser,
                               const SharedStep& shared, const PipelineForm& form)
    : shared_(shared) {
  const TrainingOptions options = step_options(model, optimiser);
  const std::int32_t chunks = shared.devices * form.per_device;
  const bool split = splits(scheme_of(form));
  if (shared.tensor == 1) {
    micro_ = micro_step(model, options, chunks, split);
  } else {
    divided_ = divide_layers(model, shared.tensor);
    whole_ = training_graph(model, options).graph;
    micro_ = micro_step(divided_.model, options, chunks, split);
  }
  pipeline_.emplace(pipeline_of(micro_, shared_, form));
  schedule_ = named_pipeline(*pipeline_, *form.scheme);
}

// By the whole model, which reads a parameter perhaps in another way.
void SharedTraining::fill_known(const ProcessStep::Known& known, std::int32_t process,
                                std::uint64_t seed, std::span<std::byte> bytes) const {
  const OperatorGraph& graph = micro_.step.graph;
  const Tensor& tensor = graph.tensor(known.of);
  const auto runs = divided_.divided.find(tensor.name);
  const bool divided = runs != divided_.divided.end();
  if (!divided && (whole_.empty() || tensor.role != TensorRole::kParameter))
    return fill_initial_value(graph, known.of, seed, bytes, known.first);
  ElementRuns own = divided ? runs->second : ElementRuns{};
  own.first = own.run * (process % shared_.tensor);
  fill_initial_value(whole_, *whole_.find_tensor(tensor.name), seed, bytes, known.first,
                     own);
}

ProcessStep SharedTraining::step_of(std::int32_t process,
                                    std::vector<double> recomputed) const {
  SharedStep shared = shared_;
  shared.recomputed = std::move(recomputed);
  return std::move(process_steps(micro_, shared, *pipeline_,
                                 schedule_)[static_cast<std::size_t>(process)]);
}

PipelineJob::PipelineJob(const SharedTraining& training, std::int32_t process,
                         std::vector<double> recomputed, const TrainOptions& options)
    : training_(training),
      process_(process),
      seed_(options.seed),
      step_(training.step_of(process, std::move(recomputed))) {
  for (const ProcessStep::Input& each : step_.inputs) inputs_.emplace(each.tensor, each);
  for (const ProcessStep::Known& each : step_.known) known_.emplace(each.tensor, each);
  job_ = std::make_unique<TrainJob>(step_.training, options_for(options));
}

TrainOptions PipelineJob::options_for(TrainOptions options) const {
  const double all = static_cast<double>(training_.shared().all_micro_batches());
  options.keep_order = true;
  options.loss_scale = options.update.gradient_scale = 1 / all;
  options.known = [this](TensorId id, std::span<std::byte> bytes) {
    training_.fill_known(known_.at(id), process_, seed_, bytes);
  };
  return options;
}

TrainResult PipelineJob::run(
    const FillMicroBatch& fill,
    const std::function<bool(std::int64_t, float, Seconds)>& ended) {
  const std::int64_t all = training_.shared().all_micro_batches();
  const auto fill_inputs = [&](const TrainingGraph&, std::int64_t step, TensorId id,
                               std::span<std::byte> bytes) {
    const ProcessStep::Input& input = inputs_.at(id);
    if (fill)
      fill(step * all + input.micro_batch, input.of, bytes);
    else
      fill_input(training_.micro().step, input.of,
                 seed_ + static_cast<std::uint64_t>(input.micro_batch), bytes);
  };
  return job_->run(fill_inputs, ended);
}

OperationSeconds operation_seconds(const ProcessStep& step, const SharedStep& shared,
                                   const TrainResult& result) {
  OperationSeconds sum{.other = result.other_seconds};
  for (std::size_t i = 0; i < step.part.size(); ++i) {
    const Seconds seconds = result.operator_seconds.at(i);
    const bool update = step.training.graph.operators()[i].type.ends_with("Update");
    switch (step.part[i]) {
      case PipelineKind::kForward:
        sum.forward += seconds / shared.micro_batches;
        break;
      case PipelineKind::kBackward:
        sum.backward += seconds / shared.micro_batches;
        break;
      case PipelineKind::kWeight:
        sum.weight += seconds / shared.micro_batches;
        break;
      case PipelineKind::kBoth:
        if (update)
          sum.update += seconds;
        else
          sum.beside += seconds / shared.micro_batches;
        break;
    }
  }
  return sum;
}

}  // namespace espalier::training
