#include "cli/adjoint_options.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <utility>

#include "cli/number_option.h"
#include "cli/paths.h"
#include "cli/remedy.h"
#include "espalier/model/error.h"

namespace espalier::cli {
namespace {

void add_levels(CLI::App& app, AdjointOptions& options) {
  add_memory(app, options.memory, "none");
  add_count(app, "--slots", options.job.wish.memory_slots, 0,
            "States kept in memory (default: as many as the bound allows)");
  app.add_option("--out-of-core", options.job.wish.directory,
                 "Directory for states that do not fit in the bound; with it,\n"
                 "--memory min is the least out of core")
      ->type_name("DIR");
  add_count(app, "--disk-slots", options.job.wish.disk_slots, 0,
            "States kept there (default: one for every step)");
  add_count(app, "--remote-slots", options.remote_slots, 0,
            "On two processes: states that the second keeps (default: as many as\n"
            "the bound allows there)");
  const auto add_cost = [&app](const char* option, double& steps, const char* help) {
    in_range(app.add_option(option, steps, help)->type_name("STEPS"),
             training::is_transfer_cost,
             fmt::format("from 0 to {}", training::kMostTransferCost))
        ->capture_default_str();
  };
  training::ScheduleCosts& costs = options.job.costs;
  add_cost("--disk-write", costs.disk_write,
           "What it costs to write a state there, in forward steps");
  add_cost("--disk-read", costs.disk_read, "And to read one");
  add_cost("--remote-write", costs.remote_write,
           "What it costs to send a state to the second process, in forward steps");
  add_cost("--remote-read", costs.remote_read, "And to get one back");
}

}  // namespace

void add_adjoint_options(CLI::App& app, AdjointOptions& options, const char* grid,
                         std::int64_t steps) {
  options.model = app.get_name();
  options.grid = grid;
  options.steps = steps;
  options.job.runtime.workers = solver::default_workers();
  app.add_option("--grid", options.grid, "Cells, as 512x512")
      ->type_name("NXxNY")
      ->capture_default_str();
  constexpr std::int64_t kMostSteps = 100'000'000;
  whole(app.add_option("--steps", options.steps, "Time steps")->type_name("N"), 1,
        kMostSteps)
      ->capture_default_str();
  add_levels(app, options);
  add_workers(app, options.job.runtime.workers);
  app.add_option("--scheduler", options.job.runtime.scheduler,
                 "espalier, or a policy of StarPU's own")
      ->capture_default_str();
  add_json(app, options.json);
}

void check(const AdjointOptions& options, const CLI::App& app, bool together) {
  using Names = std::initializer_list<std::string_view>;
  const auto& wish = options.job.wish;
  if (together && options.on_disk())
    refuse_given(app,
                 Names{"--out-of-core", "--disk-slots", "--disk-write", "--disk-read"},
                 "not on several processes");
  if (!options.on_disk())
    refuse_given(app, Names{"--disk-slots", "--disk-write", "--disk-read"},
                 "needs --out-of-core DIR");
  if (!together)
    refuse_given(app, Names{"--remote-slots", "--remote-write", "--remote-read"},
                 "needs a second process (mpirun -n 2)");
  if (wish.memory_slots && *wish.memory_slots == 0 && !options.on_disk() &&
      options.remote_slots.value_or(0) == 0)
    throw Refused("--slots 0: needs --out-of-core DIR or --remote-slots N",
                  set_option("--slots", "1"));
  check_runtime(options.job.runtime);
  if (options.on_disk()) check_directory("--out-of-core", wish.directory);
}

}  // namespace espalier::cli
