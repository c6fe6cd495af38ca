// espalier order: the order of least memory of a computation graph.

#include "espalier/sequential/dag/order_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <ranges>

#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/order_input.h"
#include "cli/output.h"
#include "cli/report_option.h"
#include "espalier/io/graph_io.h"
#include "espalier/model/replay_graph.h"
#include "espalier/parallel/plan_graph.h"
#include "solver/memory/clock.h"

namespace espalier::cli {
namespace {

using solver::Clock;
using solver::since;

struct OrderCommand {
  GraphSource source;
  std::string schedule, page;
  Seconds timeout = OrderLimits().time;
  std::int32_t workers = 1;
  MemoryRequest memory;
  bool json = false;
};

struct OrderAnswer {
  GraphOrder best;
  Seconds read_seconds = 0, search_seconds = 0;
  bool interrupted = false;
};

// "searching: 12000 states, 1.2 GiB, at least 1.1 GiB"
std::string describe(const OrderProgress& progress) {
  if (progress.best_bytes == 0) return "decomposing";
  return fmt::format("searching: {} states, {}, at least {}", progress.states,
                     format_size(progress.best_bytes),
                     format_size(progress.lower_bound_bytes));
}

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

// The order of the ids, when that is an order; the first one else.
bool ids_are_an_order(const TaskGraph& graph) {
  return std::ranges::is_sorted(graph.topological_order());
}

Bytes data_bytes(const TaskGraph& graph) {
  Bytes bytes = 0;
  for (std::size_t i = 0; i < graph.data(); ++i) bytes += graph.size(datum_id(i));
  return bytes;
}

void report_graph(Report& report, const std::string& file, const TaskGraph& graph) {
  Bytes largest = 0;
  for (const TaskId task : graph.topological_order())
    largest = std::max(largest, graph.memory_requirement(task));
  report.text("input", "input", file);
  report.count("operators", "operators", static_cast<std::int64_t>(graph.size()));
  report.count("tensors", "tensors", static_cast<std::int64_t>(graph.data()));
  report.heading("Memory");
  report.bytes("tensor_bytes", "all tensors", data_bytes(graph));
  report.bytes("initial_bytes", "there from the start", graph.initial_bytes());
  report.bytes("final_bytes", "there at the end", graph.final_bytes());
  report.bytes("largest_operator_bytes", "the largest operator", largest);
}

void report_answer(Report& report, const TaskGraph& graph, const OrderAnswer& answer) {
  const GraphOrder& best = answer.best;
  const bool in_order = ids_are_an_order(graph);
  report.flag("file_order", in_order ? "" : "file is in an order", in_order);
  report.bytes("file_order_bytes",
               in_order ? "peak of the order in the file" : "peak of the first order",
               replay(graph, graph.topological_order()).peak);
  report.bytes("least_bytes", "peak of the best order found", best.least_bytes);
  report.bytes("lower_bound_bytes", "no order needs less than", best.lower_bound_bytes);
  report.flag("proved", "proved the least", best.proved());
  report.ratio("gap", best.proved() ? "" : "gap", best.gap());
  report.heading("Search");
  report.text("method", "method", name(best.method));
  report.count("states", "states", best.states);
  report.flag("stopped", "stopped by a limit", best.stopped && !answer.interrupted);
  report.flag("interrupted", answer.interrupted ? "interrupted" : "", answer.interrupted);
  report.seconds("read_seconds", "read", answer.read_seconds);
  report.seconds("search_seconds", "searched", answer.search_seconds);
}

// What all data and all workspaces take together.
Bytes everything(const TaskGraph& graph) {
  Bytes bytes = data_bytes(graph);
  for (const TaskId task : graph.topological_order()) bytes += graph.workspace(task);
  return bytes;
}

void report_run(Report& report, const GraphPlan& plan, std::int32_t workers) {
  const Flops best = plan.lower_bounds.best();
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
       .memory_bound = command.memory.resolve(best.least_bytes, everything(graph))});
}

Ending run_order(const OrderCommand& command) {
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
  if (!command.page.empty()) {
    progress->step("writing the report");
    write_report(command.page, command.source.file, graph, answer.best);
  }
  progress->step("simulating");
  const auto run = simulate(command, graph, answer.best);
  progress.reset();
  Report report;
  report_graph(report, command.source.file, graph);
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

Command add_order(CLI::App& program) {
  auto command = std::make_shared<OrderCommand>();
  CLI::App* app = program.add_subcommand(
      "order", "Order the operators of a computation graph for the least memory");
  add_graph(*app, command->source);
  app->add_option("--timeout", command->timeout,
                  "Search no longer than this, whatever the phase; reading is\n"
                  "not included. The best order so far and a lower bound are\n"
                  "the answer then, as after an interrupt")
      ->type_name("SECONDS")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  add_path(*app, "--schedule", command->schedule,
           "Write the order here, one operator a line")
      ->type_name("FILE");
  add_workers(*app, command->workers);
  add_memory(*app, command->memory, "min");
  add_report(*app, command->page);
  add_json(*app, command->json);
  return {app, [command] { return run_order(*command); }};
}

}  // namespace espalier::cli
