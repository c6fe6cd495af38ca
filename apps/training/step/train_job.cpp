#include "training/step/train_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <ctime>
#include <stdexcept>
#include <utility>

#include "espalier/machine/thread_room.h"
#include "espalier/model/clock.h"
#include "espalier/model/operator_tasks.h"
#include "solver/memory/process_memory.h"
#include "training/operators/dnnl_kernels.h"
#include "training/step/initial_values.h"
#include "training/step/input_values.h"
#include "training/step/kernel_threads.h"

namespace espalier::training {
namespace {

// What a step takes beside the arena: StarPU's tasks, and what kernels of products pack
// their operands into, which oneDNN takes from the heap.
constexpr Bytes kTaskBytes = 4096;

// What a thread packs at a time, of any operator.
Bytes packed_by_a_thread(const OperatorGraph& graph) {
  Bytes most = 0;
  for (const Operator& op : graph.operators()) {
    if (!op.type.starts_with("Conv") && !op.type.starts_with("Gemm") &&
        !op.type.starts_with("MatMul"))
      continue;
    Bytes largest = 0, second = 0;
    for (const auto* list : {&op.inputs, &op.outputs})
      for (const auto& id : *list) {
        const Bytes bytes = id ? graph.tensor(*id).bytes : 0;
        second = std::max(second, std::min(largest, bytes));
        largest = std::max(largest, bytes);
      }
    most = std::max(most, packed_bytes(largest, second));
  }
  return most;
}

// Kernels are made for as many threads as run them.
StepKernels kernels_for(const TrainingGraph& training, const TrainOptions& options) {
  // Of each worker and of this thread, beside it.
  check_thread_room((options.runtime.workers + 1) * (options.threads - 1));
  use_threads(options.threads);
  make_product_code();
  return make_kernels(training.graph, {.update = options.update}, make_dnnl_kernel, true);
}

// Why a loss is none.
std::string no_number(std::int64_t step, float loss, const std::string& origin) {
  return fmt::format("the loss of step {} is {}: {}; {}", step, loss, origin,
                     step > 0 ? "a smaller --rate may help"
                              : "no parameter has been updated yet: it comes of samples, "
                                "of labels that are all negative, or of the model");
}

}  // namespace

TrainJob::TrainJob(TrainingGraph training, const TrainOptions& options)
    : options_(options),
      training_(std::move(training)),
      runtime_(options.runtime),
      kernels_(kernels_for(training_, options)),
      graph_(with_workspaces(training_, kernels_)) {}

void TrainJob::plan(const std::function<bool()>& stop) {
  const OperatorTasks tasks = task_graph_of(graph_, kTensorAlignment);
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
                        packed_by_a_thread(graph_) * workers * options_.threads +
                        options_.reserve;
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

void TrainJob::fill_inputs(const FillInputs& fill, std::int64_t step,
                           const Placement& placement, ValueCheck* check) const {
  for (std::size_t i = 0; i < graph_.tensors().size(); ++i) {
    const TensorId id = tensor_id(i);
    const Tensor& tensor = graph_.tensor(id);
    if (tensor.role != TensorRole::kInput) continue;
    const std::span bytes(placement.tensor(id), static_cast<std::size_t>(tensor.bytes));
    if (fill)
      fill(training_, step, id, bytes);
    else
      fill_input(training_, id, options_.seed, bytes);
    if (check != nullptr && tensor.type == ElementType::kFloat32)
      check->look(-1, std::nullopt, id, floats(bytes.data(), tensor));
  }
}

// NaN is never meant, so the first one counts, in whichever step it is. Infinity may be
// (what masks add), so it is the cause only where nothing is NaN until the loss.
std::string TrainJob::where_it_began(
    std::int64_t last, StepRun& run, const Placement& placement, const FillInputs& fill,
    const std::function<bool(std::int64_t)>& again) const {
  fill_known(placement);
  for (std::int64_t step = 0; step <= last; ++step) {
    if (again && again(step)) return "it was not looked for where that began";
    ValueCheck check;
    run.watch(&check);
    fill_inputs(fill, step, placement, &check);
    run.run(step);
    const auto &nan = check.first_nan(), &infinity = check.first_infinity();
    if (!nan && (step < last || !infinity)) continue;
    std::string text = fmt::format("in step {} {}, the first to do so", step,
                                   describe(graph_, nan ? *nan : *infinity));
    if (nan && infinity && infinity->position < nan->position)
      text += fmt::format("; before, {}", describe(graph_, *infinity));
    return text;
  }
  return "when the steps were run again, all numbers were finite";
}

float TrainJob::loss_in(const Placement& placement) const {
  float loss = 0;
  std::memcpy(&loss, placement.tensor(training_.loss), sizeof loss);
  if (options_.loss_scale == 1) return loss;
  return static_cast<float>(static_cast<double>(loss) * options_.loss_scale);
}

std::vector<OperatorId> TrainJob::order_of_run() const {
  std::vector<OperatorId> order = plan_.order;
  if (!options_.planned)
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = operator_id(i);
  return order;
}

TrainResult TrainJob::run(const FillInputs& fill,
                          const std::function<bool(std::int64_t, float, Seconds)>& ended,
                          const std::function<bool(std::int64_t)>& again) {
  const std::vector<OperatorId> order = order_of_run();
  const auto placement = options_.planned ? std::make_unique<Placement>(graph_, plan_)
                                          : std::make_unique<Placement>(graph_);
  fill_known(*placement);
  StepRun run(graph_, kernels_, order, *placement,
              {.threads = options_.threads,
               .seed = options_.seed,
               .messages = options_.messages});
  const solver::Awake awake(runtime_);
  TrainResult result;
  Seconds fastest = 0;
  for (std::int64_t step = 0; step < options_.steps && !result.stopped; ++step) {
    const auto start = Clock::now();
    const std::clock_t used = std::clock();
    fill_inputs(fill, step, *placement, nullptr);
    run.run(step);
    const float loss = loss_in(*placement);
    if (!std::isfinite(loss)) {
      // The other processes do not run the steps again.
      const std::string origin = options_.messages != nullptr
                                     ? "it is not looked for in several processes"
                                     : where_it_began(step, run, *placement, fill, again);
      throw InvalidInput(no_number(step, loss, origin));
    }
    result.losses.push_back(loss);
    result.step_seconds.push_back(since(start));
    if (step == 0 || result.step_seconds.back() < fastest) {
      fastest = result.step_seconds.back();
      result.operator_seconds = run.operator_seconds();
      result.other_seconds = fastest - run.span();
    }
    result.step_processor_seconds.push_back(static_cast<double>(std::clock() - used) /
                                            CLOCKS_PER_SEC);
    if (ended) result.stopped = ended(step, loss, result.step_seconds.back());
  }
  result.arena_peak = run.arena_peak();
  result.operator_seconds = run.operator_seconds();
  result.peak_resident = solver::peak_resident_bytes();
  return result;
}

}  // namespace espalier::training
