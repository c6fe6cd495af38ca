// The C interface's errors, and the life cycles of StarPU around it.
//
// The cases of one subject, which share their instances: over 300 lines.

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <vector>

#include "policy/starpu_run.h"

namespace espalier::policy {
namespace TEST_SOURCE {

constexpr std::int32_t kParents[] = {-1, 0, 0};
constexpr std::int64_t kOutputs[] = {1, 2, 2}, kExecutions[] = {1, 3, 3};

class Objects {
 public:
  Objects() {
    EXPECT_EQ(
        espalier_tree_create(&tree, 3, kParents, kOutputs, kExecutions, nullptr, nullptr),
        0);
    EXPECT_EQ(espalier_plan_create(&plan, tree, nullptr, nullptr), 0);
  }
  ~Objects() {
    espalier_plan_destroy(plan);
    espalier_tree_destroy(tree);
  }
  espalier_tree* tree = nullptr;
  espalier_plan* plan = nullptr;
};

testing::AssertionResult says(const char* what) {
  if (std::strstr(espalier_last_error(), what) != nullptr)
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << "message: " << espalier_last_error();
}

void nothing(void**, void*) {}

TEST(Interface, RefusesTreesThatCannotBe) {
  espalier_tree* tree = nullptr;
  const auto create = [&](std::int32_t n, const std::int32_t* parents,
                          const std::int64_t* outputs, const double* work = nullptr) {
    return espalier_tree_create(&tree, n, parents, outputs, nullptr, nullptr, work);
  };
  const std::int32_t cycle[] = {1, 0}, range[] = {-1, 2}, below[] = {-1, -2};
  const std::int32_t roots[] = {-1, -1};
  const std::int64_t sizes[] = {1, 1}, negative[] = {1, -1};
  const std::int64_t huge[] = {std::numeric_limits<std::int64_t>::max(), 1};
  const double nan[] = {1, std::numeric_limits<double>::quiet_NaN()};
  EXPECT_EQ(create(-1, roots, sizes), -EINVAL);
  EXPECT_EQ(create(2, cycle, sizes), -EINVAL);
  EXPECT_EQ(create(2, range, sizes), -EINVAL);
  EXPECT_EQ(create(2, below, sizes), -EINVAL);
  EXPECT_EQ(create(2, roots, negative), -EINVAL);
  EXPECT_EQ(create(2, roots, sizes, nan), -EINVAL);
  EXPECT_EQ(create(2, nullptr, sizes), -EINVAL);
  EXPECT_EQ(create(2, roots, huge), -EOVERFLOW);
  EXPECT_EQ(tree, nullptr);
  EXPECT_EQ(espalier_tree_create(nullptr, 0, nullptr, nullptr, nullptr, nullptr, nullptr),
            -EINVAL);
  EXPECT_TRUE(says("tree is NULL"));
  EXPECT_EQ(create(0, nullptr, nullptr), 0);
  espalier_tree_destroy(tree);
  espalier_tree_destroy(nullptr);
}

TEST(Interface, SaysTheLeastBoundThatSuffices) {
  const Objects objects;
  EXPECT_EQ(espalier_plan_least_bytes(objects.plan), 7);
  EXPECT_EQ(espalier_plan_bound(objects.plan), 7);
  espalier_plan* plan = nullptr;
  espalier_plan_options options = ESPALIER_PLAN_OPTIONS_INIT;
  std::int64_t least = -1;
  options.memory_bound = 6;
  EXPECT_EQ(espalier_plan_create(&plan, objects.tree, &options, &least), -ENOMEM);
  EXPECT_EQ(least, 7);
  EXPECT_EQ(plan, nullptr);
  EXPECT_TRUE(says("7"));
  options.memory_bound = 9;
  EXPECT_EQ(espalier_plan_create(&plan, objects.tree, &options, &least), 0);
  EXPECT_EQ(espalier_plan_bound(plan), 9);
  espalier_plan_destroy(plan);
  EXPECT_EQ(espalier_plan_bound(nullptr), -EINVAL);
}

TEST(Interface, PlansInsideTheBoundWithEveryOrder) {
  const Objects objects;
  for (const std::int32_t order :
       {ESPALIER_ORDER_LIU, ESPALIER_ORDER_POSTORDER, ESPALIER_ORDER_PARALLEL}) {
    espalier_plan* plan = nullptr;
    espalier_plan_options options = ESPALIER_PLAN_OPTIONS_INIT;
    options.order = order;
    options.workers = 4;
    ASSERT_EQ(espalier_plan_create(&plan, objects.tree, &options, nullptr), 0);
    EXPECT_EQ(espalier_plan_bound(plan), 7) << order;
    espalier_plan_destroy(plan);
    options.memory_bound = 6;
    EXPECT_EQ(espalier_plan_create(&plan, objects.tree, &options, nullptr), -ENOMEM);
  }
}

// The second child first is the worse order: 3 bytes, then 1 + 6; the other way round 6.
TEST(Interface, PlansTheOrderThatItIsGiven) {
  constexpr std::int64_t kOnes[] = {1, 1, 1}, kLarge[] = {0, 5, 2};
  espalier_tree* tree = nullptr;
  ASSERT_EQ(espalier_tree_create(&tree, 3, kParents, kOnes, kLarge, nullptr, nullptr), 0);
  std::int64_t suffices = 0;
  const auto create = [&](std::vector<std::int32_t> order, std::int64_t bound) {
    espalier_plan* plan = nullptr;
    espalier_plan_options options = ESPALIER_PLAN_OPTIONS_INIT;
    options.order = ESPALIER_ORDER_GIVEN;
    options.given_order = order.empty() ? nullptr : order.data();
    options.memory_bound = bound;
    const int status = espalier_plan_create(&plan, tree, &options, &suffices);
    if (status == 0) {
      EXPECT_EQ(espalier_plan_least_bytes(plan), 6);  // in any order
    }
    const std::int64_t result = status == 0 ? espalier_plan_bound(plan) : status;
    espalier_plan_destroy(plan);
    return result;
  };
  EXPECT_EQ(create({1, 2, 0}, 0), 6);
  EXPECT_EQ(suffices, 6);
  EXPECT_EQ(create({2, 1, 0}, 0), 7);
  EXPECT_EQ(suffices, 7);
  EXPECT_EQ(create({2, 1, 0}, 6), -ENOMEM);
  EXPECT_EQ(suffices, 7);
  EXPECT_TRUE(says("no schedule found inside a bound of 6 B"));
  EXPECT_TRUE(says("no schedule needs less than 6 B"));
  EXPECT_EQ(create({2, 1, 0}, 5), -ENOMEM);
  EXPECT_TRUE(says("a bound of 5 B (5 bytes) is too small"));
  EXPECT_TRUE(says("7 B (7 bytes) suffices"));
  EXPECT_EQ(create({}, 0), -EINVAL);
  EXPECT_EQ(create({0, 1, 2}, 0), -EINVAL);  // a parent before its children
  EXPECT_EQ(create({1, 1, 0}, 0), -EINVAL);
  EXPECT_EQ(create({1, 3, 0}, 0), -EINVAL);
  EXPECT_EQ(create({1, -1, 0}, 0), -EINVAL);
  espalier_tree_destroy(tree);
}

// As compiled with the first version, which had no given_order.
TEST(Interface, TakesTheOptionsOfAnOlderCaller) {
  const Objects objects;
  alignas(espalier_plan_options)
      std::byte old[offsetof(espalier_plan_options, given_order)];
  const espalier_plan_options options = {sizeof old, 0, 3, 0, 0, 0, nullptr, nullptr};
  std::memcpy(old, &options, sizeof old);
  espalier_plan* plan = nullptr;
  ASSERT_EQ(espalier_plan_create(&plan, objects.tree,
                                 reinterpret_cast<espalier_plan_options*>(old), nullptr),
            0)
      << espalier_last_error();
  EXPECT_EQ(espalier_plan_bound(plan), 7);
  espalier_plan_destroy(plan);
}

TEST(Interface, RefusesOptionsThatCannotBe) {
  const Objects objects;
  const auto create = [&](auto change) {
    espalier_plan* plan = nullptr;
    espalier_plan_options options = ESPALIER_PLAN_OPTIONS_INIT;
    change(options);
    return espalier_plan_create(&plan, objects.tree, &options, nullptr);
  };
  EXPECT_EQ(create([](auto& o) { o.size = 3; }), -EINVAL);
  EXPECT_EQ(create([](auto& o) { o.memory_bound = -1; }), -EINVAL);
  EXPECT_EQ(create([](auto& o) { o.workers = -1; }), -EINVAL);
  EXPECT_EQ(create([](auto& o) { o.order = 7; }), -EINVAL);
  EXPECT_EQ(create([](auto& o) { o.mapping = -7; }), -EINVAL);
}

TEST(Interface, NoticesThatAnotherPolicyRuns) {
  const Objects objects;
  espalier_job* job = nullptr;
  EXPECT_EQ(espalier_job_begin(&job, objects.plan, 0), -ENOENT) << "StarPU does not run";
  {
    const StarPuRun starpu(1, nullptr, "espalliier");
    EXPECT_EQ(espalier_job_begin(&job, objects.plan, 0), -ENOENT);
    EXPECT_TRUE(says("lws"));
    EXPECT_EQ(espalier_job_begin(&job, objects.plan, 3), -ENOENT) << "no such context";
    EXPECT_EQ(espalier_job_begin(&job, objects.plan, 1U << 20), -ENOENT);
  }
  EXPECT_EQ(job, nullptr);
  const StarPuRun starpu(1);
  EXPECT_EQ(espalier_job_begin(&job, nullptr, 0), -EINVAL);
  EXPECT_EQ(espalier_job_begin(&job, objects.plan, 0), 0) << espalier_last_error();
  EXPECT_EQ(espalier_job_cancel(job), 0);
  EXPECT_EQ(espalier_job_end(job, nullptr), 0);
}

TEST(Interface, FindsThePolicyByItsName) {
  const Objects objects;
  setenv("STARPU_SCHED_LIB", ESPALIER_LIBRARY, 1);  // needed from StarPU 1.4 on
  const StarPuRun starpu(1, nullptr, "espalier");
  espalier_job* job = nullptr;
  EXPECT_EQ(espalier_job_begin(&job, objects.plan, 0), 0) << espalier_last_error();
  for (const std::int32_t node : {1, 2, 0}) EXPECT_EQ(espalier_node_close(job, node), 0);
  EXPECT_EQ(espalier_job_end(job, nullptr), 0) << "nodes without tasks end";
}

TEST(Interface, RefusesTasksThatThePolicyWouldNotSee) {
  const Objects objects;
  const StarPuRun starpu(1);
  espalier_job* job = nullptr;
  ASSERT_EQ(espalier_job_begin(&job, objects.plan, 0), 0);
  starpu_codelet codelet = cpu_codelet(nothing), nowhere = cpu_codelet(nothing);
  nowhere.where = STARPU_NOWHERE;
  starpu_task* const task = make_task(codelet, nullptr);
  EXPECT_EQ(espalier_bind(job, task, 3), -EINVAL);
  EXPECT_TRUE(says("node 3"));
  EXPECT_EQ(espalier_bind(job, task, -1), -EINVAL);
  EXPECT_EQ(espalier_bind(job, nullptr, 0), -EINVAL);
  task->cl = nullptr;
  EXPECT_EQ(espalier_bind(job, task, 0), -EINVAL);
  task->cl = &nowhere;
  EXPECT_EQ(espalier_bind(job, task, 0), -EINVAL);
  task->cl = &codelet;
  task->regenerate = 1;
  EXPECT_EQ(espalier_bind(job, task, 0), -EINVAL);
  task->regenerate = 0;
  task->execute_on_a_specific_worker = 1;
  EXPECT_EQ(espalier_bind(job, task, 0), -EINVAL);
  task->execute_on_a_specific_worker = 0;
  task->sched_ctx = 5;
  EXPECT_EQ(espalier_bind(job, task, 0), -EINVAL);
  task->sched_ctx = STARPU_NMAX_SCHED_CTXS;
  EXPECT_EQ(espalier_unbind(job, task), -EINVAL);
  EXPECT_EQ(espalier_bind(job, task, 0), 0);
  EXPECT_EQ(espalier_unbind(job, task), 0);
  EXPECT_EQ(espalier_node_close(job, 0), 0);
  EXPECT_EQ(espalier_node_close(job, 0), -EINVAL);
  EXPECT_EQ(espalier_bind(job, task, 0), -EINVAL);
  EXPECT_TRUE(says("closed"));
  task->destroy = 0;
  starpu_task_destroy(task);
  espalier_report report = ESPALIER_REPORT_INIT;
  report.size = 1;
  EXPECT_EQ(espalier_job_report(job, &report), -EINVAL);
  EXPECT_EQ(espalier_job_end(job, nullptr), -EBUSY);
  EXPECT_EQ(espalier_job_cancel(job), 0);
  EXPECT_EQ(espalier_job_end(job, nullptr), 0);
}

TEST(Interface, CountsTasksForASpecificWorkerOfAStartedNode) {
  const Objects objects;
  const StarPuRun starpu(2);
  espalier_job* job = nullptr;
  ASSERT_EQ(espalier_job_begin(&job, objects.plan, 0), 0);
  starpu_codelet codelet = cpu_codelet(nothing);
  const std::int32_t started = espalier_node_started(job, 1) == 1 ? 1 : 2;
  starpu_task* const task = make_task(codelet, nullptr);
  task->execute_on_a_specific_worker = 1;
  task->workerid = 1;
  ASSERT_EQ(espalier_bind(job, task, started), 0) << espalier_last_error();
  ASSERT_EQ(starpu_task_submit(task), 0);
  for (const std::int32_t node : {0, 1, 2}) EXPECT_EQ(espalier_node_close(job, node), 0);
  ASSERT_EQ(starpu_task_wait_for_all(), 0);
  espalier_report report = ESPALIER_REPORT_INIT;
  EXPECT_EQ(espalier_job_end(job, &report), 0);
  EXPECT_EQ(report.tasks, 1);
}

TEST(Interface, SurvivesRestartsOfStarPU) {
  const Objects objects;
  for (int round = 0; round < 8; ++round) {
    const StarPuRun starpu(1 + round % 3);
    ASSERT_TRUE(starpu.ok());
    espalier_job* job = nullptr;
    ASSERT_EQ(espalier_job_begin(&job, objects.plan, 0), 0) << espalier_last_error();
    starpu_codelet codelet = cpu_codelet(nothing);
    for (int i = 0; i < 30; ++i) {
      starpu_task* const task = make_task(codelet, nullptr);
      ASSERT_EQ(espalier_bind(job, task, i % 3), 0);
      ASSERT_EQ(starpu_task_submit(task), 0);
    }
    for (const std::int32_t node : {0, 1, 2})
      ASSERT_EQ(espalier_node_close(job, node), 0);
    ASSERT_EQ(starpu_task_wait_for_all(), 0);
    ASSERT_EQ(espalier_job_end(job, nullptr), 0) << espalier_last_error();
  }
}

TEST(Interface, RunsInSeveralContextsAtOnce) {
  const Objects objects;
  const StarPuRun starpu(2);
  ASSERT_EQ(starpu_cpu_worker_get_count(), 2U);
  int ids[] = {0, 1};
  unsigned contexts[2];
  for (int c = 0; c < 2; ++c)
    contexts[c] =
        starpu_sched_ctx_create(&ids[c], 1, "context", STARPU_SCHED_CTX_POLICY_STRUCT,
                                espalier_sched_policy(), 0);
  static std::atomic<int> wrong_worker;
  wrong_worker = 0;
  starpu_codelet codelet = cpu_codelet([](void**, void* argument) {
    if (starpu_worker_get_id() != *static_cast<int*>(argument)) ++wrong_worker;
  });
  espalier_job* jobs[2] = {};
  for (int c = 0; c < 2; ++c)
    ASSERT_EQ(espalier_job_begin(&jobs[c], objects.plan, contexts[c]), 0)
        << espalier_last_error();
  for (int i = 0; i < 60; ++i) {
    starpu_task* const task = make_task(codelet, &ids[i % 2]);
    ASSERT_EQ(espalier_bind(jobs[i % 2], task, i / 2 % 3), 0) << espalier_last_error();
    ASSERT_EQ(starpu_task_submit(task), 0);
  }
  for (espalier_job* const job : jobs)
    for (const std::int32_t node : {0, 1, 2})
      ASSERT_EQ(espalier_node_close(job, node), 0);
  ASSERT_EQ(starpu_task_wait_for_all(), 0);
  EXPECT_EQ(wrong_worker, 0);
  for (int c = 0; c < 2; ++c) {
    espalier_report report = ESPALIER_REPORT_INIT;
    EXPECT_EQ(espalier_job_end(jobs[c], &report), 0) << espalier_last_error();
    EXPECT_EQ(report.tasks, 30);
    EXPECT_EQ(report.workers, 1);
    starpu_sched_ctx_delete(contexts[c]);
  }
}

TEST(Interface, LetsAJobOutliveItsContext) {
  const Objects objects;
  espalier_job* job = nullptr;
  {
    const StarPuRun starpu(1);
    ASSERT_EQ(espalier_job_begin(&job, objects.plan, 0), 0);
  }
  for (const std::int32_t node : {1, 2, 0}) EXPECT_EQ(espalier_node_close(job, node), 0);
  EXPECT_EQ(espalier_job_end(job, nullptr), 0);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::policy
