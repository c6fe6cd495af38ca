// espalier plan: order, mapping and predicted run of a tree inside a memory bound.

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/plan_input.h"
#include "espalier/parallel/make_plan.h"

namespace espalier::cli {
namespace {

struct PlanCommand {
  MatrixSource source;  // or a file with a tree
  std::string schedule;
  MemoryRequest memory;
  PlanOptions plan;
  AssemblyRequest assembly;
  double rate = 0;  // flops per second of one worker; 0: not known
  bool json = false;
};

/// What no run can exceed: everything in memory at once.
Bytes everything(const TaskTree& tree) {
  Bytes sum = 0;
  for (const TaskId task : tree.postorder()) {
    sum += tree.output_size(task) + std::max<Bytes>(tree.execution_size(task), 0) +
           tree.retained_size(task);
  }
  return sum;
}

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
  std::ofstream file(path);
  if (!file) throw FileError(path, 0, std::strerror(errno));
  file << "# id start end first_worker workers priority; witness order\n";
  for (const TaskId task : plan.witness) {
    const WorkerRange& where = plan.mapping[index(task)];
    file << fmt::format("{} {} {} {} {} {}\n", input.id(task),
                        plan.schedule.start[index(task)], plan.schedule.end[index(task)],
                        where.first, where.count, plan.priority[index(task)]);
  }
  file.close();
  if (!file) throw FileError(path, 0, "cannot be written");
}

ExitStatus run_plan(PlanCommand command) {
  if (command.source.file.empty() == command.source.grid.empty()) {
    throw InvalidInput("plan: give either a file or --grid");
  }
  std::optional<Progress> progress(std::in_place, "reading");
  command.assembly.workers = command.plan.workers;
  PlanInput input = read_plan_input(command.source, command.assembly);
  Report report;
  report_input(report, command, input);

  progress->step("planning");
  SequentialOrders orders = sequential_orders(*input.tree);
  const Bytes postorder_peak = orders.postorder.peak;
  const Bytes least = command.plan.order == OrderKind::kPostorder ? postorder_peak
                                                                  : orders.liu.peak;
  command.plan.memory_bound = command.memory.resolve(least, everything(*input.tree));
  command.plan.max_workers = input.max_workers;
  const Expected<Plan> plan = make_plan(input.tree, command.plan, std::move(orders));
  if (plan && !command.schedule.empty()) {
    progress->step("writing the schedule");
    write_schedule(command.schedule, input, *plan);
  }
  progress.reset();

  if (!plan) {
    print_infeasible(std::move(report), plan.error(), command.json);
    return kNo;
  }
  report_plan(report, *plan, postorder_peak, command.rate);
  report.print(command.json);
  return kDone;
}

}  // namespace

Command add_plan(CLI::App& program) {
  auto command = std::make_shared<PlanCommand>();
  command->plan.workers =
      static_cast<std::int32_t>(std::max(1U, std::thread::hardware_concurrency()));
  CLI::App* app = program.add_subcommand(
      "plan", "Plan a task tree, or the assembly tree of a matrix, in a memory bound");
  app->add_option("FILE", command->source.file,
                  "Tree (lines: id parent output_size execution_size work\n"
                  "[retained_size]), Matrix Market or Rutherford-Boeing file");
  app->add_option("--grid", command->source.grid,
                  "Instead of a file: the Laplacian of a grid, as 40x40x40");
  add_memory(*app, command->memory, "min");
  add_workers(*app, command->plan.workers);
  add_order(*app, command->plan.order);
  add_mapping(*app, command->plan.mapping);
  add_kind(*app, command->assembly.kind);
  add_ordering(*app, command->assembly.ordering);
  app->add_option("--rate", command->rate,
                  "Flops a second of one worker, to give times in seconds as well")
      ->check(CLI::PositiveNumber)
      ->default_str("");
  app->add_option("--schedule", command->schedule,
                  "Write order, mapping and simulated times of the tasks here");
  add_json(*app, command->json);
  return {app, [command] { return run_plan(*command); }};
}

}  // namespace espalier::cli
