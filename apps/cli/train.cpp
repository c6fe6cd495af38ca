// espalier train: steps of training a network, run from one planned arena. One subcommand
// from its options to its answer: over 300 lines.

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <thread>

#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/limits_note.h"
#include "cli/naming.h"
#include "cli/number_option.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/paths.h"
#include "cli/termination.h"
#include "cli/train_data.h"
#include "cli/train_input.h"
#include "cli/train_parallel.h"
#include "cli/train_report.h"
#include "espalier/model/clock.h"
#include "espalier/training/recompute.h"
#include "solver/memory/process_memory.h"
#ifdef ESPALIER_WITH_MPI
#include "cli/job/cluster.h"
#endif

namespace espalier::cli {
namespace {

training::TrainResult train(const TrainCommand& command, const OperatorGraph& model,
                            training::TrainJob& job, StepsReached& reached) {
  std::optional<SampleFile> data;
  training::FillInputs fill;
  if (!command.data.empty()) {
    refusing(drop_option("--data"),
             [&] { data.emplace(command.data, model, job.training()); });
    fill = [&data](const TrainingGraph&, std::int64_t step, TensorId id,
                   std::span<std::byte> bytes) { data->fill(step, id, bytes); };
  }
  reached.done = 0;
  const Interrupt interrupt;
  const auto ended = [&](std::int64_t step, float loss, Seconds seconds) {
    reached.done = step + 1;
    if (!command.json)
      print(
          fmt::format("step {:>6}  loss {:<12.7g}  {:.3f} s\n", step + 1, loss, seconds));
    return interrupt.came();
  };
  const auto again = [&interrupt](std::int64_t step) {
    if (step == 0)
      note("a loss is no number; the steps run again to find where that began");
    return interrupt.came();
  };
  return job.run(fill, ended, again);
}

// A plan that runs operators again instead of keeping what they wrote, inside the bound.
// What kernels want beside the tensors is known only afterwards, so that several bounds
// on the arena are tried, and at last as few bytes as can be: where that does not fit,
// what it needs is the least that does, unless the plan without needs less.
Expected<void> recompute_within(Bytes bound, const OperatorGraph& model,
                                const TrainCommand& command,
                                std::optional<training::TrainJob>& job, TrainRun& run) {
  const Bytes least = job->least(), room = job->account().left(bound);
  Expected<void> fits = job->fits(bound);
  // Whether there is such a plan; `fits` says whether it fits.
  const auto attempt = [&](std::optional<Bytes> arena) {
    auto again =
        recompute(model, training::step_options(model, command.optimiser), arena);
    if (!again) return false;
    run.recomputed_operators = again->recomputed_operators;
    const Bytes lower_bound = again->lower_bound_bytes;
    job.reset();
    job.emplace(std::move(again->step), command.job);
    job->plan();
    fits = job->fits(bound);
    if (fits) return true;
    Infeasible& no = fits.error();
    no.lower_bound_bytes = checked_add(job->account().baseline, lower_bound);
    no.reason = bound < no.lower_bound_bytes ? Infeasible::Reason::kImpossible
                                             : Infeasible::Reason::kNoneFound;
    no.least_bytes = std::min(no.least_bytes, least);
    return true;
  };
  for (const int percent : {100, 92, 84, 76})
    if (!attempt(room / 100 * percent) || fits) break;
  if (!fits) attempt(std::nullopt);
  return fits;
}

// The bound that was asked for, and a plan inside it.
Expected<void> plan_within(const OperatorGraph& model, const TrainCommand& command,
                           std::optional<training::TrainJob>& job, TrainRun& run) {
  job->plan();
  if (command.memory.kind == MemoryRequest::Kind::kUnbounded) return {};
  run.bound = command.memory.resolve(job->least(), 0);
  note_limits(command.memory, run.bound);
  if (job->fits(*run.bound)) return {};
  return recompute_within(*run.bound, model, command, job, run);
}

Ending run_alone(TrainCommand& command) {
  StepsReached reached{network_title(command), command.job.steps};
  std::optional<TerminationMessage> termination(
      std::in_place, [&reached] { return reached.text("terminated"); });
  std::optional<Progress> progress(std::in_place, "preparing");
  TrainRun run;
  Clock::time_point start = Clock::now();
  const OperatorGraph model = read_network(command);
  std::optional<training::TrainJob> job;
  naming<InvalidInput>(command.source.file, [&] {
    job.emplace(training::training_step(model, command.optimiser), command.job);
    run.not_trained = not_trained(model);
    warn_of_not_trained(run.not_trained);
  });
  run.prepare_seconds = since(start);
  progress->step("planning");
  start = Clock::now();
  const Expected<void> planned = plan_within(model, command, job, run);
  run.plan_seconds = since(start);
  progress.reset();
  if (!planned) {
    termination.reset();
    return report_infeasible(command, *job, planned.error());
  }
  run.result = naming<InvalidInput>(  // labels of no class
      command.data, [&] { return train(command, model, *job, reached); });
  termination.reset();
  if (run.result.stopped) return end_interrupted(reached);
  if (!command.loss_out.empty()) write_losses(command.loss_out, run.result.losses);
  return report_run(command, *job, run);
}

Ending run_train(TrainCommand& command) {
  const bool shared = command.micro_batches > 1 || command.stages || command.tensor > 1 ||
                      !command.stages_out.empty() || !command.form.scheme;
  return shared ? train_shared(command, {}) : run_alone(command);
}

void add_sharing(CLI::App& app, TrainCommand& command) {
  whole(app.add_option("--micro-batches", command.micro_batches,
                       "Parts of a step's samples, one after the other: --batch is\n"
                       "divided by them and by the processes that share no pipeline")
            ->type_name("M"),
        1, 1 << 16)
      ->capture_default_str();
  whole(app.add_option("--pipeline", command.stages,
                       "Of several processes (mpirun): stages of the pipeline, each on\n"
                       "a process; the other factor is data parallel (default: all,\n"
                       "with --tensor-parallel 1)")
            ->type_name("STAGES"),
        1, 1 << 16);
  whole(app.add_option("--tensor-parallel", command.tensor,
                       "Processes that divide each pair of linear layers, the first by\n"
                       "columns, the second by rows")
            ->type_name("T"),
        1, 1 << 16)
      ->capture_default_str();
  add_read(
      app, "--schedule",
      [&command](const std::string& text) {
        const auto form = parse_pipeline_form(text);
        if (!form)
          throw InvalidInput(
              fmt::format("'{}' is none of gpipe, 1f1b, interleaved[:V], zb-h1, zb-h2, "
                          "zb-v, search, search:2",
                          text));
        command.form = *form;
      },
      "Of the pipeline (default: 1f1b); search, search:2: the shortest\n"
      "that is found inside --memory, with one chunk a process or two")
      ->type_name("NAME");
  app.add_option("--stage-times", command.stage_times,
                 "Times of the stages that --schedule search plans with, as\n"
                 "--stages-out writes them (default: by operations)")
      ->type_name("FILE");
  add_choice<ZeroStage>(app, "--zero", command.zero,
                        {{"0", ZeroStage::kNone},
                         {"1", ZeroStage::kStates},
                         {"2", ZeroStage::kGradients},
                         {"3", ZeroStage::kParameters}},
                        "What data parallel processes divide: nothing, states,\n"
                        "gradients, parameters");
}

void add_update(CLI::App& app, TrainCommand& command) {
  add_choice<Optimiser>(app, "--training", command.optimiser,
                        {{"sgd", Optimiser::kSgd},
                         {"momentum", Optimiser::kMomentum},
                         {"adam", Optimiser::kAdam}},
                        "How parameters are updated");
  const auto add_names = [&app](const char* option, std::vector<std::string>& names,
                                const char* help) {
    app.add_option(option, names, help)
        ->type_name("NAME")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  };
  add_names("--trained", command.trained,
            "An initializer of an ONNX model that is trained although it is a\n"
            "scalar; may be given several times");
  add_names("--frozen", command.frozen,
            "One that is not trained; may be given several times");
  constexpr double kMostRate = 1e6;
  in_range(
      app.add_option("--rate", command.job.update.rate, "Rate of learning")
          ->type_name("R"),
      [](double rate) { return rate >= 0 && rate <= kMostRate; },
      fmt::format("from 0 to {}", kMostRate))
      ->capture_default_str();
  constexpr std::int64_t kMostSteps = 1'000'000'000;
  whole(app.add_option("--steps", command.job.steps, "Training steps")->type_name("N"), 1,
        kMostSteps)
      ->capture_default_str();
  add_seed(app, command.job.seed, "Of random parameters, data and masks");
}

}  // namespace

void choose_threads(TrainCommand& command) {
  if (!command.threads_given)
    command.job.threads =
        std::max(1, solver::default_workers() / command.job.runtime.workers);
}

void check(const TrainCommand& command) {
  if (!command.job.planned && command.memory.kind != MemoryRequest::Kind::kUnbounded)
    throw Refused("--unplanned: needs --memory none", set_option("--memory", "none"));
  if (!command.stage_times.empty() && command.form.scheme)
    throw Refused("--stage-times: only a schedule that is searched for needs times",
                  drop_option("--stage-times"));
  check_runtime(command.job.runtime);
  check_network(command);
}

namespace {

// @return --threads
CLI::Option* add_options(CLI::App* app, TrainCommand* command) {
  add_model(*app, command->source, "MODEL", "Network: an ONNX model (.onnx)");
  app->add_option("--mlp", command->mlp,
                  "Widths of a perceptron instead of a file, as 784x256x10")
      ->type_name("WIDTHS");
  add_update(*app, *command);
  add_sharing(*app, *command);
  add_memory(*app, command->memory, "none");
  app->add_option("--data", command->data,
                  "Samples: the inputs and labels of each, one after the other\n"
                  "(default: one random batch, the same in each step)")
      ->type_name("FILE");
  add_output(*app, "--loss-out", command->loss_out, "Write the losses here, a line each")
      ->type_name("FILE");
  add_output(*app, "--stages-out", command->stages_out,
             "Write measured times of the pipeline's stages here, for\n"
             "train-plan pipeline")
      ->type_name("FILE");
  app->add_flag_callback(
      "--unplanned", [command] { command->job.planned = false; },
      "Every tensor by itself, to compare with");
  add_workers(*app, command->job.runtime.workers);
  constexpr std::int64_t kMostThreads = 1024;
  CLI::Option* threads =
      whole(app->add_option("--threads", command->job.threads,
                            "Threads of each worker (default: what the cores allow)")
                ->type_name("N"),
            1, kMostThreads);
  app->add_option("--scheduler", command->job.runtime.scheduler,
                  "espalier, or a policy of StarPU's own")
      ->capture_default_str();
  add_json(*app, command->json);
  return threads;
}

}  // namespace

Command add_train(CLI::App* app) {
  app->description("Train a network, each step run from one planned arena");
  const auto command = std::make_shared<TrainCommand>();
  const CLI::Option* const threads = add_options(app, command.get());
  Command result{app,
                 [command]() -> Ending {
                   solver::keep_heap_small();
                   return run_train(*command);
                 },
                 false,
                 [command, threads] {
                   command->threads_given = threads->count() > 0;
                   choose_threads(*command);
                   check(*command);
                 }};
#ifdef ESPALIER_WITH_MPI
  result.run_together = [command](const Suggest& suggest) {
    solver::keep_heap_small();
    return train_on_cluster(*command, suggest);
  };
#endif
  return result;
}

}  // namespace espalier::cli
