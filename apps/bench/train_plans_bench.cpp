// Ten plans of one model on one and two processes: the step time that the planner
// predicts from measured times of F, B and W beside the one that espalier train measures.
//
//   train_plans_bench [--transformer SIZES] [--micro-batch B] [--steps N] [--turns T]
//                     [--program FILE]
//
// Micro-batches have one size, so that an operation takes the same in every plan. Times
// of operations are those of two runs on one process and two on two stages, with and
// without W (--stages-out), with a number of micro-batches that no plan has: of their
// fastest step. All is run in turns, since others may load the machine; a step is the
// fastest of N in T turns, for the times of operations as for what is compared with them.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <exception>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "run_json.h"

namespace {

using nlohmann::json;

struct Options {
  std::string transformer = "layers=4,width=256,heads=4,sequence=64,vocabulary=512";
  std::string program = "espalier";
  int micro_batch = 4, steps = 8, turns = 3;
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

// What plans are predicted from, and what the fastest run of it took.
struct Calibration {
  Plan plan;
  double fastest = std::numeric_limits<double>::infinity();
};

void measure(const Options& options, Calibration& calibration) {
  const std::string file = stages_of(calibration.plan), latest = file + ".latest";
  const double fastest = run_json(
      train(options, calibration.plan, "--stages-out " + latest))["fastest_step_seconds"];
  if (fastest >= calibration.fastest) return;
  calibration.fastest = fastest;
  std::filesystem::rename(latest, file);
}

double predicted(const Options& options, const Plan& plan) {
  return run_json(
      fmt::format("{} train-plan pipeline {} --schedule {} --micro-batches {} --json",
                  options.program, stages_of(plan), plan.schedule,
                  plan.micro_batches))["chosen"]["step_seconds"];
}

constexpr int kCalibrated = 6;  // micro-batches

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

void print(const Options& options, const std::vector<Plan>& plans,
           const std::vector<double>& measured) {
  std::vector<double> expected;
  double worst = 1;
  fmt::print("{:>9}  {:<8}{:>14}{:>12}{:>12}{:>8}\n", "processes", "schedule",
             "micro-batches", "predicted", "measured", "ratio");
  for (std::size_t k = 0; k < plans.size(); ++k) {
    const Plan& plan = plans[k];
    expected.push_back(predicted(options, plan));
    const double ratio = measured[k] / expected[k];
    worst = std::max({worst, ratio, 1 / ratio});
    fmt::print("{:>9}  {:<8}{:>14}{:>10.4f} s{:>10.4f} s{:>8.2f}\n", plan.processes,
               plan.schedule, plan.micro_batches, expected[k], measured[k], ratio);
  }
  fmt::print("Kendall tau {:.2f}, worst ratio {:.2f}\n", kendall_tau(expected, measured),
             worst);
}

void compare(const Options& options) {
  const std::vector<Plan> plans = {
      {1, "1f1b", 2}, {1, "1f1b", 4}, {1, "1f1b", 8},  {2, "gpipe", 4}, {2, "gpipe", 8},
      {2, "1f1b", 2}, {2, "1f1b", 8}, {2, "zb-h1", 2}, {2, "zb-h1", 4}, {2, "zb-h1", 8}};
  std::vector<Calibration> calibrations;
  for (const int processes : {1, 2})
    for (const char* schedule : {"1f1b", "zb-h1"})
      calibrations.push_back({{processes, schedule, kCalibrated}});
  std::vector<double> measured(plans.size(), std::numeric_limits<double>::infinity());
  for (int turn = 0; turn < options.turns; ++turn) {
    for (Calibration& calibration : calibrations) measure(options, calibration);
    for (std::size_t k = 0; k < plans.size(); ++k)
      measured[k] = std::min(
          measured[k],
          run_json(train(options, plans[k], ""))["fastest_step_seconds"].get<double>());
  }
  print(options, plans, measured);
}

}  // namespace

int main(int argc, char** argv) try {
  Options options;
  CLI::App app("Predicted and measured step times of ten training plans");
  app.add_option("--transformer", options.transformer)->capture_default_str();
  app.add_option("--micro-batch", options.micro_batch)->capture_default_str();
  app.add_option("--steps", options.steps)->capture_default_str();
  app.add_option("--turns", options.turns)->capture_default_str();
  app.add_option("--program", options.program)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  compare(options);
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "train_plans_bench: {}\n", error.what());
  return 1;
}
