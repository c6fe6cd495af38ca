// What the policy costs beside StarPU's own: microseconds a task of programs of empty
// tasks, on the clock and of processor time, and bytes for each task not yet finished.
//
//   policy_bench [--tasks N] [--workers W] [--repeat R] [--no-memory] [--json FILE]
//
// Each run is a process of its own (policy_program), the policy loaded as users load it.
// The policies take turns within a repeat, so that a machine that slows down slows all.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench_program.h"
#include "run_json.h"

namespace {

using namespace espalier::bench;
using nlohmann::json;

struct Options {
  int tasks = 50'000, memory_tasks = 1'000'000, workers = 2, repeat = 5;
  bool no_memory = false;
  std::string bound = "8GiB", library, json_file;
};

const std::vector<std::string> kShapes = {"independent", "chain", "tree", "tiles"};
const std::vector<std::string> kMemoryShapes = {"independent", "tree"};

struct Case {
  std::string name, policy;
  bool bounded = false;
  std::vector<json> runs;

  [[nodiscard]] double best(const char* measure, const std::string& shape) const {
    return sorted(measure, shape).front();
  }
  [[nodiscard]] double median(const char* measure, const std::string& shape) const {
    return sorted(measure, shape)[runs.size() / 2];
  }

 private:
  [[nodiscard]] std::vector<double> sorted(const char* measure,
                                           const std::string& shape) const {
    std::vector<double> values;
    for (const json& run : runs)
      values.push_back(run.at(measure).at(shape).get<double>());
    std::sort(values.begin(), values.end());
    return values;
  }
};

std::filesystem::path here() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

/// What policy_program prints. @throws std::runtime_error also when StarPU silently took
/// another policy than was asked for
json run(const Case& c, const Options& options, const std::string& arguments) {
  std::string command = fmt::format(
      "STARPU_NCPU={} STARPU_NCUDA=0 STARPU_NOPENCL=0 STARPU_SILENT=1 STARPU_SCHED={} "
      "STARPU_WATCHDOG_TIMEOUT=60000000 STARPU_WATCHDOG_CRASH=1 ",
      options.workers, c.policy);
  if (c.policy == "espalier")  // StarPU 1.3 needs the first, later ones the second
    command += fmt::format("LD_PRELOAD='{0}' STARPU_SCHED_LIB='{0}' ", options.library);
  if (c.bounded) command += fmt::format("ESPALIER_MEMORY={} ", options.bound);
  command += fmt::format("'{}' {}", (here() / "policy_program").string(), arguments);

  json result = run_json(command);
  if (result.at("policy") != c.policy)
    throw std::runtime_error(fmt::format("asked for {}, got {}", c.policy,
                                         result.at("policy").get<std::string>()));
  return result;
}

void measure_times(std::vector<Case>& cases, const Options& options) {
  for (int i = 0; i < options.repeat; ++i)
    for (Case& c : cases) c.runs.emplace_back();
  // A process for each shape: what one leaves in the heap changes the time of the next.
  for (int i = 0; i < options.repeat; ++i)
    for (const std::string& shape : kShapes)
      for (Case& c : cases)
        for (const char* measure : {"time", "cpu"})
          c.runs[static_cast<std::size_t>(i)][measure][shape] =
              run(c, options, fmt::format("{} {} {}", measure, options.tasks, shape))
                  .at(shape);
}

void print_names(const std::vector<Case>& cases) {
  fmt::print("{:<12}", "");
  for (const Case& c : cases) fmt::print(" {:>14}", c.name);
  fmt::print("\n");
}

void print_figures(const std::vector<Case>& cases, const char* measure) {
  print_names(cases);
  for (const std::string& shape : kShapes) {
    fmt::print("{:<12}", shape);
    for (const Case& c : cases)
      fmt::print(" {:>14}", fmt::format("{:.2f} ({:.2f})", c.best(measure, shape),
                                        c.median(measure, shape)));
    fmt::print("\n");
  }
}

/// Of the policy's best and of its median to those of lws and of prio.
void print_ratios(const std::vector<Case>& cases, const char* measure) {
  const auto named = [&](const std::string& name) -> const Case& {
    return *std::find_if(cases.begin(), cases.end(),
                         [&](const Case& c) { return c.name == name; });
  };
  fmt::print("\n{:<12}", "ratios");
  for (const Case& c : cases)
    if (c.policy == "espalier")
      for (const char* peer : {"lws", "prio"})
        fmt::print(" {:>18}", fmt::format("{}/{}", c.name, peer));
  fmt::print("\n");
  for (const std::string& shape : kShapes) {
    fmt::print("{:<12}", shape);
    for (const Case& c : cases)
      if (c.policy == "espalier")
        for (const char* peer : {"lws", "prio"})
          fmt::print(
              " {:>18}",
              fmt::format("{:.2f} ({:.2f})",
                          c.best(measure, shape) / named(peer).best(measure, shape),
                          c.median(measure, shape) / named(peer).median(measure, shape)));
    fmt::print("\n");
  }
}

/// Bytes a task beyond those of the first case, which keeps nothing but a list.
json measure_memory(const std::vector<Case>& cases, const Options& options) {
  fmt::print("\nBytes a task beyond {}, {} tasks submitted while paused\n\n",
             cases.front().name, options.memory_tasks);
  print_names(cases);
  json all;
  for (const std::string& shape : kMemoryShapes) {
    fmt::print("{:<12}", shape);
    double base = 0;
    for (const Case& c : cases) {
      const std::string arguments =
          fmt::format("memory {} {}", options.memory_tasks, shape);
      const double bytes = run(c, options, arguments).at(shape).get<double>();
      if (&c == &cases.front()) base = bytes;
      fmt::print(" {:>14.1f}", bytes - base);
      std::fflush(stdout);
      all[shape][c.name] = bytes;
    }
    fmt::print("\n");
  }
  return all;
}

void bench(const Options& options) {
  std::vector<Case> cases;
  for (const char* policy : {"eager", "prio", "lws", "ws", "dmda", "espalier"})
    cases.push_back({policy, policy, false, {}});
  cases.push_back({"bounded", "espalier", true, {}});
  measure_times(cases, options);
  fmt::print("{} tasks, {} workers, best (median) of {}\n", options.tasks,
             options.workers, options.repeat);
  for (const auto& [measure, title] :
       {std::pair{"time", "Microseconds a task, from first submission to last end"},
        std::pair{"cpu", "Processor microseconds a task, submitted while paused"}}) {
    fmt::print("\n{}\n\n", title);
    print_figures(cases, measure);
    print_ratios(cases, measure);
  }
  json memory;
  if (!options.no_memory)
    memory = measure_memory({cases[0], cases[1], cases[2], cases[5], cases[6]}, options);
  if (options.json_file.empty()) return;
  json times;
  for (const Case& c : cases) times[c.name] = c.runs;
  const json all = {{"tasks", options.tasks},
                    {"workers", options.workers},
                    {"microseconds", times},
                    {"memory_tasks", options.memory_tasks},
                    {"bytes_a_task", memory}};
  std::ofstream(options.json_file) << all.dump(1) << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("What the policy costs beside StarPU's own");
  options.library = (here() / "libespalier.so").string();
  app.add_option("--tasks", options.tasks, "Tasks of a run")
      ->check(CLI::Range(1000, 10'000'000));
  app.add_option("--memory-tasks", options.memory_tasks, "Tasks when counting bytes")
      ->check(CLI::Range(1000, 10'000'000));
  add_workers(app, options.workers, "CPU workers");
  app.add_option("--repeat", options.repeat, "Runs of each")->check(CLI::Range(1, 999));
  app.add_option("--bound", options.bound, "ESPALIER_MEMORY of the bounded runs");
  app.add_option("--library", options.library, "The policy");
  app.add_flag("--no-memory", options.no_memory, "Times only");
  add_json(app, options.json_file);
  return parse_and_run(app, argc, argv, [&] {
    bench(options);
    return 0;
  });
}
