// The cases of one subject, which share their instances: over 300 lines.

#include "policy/core/tree_gate.h"

#include <gtest/gtest.h>

#include <array>
#include <condition_variable>
#include <deque>
#include <map>
#include <thread>

#include "espalier/model/error.h"
#include "policy/random_plan.h"

namespace espalier::policy {
namespace TEST_SOURCE {

// Two leaves 1 and 2 below root 0. Leaves: f = 2, m = 3; root: f = 1, m = 1.
// Peak of the postorder 1, 2, 0: 2 + (2 + 3) = 7.
std::vector<Task> cherry() {
  return {{std::nullopt, 1, 1, 0, 1}, {TaskId{0}, 2, 3, 0, 1}, {TaskId{0}, 2, 3, 0, 1}};
}

std::vector<Task> chain(std::size_t size) {
  std::vector<Task> tasks(size);
  for (std::size_t i = 1; i < size; ++i) tasks[i].parent = task_id(i - 1);
  return tasks;
}

// A task is the address of anything: of these.
std::array<int, 8> things;
void* thing(std::size_t i) { return &things[i]; }

TEST(TreeGate, HoldsTheParentUntilItsChildrenHaveEnded) {
  TreeGate gate(simple_plan(cherry(), 100));
  std::vector<Released> released;
  for (const TaskId node : {TaskId{0}, TaskId{1}, TaskId{2}}) {
    EXPECT_TRUE(gate.bind(node));
    EXPECT_TRUE(gate.close(node, 0, released));
  }
  EXPECT_FALSE(gate.admit(TaskId{0}, thing(0), 1.0));
  EXPECT_TRUE(gate.admit(TaskId{1}, thing(1), 1.0));
  EXPECT_TRUE(gate.admit(TaskId{2}, thing(2), 1.0));
  gate.finish(TaskId{1}, 2.0, released);
  EXPECT_TRUE(released.empty());
  gate.finish(TaskId{2}, 3.5, released);
  ASSERT_EQ(released.size(), 1U);
  EXPECT_EQ(released[0].task, thing(0));
  EXPECT_EQ(released[0].node, TaskId{0});
  EXPECT_FALSE(gate.done());
  gate.finish(TaskId{0}, 4.0, released);
  EXPECT_TRUE(gate.done());
  EXPECT_EQ(gate.report().held_tasks, 1);
  EXPECT_DOUBLE_EQ(gate.report().held_time, 2.5);
  EXPECT_EQ(gate.report().nodes_ended, 3);
}

TEST(TreeGate, KeepsSiblingsApartWhenTheBoundLeavesRoomForOne) {
  TreeGate gate(simple_plan(cherry(), 0));
  EXPECT_EQ(gate.plan().memory_bound, 7);
  std::vector<Released> released;
  EXPECT_NE(gate.started(TaskId{1}), gate.started(TaskId{2}));
  const TaskId first = gate.started(TaskId{1}) ? TaskId{1} : TaskId{2};
  EXPECT_TRUE(gate.close(first, 0, released));
  EXPECT_TRUE(gate.started(TaskId{1}) && gate.started(TaskId{2}));
  EXPECT_LE(gate.report().booked_peak, 7);
}

// Three roots that retain 10 each, in 15: the third has no tasks.
TEST(TreeGate, LetsGoWhatFitsOnceANodeGivesBack) {
  const std::vector<Task> roots(3, Task{std::nullopt, 0, 0, 10, 1});
  TreeGate gate(simple_plan(roots, 0), 15);
  EXPECT_EQ(gate.bound(), 15);
  std::vector<Released> released;
  const TaskId first = gate.plan().witness[0], second = gate.plan().witness[1];
  EXPECT_TRUE(gate.bind(second));
  EXPECT_FALSE(gate.admit(second, thing(0), 1.0));
  EXPECT_FALSE(gate.give_back(second, 1, 1.0, released)) << "it has not started";
  EXPECT_EQ(gate.missing(), 0) << "the first may still give back";
  EXPECT_TRUE(gate.close(first, 2.0, released));
  EXPECT_EQ(gate.missing(), 5);
  EXPECT_TRUE(gate.give_back(first, 5, 3.0, released));
  ASSERT_EQ(released.size(), 1U);
  EXPECT_EQ(released[0].task, thing(0));
  EXPECT_EQ(gate.missing(), 0);
  EXPECT_TRUE(gate.close(second, 4.0, released));
  gate.finish(second, 4.0, released);
  EXPECT_EQ(gate.missing(), 10);
  EXPECT_FALSE(gate.done());
  EXPECT_TRUE(gate.close(gate.plan().witness[2], 5.0, released));
  EXPECT_TRUE(gate.give_back(second, 10, 6.0, released)) << "the third starts, and ends";
  EXPECT_TRUE(gate.done());
  EXPECT_EQ(gate.report().given_back, 15);
  EXPECT_EQ(gate.report().booked_peak, 15);
}

TEST(TreeGate, StandsUntilItIsCancelled) {
  const std::vector<Task> roots(1, Task{std::nullopt, 0, 0, 10, 1});
  TreeGate stands(simple_plan(roots, 0), 9);
  std::vector<Released> released;
  EXPECT_EQ(stands.missing(), 1);
  EXPECT_TRUE(stands.bind(TaskId{0}));
  EXPECT_FALSE(stands.admit(TaskId{0}, thing(0), 0));
  stands.cancel(1.0, released);
  EXPECT_EQ(stands.missing(), 0);
  EXPECT_EQ(released.size(), 1U);
}

TEST(TreeGate, ReleasesTheHeldTasksOfANodeOldestFirst) {
  TreeGate gate(simple_plan(chain(2), 0));
  std::vector<Released> released;
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_TRUE(gate.bind(TaskId{0}));
    EXPECT_FALSE(gate.admit(TaskId{0}, thing(i), 0));
  }
  EXPECT_TRUE(gate.close(TaskId{1}, 0, released));
  ASSERT_EQ(released.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(released[i].task, thing(i));
  EXPECT_TRUE(gate.bind(TaskId{0}));
  EXPECT_TRUE(gate.admit(TaskId{0}, thing(5), 0)) << "a started node lets tasks pass";
}

TEST(TreeGate, LetsANodeEndOnlyWhenClosedAndEmpty) {
  TreeGate gate(simple_plan(chain(2), 0));
  std::vector<Released> released;
  EXPECT_TRUE(gate.bind(TaskId{1}));
  gate.finish(TaskId{1}, 0, released);
  EXPECT_FALSE(gate.started(TaskId{0})) << "not closed";
  EXPECT_TRUE(gate.bind(TaskId{1}));
  EXPECT_TRUE(gate.close(TaskId{1}, 0, released));
  EXPECT_FALSE(gate.started(TaskId{0})) << "a task is left";
  EXPECT_FALSE(gate.bind(TaskId{1})) << "closed";
  EXPECT_FALSE(gate.close(TaskId{1}, 0, released)) << "closed";
  gate.finish(TaskId{1}, 0, released);
  EXPECT_TRUE(gate.started(TaskId{0}));
}

TEST(TreeGate, EndsAChainOfAMillionEmptyNodesAtOnce) {
  constexpr std::size_t kSize = 1'000'000;
  TreeGate gate(simple_plan(chain(kSize), 0));
  std::vector<Released> released;
  for (std::size_t i = 0; i < kSize; ++i)
    EXPECT_TRUE(gate.close(task_id(i), 0, released));
  EXPECT_TRUE(gate.done());
  EXPECT_EQ(gate.report().nodes_ended, std::int64_t{kSize});
}

TEST(TreeGate, CancelReleasesAllThatIsHeldAndWaitsForIt) {
  TreeGate gate(simple_plan(cherry(), 0));
  std::vector<Released> released;
  EXPECT_TRUE(gate.bind(TaskId{0}));
  EXPECT_FALSE(gate.admit(TaskId{0}, thing(0), 0));
  gate.cancel(1, released);
  ASSERT_EQ(released.size(), 1U);
  EXPECT_FALSE(gate.done());
  gate.finish(TaskId{0}, 2, released);
  EXPECT_TRUE(gate.done()) << "open nodes do not matter any more";
  EXPECT_TRUE(gate.report().cancelled);
  EXPECT_TRUE(gate.bind(TaskId{1}));
  EXPECT_TRUE(gate.admit(TaskId{1}, thing(1), 3));
  gate.finish(TaskId{1}, 3, released);
  EXPECT_TRUE(gate.close(TaskId{1}, 3, released));
}

TEST(TreeGate, NoticesWhenMoreIsAllocatedThanBooked) {
  TreeGate gate(simple_plan({{std::nullopt, 5, 4, 0, 0}}, 100));
  EXPECT_TRUE(gate.allocate(0, 9));
  EXPECT_FALSE(gate.allocate(0, 2));
  EXPECT_FALSE(gate.allocate(-1, 1));
  EXPECT_TRUE(gate.allocate(0, -12));
  const TreeGateReport report = gate.report();
  EXPECT_EQ(report.allocated_peak, 12);
  EXPECT_EQ(report.allocated, 0);
  EXPECT_EQ(report.overruns, 2);
  EXPECT_EQ(report.overrun_bytes, 3);
  EXPECT_EQ(report.overrun_node, 0);
  EXPECT_THROW(gate.allocate(0, -1), OverflowError);
}

TEST(TreeGate, KnowsANodeByItsToken) {
  TreeGate gate(simple_plan(chain(4), 0));
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(gate.node_of(&gate.nodes()[i]), task_id(i));
}

TEST(TreeGate, AcceptsTheEmptyTree) { EXPECT_TRUE(TreeGate(simple_plan({}, 0)).done()); }

// Threads that run whatever the gate lets go, a few tasks a node, allocating what the
// model says: an oracle of its own counts what is in memory.
class Crew {
 public:
  Crew(const std::vector<Task>& tasks, Bytes slack, unsigned seed)
      : tasks_(tasks), random_(seed), plan_(simple_plan(tasks, slack)), gate_(plan_) {
    left_ = std::vector<std::atomic<int>>(tasks.size());
    order_.resize(tasks.size());
    for (std::size_t i = 0; i < order_.size(); ++i) order_[i] = task_id(i);
    std::shuffle(order_.begin(), order_.end(), random_);
  }

  void run(int threads) {
    std::vector<std::thread> crew;
    for (int t = 0; t < threads; ++t) crew.emplace_back([this] { work(); });
    // A node without tasks cannot free its children's outputs: leaves only.
    for (const TaskId node : order_)
      submit(node, plan_->tree->children(node).empty()
                       ? static_cast<int>(random_() % 4)
                       : 1 + static_cast<int>(random_() % 3));
    for (std::thread& thread : crew) thread.join();
  }

  void check() const {
    EXPECT_TRUE(gate_.done());
    EXPECT_LE(peak_, plan_->memory_bound);
    EXPECT_LE(gate_.report().booked_peak, plan_->memory_bound);
    EXPECT_EQ(gate_.report().overruns, 0);
    EXPECT_EQ(gate_.report().allocated_peak, peak_);
  }

 private:
  void submit(TaskId node, int count) {
    left_[index(node)] = count;
    for (int i = 0; i < count; ++i) {
      EXPECT_TRUE(gate_.bind(node));
      if (gate_.admit(node, this, 0)) enqueue({{this, node}});
    }
    std::vector<Released> released;
    EXPECT_TRUE(gate_.close(node, 0, released));
    enqueue(released);
    const std::scoped_lock lock(mutex_);
    ++submitted_;
    condition_.notify_all();
  }

  void enqueue(const std::vector<Released>& released) {
    const std::scoped_lock lock(mutex_);
    queue_.insert(queue_.end(), released.begin(), released.end());
    condition_.notify_all();
  }

  void work() {
    for (;;) {
      Released next;
      {
        std::unique_lock lock(mutex_);
        condition_.wait(lock, [&] {
          return !queue_.empty() || (submitted_ == tasks_.size() && gate_.done());
        });
        if (queue_.empty()) return;
        next = queue_.front();
        queue_.pop_front();
      }
      run_task(next.node);
    }
  }

  // The first task of a node allocates, the last frees what the node may free.
  void run_task(TaskId node) {
    EXPECT_TRUE(gate_.started(node));
    const Task& task = tasks_[index(node)];
    {
      const std::scoped_lock lock(memory_);
      if (!allocated_.contains(node)) {
        allocated_[node] = task.output_size;
        change(node, task.output_size + task.execution_size + task.retained_size);
      }
    }
    if (--left_[index(node)] == 0) {
      const std::scoped_lock lock(memory_);
      Bytes freed = task.execution_size;
      for (const TaskId child : plan_->tree->children(node))
        freed += std::exchange(allocated_[child], 0);
      change(node, -freed);
    }
    std::vector<Released> released;
    gate_.finish(node, 0, released);
    enqueue(released);
  }

  void change(TaskId node, Bytes delta) {
    in_memory_ += delta;
    peak_ = std::max(peak_, in_memory_);
    EXPECT_TRUE(gate_.allocate(static_cast<std::int32_t>(node), delta));
  }

  const std::vector<Task>& tasks_;
  std::mt19937 random_;
  std::shared_ptr<const Plan> plan_;
  TreeGate gate_;
  std::vector<TaskId> order_;
  std::vector<std::atomic<int>> left_;
  std::mutex mutex_, memory_;
  std::condition_variable condition_;
  std::deque<Released> queue_;
  std::size_t submitted_ = 0;
  std::map<TaskId, Bytes> allocated_;
  Bytes in_memory_ = 0, peak_ = 0;
};

TEST(TreeGate, StaysInsideTheBoundAndFinishesWithManyThreads) {
  std::mt19937 random(20170529);
  for (int round = 0; round < 200; ++round) {
    const auto tasks = random_tasks(1 + random() % 60, random);
    const auto slack = static_cast<Bytes>(random() % 3 == 0 ? random() % 100 : 0);
    SCOPED_TRACE(testing::Message() << "round " << round << ", " << tasks.size()
                                    << " nodes, slack " << slack);
    Crew crew(tasks, slack, static_cast<unsigned>(random()));
    crew.run(1 + round % 4);
    crew.check();
    if (HasFailure()) return;
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::policy
