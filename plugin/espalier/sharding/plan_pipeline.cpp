#include "espalier/sharding/plan_pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace espalier {

namespace {

using enum PipelineScheme;

constexpr std::int32_t kMostPerDevice = 1024;

// The k-th of n parts of a whole; the parts add up to it.
std::int64_t part(std::int64_t whole, std::int32_t k, std::int32_t n) {
  return whole / n + (whole % n * (k + 1) / n - whole % n * k / n);
}

// Bound for which the lower bound of a named schedule is one: its own peak where that is
// not inside the bound that was asked for.
std::optional<Bytes> kept(const PipelinePlan& plan, std::optional<Bytes> bound) {
  return bound && plan.peak_bytes() <= *bound ? bound : std::nullopt;
}

PipelinePlan named(const PipelineForm& form, Pipeline pipeline,
                   const PipelineSearchOptions& options) {
  PipelineSchedule schedule = named_pipeline(pipeline, *form.scheme);
  std::optional<PipelineRun> run = replay_pipeline(pipeline, schedule);
  if (!run) throw std::logic_error(describe(form) + " waits in a circle");
  PipelinePlan plan{form,
                    std::string(name(*form.scheme)),
                    std::move(pipeline),
                    std::move(schedule),
                    std::move(*run),
                    0,
                    0};
  plan.value = objective_value(plan.run, options.objective);
  plan.lower_bound = pipeline_lower_bound(plan.pipeline, kept(plan, options.memory_bound),
                                          options.objective);
  return plan;
}

}  // namespace

PipelineScheme lies_as(const PipelineForm& form) {
  if (form.scheme) return *form.scheme;
  return form.per_device == 2 ? kZeroBubbleV : kZeroBubbleH1;
}

std::int32_t allowed_micro_batches(const PipelineForm& form, std::int32_t devices,
                                   std::int32_t micro_batches) {
  if (form.scheme != kInterleaved) return micro_batches;
  return (micro_batches + devices - 1) / devices * devices;
}

std::string describe(const PipelineForm& form) {
  if (!form.scheme)
    return form.per_device == 1 ? "search" : fmt::format("search:{}", form.per_device);
  if (*form.scheme != kInterleaved) return std::string(name(*form.scheme));
  return fmt::format("{}:{}", name(kInterleaved), form.per_device);
}

std::optional<PipelineForm> parse_pipeline_form(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view first = text.substr(0, colon);
  PipelineForm form;
  if (first != "search") {
    form.scheme = parse_pipeline_scheme(first);
    if (!form.scheme) return std::nullopt;
  }
  const bool interleaved = form.scheme == kInterleaved;
  if (interleaved || form.scheme == kZeroBubbleV) form.per_device = 2;
  if (colon == std::string_view::npos) return form;
  const std::string_view count = text.substr(colon + 1);
  const char* end = count.data() + count.size();
  const auto [stop, error] = std::from_chars(count.data(), end, form.per_device);
  if (error != std::errc() || stop != end || form.per_device < 1) return std::nullopt;
  const std::int32_t most = interleaved ? kMostPerDevice : form.scheme ? 0 : 2;
  return form.per_device <= most ? std::optional(form) : std::nullopt;
}

Pipeline pipeline_of(std::span<const PipelineStage> stages, const PipelineForm& form,
                     std::int32_t micro_batches, Nanoseconds transfer) {
  if (stages.empty()) throw InvalidInput("a pipeline without stages");
  const auto p = static_cast<std::int32_t>(stages.size());
  const std::int32_t v = form.per_device;
  std::vector<std::int32_t> next(stages.size(), 0);
  std::vector<PipelineChunk> chunks;
  for (const std::int32_t device : chunk_devices(lies_as(form), p, v)) {
    const PipelineStage& stage = stages[static_cast<std::size_t>(device)];
    const std::int32_t k = next[static_cast<std::size_t>(device)]++;
    chunks.push_back({device, part(stage.forward, k, v), part(stage.backward, k, v),
                      part(stage.weight, k, v), part(stage.until_backward, k, v),
                      part(stage.until_weight, k, v)});
  }
  std::vector<Bytes> persistent;
  for (const PipelineStage& stage : stages) persistent.push_back(stage.persistent);
  return Pipeline(std::move(chunks), micro_batches, transfer, std::move(persistent));
}

Bytes PipelinePlan::peak_bytes() const {
  Bytes peak = 0;
  for (const PipelineRun::Device& device : run.devices)
    peak = std::max(peak, device.peak_bytes);
  return peak;
}

double PipelinePlan::idle_fraction() const {
  double busy = 0;
  for (const PipelineRun::Device& device : run.devices)
    busy += static_cast<double>(device.busy);
  const double all =
      static_cast<double>(run.makespan) * static_cast<double>(run.devices.size());
  return all > 0 ? 1 - busy / all : 0;
}

Expected<PipelinePlan> plan_pipeline(std::span<const PipelineStage> stages,
                                     const PipelineForm& form, std::int32_t micro_batches,
                                     Nanoseconds transfer,
                                     const PipelineSearchOptions& options) {
  return plan_pipeline(pipeline_of(stages, form, micro_batches, transfer), form, options);
}

Expected<PipelinePlan> plan_pipeline(Pipeline pipeline, const PipelineForm& form,
                                     const PipelineSearchOptions& options) {
  const auto checked = [](PipelinePlan plan) {
    const Violations wrong = validate_pipeline(plan.pipeline, plan.schedule, plan.run);
    if (!wrong.empty())
      throw std::logic_error("the schedule is not valid: " + wrong.front());
    return plan;
  };
  if (form.scheme) return checked(named(form, std::move(pipeline), options));
  Expected<PipelineAnswer> answer = search_pipeline(pipeline, options);
  if (!answer) return tl::unexpected(answer.error());
  return checked({form, std::move(answer->origin), std::move(pipeline),
                  std::move(answer->schedule), std::move(answer->run), answer->value,
                  answer->lower_bound});
}

std::vector<PipelineForm> pipeline_forms(std::int32_t devices,
                                         std::int32_t micro_batches) {
  std::vector<PipelineForm> forms;
  const auto add = [&](std::optional<PipelineScheme> scheme, std::int32_t per_device) {
    forms.push_back({scheme, per_device});
  };
  add(kGpipe, 1);
  add(kOneForwardOneBackward, 1);
  const bool even =
      allowed_micro_batches({kInterleaved, 2}, devices, micro_batches) == micro_batches;
  if (devices > 1 && even) add(kInterleaved, 2);
  add(kZeroBubbleH1, 1);
  add(kZeroBubbleH2, 1);
  if (devices > 1) add(kZeroBubbleV, 2);
  add(std::nullopt, 1);
  if (devices > 1) add(std::nullopt, 2);
  return forms;
}

}  // namespace espalier
