#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "solver/runtime/runtime.h"
#include "training/pipeline/loopback.h"
#include "training/pipeline/pipeline_job.h"

namespace espalier::training {

/// A training step that several jobs shared, all of them in this process.
struct Ran {
  std::vector<std::vector<float>> losses;  // by process
  std::vector<Bytes> planned, peak;
  std::vector<ProcessStep> steps;
  Bytes passed = 0;
  bool stopped = false;  // an order or a layout by its time
};

struct Setting {
  SharedStep shared;
  std::optional<PipelineScheme> scheme = PipelineScheme::kOneForwardOneBackward;
  Optimiser optimiser = Optimiser::kAdam;
  std::int32_t per_device = 1;
  double room = 0;  // for results that are kept, in multiples of the least; 0: any
  Seconds plan_time = 0.2;
};

inline TrainOptions options_of(const Setting& setting, int steps) {
  TrainOptions options;
  options.steps = steps;
  options.seed = 5;
  options.plan_time = setting.plan_time;
  return options;
}

inline Ran train(const OperatorGraph& model, const Setting& setting, int steps) {
  const solver::Runtime runtime({.workers = 1});
  Loopback loopback;
  SharedStep shared = setting.shared;
  const std::vector<double> recomputed = std::exchange(shared.recomputed, {});
  const SharedTraining training(model, setting.optimiser, shared,
                                {setting.scheme, setting.per_device});
  std::vector<Bytes> bounds;
  if (setting.room > 0) bounds = training.least_held();
  for (Bytes& each : bounds)
    each = static_cast<Bytes>(static_cast<double>(each) * setting.room);
  const PipelineSchedule schedule = training.schedule(bounds)->schedule;
  TrainOptions options = options_of(setting, steps);
  options.messages = &loopback;
  std::vector<std::unique_ptr<PipelineJob>> jobs;
  for (std::int32_t p = 0; p < shared.processes(); ++p) {
    jobs.push_back(
        std::make_unique<PipelineJob>(training, schedule, p, recomputed, options));
    jobs.back()->job().plan();
  }
  Ran ran;
  ran.losses.resize(jobs.size());
  ran.peak.resize(jobs.size());
  std::vector<std::thread> threads;
  for (std::size_t p = 0; p < jobs.size(); ++p)
    threads.emplace_back([&, p] {
      const TrainResult result = jobs[p]->run();
      ran.losses[p] = result.losses;
      ran.peak[p] = result.arena_peak;
    });
  for (std::thread& each : threads) each.join();
  for (const auto& job : jobs) {
    ran.planned.push_back(job->job().arena_bytes());
    ran.steps.push_back(job->step());
    const Arrangement& plan = job->job().arrangement();
    ran.stopped = ran.stopped || plan.order.stopped || plan.layout.stopped;
  }
  EXPECT_EQ(loopback.wrong, 0);
  ran.passed = loopback.passed;
  EXPECT_EQ(ran.peak, ran.planned);
  for (const auto& each : ran.losses) EXPECT_EQ(each, ran.losses.front());
  return ran;
}

// A gradient that two devices share is summed up in another order than alone.
inline void expect_losses(const std::vector<float>& losses,
                          const std::vector<float>& alone, bool bitwise) {
  ASSERT_EQ(losses.size(), alone.size());
  for (std::size_t i = 0; i < losses.size(); ++i)
    EXPECT_NEAR(losses[i], alone[i], bitwise ? 0 : 1e-6F * std::abs(alone[i])) << i;
}

}  // namespace espalier::training
