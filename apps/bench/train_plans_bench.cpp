// Ten plans of one model on one and two processes: the step time that the planner
// predicts from measured times of F, B and W beside the one that espalier train measures.
//
//   train_plans_bench [--transformer SIZES] [--micro-batch B] [--steps N] [--program
//   FILE]
//
// Micro-batches have one size, so that an operation takes the same in every plan. Times
// of operations are those of two runs on one process and two on two stages, with and
// without W (--stages-out): of their fastest step. A step is the fastest of N: others may
// load the machine.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "run_json.h"

namespace {

using nlohmann::json;

struct Options {
  std::string transformer = "layers=4,width=256,heads=4,sequence=64,vocabulary=512";
  std::string program = "espalier";
  int micro_batch = 4, steps = 10;
};

struct Plan {
  int processes = 1;
  std::string schedule;
  int micro_batches = 1;
};

std::string train(const Options& options, const Plan& plan, const std::string& more) {
  return fmt::format(
      "mpirun --oversubscribe --allow-run-as-root --mca mpi_yield_when_idle 1 -n {} {} "
      "train --transformer {} --batch {} --micro-batches {} --schedule {} --steps {} "
      "--workers 1 --threads 1 --json {}",
      plan.processes, options.program, options.transformer,
      options.micro_batch * plan.micro_batches, plan.micro_batches, plan.schedule,
      options.steps, more);
}

bool splits(const Plan& plan) { return plan.schedule == "zb-h1"; }

// The file of what a run has measured; schedules with W have other operators.
std::string stages_of(const Plan& plan) {
  return fmt::format("{}/stages-{}-{}.json",
                     std::filesystem::temp_directory_path().string(), plan.processes,
                     splits(plan) ? "split" : "whole");
}

void measure(const Options& options, const Plan& plan) {
  (void)run_json(train(options, plan, "--stages-out " + stages_of(plan)));
}

double predicted(const Options& options, const Plan& plan) {
  return run_json(
      fmt::format("{} train-plan pipeline {} --schedule {} --micro-batches {} --json",
                  options.program, stages_of(plan), plan.schedule,
                  plan.micro_batches))["chosen"]["step_seconds"];
}

// Of all pairs the part that is ranked alike, minus the part that is not.
double kendall_tau(const std::vector<double>& a, const std::vector<double>& b) {
  int sum = 0, pairs = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < i; ++j, ++pairs) {
      const double both = (a[i] - a[j]) * (b[i] - b[j]);
      sum += both > 0 ? 1 : both < 0 ? -1 : 0;
    }
  return static_cast<double>(sum) / pairs;
}

void compare(const Options& options) {
  const std::vector<Plan> plans = {
      {1, "1f1b", 2}, {1, "1f1b", 4}, {1, "1f1b", 8},  {2, "gpipe", 4}, {2, "gpipe", 8},
      {2, "1f1b", 2}, {2, "1f1b", 8}, {2, "zb-h1", 2}, {2, "zb-h1", 4}, {2, "zb-h1", 8}};
  for (const int processes : {1, 2})
    for (const char* schedule : {"1f1b", "zb-h1"})
      measure(options, {processes, schedule, 4});
  std::vector<double> expected, measured;
  double worst = 1;
  fmt::print("{:>9}  {:<8}{:>14}{:>12}{:>12}{:>8}\n", "processes", "schedule",
             "micro-batches", "predicted", "measured", "ratio");
  for (const Plan& plan : plans) {
    expected.push_back(predicted(options, plan));
    measured.push_back(run_json(train(options, plan, ""))["fastest_step_seconds"]);
    const double ratio = measured.back() / expected.back();
    worst = std::max({worst, ratio, 1 / ratio});
    fmt::print("{:>9}  {:<8}{:>14}{:>10.4f} s{:>10.4f} s{:>8.2f}\n", plan.processes,
               plan.schedule, plan.micro_batches, expected.back(), measured.back(),
               ratio);
  }
  fmt::print("Kendall tau {:.2f}, worst ratio {:.2f}\n", kendall_tau(expected, measured),
             worst);
}

}  // namespace

int main(int argc, char** argv) try {
  Options options;
  CLI::App app("Predicted and measured step times of ten training plans");
  app.add_option("--transformer", options.transformer)->capture_default_str();
  app.add_option("--micro-batch", options.micro_batch)->capture_default_str();
  app.add_option("--steps", options.steps)->capture_default_str();
  app.add_option("--program", options.program)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  compare(options);
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "train_plans_bench: {}\n", error.what());
  return 1;
}
