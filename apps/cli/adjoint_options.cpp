#include "cli/adjoint_options.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <utility>

#include "cli/paths.h"
#include "cli/remedy.h"
#include "espalier/model/error.h"

namespace espalier::cli {
namespace {

void add_count(CLI::App& app, const std::string& option,
               std::optional<std::int64_t>& value, const std::string& help) {
  const auto read = [option, &value](const std::int64_t& count) {
    if (count < 0)
      throw CLI::ValidationError(option, fmt::format("{} is not 0 or more", count));
    value = count;
  };
  app.add_option_function<std::int64_t>(option, read, help)->type_name("N");
}

void add_levels(CLI::App& app, AdjointOptions& options) {
  add_memory(app, options.memory, "none");
  add_count(app, "--slots", options.job.wish.memory_slots,
            "States kept in memory (default: as many as the bound allows)");
  app.add_option("--out-of-core", options.job.wish.directory,
                 "Directory for states that do not fit in the bound; with it,\n"
                 "--memory min is the least out of core")
      ->type_name("DIR");
  add_count(app, "--disk-slots", options.job.wish.disk_slots,
            "States kept there (default: one for every step)");
  add_count(app, "--remote-slots", options.remote_slots,
            "On two processes: states that the second keeps (default: as many as\n"
            "the bound allows there)");
  app.add_option("--disk-write", options.job.costs.disk_write,
                 "What it costs to write a state there, in forward steps")
      ->type_name("STEPS")
      ->capture_default_str();
  app.add_option("--disk-read", options.job.costs.disk_read, "And to read one")
      ->type_name("STEPS")
      ->capture_default_str();
  app.add_option("--remote-write", options.job.costs.remote_write,
                 "What it costs to send a state to the second process, in forward steps")
      ->type_name("STEPS")
      ->capture_default_str();
  app.add_option("--remote-read", options.job.costs.remote_read, "And to get one back")
      ->type_name("STEPS")
      ->capture_default_str();
}

void check_costs(const training::ScheduleCosts& costs) {
  for (const auto& [option, steps] : {std::pair("--disk-write", costs.disk_write),
                                      std::pair("--disk-read", costs.disk_read),
                                      std::pair("--remote-write", costs.remote_write),
                                      std::pair("--remote-read", costs.remote_read)})
    if (!training::is_transfer_cost(steps))
      throw Refused(fmt::format("{} {}: from 0 to 10^6 forward steps", option, steps),
                    drop_option(option));
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
  app.add_option("--steps", options.steps, "Time steps")
      ->type_name("N")
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
  if (options.steps < 1 || options.steps > 100'000'000)
    throw Refused(fmt::format("--steps {}: from 1 to 10^8", options.steps),
                  set_option("--steps", "100"));
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
  check_costs(options.job.costs);
  check_runtime(options.job.runtime);
  if (options.on_disk()) check_directory("--out-of-core", wish.directory);
}

}  // namespace espalier::cli
