// Ten plans of one model on one and two processes: the step time that the planner
// predicts from measured times of F, B and W beside the one that espalier train measures.
//
//   train_plans_bench [--transformer SIZES] [--micro-batch B] [--steps N] [--program
//   FILE]
//
// Micro-batches have one size, so that an operation takes the same in every plan. Times
// of operations are those of one run on one process and of one on two stages: of their
// fastest step, with the way of each task through StarPU. A step is the fastest of N:
// others may load the machine.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <exception>
#include <string>
#include <vector>

#include "espalier/sharding/plan_pipeline.h"
#include "run_json.h"

namespace {

using namespace espalier;
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

json run(const Options& options, const Plan& plan) {
  return run_json(fmt::format(
      "mpirun --oversubscribe --allow-run-as-root --mca mpi_yield_when_idle 1 -n {} {} "
      "train --transformer {} --batch {} --micro-batches {} --schedule {} --steps {} "
      "--workers 1 --threads 1 --json",
      plan.processes, options.program, options.transformer,
      options.micro_batch * plan.micro_batches, plan.micro_batches, plan.schedule,
      options.steps));
}

// What a run has measured of each stage: operations with what they cost beside, and once
// a step the rest.
struct Profile {
  std::vector<PipelineStage> stages;
  Nanoseconds once = 0;      ///< of the stage where that takes longest
  Nanoseconds transfer = 0;  ///< of a micro-batch from one stage to the next
};

Nanoseconds makespan(const Profile& profile, const Plan& plan) {
  return plan_pipeline(profile.stages, *parse_pipeline_form(plan.schedule),
                       plan.micro_batches, profile.transfer, {})
      ->run.makespan;
}

// The transfer is what makes the prediction of this run the step that was measured: it
// has to do with messages, and with processes that share cores.
Profile profile_of(const Options& options, const Plan& plan) {
  const json measured = run(options, plan);
  Profile profile;
  const auto time = [&](const char* key, std::size_t p) {
    return static_cast<Nanoseconds>(measured[key][p].get<double>() * 1e9);
  };
  for (std::size_t p = 0; p < measured["processes"].get<std::size_t>(); ++p) {
    profile.stages.push_back({.forward = time("process_forward_seconds", p),
                              .backward = time("process_backward_seconds", p),
                              .weight = time("process_weight_seconds", p) +
                                        time("process_beside_seconds", p)});
    profile.once = std::max(profile.once, time("process_update_seconds", p) +
                                              time("process_other_seconds", p));
  }
  const auto step =
      static_cast<Nanoseconds>(measured["fastest_step_seconds"].get<double>() * 1e9);
  Nanoseconds low = 0, high = step;
  while (plan.processes > 1 && low < high) {
    profile.transfer = (low + high + 1) / 2;
    if (makespan(profile, plan) + profile.once <= step)
      low = profile.transfer;
    else
      high = profile.transfer - 1;
  }
  profile.transfer = low;
  fmt::print("{} process{}: once a step {:.1f} ms, transfer {:.2f} ms\n", plan.processes,
             plan.processes == 1 ? "" : "es", static_cast<double>(profile.once) * 1e-6,
             static_cast<double>(profile.transfer) * 1e-6);
  return profile;
}

double predicted(const Plan& plan, const Profile& profile) {
  return static_cast<double>(makespan(profile, plan) + profile.once) * 1e-9;
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
  const Profile alone = profile_of(options, {1, "zb-h1", 4});
  const Profile two = profile_of(options, {2, "zb-h1", 4});
  std::vector<double> expected, measured;
  double worst = 1;
  fmt::print("{:>9}  {:<8}{:>14}{:>12}{:>12}{:>8}\n", "processes", "schedule",
             "micro-batches", "predicted", "measured", "ratio");
  for (const Plan& plan : plans) {
    expected.push_back(predicted(plan, plan.processes == 1 ? alone : two));
    measured.push_back(run(options, plan)["fastest_step_seconds"]);
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
