// The C interface: errors, the policy, trees and plans.

#include "espalier/model/versioned_struct.h"
#include "espalier/parallel/make_plan.h"
#include "policy/c_api/scheduler.h"
#include "policy/starpu/exports.h"

using namespace espalier;
using namespace espalier::policy;

namespace {

static_assert(ESPALIER_ORDER_LIU == static_cast<int>(OrderKind::kLiu) &&
              ESPALIER_ORDER_POSTORDER == static_cast<int>(OrderKind::kPostorder) &&
              ESPALIER_ORDER_PARALLEL == static_cast<int>(OrderKind::kParallel));
static_assert(ESPALIER_MAPPING_MEMORY_AWARE ==
                  static_cast<int>(MappingKind::kMemoryAware) &&
              ESPALIER_MAPPING_PROPORTIONAL ==
                  static_cast<int>(MappingKind::kProportional) &&
              ESPALIER_MAPPING_ALL_TO_ALL == static_cast<int>(MappingKind::kAllToAll));

thread_local std::string last_error;

std::vector<Task> tasks_from(std::int32_t n, const std::int32_t* parents,
                             const std::int64_t* outputs, const std::int64_t* executions,
                             const std::int64_t* retained, const double* work) {
  std::vector<Task> tasks(static_cast<std::size_t>(n));
  for (std::int32_t i = 0; i < n; ++i) {
    Task& task = tasks[static_cast<std::size_t>(i)];
    if (parents[i] < -1)
      throw InvalidInput(fmt::format("node {}: parent {} is below -1", i, parents[i]));
    if (parents[i] >= 0) task.parent = TaskId{parents[i]};
    task.output_size = outputs[i];
    if (executions != nullptr) task.execution_size = executions[i];
    if (retained != nullptr) task.retained_size = retained[i];
    task.work = work != nullptr ? work[i] : 1;
  }
  return tasks;
}

// The first version had no given_order.
constexpr std::size_t kPlanOptionsSizes[] = {offsetof(espalier_plan_options, given_order),
                                             sizeof(espalier_plan_options)};

PlanOptions plan_options(const espalier_plan_options& from, std::size_t nodes) {
  PlanOptions options;
  if (from.memory_bound < 0 || from.workers < 0)
    throw InvalidInput(fmt::format("memory_bound {} or workers {} is negative",
                                   from.memory_bound, from.workers));
  if (from.memory_bound > 0) options.memory_bound = from.memory_bound;
  if (from.workers > 0) options.workers = from.workers;
  // An order that is given is not looked at beside given_order_of().
  options.order =
      from.order == ESPALIER_ORDER_GIVEN ? OrderKind::kLiu : OrderKind{from.order};
  if (find_order(options.order) == nullptr)
    throw InvalidInput(fmt::format("no order {}", from.order));
  options.mapping = MappingKind{from.mapping};
  if (find_mapping(options.mapping) == nullptr)
    throw InvalidInput(fmt::format("no mapping {}", from.mapping));
  if (from.max_workers != nullptr)
    options.max_workers.assign(from.max_workers, from.max_workers + nodes);
  return options;
}

std::vector<TaskId> given_order_of(const TaskTree& tree,
                                   const espalier_plan_options& options) {
  const std::int32_t* const order = options.given_order;
  if (order == nullptr && !tree.empty()) throw InvalidInput("given_order is NULL");
  std::vector<TaskId> given;
  for (std::size_t k = 0; k < tree.size(); ++k) given.push_back(TaskId{order[k]});
  return given;
}

Expected<Plan> plan_of(const std::shared_ptr<const TaskTree>& tree,
                       const espalier_plan_options* given) {
  PlanOptions options;
  options.order = OrderKind::kLiu;  // ESPALIER_PLAN_OPTIONS_INIT
  if (given == nullptr) return make_plan(tree, options);
  const espalier_plan_options request = versioned(*given, kPlanOptionsSizes, "options");
  options = plan_options(request, tree->size());
  if (request.order != ESPALIER_ORDER_GIVEN) return make_plan(tree, options);
  return make_plan(tree, given_witness(*tree, given_order_of(*tree, request)), options);
}

// What suffices for these options, whether the bound did or not.
Bytes least_of(const Expected<Plan>& made, const espalier_plan_options* options) {
  if (!made) return made.error().least_bytes;
  const std::int32_t order = options != nullptr ? options->order : ESPALIER_ORDER_LIU;
  const TreeOrder* const known = find_order(OrderKind{order});
  return known == nullptr || !known->chosen_inside ? made->witness_peak
                                                   : made->least_bytes;
}

}  // namespace

int espalier::policy::fail(int code, std::string text) noexcept {
  last_error = std::move(text);
  return -code;
}

const char* espalier_last_error(void) { return last_error.c_str(); }

starpu_sched_policy* espalier_sched_policy(void) { return starpu_policy(); }

int espalier_tree_create(espalier_tree** tree, int32_t n, const int32_t* parents,
                         const int64_t* output_sizes, const int64_t* execution_sizes,
                         const int64_t* retained_sizes, const double* work) {
  return guarded([&] {
    need(tree, "tree") = nullptr;
    if (n < 0) return fail(EINVAL, fmt::format("{} nodes", n));
    if (n > 0) {
      need(parents, "parents");
      need(output_sizes, "output_sizes");
    }
    const auto tasks =
        tasks_from(n, parents, output_sizes, execution_sizes, retained_sizes, work);
    *tree = new espalier_tree{std::make_shared<const TaskTree>(tasks)};
    return 0;
  });
}

void espalier_tree_destroy(espalier_tree* tree) { delete tree; }

int espalier_plan_create(espalier_plan** plan, const espalier_tree* tree,
                         const espalier_plan_options* options, int64_t* least) {
  return guarded([&] {
    need(plan, "plan") = nullptr;
    const auto& task_tree = need(tree, "tree").tree;
    Expected<Plan> made = plan_of(task_tree, options);
    if (least != nullptr) *least = least_of(made, options);
    if (!made) return fail(ENOMEM, made.error().message());
    *plan = new espalier_plan{std::make_shared<const Plan>(std::move(*made))};
    return 0;
  });
}

void espalier_plan_destroy(espalier_plan* plan) { delete plan; }

int64_t espalier_plan_bound(const espalier_plan* plan) {
  return plan != nullptr ? plan->plan->memory_bound : fail(EINVAL, "plan is NULL");
}

int64_t espalier_plan_least_bytes(const espalier_plan* plan) {
  return plan != nullptr ? plan->plan->least_bytes : fail(EINVAL, "plan is NULL");
}
