#include "cli/plan_compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "espalier/parallel/bounds.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::ordered_json;

std::vector<MemoryItem> bounds_to_compare(const CompareRequest& request) {
  if (!request.memory.empty()) return request.memory;
  std::vector<MemoryItem> items;
  for (const char* text : {"x1", "x1.25", "x1.5", "x2", "x3"}) {
    items.push_back({text, parse_memory(text)});
  }
  return items;
}

ComparedBound compare_at(const TaskTree& tree, const SequentialOrders& orders,
                         const StrategyOptions& options) {
  ComparedBound result;
  result.bytes = options.memory_bound;
  result.lower = lower_bounds(tree, options.workers, result.bytes, options.max_workers);
  const Seconds least = result.lower.best();
  for (const Strategy strategy : kStrategies) {
    ComparedRun compared{strategy, std::nullopt, 0};
    if (const auto run = run_strategy(tree, orders, strategy, options)) {
      compared.run = *run;
      compared.ratio = least > 0 ? run->makespan / least : 1;
    }
    result.runs.push_back(std::move(compared));
  }
  return result;
}

bool kept(const ComparedBound& bound, const ComparedRun& compared) {
  return compared.run && compared.run->peak <= bound.bytes;
}

// "1.205", "1.205!" beyond the bound, "-" without a run.
std::string cell(const ComparedBound& bound, const ComparedRun& compared) {
  if (!compared.run) return "-";
  return fmt::format("{:.3f}{}", compared.ratio, kept(bound, compared) ? " " : "!");
}

std::string table(const ComparedWorkers& part) {
  std::string text = fmt::format("\nMakespan / lower bound: {} worker{}, {}\n",
                                 part.workers, part.workers == 1 ? "" : "s",
                                 part.moldable ? "moldable tasks" : "one worker a task");
  const auto row = [&](std::string_view label, const auto& value) {
    text += fmt::format("  {:<22}", label);
    for (const ComparedBound& bound : part.bounds) {
      text += fmt::format(" {:>11}", value(bound));
    }
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  };
  row("bound", [](const ComparedBound& bound) { return bound.text + ' '; });
  row("", [](const ComparedBound& bound) { return format_size(bound.bytes) + ' '; });
  for (std::size_t s = 0; s < kStrategies.size(); ++s) {
    row(name(kStrategies[s]),
        [s](const ComparedBound& bound) { return cell(bound, bound.runs[s]); });
  }
  row("lower bound, flops", [](const ComparedBound& bound) {
    return fmt::format("{:.4g} ", bound.lower.best());
  });
  return text;
}

Json json_of(const ComparedWorkers& part, const ComparedBound& bound) {
  Json runs = Json::array();
  for (const ComparedRun& compared : bound.runs) {
    Json run{{"strategy", name(compared.strategy)},
             {"feasible", compared.run.has_value()}};
    if (compared.run) {
      run["makespan_flops"] = compared.run->makespan;
      run["makespan_ratio"] = compared.ratio;
      run["peak_bytes"] = compared.run->peak;
      run["bound_kept"] = kept(bound, compared);
    }
    runs.push_back(std::move(run));
  }
  return {{"workers", part.workers},
          {"tasks", part.moldable ? "moldable" : "sequential"},
          {"memory", bound.text},
          {"bound_bytes", bound.bytes},
          {"lower_bound_flops", bound.lower.best()},
          {"work_bound_flops", bound.lower.work},
          {"critical_path_flops", bound.lower.critical_path},
          {"memory_area_flops", bound.lower.memory_area},
          {"runs", std::move(runs)}};
}

void print_compared(const Report& report, const std::vector<ComparedWorkers>& parts,
                    bool json) {
  std::string text = report.table();
  for (const ComparedWorkers& part : parts) text += table(part);
  text += "\n  -  needs a larger bound     !  goes beyond the bound\n";
  if (json) {
    Json object = report.json();
    object["comparison"] = Json::array();
    for (const ComparedWorkers& part : parts) {
      for (const ComparedBound& bound : part.bounds) {
        object["comparison"].push_back(json_of(part, bound));
      }
    }
    text = dump(object);
  }
  cli::print(text);
}

}  // namespace

Bytes everything(const TaskTree& tree) {
  Bytes sum = 0;
  for (const TaskId task : tree.postorder()) {
    sum += tree.output_size(task) + std::max<Bytes>(tree.execution_size(task), 0) +
           tree.retained_size(task);
  }
  return sum;
}

Comparison compare(const PlanInput& input, const CompareRequest& request) {
  const TaskTree& tree = *input.tree;
  const SequentialOrders orders = sequential_orders(tree);
  const Bytes all = everything(tree);
  const bool molds =
      std::ranges::any_of(input.max_workers, [](double most) { return most > 1; });
  Comparison comparison{{}, orders.liu.peak, orders.postorder.peak};
  for (const bool moldable : {false, true}) {
    if (moldable && !molds) break;
    for (const std::int32_t workers : request.workers) {
      ComparedWorkers part{workers, moldable, {}};
      for (const MemoryItem& item : bounds_to_compare(request)) {
        StrategyOptions options{workers, item.request.resolve(orders.liu.peak, all), {}};
        if (moldable) options.max_workers = input.max_workers;
        part.bounds.push_back(compare_at(tree, orders, options));
        part.bounds.back().text = item.text;
      }
      comparison.parts.push_back(std::move(part));
    }
  }
  return comparison;
}

Ending print_comparison(Report report, const Comparison& comparison, bool json) {
  Bytes largest = 0;
  for (const ComparedBound& bound : comparison.parts.front().bounds) {
    largest = std::max(largest, bound.bytes);
  }
  const Bytes least = comparison.least_bytes;
  if (largest < least) {
    print_infeasible(std::move(report),
                     {Infeasible::Reason::kImpossible, largest, least, least}, json);
    return {kNo, raise_memory(least)};
  }
  report.flag("feasible", "", true);
  report.bytes("least_bytes", "least that suffices (Liu)", least);
  report.bytes("postorder_bytes", "peak of the best postorder",
               comparison.postorder_bytes);
  print_compared(report, comparison.parts, json);
  return kDone;
}

}  // namespace espalier::cli
