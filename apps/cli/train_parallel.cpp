// espalier train with micro-batches, alone or as one of several processes.
// Over 300 lines: what is checked, planned and run is one conversation of processes.

#include "cli/train_parallel.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <string>

#include "cli/interrupt.h"
#include "cli/naming.h"
#include "cli/remedy.h"
#include "cli/termination.h"
#include "cli/train_data.h"
#include "cli/train_files.h"
#include "cli/train_input.h"
#include "espalier/io/text_file.h"
#include "espalier/model/clock.h"
#include "training/pipeline/divide_layers.h"

namespace espalier::cli {
namespace {

using training::PipelineJob;
using training::SharedStep;
using training::SharedTraining;

SharedStep shared_step(const TrainCommand& command, std::int32_t processes) {
  const std::int32_t tensor = command.tensor;
  if (processes % tensor != 0)
    throw Refused(
        fmt::format("--tensor-parallel {}: it does not divide {} process{}", tensor,
                    processes, processes == 1 ? "" : "es"),
        set_option("--tensor-parallel", std::to_string(std::gcd(tensor, processes))));
  const std::int32_t groups = processes / tensor;
  const std::int32_t stages = command.stages.value_or(tensor == 1 ? groups : 1);
  if (groups % stages != 0)
    throw Refused(fmt::format("--pipeline {}: the stages do not divide {} {}", stages,
                              groups, tensor == 1 ? "processes" : "tensor groups"),
                  set_option("--pipeline", std::to_string(std::gcd(stages, groups))));
  if (!command.stages_out.empty() && stages < processes)
    throw Refused("--stages-out: only for stages of one process each",
                  tensor == 1 ? set_option("--pipeline", std::to_string(processes))
                              : drop_option("--tensor-parallel"));
  return {.devices = stages,
          .ranks = groups / stages,
          .tensor = tensor,
          .micro_batches = command.micro_batches,
          .zero = command.zero};
}

// Fewer processes in a tensor group, where that divides the model; else none.
Remedy smaller_group(const TrainCommand& command, const OperatorGraph& model,
                     const SharedStep& shared) {
  for (std::int32_t tensor = shared.tensor - 1; tensor > 0; --tensor) {
    if (shared.tensor % tensor != 0) continue;
    const std::int64_t batches = shared.all_micro_batches() * (shared.tensor / tensor);
    if (command.source.batch.value_or(32) % batches != 0) continue;
    try {
      if (tensor > 1) (void)training::divide_layers(model, tensor);
    } catch (const InvalidInput&) {
      continue;
    }
    const Remedy remedy = set_option("--tensor-parallel", std::to_string(tensor));
    if (tensor > 1) return remedy;
    return remedy + set_option("--pipeline", std::to_string(shared.devices));
  }
  return {};
}

void check_division(const TrainCommand& command, const OperatorGraph& model,
                    const SharedStep& shared) {
  if (shared.tensor == 1) return;
  try {
    (void)training::divide_layers(model, shared.tensor);
  } catch (const InvalidInput& error) {
    throw Refused(fmt::format("--tensor-parallel {}: {}", shared.tensor, error.what()),
                  smaller_group(command, model, shared));
  }
}

// As many micro-batches as the schedule can run, and a --batch that all parts divide.
void check_parts(const TrainCommand& command, const SharedStep& shared) {
  const std::int32_t micro_batches =
      allowed_micro_batches(command.form, shared.devices, shared.micro_batches);
  Remedy remedy;
  if (micro_batches != shared.micro_batches)
    remedy = set_option("--micro-batches", std::to_string(micro_batches));
  const bool sized = command.source.batch || !command.mlp.empty();
  const std::int64_t whole = command.source.batch.value_or(32);
  const std::int64_t parts = std::int64_t{shared.ranks} * micro_batches;
  if (sized && whole % parts != 0)
    remedy = remedy + set_option("--batch", std::to_string((whole / parts + 1) * parts));
  if (micro_batches != shared.micro_batches)
    throw Refused(
        fmt::format("--micro-batches {}: not a multiple of the {} stages, as {} needs",
                    shared.micro_batches, shared.devices, describe(command.form)),
        remedy);
  if (remedy.empty()) return;
  const std::string each =
      fmt::format("{} micro-batch{}", micro_batches, micro_batches == 1 ? "" : "es");
  throw Refused(fmt::format("--batch {}: {} do not divide it", whole,
                            shared.ranks == 1 ? each
                                              : fmt::format("{} ranks with {} each",
                                                            shared.ranks, each)),
                remedy);
}

// The network for one micro-batch: --batch is the whole step's.
OperatorGraph network_of(const TrainCommand& command, const SharedStep& shared) {
  TrainCommand part = command;
  if (command.source.batch || !command.mlp.empty())
    part.source.batch = command.source.batch.value_or(32) / shared.all_micro_batches();
  return read_network(part);
}

std::optional<training::StageTimes> stage_times(const TrainCommand& command,
                                                const SharedStep& shared) {
  if (command.stage_times.empty()) return std::nullopt;
  return refusing(drop_option("--stage-times"), [&] {
    PipelineFile file = read_pipeline_file(command.stage_times);
    training::StageTimes times{std::move(file.stages), file.transfer};
    naming<InvalidInput>(command.stage_times, [&] { check(times, shared); });
    return times;
  });
}

// A process of the job: its plan, and how it agrees with the others.
class Participant {
 public:
  Participant(const TrainCommand& command, const TrainingPeers& peers,
              const SharedTraining& training)
      : command_(command), peers_(peers), training_(training) {
    options_ = command.job;
    options_.messages = peers.messages;
    options_.reserve = peers.reserve;
    run_.shared = training.shared();
    run_.products = training.products();
    run_.divided_products = training.divided_products();
    run_.recomputed.resize(static_cast<std::size_t>(training.micro().chunks));
    run_.bounded = command.memory.kind != MemoryRequest::Kind::kUnbounded;
  }

  // A least that was asked for is that of the schedule with one micro-batch under way.
  // Where a process does not fit, a schedule that is searched for keeps less on its
  // device; where that is not possible, the device runs more forwards again.
  Expected<void> plan() {
    using enum MemoryRequest::Kind;
    const MemoryRequest::Kind asked = command_.memory.kind;
    if (searched() && (asked == kLeast || asked == kFactor))
      room_ = training_.least_held();
    make_job();
    if (!run_.bounded) return {};
    run_.bound = peers_.gather_all(command_.memory.resolve(job_->job().least(), 0));
    if (searched() && asked == kFactor) {
      room_.clear();
      make_job();
    }
    for (;;) {
      fits_ = job_->job().fits(run_.bound[static_cast<std::size_t>(peers_.rank)]);
      const auto fitting = peers_.gather_all(fits_ ? 1 : 0);
      if (std::ranges::count(fitting, 0) == 0) return {};
      if (!keep_less(fitting) && !recompute_more(fitting)) return first_refusal(fitting);
      make_job();
    }
  }

  void run(const training::FillMicroBatch& fill,
           const std::function<bool(std::int64_t, float, Seconds)>& ended) {
    run_.result = job_->run(fill, ended);
  }

  // Collective.
  SharedRun& figures() {
    const training::TrainJob& job = job_->job();
    const training::ProcessStep& step = job_->step();
    const auto all = [this](Bytes value) { return peers_.gather_all(value); };
    run_.least = all(job.least());
    run_.planned = all(job.arena_bytes());
    run_.arena_peak = all(run_.result.arena_peak);
    run_.peak = all(run_.result.peak_resident);
    run_.baseline = all(job.account().baseline);
    run_.parameters = all(step.parameter_bytes);
    run_.gradients = all(step.gradient_bytes);
    run_.states = all(step.state_bytes);
    const auto times = operation_seconds(step, training_.shared(), run_.result);
    const auto nanoseconds = [&](Seconds value) {
      return all(static_cast<std::int64_t>(value * 1e9));
    };
    run_.forward = nanoseconds(times.forward);
    run_.backward = nanoseconds(times.backward);
    run_.weight = nanoseconds(times.weight);
    run_.beside = nanoseconds(times.beside);
    run_.update = nanoseconds(times.update);
    run_.other = nanoseconds(times.other);
    return run_;
  }
  [[nodiscard]] SharedRun& state() { return run_; }
  /// Whose answer first_refusal() is.
  [[nodiscard]] std::int32_t refused() const { return refused_; }

 private:
  // @pre each device has room for a micro-batch
  void make_job() {
    job_.reset();
    auto schedule = training_.schedule(room_);
    ESPALIER_ASSERT(schedule.has_value(), "one micro-batch has room");
    run_.schedule = std::move(*schedule);
    job_ = std::make_unique<PipelineJob>(training_, run_.schedule.schedule, peers_.rank,
                                         run_.recomputed, options_);
    job_->job().plan();
  }

  [[nodiscard]] bool searched() const { return !command_.form.scheme; }

  // Takes from the room of devices what their processes are above their bounds.
  bool keep_less(const std::vector<std::int64_t>& fitting) {
    const auto needed = peers_.gather_all(job_->job().least());
    if (!searched()) return false;
    const std::vector<Bytes>& held = run_.schedule.held;
    const std::vector<Bytes> least = training_.least_held();
    if (room_.empty()) room_ = held;
    const std::size_t each = needed.size() / held.size();
    bool less = false;
    for (std::size_t p = 0; p < needed.size(); ++p) {
      const std::size_t d = p / each;
      if (fitting[p] != 0 || held[d] <= least[d]) continue;
      const Bytes over = std::max(Bytes{1}, needed[p] - run_.bound[p]);
      room_[d] = std::min(room_[d], std::max(least[d], held[d] - over));
      less = true;
    }
    return less;
  }

  bool recompute_more(const std::vector<std::int64_t>& fitting) {
    bool more = false;
    for (std::size_t c = 0; c < run_.recomputed.size(); ++c) {
      const std::int32_t device =
          training_.pipeline().chunk(static_cast<std::int32_t>(c)).device;
      const std::int32_t each = run_.shared.ranks * run_.shared.tensor;
      const auto first = fitting.begin() + device * each;
      const bool scarce = std::count(first, first + each, 0) > 0;
      if (!scarce || run_.recomputed[c] >= 1) continue;
      run_.recomputed[c] += 0.25;
      more = true;
    }
    return more;
  }

  // Every process learns what the first one that does not fit needs.
  Expected<void> first_refusal(const std::vector<std::int64_t>& fitting) {
    refused_ = static_cast<std::int32_t>(std::ranges::find(fitting, 0) - fitting.begin());
    const Infeasible own = fits_ ? Infeasible{} : fits_.error();
    const auto theirs = [&](std::int64_t value) {
      return peers_.gather_all(value)[static_cast<std::size_t>(refused_)];
    };
    Infeasible answer;
    answer.reason =
        static_cast<Infeasible::Reason>(theirs(static_cast<std::int64_t>(own.reason)));
    answer.bound_bytes = theirs(own.bound_bytes);
    answer.least_bytes = theirs(own.least_bytes);
    answer.lower_bound_bytes = theirs(own.lower_bound_bytes);
    return tl::make_unexpected(answer);
  }

  const TrainCommand& command_;
  const TrainingPeers& peers_;
  const SharedTraining& training_;
  training::TrainOptions options_;
  std::unique_ptr<PipelineJob> job_;
  Expected<void> fits_;
  std::int32_t refused_ = 0;
  std::vector<Bytes> room_;  // by device, for what micro-batches keep; empty: no bound
  SharedRun run_;
};

void train(const TrainCommand& command, const OperatorGraph& model,
           const TrainingPeers& peers, const SharedTraining& training,
           Participant& participant, StepsReached& reached) {
  std::optional<SampleFile> data;
  training::FillMicroBatch fill;
  if (!command.data.empty()) {
    refusing(drop_option("--data"),
             [&] { data.emplace(command.data, model, training.micro().step); });
    fill = [&data](std::int64_t micro_batch, TensorId of, std::span<std::byte> bytes) {
      data->fill(micro_batch, of, bytes);
    };
  }
  reached.done = 0;
  std::optional<Interrupt> interrupt;  // a launcher ends the processes of a job
  if (peers.size == 1) interrupt.emplace();
  participant.run(fill, [&](std::int64_t step, float loss, Seconds seconds) {
    reached.done = step + 1;
    if (peers.rank == 0 && !command.json)
      print(
          fmt::format("step {:>6}  loss {:<12.7g}  {:.3f} s\n", step + 1, loss, seconds));
    return interrupt && interrupt->came();
  });
}

// Files that were asked for, and the answer.
ExitStatus hand_out(const TrainCommand& command, const SharedRun& run) {
  if (!command.loss_out.empty()) write_losses(command.loss_out, run.result.losses);
  if (!command.stages_out.empty())
    write_file(command.stages_out, [&](std::ostream& out) {
      write_pipeline_file(out, measured_stages(run, command.form));
    });
  return report_shared(command, run);
}

}  // namespace

Ending train_shared(TrainCommand& command, const TrainingPeers& peers) {
  if (!command.job.planned)
    throw Refused("--unplanned: not with micro-batches or several processes",
                  drop_option("--unplanned"));
  const SharedStep shared = shared_step(command, peers.size);
  const bool first = peers.rank == 0;
  StepsReached reached{network_title(command), command.job.steps};
  std::optional<TerminationMessage> termination;
  if (first) termination.emplace([&reached] { return reached.text("terminated"); });
  Clock::time_point start = Clock::now();
  check_parts(command, shared);
  const OperatorGraph model = network_of(command, shared);
  check_same_files(command, model, peers);
  check_division(command, model, shared);
  const std::optional<training::StageTimes> times = stage_times(command, shared);
  const auto training = naming<InvalidInput>(command.source.file, [&] {
    return std::make_unique<SharedTraining>(model, command.optimiser, shared,
                                            command.form, times);
  });
  Participant participant(command, peers, *training);
  participant.state().not_trained = not_trained(model);
  if (first) warn_of_not_trained(participant.state().not_trained);
  participant.state().prepare_seconds = since(start);
  start = Clock::now();
  const Expected<void> planned = participant.plan();
  participant.state().plan_seconds = since(start);
  if (!planned) {
    termination.reset();
    if (!first) return kNo;
    return report_shared_infeasible(command, shared, planned.error(),
                                    participant.refused());
  }
  train(command, model, peers, *training, participant, reached);
  if (participant.state().result.stopped) {
    termination.reset();
    return end_interrupted(reached);
  }
  const SharedRun& run = participant.figures();
  termination.reset();
  return first ? hand_out(command, run) : kDone;
}

}  // namespace espalier::cli
