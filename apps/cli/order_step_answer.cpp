#include "cli/order_step_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "cli/report_option.h"
#include "espalier/io/layout_csv.h"
#include "espalier/model/replay_graph.h"

namespace espalier::cli {
namespace {

// The buffers as a file of `espalier layout` has them. What would end a field or a line
// in a name becomes '_'.
LayoutFile layout_file(const StepAnswer& answer) {
  const Lifetimes& lifetimes = answer.plan.lifetimes;
  LayoutFile file;
  file.buffers = lifetimes.buffers;
  file.text = "id,lower,upper,size";
  file.ends.push_back(file.text.size());
  for (std::size_t b = 0; b < lifetimes.buffers.size(); ++b) {
    const Buffer& buffer = lifetimes.buffers[buffer_id(b)];
    std::string id = buffer_name(answer.graph, lifetimes, buffer_id(b));
    std::ranges::replace_if(
        id, [](char c) { return c == ',' || c == '\n' || c == '\r' || c == '"'; }, '_');
    while (!file.ids.add(id)) id += '_';
    fmt::format_to(std::back_inserter(file.text), "{},{},{},{}", id, buffer.lower,
                   buffer.upper, buffer.size);
    file.ends.push_back(file.text.size());
  }
  return file;
}

void report_training(Report& report, const TrainingGraph& step) {
  const auto count = [&step](StepPhase phase) {
    return static_cast<std::int64_t>(std::ranges::count(step.phase, phase));
  };
  report.heading("Training step");
  report.count("parameters", "parameters", step.parameters);
  report.bytes("parameter_bytes", "of them", step.parameter_bytes);
  report.bytes("state_bytes", "state of the optimiser", step.state_bytes);
  report.count("forward_operators", "forward operators", count(StepPhase::kForward));
  report.count("backward_operators", "backward operators", count(StepPhase::kBackward));
  report.count("update_operators", "updates", count(StepPhase::kUpdate));
}

void report_recomputed(Report& report, const StepAnswer& answer) {
  const RecomputedStep& again = *answer.recomputed;
  report.heading("Recomputation");
  report.bytes("capacity_without_bytes", "capacity without", answer.capacity_without);
  report.count("stages", "stages of the backbone",
               static_cast<std::int64_t>(again.stages));
  report.count("recomputed_operators", "operators that run again",
               static_cast<std::int64_t>(again.recomputed_operators));
  report.flops("step_flops", "work of the step, estimated", again.work);
  report.flops("recomputed_flops", "work on top", again.recomputed_work);
  report.ratio("recompute_overhead", "work on top / work",
               again.work > 0 ? again.recomputed_work / again.work : 0);
}

}  // namespace

void report_step(Report& report, const StepAnswer& answer) {
  const Arrangement& plan = answer.plan;
  if (answer.step) report_training(report, *answer.step);
  report.heading("Order and layout");
  report.bytes("file_order_bytes", "peak of the given order",
               replay(answer.graph, answer.graph.topological_order()).peak);
  report.bytes("peak_bytes", "peak of the best order found", plan.order.least_bytes);
  report.bytes("least_bytes", "", plan.order.least_bytes);
  report.flag("order_proved", "", plan.order.proved());
  report.count("buffers", "buffers",
               static_cast<std::int64_t>(plan.lifetimes.buffers.size()));
  report.bytes("load_bytes", "most alive at one time", plan.layout.load_bytes);
  report.bytes("capacity_bytes", "capacity of its layout", plan.layout.capacity_bytes);
  report.ratio("fragmentation", "fragmentation", plan.fragmentation());
  report.bytes("lower_bound_bytes", "no order and layout need less than",
               answer.lower_bound_bytes());
  report.bytes("layout_lower_bound_bytes", "", plan.layout.lower_bound_bytes);
  const Bytes bound = answer.lower_bound_bytes();
  report.flag("proved", "proved the least", plan.layout.capacity_bytes == bound);
  report.gap(plan.layout.capacity_bytes, bound);
  if (answer.recomputed) report_recomputed(report, answer);
  report.heading("Search");
  report.text("method", "method", name(plan.order.method));
  report.count("states", "states", plan.order.states);
  report.count("rounds", "orders laid out", plan.rounds);
  report.flag("stopped", "stopped by a limit",
              (plan.order.stopped || plan.layout.stopped) && !answer.interrupted);
  report.flag("interrupted", answer.interrupted ? "interrupted" : "", answer.interrupted);
  report.seconds("read_seconds", "read", answer.read_seconds);
  report.seconds("seconds", "searched", answer.seconds);
}

void write_offsets(const std::string& path, const StepAnswer& answer) {
  write_layout_csv(path, layout_file(answer), answer.plan.layout.offsets);
}

void write_page(const std::string& path, const std::string& title,
                const StepAnswer& answer) {
  write_report(path, title, layout_file(answer), answer.plan.layout);
}

}  // namespace espalier::cli
