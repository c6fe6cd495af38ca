// espalier order --training, --layout: a training step instead of the graph, and where
// all that it needs lies.

#include "cli/order_step.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <stdexcept>

#include "cli/interrupt.h"
#include "cli/naming.h"
#include "cli/order_answer.h"
#include "cli/order_step_answer.h"
#include "cli/output.h"
#include "cli/size_option.h"
#include "espalier/io/graph_io.h"
#include "espalier/model/clock.h"
#include "espalier/model/error.h"
#include "espalier/model/operator_tasks.h"
#include "espalier/training/fold_constants.h"

namespace espalier::cli {
namespace {

StepAnswer read_step(const GraphSource& source, const StepRequest& request) {
  StepAnswer answer;
  if (!request.trains) {
    answer.graph = read_graph(source);
    return answer;
  }
  answer.model = fold_constants(read_model(source));
  naming<Error>(title(source), [&] {
    answer.step = training_graph(*answer.model, request.training);
    answer.graph = task_graph_of(answer.step->graph).graph;
  });
  return answer;
}

void search(const StepRequest& request, Seconds timeout, Progress& progress,
            StepAnswer& answer) {
  const Clock::time_point start = Clock::now();
  const Interrupt interrupt;
  ArrangeLimits limits;
  limits.order.time = timeout;
  limits.order.progress = [&](const OrderProgress& now) {
    progress.step(describe(now));
    return !interrupt.came();
  };
  limits.layout.alignment = request.alignment;
  limits.layout.time = std::min(limits.layout.time, timeout);
  limits.layout.progress = [&](const LayoutProgress& now) {
    progress.step(fmt::format("laying out: {}, at least {}",
                              format_size(now.capacity_bytes),
                              format_size(now.lower_bound_bytes)));
    return !interrupt.came();
  };
  answer.plan = arrange(answer.graph, limits);
  answer.interrupted = interrupt.came();
  answer.seconds = since(start);
}

// Where the arena has to be smaller than order and layout make it, operators run again.
// Nothing where that does.
std::optional<Infeasible> fit(const StepRequest& request, Progress& progress,
                              StepAnswer& answer) {
  using Kind = MemoryRequest::Kind;
  if (!request.memory || request.memory->kind == Kind::kUnbounded) return std::nullopt;
  const Bytes capacity = answer.plan.layout.capacity_bytes;
  std::optional<Bytes> bound;
  if (request.memory->kind != Kind::kLeast)
    bound = request.memory->resolve(capacity, capacity);
  if (bound && capacity <= *bound) return std::nullopt;
  if (!answer.step)
    return bound ? std::optional(infeasible(answer.plan.layout, *bound)) : std::nullopt;
  progress.step("recomputing");
  const Clock::time_point start = Clock::now();
  const Interrupt interrupt;
  RecomputeLimits limits;
  limits.progress = [&] { return !interrupt.came(); };
  limits.layout.alignment = request.alignment;
  auto found = recompute(*answer.model, request.training, bound, limits);
  answer.seconds += since(start);
  answer.interrupted = answer.interrupted || interrupt.came();
  if (!found) return found.error();
  if (found->plan.layout.capacity_bytes >= capacity) return std::nullopt;
  answer.capacity_without = capacity;
  answer.step = std::move(found->step);
  answer.graph = std::move(found->graph);
  answer.plan = std::move(found->plan);
  answer.recomputed = std::move(*found);
  return std::nullopt;
}

// The plan is checked before anybody relies on it.
void check(const StepAnswer& answer, Bytes alignment) {
  const Violations violations = validate(answer.graph, answer.plan, alignment);
  if (!violations.empty())
    throw std::logic_error("the plan is not valid: " + violations.front());
}

void write_files(const GraphSource& source, const StepRequest& request,
                 const OrderOutputs& outputs, Progress& progress,
                 const StepAnswer& answer) {
  progress.step("writing");
  if (!outputs.schedule.empty())
    write_order(outputs.schedule, answer.graph, answer.plan.order.order);
  if (!request.save_graph.empty()) write_graph_json(request.save_graph, answer.graph);
  if (!request.offsets.empty()) write_offsets(request.offsets, answer);
  if (!outputs.page.empty()) write_page(outputs.page, title(source), answer);
}

const std::vector<std::pair<std::string, Optimiser>> kOptimisers = {
    {"sgd", Optimiser::kSgd},
    {"momentum", Optimiser::kMomentum},
    {"adam", Optimiser::kAdam}};

// An option of two values, the second of which is true.
CLI::Option* add_pair(CLI::App& app, const std::string& option, bool& value,
                      const char* no, const char* yes, const std::string& help) {
  return add_choice<bool>(app, option, value, {{no, false}, {yes, true}}, help);
}

// What a step is made of.
std::vector<CLI::Option*> add_recipe(CLI::App& app, TrainingOptions& options) {
  return {add_choice<UpdateTime>(app, "--updates", options.updates,
                                 {{"free", UpdateTime::kFree},
                                  {"immediate", UpdateTime::kImmediate},
                                  {"last", UpdateTime::kLast}},
                                 "When parameters are updated"),
          add_pair(app, "--optimiser", options.fused_updates, "unfused", "fused",
                   "Whether updates need temporaries"),
          add_pair(app, "--views", options.alias_views, "copy", "alias",
                   "Gradients of sums and reshapes"),
          add_pair(app, "--inplace", options.in_place, "no", "yes",
                   "Whether Relu, Add, Dropout and gradients overwrite"),
          add_pair(app, "--accumulate", options.accumulate_at_once, "running", "once",
                   "How gradients of several readers are added up"),
          add_pair(app, "--pool", options.pool_keeps_inputs, "indices", "inputs",
                   "What MaxPool keeps"),
          add_size(app, "--conv-workspace", "Of every convolution",
                   [&options](Bytes size) { options.conv_workspace = size; }),
          app.add_flag("--split-weight-gradients", options.split_weight_gradients,
                       "Gradients of inputs and of weights by operators of their own"),
          app.add_flag("--clip-gradients", options.clip_gradients,
                       "All gradients are read before the first update"),
          app.add_flag("--keep-gradients", options.keep_gradients,
                       "Gradients are added up over several steps")};
}

void add_training(CLI::App& app, StepRequest& request) {
  CLI::Option* training =
      app.add_option_function<std::string>(
             "--training",
             [&request](const std::string& text) {
               for (const auto& [name, optimiser] : kOptimisers) {
                 if (name != text) continue;
                 request.trains = true;
                 request.training.optimiser = optimiser;
                 return;
               }
               throw CLI::ValidationError("--training",
                                          "'" + text + "' is none of sgd|momentum|adam");
             },
             "Order a training step of the model: forward, loss, backward and\n"
             "updates (docs/manual/training-graphs.md). --memory is then a bound of its\n"
             "arena: below what order and layout need, operators run again")
          ->type_name("sgd|momentum|adam");
  for (CLI::Option* option : add_recipe(app, request.training)) option->needs(training);
}

}  // namespace

void add_step(CLI::App& app, StepRequest& request) {
  add_training(app, request);
  app.add_flag("--layout", request.layout,
               "Also find offsets for all that the order needs, in one arena");
  add_size(app, "--alignment", "Of every offset; default: 1", [&request](Bytes size) {
    if (size < 1) throw InvalidInput("0 is not 1 or more");
    request.alignment = size;
  });
  add_output(app, "--offsets", request.offsets,
             "Write the layout here: CSV with id,lower,upper,size,offset")
      ->type_name("FILE");
  add_output(app, "--save-graph", request.save_graph,
             "Write the graph that was ordered here, as JSON")
      ->type_name("FILE");
}

Ending run_step(const GraphSource& source, const StepRequest& request,
                const OrderOutputs& outputs) {
  std::optional<Progress> progress(std::in_place, "reading");
  const Clock::time_point start = Clock::now();
  StepAnswer answer = read_step(source, request);
  answer.read_seconds = since(start);
  progress->step("searching");
  search(request, outputs.timeout, *progress, answer);
  const std::optional<Infeasible> no = fit(request, *progress, answer);
  if (no) {
    progress.reset();
    Report report;
    report_graph(report, title(source), answer.graph);
    print_infeasible(std::move(report), *no, outputs.json);
    return {kNo, raise_memory(no->least_bytes)};
  }
  check(answer, request.alignment);
  write_files(source, request, outputs, *progress, answer);
  progress.reset();
  Report report;
  report_graph(report, title(source), answer.graph);
  report_step(report, answer);
  report.print(outputs.json);
  return kDone;
}

}  // namespace espalier::cli
