// Trees that the application declares, run by StarPU: nothing is allocated, counters
// stand for memory.
//
// The cases of one subject, which share their instances: over 300 lines.

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <limits>
#include <mutex>
#include <random>
#include <thread>

#include "policy/random_plan.h"
#include "policy/starpu_run.h"

namespace espalier::policy {
namespace TEST_SOURCE {

/// The C interface's objects for a tree, freed at the end.
class Declared {
 public:
  explicit Declared(const std::vector<Task>& tasks) {
    std::vector<std::int32_t> parents;
    std::vector<std::int64_t> outputs, executions, retained;
    std::vector<double> work;
    for (const Task& task : tasks) {
      parents.push_back(task.parent ? static_cast<std::int32_t>(*task.parent) : -1);
      outputs.push_back(task.output_size);
      executions.push_back(task.execution_size);
      retained.push_back(task.retained_size);
      work.push_back(task.work);
    }
    EXPECT_EQ(espalier_tree_create(&tree_, static_cast<std::int32_t>(tasks.size()),
                                   parents.data(), outputs.data(), executions.data(),
                                   retained.data(), work.data()),
              0)
        << espalier_last_error();
  }
  ~Declared() {
    espalier_plan_destroy(plan_);
    espalier_tree_destroy(tree_);
  }
  Declared(const Declared&) = delete;
  Declared& operator=(const Declared&) = delete;

  int plan(std::int64_t bound, int workers) {
    espalier_plan_destroy(plan_);
    espalier_plan_options options = ESPALIER_PLAN_OPTIONS_INIT;
    options.memory_bound = bound;
    options.workers = workers;
    return espalier_plan_create(&plan_, tree_, &options, &least_);
  }
  espalier_job* begin() {
    espalier_job* job = nullptr;
    EXPECT_EQ(espalier_job_begin(&job, plan_, 0), 0) << espalier_last_error();
    return job;
  }
  [[nodiscard]] std::int64_t least() const { return least_; }
  [[nodiscard]] const espalier_plan* made() const { return plan_; }

 private:
  espalier_tree* tree_ = nullptr;
  espalier_plan* plan_ = nullptr;
  std::int64_t least_ = -1;
};

/// A job whose nodes are one task that allocates and submits `tiles` more, of which the
/// last frees. A node with tiles = -1 has no task at all.
class FakeFronts {
 public:
  FakeFronts(const std::vector<Task>& tasks, std::mt19937& random)
      : tasks_(tasks), fronts_(tasks.size()), tree_(tasks) {
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      fronts_[i].run = this;
      fronts_[i].node = static_cast<std::int32_t>(i);
      fronts_[i].tiles = static_cast<int>(random() % 6) - 1;
      // A node without tasks cannot free its children's outputs: leaves only.
      if (!tree_.children(task_id(i)).empty())
        fronts_[i].tiles = std::max(0, fronts_[i].tiles);
      fronts_[i].left = fronts_[i].tiles;
    }
  }

  void submit(espalier_job* job, std::mt19937& random) {
    job_ = job;
    std::vector<std::size_t> order(fronts_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t i : order) {
      if (fronts_[i].tiles >= 0)
        submit_one(first_codelet(), fronts_[i]);
      else
        EXPECT_EQ(espalier_node_close(job, fronts_[i].node), 0) << espalier_last_error();
    }
  }

  void check(const espalier_report& report) const {
    std::int64_t tasks = 0, kept = 0;
    for (std::size_t i = 0; i < fronts_.size(); ++i) {
      const Front& front = fronts_[i];
      EXPECT_EQ(front.tasks_run, front.tiles + 1) << "node " << i;
      tasks += front.tiles + 1;
      if (front.tiles < 0) continue;
      kept += tasks_[i].retained_size;
      if (!tasks_[i].parent) kept += tasks_[i].output_size;
    }
    EXPECT_EQ(report.tasks, tasks);
    EXPECT_EQ(report.nodes_ended, report.nodes);
    EXPECT_EQ(report.nodes, static_cast<std::int64_t>(fronts_.size()));
    EXPECT_LE(peak_, report.bound_bytes);
    EXPECT_EQ(report.allocated_peak, peak_);
    EXPECT_LE(report.allocated_peak, report.booked_peak);
    EXPECT_LE(report.booked_peak, report.bound_bytes);
    EXPECT_EQ(report.overruns, 0);
    EXPECT_EQ(report.allocated_bytes, kept);
    EXPECT_EQ(report.cancelled, 0);
    EXPECT_FALSE(too_early_) << "a node ran before its children had ended";
  }

 private:
  struct Front {
    FakeFronts* run = nullptr;
    std::int32_t node = 0;
    int tiles = 0;
    std::atomic<int> left = 0, tasks_run = 0;
    std::atomic<bool> ended = false;
  };

  static starpu_codelet& first_codelet() {
    static starpu_codelet codelet = cpu_codelet([](void**, void* argument) {
      auto& front = *static_cast<Front*>(argument);
      front.run->first(front);
    });
    return codelet;
  }
  static starpu_codelet& tile_codelet() {
    static starpu_codelet codelet = cpu_codelet([](void**, void* argument) {
      auto& front = *static_cast<Front*>(argument);
      ++front.tasks_run;
      if (--front.left == 0) front.run->last(front);
    });
    return codelet;
  }

  void submit_one(starpu_codelet& codelet, Front& front) {
    starpu_task* const task = make_task(codelet, &front, front.node % 3);
    EXPECT_EQ(espalier_bind(job_, task, front.node), 0) << espalier_last_error();
    EXPECT_EQ(starpu_task_submit(task), 0);
  }

  void first(Front& front) {
    ++front.tasks_run;
    const TaskId id{front.node};
    const Task& task = tasks_[index(id)];
    EXPECT_EQ(espalier_node_started(job_, front.node), 1);
    for (const TaskId child : tree_.children(id))
      if (const Front& c = fronts_[index(child)]; c.tiles >= 0 && !c.ended)
        too_early_ = true;
    change(front, task.output_size + task.execution_size + task.retained_size);
    for (int tile = 0; tile < front.tiles; ++tile) submit_one(tile_codelet(), front);
    EXPECT_EQ(espalier_node_close(job_, front.node), 0) << espalier_last_error();
    if (front.tiles == 0) last(front);
  }

  void last(Front& front) {
    const TaskId id{front.node};
    Bytes freed = tasks_[index(id)].execution_size;
    for (const TaskId child : tree_.children(id))
      if (fronts_[index(child)].tiles >= 0) freed += tree_.output_size(child);
    front.ended = true;
    change(front, -freed);
  }

  void change(const Front& front, Bytes delta) {
    const std::scoped_lock lock(mutex_);
    in_memory_ += delta;
    peak_ = std::max(peak_, in_memory_);
    EXPECT_EQ(espalier_job_allocated(job_, front.node, delta), 0)
        << espalier_last_error();
  }

  const std::vector<Task>& tasks_;
  std::vector<Front> fronts_;
  TaskTree tree_;
  espalier_job* job_ = nullptr;
  std::atomic<bool> too_early_ = false;
  std::mutex mutex_;
  Bytes in_memory_ = 0, peak_ = 0;
};

class DeclaredTree : public testing::TestWithParam<int> {};

TEST_P(DeclaredTree, RunsInsideAnyBoundFromTheLeastOn) {
  const StarPuRun starpu(GetParam());
  ASSERT_TRUE(starpu.ok());
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  for (int round = 0; round < 60; ++round) {
    const auto tasks = random_tasks(random() % 80, random);
    Declared declared(tasks);
    ASSERT_EQ(declared.plan(0, GetParam()), 0) << espalier_last_error();
    std::int64_t bound = declared.least();
    if (round % 4 == 1) bound += bound / 4;
    if (round % 4 == 2) bound *= 2;
    if (round % 4 == 3) bound = std::numeric_limits<std::int64_t>::max();
    ASSERT_EQ(declared.plan(bound, GetParam()), 0) << espalier_last_error();
    SCOPED_TRACE(testing::Message() << "round " << round << ", " << tasks.size()
                                    << " nodes, bound " << bound);
    FakeFronts fronts(tasks, random);
    espalier_job* const job = declared.begin();
    ASSERT_NE(job, nullptr);
    fronts.submit(job, random);
    ASSERT_EQ(starpu_task_wait_for_all(), 0);
    espalier_report report = ESPALIER_REPORT_INIT;
    ASSERT_EQ(espalier_job_end(job, &report), 0) << espalier_last_error();
    fronts.check(report);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Workers, DeclaredTree, testing::Values(1, 2, 3, 4));

std::vector<Task> cherry() {
  return {{std::nullopt, 1, 1, 0, 1}, {TaskId{0}, 2, 3, 0, 1}, {TaskId{0}, 2, 3, 0, 1}};
}

TEST(DeclaredTree, TwoJobsShareAContextWithUndeclaredTasks) {
  const StarPuRun starpu(2);
  std::mt19937 random(7);
  const auto tasks_a = random_tasks(50, random), tasks_b = random_tasks(50, random);
  Declared a(tasks_a), b(tasks_b);
  ASSERT_EQ(a.plan(0, 2), 0);
  ASSERT_EQ(b.plan(0, 2), 0);
  FakeFronts fronts_a(tasks_a, random), fronts_b(tasks_b, random);
  espalier_job *const job_a = a.begin(), *const job_b = b.begin();
  static std::atomic<int> undeclared;
  undeclared = 0;
  starpu_codelet codelet = cpu_codelet([](void**, void*) { ++undeclared; });
  fronts_a.submit(job_a, random);
  for (int i = 0; i < 100; ++i) {
    starpu_task* const task = make_task(codelet, nullptr);
    task->sched_data = &codelet;  // the application's own
    ASSERT_EQ(starpu_task_submit(task), 0);
  }
  fronts_b.submit(job_b, random);
  ASSERT_EQ(starpu_task_wait_for_all(), 0);
  EXPECT_EQ(undeclared, 100);
  espalier_report report = ESPALIER_REPORT_INIT;
  ASSERT_EQ(espalier_job_end(job_a, &report), 0) << espalier_last_error();
  fronts_a.check(report);
  ASSERT_EQ(espalier_job_end(job_b, &report), 0) << espalier_last_error();
  fronts_b.check(report);
}

TEST(DeclaredTree, CancelLetsEveryTaskRun) {
  const StarPuRun starpu(2);
  Declared declared(cherry());
  ASSERT_EQ(declared.plan(0, 2), 0);
  espalier_job* const job = declared.begin();
  static std::atomic<int> ran;
  ran = 0;
  starpu_codelet codelet = cpu_codelet([](void**, void*) { ++ran; });
  for (const std::int32_t node : {0, 1, 2}) {
    starpu_task* const task = make_task(codelet, nullptr);
    ASSERT_EQ(espalier_bind(job, task, node), 0);
    ASSERT_EQ(starpu_task_submit(task), 0);
  }
  EXPECT_EQ(espalier_job_end(job, nullptr), -EBUSY);
  EXPECT_EQ(espalier_job_cancel(job), 0);
  ASSERT_EQ(starpu_task_wait_for_all(), 0);
  EXPECT_EQ(ran, 3);
  espalier_report report = ESPALIER_REPORT_INIT;
  EXPECT_EQ(espalier_job_end(job, &report), 0) << espalier_last_error();
  EXPECT_EQ(report.cancelled, 1);
  EXPECT_EQ(report.tasks, 3);
}

// Two roots that retain 10 each, in 15.
TEST(DeclaredTree, RunsWithinABoundThatWhatIsGivenBackMakesUpFor) {
  const StarPuRun starpu(2);
  Declared declared(std::vector<Task>(2, Task{std::nullopt, 0, 0, 10, 1}));
  ASSERT_EQ(declared.plan(0, 2), 0);
  ASSERT_EQ(declared.least(), 20);
  espalier_job* job = nullptr;
  EXPECT_EQ(espalier_job_begin_within(&job, declared.made(), -1, 0), -EINVAL);
  ASSERT_EQ(espalier_job_begin_within(&job, declared.made(), 15, 0), 0);
  const std::int32_t first = espalier_node_started(job, 0) == 1 ? 0 : 1;
  EXPECT_EQ(espalier_node_started(job, 1 - first), 0);
  EXPECT_EQ(espalier_node_give_back(job, 1 - first, 1), -EINVAL) << "not started";
  static std::atomic<int> ran;
  ran = 0;
  starpu_codelet codelet = cpu_codelet([](void**, void*) { ++ran; });
  for (const std::int32_t node : {0, 1}) {
    starpu_task* const task = make_task(codelet, nullptr);
    ASSERT_EQ(espalier_bind(job, task, node), 0);
    ASSERT_EQ(starpu_task_submit(task), 0);
    ASSERT_EQ(espalier_node_close(job, node), 0);
  }
  std::int64_t missing = 0;
  while (espalier_job_missing(job, &missing) == 0) std::this_thread::yield();
  EXPECT_EQ(missing, 5);
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(espalier_node_give_back(job, first, 11), -EINVAL) << "more than it retains";
  EXPECT_EQ(espalier_node_give_back(job, first, 5), 0) << espalier_last_error();
  ASSERT_EQ(starpu_task_wait_for_all(), 0);
  EXPECT_EQ(espalier_job_missing(job, nullptr), 0);
  EXPECT_EQ(ran, 2);
  espalier_report report = ESPALIER_REPORT_INIT;
  ASSERT_EQ(espalier_job_end(job, &report), 0) << espalier_last_error();
  EXPECT_EQ(report.bound_bytes, 15);
  EXPECT_EQ(report.booked_peak, 15);
  EXPECT_EQ(report.given_back_bytes, 5);
}

TEST(DeclaredTree, RunsTheCriticalPathFirstAndWithinANodeByPriority) {
  const StarPuRun starpu(1);
  // Leaves 1 (short) and 2 (long) below the root.
  auto tasks = cherry();
  tasks[2].work = 50;
  Declared declared(tasks);
  ASSERT_EQ(declared.plan(std::numeric_limits<std::int64_t>::max(), 1), 0);
  espalier_job* const job = declared.begin();
  static std::vector<std::intptr_t> order;
  order.clear();
  starpu_codelet codelet = cpu_codelet([](void**, void* argument) {
    order.push_back(reinterpret_cast<std::intptr_t>(argument));
  });
  const auto submit = [&](std::int32_t node, int priority) {
    starpu_task* const task = make_task(
        codelet, reinterpret_cast<void*>(std::intptr_t{10} * node + priority), priority);
    ASSERT_EQ(espalier_bind(job, task, node), 0) << espalier_last_error();
    ASSERT_EQ(starpu_task_submit(task), 0);
  };
  HeldWorker worker;
  ASSERT_TRUE(worker.ok());
  submit(0, 1);
  submit(1, 9);
  submit(2, 1);
  submit(2, 3);
  submit(1, 8);
  for (const std::int32_t node : {0, 1, 2}) ASSERT_EQ(espalier_node_close(job, node), 0);
  worker.let_go();
  ASSERT_EQ(starpu_task_wait_for_all(), 0);
  EXPECT_EQ(order, (std::vector<std::intptr_t>{23, 21, 19, 18, 1}));
  EXPECT_EQ(espalier_job_end(job, nullptr), 0);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::policy
