#include "cli/plan_processes.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "cli/number_option.h"
#include "espalier/distributed/simulate_distribution.h"
#include "espalier/distributed/task_cut.h"
#include "espalier/io/text_file.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::ordered_json;

Seconds parse_latency(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 4> kUnits = {
      {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}}};
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  const std::string_view rest(stop, static_cast<std::size_t>(end - stop));
  for (const auto& [unit, seconds] : kUnits) {
    if (error == std::errc() && rest == unit && value >= 0) return value * seconds;
  }
  throw InvalidInput(fmt::format("'{}' is not a time as 2us", text));
}

double parse_bandwidth(std::string_view text) {
  constexpr std::string_view kPerSecond = "/s";
  if (text.ends_with(kPerSecond)) {
    text.remove_suffix(kPerSecond.size());
    const Bytes bytes = parse_size(text);
    if (bytes > 0) return static_cast<double>(bytes);
  }
  throw InvalidInput(fmt::format("'{}' is not a bandwidth as 10GB/s", text));
}

std::vector<std::int32_t> most_parts(const PlanInput& input) {
  if (!input.matrix) return {};
  std::vector<std::int32_t> parts = piece_counts(*input.tree, {});
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (input.max_workers[i] <= 1) parts[i] = 1;
  }
  return parts;
}

// P times the bound of each process, by what one process needs.
double spread(Bytes least, std::int32_t processes, Bytes sequential) {
  if (sequential == 0) return 1;
  return static_cast<double>(least) * processes / static_cast<double>(sequential);
}

struct ScalabilityRow {
  std::int32_t processes = 1;
  Bytes least = 0, proportional = 0, lower_bound = 0;
};

void print_scalability(const Report& report, const std::vector<ScalabilityRow>& rows,
                       Bytes sequential, bool json) {
  if (json) {
    Json object = report.json();
    object["memory_scalability"] = Json::array();
    for (const ScalabilityRow& row : rows) {
      object["memory_scalability"].push_back(
          {{"processes", row.processes},
           {"least_bytes", row.least},
           {"least_ratio", spread(row.least, row.processes, sequential)},
           {"proportional_bytes", row.proportional},
           {"proportional_ratio", spread(row.proportional, row.processes, sequential)},
           {"lower_bound_bytes", row.lower_bound}});
    }
    return print(dump(object));
  }
  std::string text = report.table();
  text += "\nLeast bound of each process, and P times it / least of one process\n";
  text += fmt::format("  {:>9}  {:>11} {:>7}  {:>12} {:>7}  {:>11}\n", "processes",
                      "least", "ratio", "proportional", "ratio", "lower bound");
  for (const ScalabilityRow& row : rows) {
    text +=
        fmt::format("  {:>9}  {:>11} {:>7.3f}  {:>12} {:>7.3f}  {:>11}\n", row.processes,
                    format_size(row.least), spread(row.least, row.processes, sequential),
                    format_size(row.proportional),
                    spread(row.proportional, row.processes, sequential),
                    format_size(row.lower_bound));
  }
  print(text);
}

ExitStatus plan_scalability(const PlanInput& input, const ProcessesRequest& request,
                            DistributionOptions options, Report report,
                            std::optional<Progress>& progress) {
  std::vector<ScalabilityRow> rows;
  Bytes sequential = 0;
  for (const std::int32_t processes : request.processes) {
    progress->step(fmt::format("{} processes", processes));
    options.processes = processes;
    options.kind = DistributedMapping::kMemoryAware;
    const Distribution least = distribute_least(*input.tree, options);
    options.kind = DistributedMapping::kProportional;
    const Bytes proportional = distribute_least(*input.tree, options).bound;
    rows.push_back({processes, least.bound, proportional, least.lower_bound});
    sequential = least.sequential_least;
  }
  progress.reset();
  report.flag("feasible", "", true);
  report.bytes("sequential_least_bytes", "least of one process (Liu)", sequential);
  print_scalability(report, rows, sequential, request.json);
  return kDone;
}

void report_memory(Report& report, const Distribution& distribution, Bytes least) {
  const Bytes sequential = distribution.sequential_least;
  const Bytes largest = distribution.largest_peak();
  double mean = 0;
  for (const Bytes peak : distribution.peak) mean += static_cast<double>(peak);
  mean /= distribution.processes;
  report.heading("Memory of each process");
  report.bytes("least_bytes", "least bound found", least);
  report.bytes("lower_bound_bytes", "no mapping needs less than",
               distribution.lower_bound);
  report.bytes("sequential_least_bytes", "least of one process (Liu)", sequential);
  report.bytes("bound_bytes", "bound", distribution.bound);
  report.bytes("predicted_peak_bytes", "largest peak of the witness", largest);
  report.bytes("predicted_mean_bytes", "mean peak", static_cast<Bytes>(mean));
  const double ratio = spread(largest, distribution.processes, sequential);
  report.ratio("memory_efficiency", "least of one process / (P x largest)",
               ratio > 0 ? 1 / ratio : 1);
}

void report_run(Report& report, const DistributedRun& run, const DistributedRun& columns,
                double rate) {
  const Seconds lower = run.lower_bounds.best();
  report.bytes("peak_bytes", "largest peak of the simulated run",
               run.peak.empty() ? 0 : std::ranges::max(run.peak));
  report.heading("Simulated run, fronts in 2-D blocks");
  report.seconds("makespan_seconds", "makespan", run.makespan / rate);
  report.seconds("lower_bound_seconds", "no schedule takes less than", lower / rate);
  report.ratio("makespan_ratio", "makespan / lower bound",
               lower > 0 ? run.makespan / lower : 1);
  report.bytes("volume_bytes", "bytes sent", run.volume);
  report.count("messages", "messages", run.messages);
  report.heading("Simulated run, fronts in 1-D block columns");
  report.seconds("columns_makespan_seconds", "makespan", columns.makespan / rate);
  report.bytes("columns_volume_bytes", "bytes sent", columns.volume);
  report.count("columns_messages", "messages", columns.messages);
}

void report_shared(Report& report, const TaskTree& tree, const Distribution& distribution,
                   const DistributedRun& run) {
  std::int64_t shared = 0;
  for (std::size_t i = 0; i < tree.size(); ++i) {
    if (distribution.shared(task_id(i))) ++shared;
  }
  report.heading("Tasks on several processes");
  report.count("shared_tasks", "tasks", shared);
  report.ratio("shared_work", "part of the work",
               run.work > 0 ? run.shared_work / run.work : 0);
}

void write_groups(const std::string& path, const PlanInput& input,
                  const Distribution& distribution) {
  write_file(path, [&](std::ostream& file) {
    file << "# id first_process processes; witness order\n";
    for (const TaskId task : distribution.witness) {
      const WorkerRange& group = distribution.group[index(task)];
      file << fmt::format("{} {} {}\n", input.id(task), group.first, group.count);
    }
  });
}

void print_distribution(Report report, const Distribution& distribution, bool as_json) {
  if (!as_json) return report.print(false);
  Json object = report.json();
  object["predicted_peaks_bytes"] = distribution.peak;
  print(dump(object));
}

}  // namespace

void parse_network(std::string_view text, Network& network) {
  const std::size_t comma = text.find(',');
  if (comma == std::string_view::npos) {
    throw InvalidInput(fmt::format("'{}' is not latency,bandwidth as 2us,10GB/s", text));
  }
  network.latency = parse_latency(text.substr(0, comma));
  network.bandwidth = parse_bandwidth(text.substr(comma + 1));
}

CLI::Option* add_processes(CLI::App& app, ProcessesRequest& request) {
  const auto read_list = [&request](const std::string& text) {
    constexpr std::int64_t kMostProcesses = 1 << 20;
    request.processes.clear();
    for (std::size_t from = 0; from <= text.size();) {
      const std::size_t comma = std::min(text.find(',', from), text.size());
      const std::string_view item = std::string_view(text).substr(from, comma - from);
      request.processes.push_back(
          static_cast<std::int32_t>(parse_whole(item, 1, kMostProcesses)));
      from = comma + 1;
    }
  };
  CLI::Option* processes =
      add_read(app, "--processes", read_list,
               "Instead of one process: a cluster job of this many, each with\n"
               "--workers and a bound of its own; a list, as 1,2,4: the least\n"
               "bound of each process by the number of processes")
          ->type_name("N[,N…]");
  add_read(
      app, "--memory-per-process",
      [&request](const std::string& text) { request.memory = parse_memory(text); },
      "Memory bound of each process, as --memory; xFACTOR and min refer\n"
      "to the least that the mapping finds for this many processes")
      ->type_name("SIZE|min|xFACTOR|auto|none")
      ->default_str("min")
      ->needs(processes);
  add_read(
      app, "--network",
      [&request](const std::string& text) { parse_network(text, request.network); },
      "Latency of a message and bandwidth into a process")
      ->type_name("TIME,SIZE/s")
      ->default_str("2us,10GB/s")
      ->needs(processes);
  return processes;
}

Ending plan_processes(const PlanInput& input, const ProcessesRequest& request,
                      Report report, std::optional<Progress>& progress) {
  const TaskTree& tree = *input.tree;
  const std::vector<std::int32_t> parts = most_parts(input);
  DistributionOptions options{.processes = request.processes.front(),
                              .workers = request.workers,
                              .most_parts = parts,
                              .max_workers = input.max_workers,
                              .network = request.network,
                              .kind = request.mapping};
  if (request.processes.size() > 1) {
    return plan_scalability(input, request, options, std::move(report), progress);
  }
  report.count("processes", "processes", options.processes);
  report.count("workers", "workers of each", options.workers);
  report.text("mapping", "mapping",
              request.mapping == DistributedMapping::kProportional ? "proportional"
                                                                   : "memory-aware");
  Expected<Distribution> distribution = distribute_least(tree, options);
  const Bytes least = distribution->bound;
  options.memory_bound =
      request.memory.value_or(MemoryRequest{})
          .resolve(least, std::numeric_limits<Bytes>::max(), "--memory-per-process");
  if (options.memory_bound != least) distribution = distribute(tree, options);
  if (!distribution) {
    progress.reset();
    print_infeasible(std::move(report), distribution.error(), request.json);
    return {kNo, raise_memory(distribution.error().least_bytes, "--memory-per-process")};
  }
  progress->step("simulating");
  const RunsByCut run = simulate_cuts(tree, *distribution, options);
  if (!request.schedule.empty()) write_groups(request.schedule, input, *distribution);
  progress.reset();
  report.flag("feasible", "", true);
  // A bound in between may be met by a mapping that the search for the least passes over.
  report_memory(report, *distribution, std::min(least, distribution->largest_peak()));
  report_run(report, run.blocks, run.columns, request.network.flop_rate);
  report_shared(report, tree, *distribution, run.blocks);
  print_distribution(std::move(report), *distribution, request.json);
  return kDone;
}

}  // namespace espalier::cli
