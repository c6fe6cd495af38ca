#include "espalier/parallel/mapping.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "espalier/model/error.h"
#include "parallel/instances.h"

namespace espalier {
namespace TEST_SOURCE {

std::vector<Task> star(std::initializer_list<Flops> leaf_work) {
  std::vector<Task> tasks(1);
  for (const Flops work : leaf_work) tasks.push_back({task_id(0), 1, 0, 0, work});
  return tasks;
}

TEST(AllToAll, GivesEveryTaskAllWorkers) {
  const TaskTree tree = worked_example();
  EXPECT_EQ(all_to_all(tree, 3), Mapping(7, WorkerRange{0, 3}));
  EXPECT_THROW((void)all_to_all(tree, 0), InvalidInput);
}

TEST(Proportional, FollowsTheWorkOfSubtrees) {
  const Mapping mapping = proportional(TaskTree(star({1, 2, 5})), 8);
  EXPECT_EQ(mapping, (Mapping{{0, 8}, {0, 1}, {1, 2}, {3, 5}}));
}

TEST(Proportional, LetsNeighboursShareTheWorkerAtTheirBorder) {
  const Mapping mapping = proportional(TaskTree(star({1, 1})), 3);
  EXPECT_EQ(mapping, (Mapping{{0, 3}, {0, 2}, {1, 2}}));
}

TEST(Proportional, LetsNarrowSiblingsShareAWorker) {
  const Mapping mapping = proportional(TaskTree(star({1, 1, 1, 1})), 2);
  EXPECT_EQ(mapping, (Mapping{{0, 2}, {0, 1}, {0, 1}, {1, 1}, {1, 1}}));
}

TEST(Proportional, GivesThirdsWholeWorkers) {
  const Mapping mapping = proportional(TaskTree(star({1, 1, 1})), 3);
  EXPECT_EQ(mapping, (Mapping{{0, 3}, {0, 1}, {1, 1}, {2, 1}}));
}

TEST(Proportional, DividesEvenlyWithoutWork) {
  const Mapping mapping = proportional(TaskTree(star({0, 0})), 4);
  EXPECT_EQ(mapping, (Mapping{{0, 4}, {0, 2}, {2, 2}}));
}

TEST(Proportional, KeepsAWorkerForTasksWithoutWork) {
  const Mapping mapping = proportional(TaskTree(star({1, 0})), 4);
  EXPECT_EQ(mapping, (Mapping{{0, 4}, {0, 4}, {3, 1}}));
}

TEST(Proportional, NestsChildrenInTheirParentsWorkers) {
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    const TaskTree tree = random_tree(random, 1 + random() % 30);
    const auto workers = static_cast<std::int32_t>(1 + random() % 20);
    const Mapping mapping = proportional(tree, workers);
    for (std::size_t i = 0; i < tree.size(); ++i) {
      const WorkerRange range = mapping[i];
      const auto parent = tree.parent(task_id(i));
      const WorkerRange outer =
          parent ? mapping[index(*parent)] : WorkerRange{0, workers};
      ASSERT_TRUE(range.count >= 1 && range.first >= outer.first &&
                  range.first + range.count <= outer.first + outer.count)
          << "round " << round << ", task " << i << "\n"
          << describe(tree);
    }
  }
}

TEST(Proportional, AcceptsExtremes) {
  EXPECT_TRUE(proportional(TaskTree(), 4).empty());
  EXPECT_EQ(proportional(TaskTree(star({})), 1024), (Mapping{{0, 1024}}));
  EXPECT_THROW((void)proportional(TaskTree(), 0), InvalidInput);
  std::vector<Task> chain(1'000'000);
  for (std::size_t i = 1; i < chain.size(); ++i) chain[i].parent = task_id(i - 1);
  EXPECT_EQ(proportional(TaskTree(chain), 5).back(), (WorkerRange{0, 5}));
}

}  // namespace TEST_SOURCE
}  // namespace espalier
