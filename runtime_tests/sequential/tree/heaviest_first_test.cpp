#include "espalier/sequential/tree/heaviest_first.h"

#include <gtest/gtest.h>

#include "espalier/model/validate.h"
#include "espalier/sequential/tree/best_postorder.h"
#include "support/random_tree.h"
#include "support/tree_shapes.h"

namespace espalier {
namespace TEST_SOURCE {

using support::describe;

TEST(HeaviestFirst, FinishesTheSubtreeOfMostWorkFirst) {
  // 0 reads 1 and 2; 2 reads 3 and 4. Work below 1 is 5, below 2 it is 1 + 2 + 3.
  const TaskTree tree(std::vector<Task>{{},
                                        {.parent = task_id(0), .work = 5},
                                        {.parent = task_id(0), .work = 1},
                                        {.parent = task_id(2), .work = 2},
                                        {.parent = task_id(2), .work = 3}});
  EXPECT_EQ(describe(heaviest_first(tree).order), "4 3 2 1 0 ");
}

// The definition, by recursion.
void visit(const TaskTree& tree, TaskId task, std::vector<TaskId>& order);
Flops work_of(const TaskTree& tree, TaskId task) {
  Flops work = tree.work(task);
  for (const TaskId child : tree.children(task)) work += work_of(tree, child);
  return work;
}
void visit_all(const TaskTree& tree, std::vector<TaskId> tasks,
               std::vector<TaskId>& order) {
  std::ranges::stable_sort(
      tasks, [&](TaskId a, TaskId b) { return work_of(tree, a) > work_of(tree, b); });
  for (const TaskId task : tasks) visit(tree, task, order);
}
void visit(const TaskTree& tree, TaskId task, std::vector<TaskId>& order) {
  const auto children = tree.children(task);
  visit_all(tree, {children.begin(), children.end()}, order);
  order.push_back(task);
}

TEST(HeaviestFirst, MatchesItsDefinitionOnSmallTrees) {
  std::mt19937 random(67);
  for (int instance = 0; instance < 500; ++instance) {
    const TaskTree tree = support::varied_tree(random, instance, 15);
    std::vector<TaskId> expected;
    visit_all(tree, {tree.roots().begin(), tree.roots().end()}, expected);
    ASSERT_EQ(describe(heaviest_first(tree).order), describe(expected)) << describe(tree);
  }
}

TEST(HeaviestFirst, NeverNeedsLessThanTheBestPostorder) {
  std::mt19937 random(71);
  for (int instance = 0; instance < 500; ++instance) {
    const TaskTree tree = support::varied_tree(random, instance, 30);
    const Traversal found = heaviest_first(tree);
    ASSERT_EQ(validate(tree, found), Violations{}) << describe(tree);
    ASSERT_GE(found.peak, best_postorder(tree).peak) << describe(tree);
  }
}

TEST(HeaviestFirst, OfLongChainsWideStarsAndNothing) {
  EXPECT_TRUE(heaviest_first(TaskTree()).order.empty());
  for (const support::Shape& shape : support::shapes()) {
    const TaskTree tree(shape.make(100000));
    EXPECT_EQ(validate(tree, heaviest_first(tree)), Violations{}) << shape.name;
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier
