#include "training/step/train_job.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "espalier/model/operator_tasks.h"
#include "solver/memory/clock.h"
#include "solver/memory/process_memory.h"
#include "training/step/initial_values.h"
#include "training/step/input_values.h"
#include "training/step/kernel_threads.h"

namespace espalier::training {
namespace {

// What a step takes beside the arena: StarPU's tasks, and what kernels of products pack
// their operands into, which oneDNN takes from the heap.
constexpr Bytes kTaskBytes = 4096;
constexpr Bytes kPackedBytes = Bytes{8} << 20;

// Kernels are made for as many threads as run them.
StepKernels kernels_for(const TrainingGraph& training, const TrainOptions& options) {
  use_threads(options.threads);
  return make_kernels(training.graph, {.update = options.update}, make_dnnl_kernel, true);
}

}  // namespace

TrainJob::TrainJob(TrainingGraph training, const TrainOptions& options)
    : options_(options),
      training_(std::move(training)),
      runtime_(options.runtime),
      kernels_(kernels_for(training_, options)),
      graph_(with_workspaces(training_, kernels_)) {}

void TrainJob::plan(const std::function<bool()>& stop) {
  const OperatorTasks tasks = task_graph_of(graph_);
  ArrangeLimits limits;
  limits.order.time = limits.layout.time = options_.plan_time;
  limits.layout.alignment = kTensorAlignment;
  if (stop) {
    limits.order.progress = [&stop](const OrderProgress&) { return !stop(); };
    limits.layout.progress = [&stop](const LayoutProgress&) { return !stop(); };
  }
  if (options_.keep_order) {
    std::vector<TaskId> order;
    for (std::size_t i = 0; i < graph_.size(); ++i) order.push_back(task_id(i));
    arrangement_ = arrange_in_order(tasks.graph, std::move(order), limits.layout);
  } else {
    arrangement_ = arrange(tasks.graph, limits);
  }
  const Violations violations = validate(tasks.graph, arrangement_, kTensorAlignment);
  if (!violations.empty())
    throw std::logic_error("the plan is not valid: " + violations.front());
  plan_ = step_plan(graph_, arrangement_);
  solver::trim_heap();
  const auto workers = static_cast<Bytes>(options_.runtime.workers);
  const Bytes reserve = solver::runtime_reserve(options_.runtime.workers) +
                        kTaskBytes * std::ssize(plan_.order) +
                        kPackedBytes * workers * options_.threads + options_.reserve;
  account_ = solver::measure_process(reserve);
}

Bytes TrainJob::least() const { return account_.least(Arena::footprint(plan_.bytes)); }

Expected<void> TrainJob::fits(Bytes bound) const {
  const Bytes arena = Arena::footprint(plan_.bytes);
  if (account_.needed(arena) <= bound) return {};
  const Bytes lower = checked_add(account_.baseline, arrangement_.lower_bound_bytes());
  return tl::make_unexpected(Infeasible{.reason = bound < lower
                                                      ? Infeasible::Reason::kImpossible
                                                      : Infeasible::Reason::kNoneFound,
                                        .bound_bytes = bound,
                                        .least_bytes = least(),
                                        .lower_bound_bytes = lower});
}

void TrainJob::fill_known(const Placement& placement) const {
  for (std::size_t i = 0; i < graph_.tensors().size(); ++i) {
    const TensorId id = tensor_id(i);
    const Tensor& tensor = graph_.tensor(id);
    if (tensor.role == TensorRole::kComputed || tensor.role == TensorRole::kInput)
      continue;
    const std::span bytes(placement.tensor(id), static_cast<std::size_t>(tensor.bytes));
    if (options_.known)
      options_.known(id, bytes);
    else
      fill_initial_value(graph_, id, options_.seed, bytes);
  }
}

void TrainJob::check_loss(std::int64_t step, float loss) const {
  if (std::isfinite(loss)) return;
  const auto producer = graph_.producer(training_.loss);
  throw InvalidInput(
      fmt::format("the loss of step {} is {}: {} of {}; a smaller --rate may help", step,
                  loss, label(graph_.tensor(training_.loss)),
                  producer ? label(graph_.op(*producer)) : std::string("no operator")));
}

TrainResult TrainJob::run(
    const FillInputs& fill,
    const std::function<bool(std::int64_t, float, Seconds)>& ended) {
  std::vector<OperatorId> order = plan_.order;
  if (!options_.planned)
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = operator_id(i);
  const auto placement = options_.planned ? std::make_unique<Placement>(graph_, plan_)
                                          : std::make_unique<Placement>(graph_);
  fill_known(*placement);
  StepRun run(graph_, kernels_, order, *placement,
              {.threads = options_.threads,
               .seed = options_.seed,
               .messages = options_.messages});
  const solver::Awake awake(runtime_);
  TrainResult result;
  for (std::int64_t step = 0; step < options_.steps && !result.stopped; ++step) {
    const auto start = solver::Clock::now();
    for (std::size_t i = 0; i < graph_.tensors().size(); ++i) {
      const Tensor& tensor = graph_.tensors()[i];
      if (tensor.role != TensorRole::kInput) continue;
      const std::span bytes(placement->tensor(tensor_id(i)),
                            static_cast<std::size_t>(tensor.bytes));
      if (fill)
        fill(training_, step, tensor_id(i), bytes);
      else
        fill_input(training_, tensor_id(i), options_.seed, bytes);
    }
    run.run(step);
    float loss = 0;
    std::memcpy(&loss, placement->tensor(training_.loss), sizeof loss);
    if (options_.loss_scale != 1)
      loss = static_cast<float>(static_cast<double>(loss) * options_.loss_scale);
    check_loss(step, loss);
    result.losses.push_back(loss);
    result.step_seconds.push_back(solver::since(start));
    if (ended) result.stopped = ended(step, loss, result.step_seconds.back());
  }
  result.arena_peak = run.arena_peak();
  result.operator_seconds = run.operator_seconds();
  result.peak_resident = solver::peak_resident_bytes();
  return result;
}

}  // namespace espalier::training
