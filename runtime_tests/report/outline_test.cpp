#include "espalier/report/outline.h"

#include <gtest/gtest.h>

#include <numeric>

#include "espalier/parallel/worker_share.h"
#include "espalier/report/subtrees.h"
#include "report/plans.h"
#include "support/tree_shapes.h"

namespace espalier::report {
namespace TEST_SOURCE {

// An outline needs no simulated run: task k runs from k to k + 1 of the postorder.
Plan plain_plan(TaskTree tree) {
  Plan plan;
  plan.mapping.assign(tree.size(), {0, 1});
  plan.schedule.start.resize(tree.size());
  plan.schedule.end.resize(tree.size());
  Seconds time = 0;
  for (const TaskId task : tree.postorder()) {
    plan.schedule.start[index(task)] = time;
    plan.schedule.end[index(task)] = ++time;
  }
  plan.tree = std::make_shared<const TaskTree>(std::move(tree));
  return plan;
}

std::vector<Bytes> outputs(const TaskTree& tree) {
  std::vector<Bytes> held(tree.size());
  for (std::size_t i = 0; i < held.size(); ++i) held[i] = tree.output_size(task_id(i));
  return held;
}

struct Sum {
  std::int64_t tasks = 0;
  Flops work = 0;
  Bytes held = 0;
};

// What the lines below each line add up to.
std::vector<Sum> sums_below(const std::vector<OutlineRow>& rows) {
  std::vector<Sum> below(rows.size());
  for (const OutlineRow& row : rows) {
    if (row.parent < 0) continue;
    Sum& sum = below.at(static_cast<std::size_t>(row.parent));
    sum.tasks += row.tasks;
    sum.work += row.work;
    sum.held += row.held;
  }
  return below;
}

void check(const TaskTree& tree, const std::vector<OutlineRow>& rows,
           const std::vector<Bytes>& held) {
  const std::vector<Sum> below = sums_below(rows);
  std::int64_t tasks = 0;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const OutlineRow& row = rows[k];
    if (row.parent < 0) tasks += row.tasks;
    ASSERT_LT(row.parent, static_cast<std::int32_t>(k));
    const bool single = row.kind == OutlineRow::Kind::kTask;
    if (single) {
      ASSERT_EQ(below[k].tasks + 1, row.tasks) << support::describe(tree);
      ASSERT_NEAR(below[k].work + tree.work(row.task), row.work, 1e-6);
      ASSERT_EQ(below[k].held + held[index(row.task)], row.held);
    } else {
      ASSERT_LE(below[k].tasks, row.tasks) << support::describe(tree);
      ASSERT_LE(below[k].held, row.held);
    }
  }
  ASSERT_EQ(tasks, static_cast<std::int64_t>(tree.size()));
}

TEST(Outline, LinesBelowALineAddUpToIt) {
  std::mt19937 random(9);
  for (int number = 0; number < 1500; ++number) {
    const Plan plan = plain_plan(support::varied_tree(random, number, 60));
    const std::vector<Bytes> held = outputs(*plan.tree);
    for (const std::size_t most : {1, 5, 20}) {
      const std::vector<OutlineRow> rows = outline(plan, held, {most, 3});
      check(*plan.tree, rows, held);
      ASSERT_LE(rows.size(), 2 * (most + 4) + plan.tree->roots().size());
    }
  }
}

TEST(Outline, ShowsEachTaskOfASmallTreeOnce) {
  std::mt19937 random(10);
  for (int number = 0; number < 300; ++number) {
    const Plan plan = plain_plan(support::varied_tree(random, number, 60));
    const std::vector<OutlineRow> rows = outline(plan, outputs(*plan.tree));
    ASSERT_EQ(rows.size(), plan.tree->size());
    std::vector<bool> seen(rows.size(), false);
    for (const OutlineRow& row : rows) {
      ASSERT_EQ(row.kind, OutlineRow::Kind::kTask);
      ASSERT_FALSE(seen[index(row.task)]) << support::describe(*plan.tree);
      seen[index(row.task)] = true;
      const auto parent = plan.tree->parent(row.task);
      ASSERT_EQ(parent.has_value(), row.parent >= 0);
      if (parent) {
        ASSERT_EQ(rows[static_cast<std::size_t>(row.parent)].task, *parent);
      }
    }
  }
}

TEST(Outline, AChainOfAMillionIsOnePath) {
  const Plan plan = plain_plan(TaskTree(support::chain(1'000'000)));
  const std::vector<OutlineRow> rows = outline(plan, outputs(*plan.tree));
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].kind, OutlineRow::Kind::kPath);
  EXPECT_EQ(rows[0].path_length, 1'000'000);
  EXPECT_EQ(rows[0].last, TaskId{999'999});
}

TEST(Outline, AStarKeepsTheLargestChildrenAndCountsTheRest) {
  const Plan plan = plain_plan(TaskTree(support::star(1'000'000)));
  const std::vector<OutlineRow> rows = outline(plan, outputs(*plan.tree));
  ASSERT_EQ(rows.size(), 14U);
  EXPECT_EQ(rows.back().kind, OutlineRow::Kind::kRest);
  EXPECT_EQ(rows.back().subtrees, 999'987);
  EXPECT_EQ(rows[0].end, 1'000'000);
}

TEST(Outline, EveryShapeOfManyTasksStaysShort) {
  for (const support::Shape& shape : support::shapes()) {
    const Plan plan = plain_plan(TaskTree(shape.make(100'000)));
    const std::vector<Bytes> held = outputs(*plan.tree);
    const std::vector<OutlineRow> rows = outline(plan, held);
    EXPECT_LE(rows.size(), 3100U) << shape.name;
    std::int64_t tasks = 0;
    for (const OutlineRow& row : rows) tasks += row.parent < 0 ? row.tasks : 0;
    EXPECT_EQ(tasks, 100'000) << shape.name;
  }
}

TEST(MainHolder, IsTheSmallestSubtreeThatHoldsMoreThanHalf) {
  std::mt19937 random(11);
  for (int number = 0; number < 2000; ++number) {
    const TaskTree tree = support::varied_tree(random, number, 15);
    const std::vector<Bytes> held = outputs(tree);
    std::vector<Bytes> below = held;
    std::vector<std::int64_t> size(tree.size(), 1);
    for (const TaskId task : tree.postorder()) {
      if (const auto parent = tree.parent(task)) {
        below[index(*parent)] += below[index(task)];
        size[index(*parent)] += size[index(task)];
      }
    }
    const Bytes all = std::accumulate(held.begin(), held.end(), Bytes{0});
    std::optional<std::size_t> smallest;
    for (std::size_t i = 0; i < below.size(); ++i) {
      if (2 * below[i] > all && (!smallest || size[i] < size[*smallest])) smallest = i;
    }
    const std::optional<MainHolder> holder = main_holder(tree, held);
    ASSERT_EQ(holder.has_value(), smallest.has_value()) << support::describe(tree);
    if (!holder) continue;
    ASSERT_EQ(index(holder->subtree.task), *smallest) << support::describe(tree);
    ASSERT_EQ(holder->subtree.bytes, below[*smallest]);
    for (const SubtreeHolding& each : holder->below) {
      ASSERT_EQ(each.bytes, below[index(each.task)]);
      ASSERT_EQ(tree.parent(each.task), holder->subtree.task);
      ASSERT_LE(2 * each.bytes, all);
    }
  }
}

TEST(MainSubtrees, AreDisjointAndAtMostAsManyAsAsked) {
  std::mt19937 random(12);
  for (int number = 0; number < 1000; ++number) {
    const TaskTree tree = support::varied_tree(random, number, 60);
    const Subtrees subtrees = main_subtrees(tree, 4);
    ASSERT_LE(subtrees.roots.size(), 4U);
    for (std::size_t i = 0; i < tree.size(); ++i) {
      std::int32_t expected = -1;  // of the ancestors and itself, at most one is a root
      for (std::optional<TaskId> at = task_id(i); at; at = tree.parent(*at)) {
        for (std::size_t s = 0; s < subtrees.roots.size(); ++s) {
          if (subtrees.roots[s] != *at) continue;
          ASSERT_EQ(expected, -1) << support::describe(tree);
          expected = static_cast<std::int32_t>(s);
        }
      }
      ASSERT_EQ(subtrees.of_task[i], expected) << support::describe(tree);
    }
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::report
