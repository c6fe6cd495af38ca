// espalier plan: order, mapping and predicted run of a tree inside a memory bound.
//
// One subcommand from its options to its answer: over 300 lines.

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/number_option.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/plan_compare.h"
#include "cli/plan_input.h"
#include "cli/plan_lists.h"
#include "cli/plan_out_of_core.h"
#include "cli/plan_picture.h"
#include "cli/plan_processes.h"
#include "cli/plan_replay.h"
#include "cli/report_option.h"
#include "espalier/distributed/task_overflow.h"
#include "espalier/io/text_file.h"
#include "espalier/machine/platform.h"
#include "espalier/parallel/make_plan.h"

namespace espalier::cli {
namespace {

struct PlanCommand {
  MatrixSource source;  // or a file with a tree
  std::string schedule, picture, page, replay;
  std::vector<std::int32_t> workers;  // one, or a list to compare
  std::vector<MemoryItem> memory;     // at most one, or a list to compare
  PlanOptions plan;
  AssemblyRequest assembly;
  ProcessesRequest cluster;
  double rate = 0;                // flops per second of one worker; 0: not known
  std::int32_t task_workers = 1;  // that each task of a tree file can use
  bool compare = false, out_of_core = false, json = false;
  bool processor_time = false;  // with replay
};

void report_input(Report& report, const PlanCommand& command, const PlanInput& input) {
  const TaskTree& tree = *input.tree;
  Flops work = 0;
  for (const TaskId task : tree.postorder()) work += tree.work(task);
  report.text("input", "input", command.source.name());
  if (const auto& matrix = input.matrix) {
    report.count("size", "order of the matrix", matrix->size);
    report.text("kind", "kind", name(matrix->kind));
    report_ordering(report, command.assembly.ordering, matrix->ordering);
  }
  report.count("tasks", "tasks", static_cast<std::int64_t>(tree.size()));
  report.flops("work_flops", "work, flops", work);
  if (command.compare || command.out_of_core || !command.cluster.processes.empty()) {
    return;
  }
  report.count("workers", "workers", command.plan.workers);
  report.text("order", "order", name(command.plan.order));
  report.text("mapping", "mapping", name(command.plan.mapping));
}

void report_plan(Report& report, const Plan& plan, Bytes postorder_peak, double rate) {
  const LowerBounds& lower = plan.lower_bounds;
  report.flag("feasible", "", true);
  report.heading("Memory");
  report.bytes("least_bytes", "least that suffices (Liu)", plan.least_bytes);
  report.bytes("postorder_bytes", "peak of the best postorder", postorder_peak);
  report.bytes("bound_bytes", "bound", plan.memory_bound);
  report.bytes("witness_bytes", "peak on one worker", plan.witness_peak);
  report.bytes("peak_bytes", "peak of the simulated run", plan.peak);
  report.heading("Time, in flops on one worker");
  report.flops("makespan_flops", "makespan of the simulated run", plan.makespan);
  report.flops("lower_bound_flops", "no schedule takes less than", lower.best());
  report.flops("work_bound_flops", "  work / workers", lower.work);
  report.flops("critical_path_flops", "  critical path", lower.critical_path);
  report.flops("memory_area_flops", "  memory area", lower.memory_area);
  const double ratio = lower.best() > 0 ? plan.makespan / lower.best() : 1;
  report.ratio("makespan_ratio", "makespan / lower bound", ratio);
  if (rate > 0) {
    report.heading("Time, at the given rate");
    report.seconds("makespan_seconds", "makespan of the simulated run",
                   plan.makespan / rate);
    report.seconds("lower_bound_seconds", "no schedule takes less than",
                   lower.best() / rate);
  }
}

/// One line a task, in witness order: what the policy follows and what it would do.
void write_schedule(const std::string& path, const PlanInput& input, const Plan& plan) {
  write_file(path, [&](std::ostream& file) {
    file << "# id start end first_worker workers priority; witness order\n";
    for (const TaskId task : plan.witness) {
      const WorkerRange& where = plan.mapping[index(task)];
      file << fmt::format("{} {} {} {} {} {}\n", input.id(task),
                          plan.schedule.start[index(task)],
                          plan.schedule.end[index(task)], where.first, where.count,
                          plan.priority[index(task)]);
    }
  });
}

void check_processes(const PlanCommand& command) {
  const ProcessesRequest& cluster = command.cluster;
  if (cluster.processes.empty()) return;
  if (command.plan.mapping == MappingKind::kAllToAll) {
    throw Refused("plan: --mapping all-to-all is not for --processes",
                  drop_option("--mapping"));
  }
  if (cluster.processes.size() > 1 && (cluster.memory || !command.schedule.empty())) {
    throw Refused(
        "plan: --memory-per-process and --schedule are for one number of --processes",
        set_option("--processes", std::to_string(cluster.processes.front())));
  }
}

/// @throws Refused for options that do not go together
void check(const PlanCommand& command) {
  if (!command.replay.empty()) {
    if (!command.source.file.empty() || !command.source.grid.empty())
      throw Refused("plan: --replay has its own input",
                    drop_option(command.source.grid.empty() ? "FILE" : "--grid"));
    return;
  }
  if (command.source.file.empty() == command.source.grid.empty())
    throw Refused("plan: give either a file or --grid", one_source(command.source));
  check_processes(command);
  if (command.compare) return;
  if (command.workers.size() > 1)
    throw Refused("plan: several --workers are for --compare",
                  command.cluster.processes.empty()
                      ? set_flag("--compare")
                      : set_option("--workers", std::to_string(command.workers.front())));
  if (command.memory.size() > 1) {
    throw Refused("plan: several bounds in --memory are for --compare",
                  set_flag("--compare"));
  }
}

// Options that the input would pass over. @throws Refused
void check_input(const PlanCommand& command, const PlanInput& input) {
  if (input.matrix) {
    if (command.task_workers > 1)
      throw Refused("plan: --task-workers is for tree files: of a front it is known",
                    drop_option("--task-workers"));
    return;
  }
  std::vector<std::string> names;
  if (command.assembly.kind) names.emplace_back("--kind");
  if (command.assembly.ordering != solver::OrderingKind::kAuto)
    names.emplace_back("--ordering");
  refuse_options(names,
                 fmt::format("only for matrices; {} is a tree", command.source.file));
}

PlanInput read_plan_input(PlanCommand& command) {
  command.assembly.workers = std::ranges::max(command.workers);
  if (!command.cluster.processes.empty()) {
    command.assembly.processes = std::ranges::max(command.cluster.processes);
    const auto all =
        static_cast<std::int64_t>(command.assembly.workers) * command.assembly.processes;
    command.assembly.workers =
        static_cast<std::int32_t>(std::min<std::int64_t>(all, 1 << 30));
  }
  PlanInput input = read_plan_input(command.source, command.assembly);
  check_input(command, input);
  if (command.task_workers > 1)
    input.max_workers.assign(input.tree->size(), command.task_workers);
  return input;
}

MemoryRequest memory_of(const PlanCommand& command) {
  return command.memory.empty() ? MemoryRequest{} : command.memory.front().request;
}

ProcessesRequest cluster_request(const PlanCommand& command) {
  ProcessesRequest request = command.cluster;
  request.workers = command.workers.front();
  request.mapping = command.plan.mapping == MappingKind::kProportional
                        ? DistributedMapping::kProportional
                        : DistributedMapping::kMemoryAware;
  if (command.rate > 0) request.network.flop_rate = command.rate;
  request.schedule = command.schedule;
  request.json = command.json;
  return request;
}

PlanReport describe(const PlanCommand& command) {
  return {command.source.name(), command.rate, std::string(name(command.plan.order)),
          std::string(name(command.plan.mapping))};
}

Ending plan_one(PlanCommand& command, const PlanInput& input, Report report,
                std::optional<Progress>& progress) {
  SequentialOrders orders = sequential_orders(*input.tree);
  const Bytes postorder_peak = orders.postorder.peak;
  const Bytes least = sequential_order(*input.tree, command.plan.order, orders).peak;
  command.plan.memory_bound = memory_of(command).resolve(least, everything(*input.tree));
  command.plan.max_workers = input.max_workers;
  const Expected<Plan> plan = make_plan(input.tree, command.plan, std::move(orders));
  if (plan && !command.schedule.empty()) {
    progress->step("writing the schedule");
    write_schedule(command.schedule, input, *plan);
  }
  if (plan && !command.page.empty()) {
    progress->step("writing the report");
    write_report(command.page, input, *plan, describe(command));
  }
  progress.reset();
  if (!plan) {
    print_infeasible(std::move(report), plan.error(), command.json);
    return {kNo, raise_memory(plan.error().least_bytes)};
  }
  report_plan(report, *plan, postorder_peak, command.rate);
  report.print(command.json);
  return kDone;
}

// Sizes that do not fit in 64 bits: by the file and the id there.
template <class Plan>
Ending naming_the_task(const PlanCommand& command, const PlanInput& input, Plan&& plan) {
  try {
    return plan();
  } catch (const TaskOverflow& error) {
    throw OverflowError(fmt::format("{}: task {}: {}", command.source.name(),
                                    input.id(error.task()), error.why()));
  }
}

Ending run_plan(PlanCommand command) {
  if (!command.replay.empty())
    return replay_plan({command.replay, command.workers, command.memory,
                        command.processor_time, command.json});
  std::optional<Progress> progress(std::in_place, "reading");
  const PlanInput input = read_plan_input(command);
  command.plan.workers = command.workers.front();
  Report report;
  report_input(report, command, input);
  progress->step("planning");
  if (command.out_of_core) {
    return plan_out_of_core(input, {memory_of(command), command.schedule, command.json},
                            std::move(report), progress);
  }
  if (!command.cluster.processes.empty()) {
    return naming_the_task(command, input, [&] {
      return plan_processes(input, cluster_request(command), std::move(report), progress);
    });
  }
  if (!command.compare) return plan_one(command, input, std::move(report), progress);
  const Comparison comparison = compare(input, {command.workers, command.memory});
  progress.reset();
  if (!command.picture.empty()) write_picture(command.picture, comparison);
  return print_comparison(report, comparison, command.json);
}

void add_out_of_core(CLI::App& app, PlanCommand& command) {
  CLI::Option* out_of_core = app.add_flag(
      "--out-of-core", command.out_of_core,
      "Instead of a parallel plan: one worker, and what has to be written to\n"
      "disk and read back to stay in --memory (min: the largest task)");
  for (const char* other : {"--compare", "--rate", "--order", "--mapping", "--workers",
                            "--task-workers", "--report"}) {
    out_of_core->excludes(app.get_option(other));
  }
}

void add_compare(CLI::App& app, PlanCommand& command) {
  CLI::Option* compare =
      app.add_flag("--compare", command.compare,
                   "Instead of one plan: makespans of all strategies over lists of\n"
                   "--workers and --memory, beside what no schedule can beat");
  add_output(app, "--picture", command.picture, "Draw the comparison here (SVG)")
      ->needs(compare);
  for (const char* other : {"--schedule", "--rate", "--order", "--mapping", "--report"}) {
    compare->excludes(app.get_option(other));
  }
}

CLI::Option* add_replay(CLI::App& app, PlanCommand& command) {
  CLI::Option* replay = app.add_option(
      "--replay", command.replay,
      "Instead of a file: run the tasks that solve --trace recorded again,\n"
      "in simulated time, by the policy, on each of --workers and --memory");
  app.add_flag("--processor-time", command.processor_time,
               "Take tasks for as long as they had the processor, not by the clock")
      ->needs(replay);
  return replay->type_name("FILE");
}

void exclude_from_replay(CLI::App& app, CLI::Option& replay) {
  for (const char* other :
       {"--schedule", "--rate", "--order", "--mapping", "--report", "--compare",
        "--out-of-core", "--processes", "--task-workers", "--kind", "--ordering"}) {
    replay.excludes(app.get_option(other));
  }
}

void add_cluster(CLI::App& app, PlanCommand& command) {
  CLI::Option* processes = add_processes(app, command.cluster);
  for (const char* other :
       {"--compare", "--out-of-core", "--memory", "--order", "--report"}) {
    processes->excludes(app.get_option(other));
  }
}

}  // namespace

Command add_plan(CLI::App* app) {
  auto command = std::make_shared<PlanCommand>();
  command->workers = {own_cores()};
  app->description(
      "Plan a task tree, or the assembly tree of a matrix, in a memory bound");
  app->add_option("FILE", command->source.file,
                  "Tree (lines: id parent output_size execution_size work\n"
                  "[retained_size]), Matrix Market or Rutherford-Boeing file,\n"
                  "plain or gzip");
  app->add_option("--grid", command->source.grid,
                  "Instead of a file: the Laplacian of a grid, as 40x40x40");
  // Early, so that of what it excludes the other option goes.
  CLI::Option* const replay = add_replay(*app, *command);
  add_memory_list(*app, command->memory);
  add_worker_list(*app, command->workers);
  whole(app->add_option("--task-workers", command->task_workers,
                        "Workers that each task of a tree file can use")
            ->type_name("N"),
        1, 1 << 20)
      ->default_str("1");
  add_order_kind(*app, command->plan.order);
  add_mapping(*app, command->plan.mapping);
  add_kind(*app, command->assembly.kind);
  add_ordering(*app, command->assembly.ordering);
  above_zero(
      app->add_option("--rate,--flop-rate", command->rate,
                      "Flops a second of one worker, to give times in seconds as well;\n"
                      "with --processes 1e10 if it is not given"))
      ->default_str("");
  add_output(*app, "--schedule", command->schedule,
             "Write order, mapping and simulated times of the tasks here");
  add_report(*app, command->page);
  add_compare(*app, *command);
  add_out_of_core(*app, *command);
  add_cluster(*app, *command);
  exclude_from_replay(*app, *replay);
  add_json(*app, command->json);
  return {app, [command] { return run_plan(*command); }, false,
          [command] { check(*command); }};
}

}  // namespace espalier::cli
