// espalier adjoint: the gradient of a model's misfit inside a memory bound.

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>

#include "cli/adjoint_options.h"
#include "cli/adjoint_partner.h"
#include "cli/adjoint_report.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/limits_note.h"
#include "cli/number_option.h"
#include "cli/output.h"
#include "cli/termination.h"
#include "espalier/model/clock.h"
#include "solver/kernels/dense.h"
#include "solver/matrix/grid.h"
#include "solver/memory/process_memory.h"
#include "training/adjoint/ice_sheet_chain.h"
#include "training/adjoint/shallow_water_chain.h"
#ifdef ESPALIER_WITH_MPI
#include "cli/job/cluster.h"
#endif

namespace espalier::cli {
namespace {

using training::AdjointJob;
using training::AdjointModel;

solver::GridShape grid_of(const AdjointOptions& options) {
  const solver::GridShape shape = solver::parse_grid(options.grid);
  if (shape.nx < 3 || shape.ny < 3 || shape.nz != 1)
    throw Refused(
        fmt::format("--grid {}: two sizes of at least 3 each, as 512x512", options.grid),
        drop_option("--grid"));
  return shape;
}

AdjointModel shallow_water(const AdjointOptions& options) {
  using training::ShallowWaterChain;
  const solver::GridShape shape = grid_of(options);
  const auto test = std::make_shared<training::ShallowWaterCase>(
      training::shallow_water_case(shape.nx, shape.ny));
  if (options.bands > shape.ny)
    throw Refused(fmt::format("--bands {}: from 1 to the {} rows of the grid",
                              options.bands, shape.ny),
                  drop_option("--bands"));
  const std::int32_t workers = options.job.runtime.workers;
  const std::int32_t bands = options.bands > 0
                                 ? options.bands
                                 : ShallowWaterChain::default_bands(test->basin, workers);
  return {
      .chain = ShallowWaterChain::chain_of(test->basin, options.steps, bands),
      .step_costs = {},
      .uses_blas = false,
      .workspace_bytes =
          [test, bands, workers] {
            return ShallowWaterChain::workspace_bytes(test->basin, bands, workers);
          },
      .build =
          [test, bands, workers, steps = options.steps](training::FirstError& errors) {
            return std::make_unique<ShallowWaterChain>(*test, steps, bands, workers,
                                                       errors);
          }};
}

AdjointModel ice_sheet(const AdjointOptions& options) {
  using training::IceSheetChain;
  constexpr std::int32_t kMostTurns = 12;
  constexpr double kTolerance = 1e-8;
  const solver::GridShape shape = grid_of(options);
  const auto test = std::make_shared<training::IceSheetCase>(
      training::ice_sheet_case(shape.nx, shape.ny));
  const auto sheet = std::make_shared<training::IceSheet>(*test, kMostTurns);
  solver::kernels::use_one_blas_thread();
  const std::vector<std::int32_t> turns =
      training::sound_ice_sheet(*test, *sheet, options.steps, kTolerance);
  return {.chain = IceSheetChain::chain_of(*test, options.steps),
          .step_costs = {turns.begin(), turns.end()},
          .uses_blas = true,
          .workspace_bytes =
              [test, sheet] { return IceSheetChain::workspace_bytes(*test, *sheet); },
          .build =
              [test, sheet, turns](training::FirstError& errors) {
                return std::make_unique<IceSheetChain>(*test, *sheet, turns, errors);
              }};
}

// The bound that was asked for; no value: none.
std::optional<Bytes> bound_of(const AdjointOptions& options, const AdjointJob& job,
                              AdjointPartner* partner) {
  if (!options.bounded()) return std::nullopt;
  const bool factor = options.memory.kind == MemoryRequest::Kind::kFactor;
  const Bytes least = factor ? job.budget().least(false) : job.least();
  return options.memory.resolve(partner ? partner->least(least) : least, 0);
}

// How far a run is, for whoever ends it.
class PassReached {
 public:
  explicit PassReached(std::string model) : model_(std::move(model)) {}

  void plan(std::int64_t steps) { planned_ = steps; }
  void update(double part) {
    done_ = std::llround(part * static_cast<double>(planned_.load()));
  }
  // "adjoint shallow-water: interrupted after 7 of 40 forward steps"
  [[nodiscard]] std::string text(std::string_view how) const {
    if (done_ < 0)
      return fmt::format("adjoint {}: {} before the first step", model_, how);
    return fmt::format("adjoint {}: {} after {} of {} forward steps", model_, how,
                       done_.load(), planned_.load());
  }

 private:
  std::string model_;
  std::atomic<std::int64_t> planned_ = 0, done_ = -1;
};

// Ends as the signal would have ended the program, having said how far it was.
ExitStatus end_by_signal(const PassReached& reached) {
  note(reached.text("interrupted"));
  std::raise(SIGINT);
  return kInternal;
}

Ending run_model(AdjointOptions& options, MakeModel make) {
  std::optional<AdjointJob> job;
  return run_adjoint(options, make, job, nullptr);
}

}  // namespace

Ending run_adjoint(const AdjointOptions& options, MakeModel make,
                   std::optional<AdjointJob>& place, AdjointPartner* partner) {
  PassReached reached(options.model);
  std::optional<TerminationMessage> termination(
      std::in_place, [&reached] { return reached.text("terminated"); });
  std::optional<Progress> progress(std::in_place, "preparing");
  AdjointRun run;
  Clock::time_point start = Clock::now();
  AdjointJob& job = place.emplace(make(options), options.job);
  if (partner) partner->start(job);
  run.prepare_seconds = since(start);
  if (job.unequal_steps()) run.sounding_steps = options.steps;
  progress->step("planning");
  start = Clock::now();
  run.bound = bound_of(options, job, partner);
  if (!partner) note_limits(options.memory, run.bound);
  if (partner) partner->lend(job, run.bound);
  if (const auto planned = job.plan(run.bound); !planned) {
    progress.reset();
    termination.reset();
    if (partner) static_cast<void>(partner->finish(job));
    return report_infeasible(options, job, planned.error(), partner == nullptr);
  }
  reached.plan(job.schedule().advances);
  run.plan_seconds = since(start);
  progress->step("forwards and backwards");
  {
    const Interrupt interrupt;
    run.result = job.run([&](double part) {
      progress->update(part);
      reached.update(part);
      return interrupt.came();
    });
  }
  progress.reset();
  termination.reset();
  if (run.result.run.stopped) return end_by_signal(reached);
  if (partner) run.process_peaks = partner->finish(job);
  return report_run(options, job, run);
}

Command add_adjoint(CLI::App* app) {
  app->description("Gradient of a time-stepping model inside a memory bound");
  app->require_subcommand(0, 1);  // none: below, so that an unknown name is named
  const auto water = std::make_shared<AdjointOptions>();
  CLI::App* water_app = app->add_subcommand(
      "shallow-water", "Waves in a closed basin, by the initial state and the drag");
  add_adjoint_options(*water_app, *water, "512x512", 2000);
  whole(
      water_app
          ->add_option("--bands", water->bands,
                       "Bands of rows that a step is divided into (default: by workers)")
          ->type_name("N"),
      1, std::numeric_limits<std::int32_t>::max());
  const auto ice = std::make_shared<AdjointOptions>();
  CLI::App* ice_app = app->add_subcommand(
      "ice-sheet",
      "Shallow ice with implicit steps, by the initial thickness and the rate factor");
  add_adjoint_options(*ice_app, *ice, "64x64", 100);
  // The one that was named, by `run`.
  const auto with_model = [water, ice, ice_app, water_app](const auto& run) -> Ending {
    for (const auto& [options, model] :
         {std::pair(water, water_app), std::pair(ice, ice_app)})
      options->workers_given = model->count("--workers") > 0;
    solver::keep_heap_small();
    return ice_app->parsed() ? run(*ice, ice_sheet) : run(*water, shallow_water);
  };
  Command command{app, [with_model] { return with_model(run_model); }};
  command.check = [water, ice, ice_app, water_app] {
    if (!ice_app->parsed() && !water_app->parsed())
      throw Refused("a subcommand is required: shallow-water or ice-sheet",
                    set_flag("--help"));
    const bool together = launched_processes() > 1;
    if (ice_app->parsed()) return check(*ice, *ice_app, together);
    check(*water, *water_app, together);
  };
#ifdef ESPALIER_WITH_MPI
  command.run_together = [with_model](const Suggest& suggest) {
    return with_model([&](AdjointOptions& options, MakeModel make) {
      return adjoint_on_cluster(options, make, suggest);
    });
  };
#endif
  return command;
}

}  // namespace espalier::cli
