#include "training/pipeline/pipeline_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "training/step/initial_values.h"
#include "training/step/input_values.h"

namespace espalier::training {
namespace {

using enum PipelineScheme;

// Whether a schedule has W by itself.
bool splits(const PipelineForm& form) {
  return !form.scheme || *form.scheme == kZeroBubbleH1 || *form.scheme == kZeroBubbleH2 ||
         *form.scheme == kZeroBubbleV;
}

Nanoseconds as_time(Flops work) {
  return std::max(Nanoseconds{1}, static_cast<Nanoseconds>(work));
}

Pipeline counted(const MicroStep& micro, const SharedStep& shared,
                 const PipelineForm& form) {
  const auto devices = chunk_devices(lies_as(form), shared.devices, form.per_device);
  std::vector<PipelineChunk> chunks;
  for (std::size_t c = 0; c < micro.work.size(); ++c) {
    const MicroStep::Work& work = micro.work[c];
    chunks.push_back({devices.at(c), as_time(work.forward), as_time(work.backward),
                      as_time(work.weight), work.until_backward, work.until_weight});
  }
  return {std::move(chunks), shared.micro_batches};
}

// The same with times that were measured.
Pipeline timed(const Pipeline& counted, const SharedStep& shared,
               const PipelineForm& form, const StageTimes& file) {
  check(file, shared);
  const Pipeline times =
      pipeline_of(file.stages, form, shared.micro_batches, file.transfer);
  std::vector<PipelineChunk> chunks;
  for (std::int32_t c = 0; c < counted.chunks(); ++c) {
    chunks.push_back(times.chunk(c));
    chunks.back().until_backward = counted.chunk(c).until_backward;
    chunks.back().until_weight = counted.chunk(c).until_weight;
  }
  return {std::move(chunks), shared.micro_batches, file.transfer};
}

// Of all replays of a search: a second or so, in every process.
constexpr std::int64_t kMostOperations = 100'000'000;

std::vector<Bytes> peaks(const PipelineRun& run, const Pipeline& pipeline) {
  std::vector<Bytes> held;
  for (std::int32_t d = 0; d < pipeline.devices(); ++d)
    held.push_back(run.devices[static_cast<std::size_t>(d)].peak_bytes -
                   pipeline.persistent(d));
  return held;
}

}  // namespace

void check(const StageTimes& measured, const SharedStep& shared) {
  if (std::ssize(measured.stages) != shared.devices)
    throw InvalidInput(fmt::format("times of {} stages, but {} processes in the pipeline",
                                   measured.stages.size(), shared.devices));
}

SharedTraining::SharedTraining(const OperatorGraph& model, Optimiser optimiser,
                               const SharedStep& shared, const PipelineForm& form,
                               const std::optional<StageTimes>& measured)
    : shared_(shared), form_(form) {
  const TrainingOptions options = step_options(model, optimiser);
  const std::int32_t chunks = shared.devices * form.per_device;
  if (shared.tensor == 1) {
    micro_ = micro_step(model, options, chunks, splits(form));
  } else {
    divided_ = divide_layers(model, shared.tensor);
    whole_ = training_graph(model, options).graph;
    micro_ = micro_step(divided_.model, options, chunks, splits(form));
  }
  pipeline_.emplace(counted(micro_, shared_, form));
  if (measured) pipeline_.emplace(timed(*pipeline_, shared_, form, *measured));
  if (form.scheme) (void)named_pipeline(*pipeline_, *form.scheme);  // it is allowed
}

std::vector<Bytes> SharedTraining::least_held() const {
  std::vector<Bytes> least(static_cast<std::size_t>(shared_.devices));
  for (std::int32_t c = 0; c < pipeline_->chunks(); ++c) {
    const PipelineChunk& chunk = pipeline_->chunk(c);
    least[static_cast<std::size_t>(chunk.device)] +=
        chunk.until_backward + chunk.until_weight;
  }
  return least;
}

// What a device has less room than the one with most counts as held all the time.
Pipeline SharedTraining::with_room(std::span<const Bytes> bounds) const {
  if (bounds.empty()) return *pipeline_;
  const Bytes most = *std::ranges::max_element(bounds);
  std::vector<Bytes> taken;
  for (const Bytes bound : bounds) taken.push_back(most - bound);
  std::vector<PipelineChunk> chunks;
  for (std::int32_t c = 0; c < pipeline_->chunks(); ++c)
    chunks.push_back(pipeline_->chunk(c));
  return {std::move(chunks), shared_.micro_batches, pipeline_->transfer(),
          std::move(taken)};
}

Expected<SharedSchedule> SharedTraining::schedule(std::span<const Bytes> bounds) const {
  const Pipeline pipeline = with_room(form_.scheme ? std::span<const Bytes>{} : bounds);
  PipelineSearchOptions options;
  if (!bounds.empty()) options.memory_bound = *std::ranges::max_element(bounds);
  const std::int64_t operations =
      std::int64_t{3} * pipeline.chunks() * pipeline.micro_batches();
  options.replays = std::min(options.replays, kMostOperations / operations);
  auto plan = plan_pipeline(pipeline, form_, options);
  if (!plan) return tl::unexpected(plan.error());
  return SharedSchedule{std::move(plan->schedule), std::move(plan->origin),
                        peaks(plan->run, pipeline), plan->value, plan->lower_bound};
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
                                    const PipelineSchedule& schedule,
                                    std::vector<double> recomputed) const {
  SharedStep shared = shared_;
  shared.recomputed = std::move(recomputed);
  return std::move(process_steps(micro_, shared, *pipeline_,
                                 schedule)[static_cast<std::size_t>(process)]);
}

PipelineJob::PipelineJob(const SharedTraining& training, const PipelineSchedule& schedule,
                         std::int32_t process, std::vector<double> recomputed,
                         const TrainOptions& options)
    : training_(training),
      process_(process),
      seed_(options.seed),
      step_(training.step_of(process, schedule, std::move(recomputed))) {
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
