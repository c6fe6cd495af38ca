// espalier order: the order of least memory of a computation graph.

#include "espalier/sequential/dag/order_graph.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <memory>
#include <optional>

#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/order_answer.h"
#include "cli/order_input.h"
#include "cli/order_step.h"
#include "cli/output.h"
#include "cli/report_option.h"
#include "espalier/io/graph_io.h"
#include "espalier/model/clock.h"
#include "espalier/model/error.h"
#include "espalier/parallel/plan_graph.h"

namespace espalier::cli {
namespace {

struct OrderCommand {
  GraphSource source;
  std::string schedule, page;
  Seconds timeout = OrderLimits().time;
  std::int32_t workers = 1;
  MemoryRequest memory;
  StepRequest step;
  bool json = false;
};

void search(const TaskGraph& graph, Seconds timeout, Progress& progress,
            OrderAnswer& answer) {
  const Clock::time_point start = Clock::now();
  const Interrupt interrupt;
  OrderLimits limits;
  limits.time = timeout;
  limits.progress = [&](const OrderProgress& now) {
    progress.step(describe(now));
    return !interrupt.came();
  };
  answer.best = order_graph(graph, limits);
  answer.interrupted = interrupt.came();
  answer.search_seconds = since(start);
}

// What all data and all workspaces take together.
Bytes all_at_once(const TaskGraph& graph) {
  Bytes bytes = data_bytes(graph);
  for (const TaskId task : graph.topological_order()) bytes += graph.workspace(task);
  return bytes;
}

void report_run(Report& report, const GraphPlan& plan, std::int32_t workers) {
  const Seconds best = plan.lower_bounds.best();
  report.heading("Simulated run inside the bound");
  report.count("workers", "workers", workers);
  report.bytes("bound_bytes", "bound", plan.memory_bound);
  report.bytes("peak_bytes", "peak", plan.peak);
  report.text("rule", "what admits operators",
              plan.rule == GraphRule::kBanker ? "banker's test" : "activation in order");
  report.flops("makespan_flops", "makespan, in flops on one worker", plan.makespan);
  report.flops("lower_bound_flops", "no schedule takes less than", best);
  report.ratio("makespan_ratio", "makespan / lower bound",
               best > 0 ? plan.makespan / best : 1);
}

// The order is the witness of a run on several workers, or on one with a bound.
std::optional<Expected<GraphPlan>> simulate(const OrderCommand& command,
                                            const TaskGraph& graph,
                                            const GraphOrder& best) {
  if (command.workers == 1 && command.memory.kind == MemoryRequest::Kind::kLeast)
    return std::nullopt;
  return plan_graph(
      graph, best.order,
      {.workers = command.workers,
       .memory_bound = command.memory.resolve(best.least_bytes, all_at_once(graph)),
       .lower_bound = best.lower_bound_bytes});
}

void check(const OrderCommand& command) {
  check(command.source);
  if (command.step.trains && !is_model(command.source))
    throw Refused("--training: " + command.source.file +
                      " is no ONNX model, whose operators are known",
                  drop_option("--training"));
  if (command.step.trains && command.source.free_weights)
    throw Refused("--free-weights: a training step keeps its weights",
                  drop_option("--free-weights"));
  if (command.step.asked() && command.workers != 1)
    throw Refused(
        "--workers goes with none of --training, --layout, --alignment and --offsets",
        drop_option("--workers"));
}

Ending run_order(const OrderCommand& command) {
  if (command.step.asked())
    return run_step(command.source, command.step,
                    {command.schedule, command.page, command.timeout, command.json});
  std::optional<Progress> progress(std::in_place, "reading");
  const Clock::time_point start = Clock::now();
  const TaskGraph graph = read_graph(command.source);
  OrderAnswer answer;
  answer.read_seconds = since(start);
  progress->step("searching");
  search(graph, command.timeout, *progress, answer);
  if (!command.schedule.empty()) {
    progress->step("writing the schedule");
    write_order(command.schedule, graph, answer.best.order);
  }
  if (!command.step.save_graph.empty()) write_graph_json(command.step.save_graph, graph);
  if (!command.page.empty()) {
    progress->step("writing the report");
    write_report(command.page, title(command.source), graph, answer.best);
  }
  progress->step("simulating");
  const auto run = simulate(command, graph, answer.best);
  progress.reset();
  Report report;
  report_graph(report, title(command.source), graph);
  if (run && !*run) {
    print_infeasible(std::move(report), run->error(), command.json);
    return {kNo, raise_memory(run->error().least_bytes)};
  }
  report_answer(report, graph, answer);
  if (run) report_run(report, **run, command.workers);
  report.print(command.json);
  return kDone;
}

}  // namespace

Command add_order(CLI::App* app) {
  auto command = std::make_shared<OrderCommand>();
  app->description("Order the operators of a computation graph for the least memory");
  add_graph(*app, command->source);
  add_timeout(*app, command->timeout,
              "Search no longer than this, whatever the phase; reading is\n"
              "not included. The best order so far and a lower bound are\n"
              "the answer then, as after an interrupt");
  add_output(*app, "--schedule", command->schedule,
             "Write the order here, one operator a line")
      ->type_name("FILE");
  add_workers(*app, command->workers);
  add_memory(*app, command->memory, "min");
  add_step(*app, command->step);
  add_report(*app, command->page);
  add_json(*app, command->json);
  return {app,
          [command, app] {
            if (app->count("--memory") > 0) command->step.memory = command->memory;
            return run_order(*command);
          },
          false, [command] { check(*command); }};
}

}  // namespace espalier::cli
