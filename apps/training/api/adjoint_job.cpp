#include "training/api/adjoint_job.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "solver/memory/process_memory.h"

namespace espalier::training {
namespace {

double norm(std::span<const double> values) {
  double sum = 0;
  for (const double each : values) sum += each * each;
  return std::sqrt(sum);
}

}  // namespace

AdjointJob::AdjointJob(AdjointModel model, const AdjointOptions& options)
    : model_(std::move(model)), options_(options), runtime_(options.runtime) {
  if (model_.uses_blas) runtime_.warm_up();
  budget_ = {.chain = model_.chain, .beside = model_.workspace_bytes(), .account = {}};
  static_cast<void>(handle_bytes());
  budget_.account =
      solver::measure_process(solver::runtime_reserve(options.runtime.workers));
}

void AdjointJob::measure_again(Bytes reserve) {
  budget_.account =
      solver::measure_process(checked_add(budget_.account.reserve, reserve));
}

void AdjointJob::borrow(SlotStore& store, std::int64_t slots) {
  options_.wish.remote = &store;
  options_.wish.remote_slots = slots;
}

Bytes AdjointJob::least() const {
  return budget_.least(!options_.wish.directory.empty());
}

// Before anything was planned: with less, no bound suffices.
Bytes AdjointJob::lower_bound() const {
  const auto none = fit_slots(budget_, options_.wish, Bytes{0});
  return none ? 0 : none.error().lower_bound_bytes;
}

Bytes AdjointJob::disk_bytes() const {
  return checked_mul(limits_.disk_slots, model_.chain.state_bytes());
}

// Slots that leave room for the schedule's tables while it is planned, or a schedule
// without.
Expected<ChainLimits> AdjointJob::fit(const ChainBudget& now, std::optional<Bytes> bound,
                                      ScheduleCosts& costs) const {
  auto limits = fit_slots(now, options_.wish, bound);
  if (!limits) {
    // What planning took is in the way, not the schedule.
    if (const Bytes least = lower_bound(); least <= limits.error().bound_bytes) {
      limits.error().reason = Infeasible::Reason::kNoneFound;
      limits.error().lower_bound_bytes = least;
    }
    return limits;
  }
  ChainBudget planning = now;
  planning.beside = checked_add(now.beside, table_bytes(model_.chain, *limits));
  const auto beside_tables = fit_slots(planning, options_.wish, bound);
  if (beside_tables) return beside_tables;
  if (!options_.wish.memory_slots) {
    limits->memory_slots = 0;
    costs.closed_form = true;
  }
  return limits;
}

Expected<void> AdjointJob::plan(std::optional<Bytes> bound) {
  ChainBudget now = budget_;
  ScheduleCosts costs = options_.costs;
  costs.steps = model_.step_costs;
  std::int64_t most = useful_slots(model_.chain);
  for (;;) {
    auto limits = fit(now, bound, costs);
    if (!limits) return tl::make_unexpected(limits.error());
    limits_ = *limits;
    limits_.memory_slots = std::min(limits_.memory_slots, most);
    schedule_ = make_schedule(model_.chain, limits_, costs);
    if (!bound) return {};
    // The tables of the schedule stay as long as it is carried out.
    now.account = solver::measure_process(budget_.account.reserve);
    const Bytes inside = checked_add(budget_.beside, memory_of(model_.chain, limits_));
    if (now.account.needed(inside) <= *bound) return {};
    const std::int64_t fewest = limits_.outer_slots() > 0 ? 0 : 1;
    if (options_.wish.memory_slots || limits_.memory_slots <= fewest)
      return tl::make_unexpected(
          Infeasible{.reason = Infeasible::Reason::kNoneFound,
                     .bound_bytes = *bound,
                     .least_bytes = now.account.least(inside),
                     .lower_bound_bytes = budget_.account.needed(inside)});
    most = limits_.memory_slots - 1;
    schedule_ = {};
  }
}

AdjointResult AdjointJob::run(const std::function<bool(double)>& progress) {
  FirstError errors;
  const std::unique_ptr<GradientChain> model = model_.build(errors);
  ChainCallbacks callbacks = model->callbacks();
  if (progress) {
    const double all = static_cast<double>(std::max<std::int64_t>(1, schedule_.advances));
    callbacks.stop = [&progress, all](std::int64_t advances) {
      return progress(static_cast<double>(advances) / all);
    };
  }
  const auto actions = schedule_.actions();
  AdjointResult result;
  runtime_.wake();
  try {
    result.run = run_chain(model->chain(), *actions, callbacks, limits_, errors);
  } catch (...) {
    runtime_.sleep();
    throw;
  }
  runtime_.sleep();
  result.peak_resident = solver::peak_resident_bytes();
  if (result.run.stopped) return result;
  result.misfit = model->misfit();
  result.initial_norm = norm(model->initial_gradient());
  result.parameter_norm = norm(model->parameter_gradient());
  result.checksum = gradient_checksum(*model);
  if (!std::isfinite(result.misfit + result.initial_norm + result.parameter_norm))
    throw InvalidInput(
        "the model leaves the range of numbers: it is unstable with these sizes");
  return result;
}

}  // namespace espalier::training
