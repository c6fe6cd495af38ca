#include "espalier/parallel/coarsen.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "espalier/model/error.h"
#include "espalier/sequential/tree/best_postorder.h"
#include "espalier/sequential/tree/liu_traversal.h"
#include "parallel/instances.h"

namespace espalier {
namespace TEST_SOURCE {

TEST(Coarsen, MergesTheLargestSmallSubtrees) {
  const TaskTree tree = worked_example();  // work 18; the subtree of 1 has 9, of 2 has 7
  const CoarseTree coarse = coarsen(tree, 2, 0.8);  // less than 7.2
  ASSERT_EQ(coarse.tree.size(), 5u);                // 0, 1, 2 with 5 and 6, 3, 4
  EXPECT_EQ(coarse.coarse_of, ids({0, 1, 2, 3, 4, 2, 2}));
  const auto members = coarse.members(task_id(2));
  ASSERT_EQ(members.size(), 3u);
  EXPECT_EQ(members.back(), task_id(2));
  EXPECT_EQ(coarse.tree.output_size(task_id(2)), 3);
  EXPECT_EQ(coarse.tree.execution_size(task_id(2)), 9);  // peak 12
  EXPECT_EQ(coarse.tree.work(task_id(2)), 7);
}

TEST(Coarsen, ChangesNothingWithoutSmallSubtrees) {
  const CoarseTree coarse = coarsen(worked_example(), 2, 0);
  EXPECT_EQ(coarse.tree.size(), 7u);
  EXPECT_EQ(coarse.coarse_of, ids({0, 1, 2, 3, 4, 5, 6}));
  EXPECT_TRUE(coarsen(TaskTree(), 1).tree.empty());
  EXPECT_THROW((void)coarsen(TaskTree(), 0), InvalidInput);
  EXPECT_THROW((void)coarsen(TaskTree(), 1, std::nan("")), InvalidInput);
}

TEST(Coarsen, LeastPeakLiesBetweenLiuAndBestPostorder) {
  std::mt19937 random(5);
  int above_liu = 0, below_postorder = 0;
  for (int round = 0; round < 5000; ++round) {
    const TaskTree tree = random_tree(random, 1 + random() % 25);
    const auto workers = static_cast<std::int32_t>(1 + random() % 4);
    const CoarseTree coarse =
        coarsen(tree, workers, 0.1 * static_cast<double>(1 + random() % 10));
    const Bytes liu = liu_traversal(tree).peak, postorder = best_postorder(tree).peak;
    const Traversal coarse_liu = liu_traversal(coarse.tree);
    const Bytes coarse_postorder = best_postorder(coarse.tree).peak;
    ASSERT_LE(liu, coarse_liu.peak) << describe(tree);
    ASSERT_LE(coarse_liu.peak, coarse_postorder) << describe(tree);
    ASSERT_LE(coarse_postorder, postorder) << describe(tree);
    above_liu += liu < coarse_liu.peak;
    below_postorder += coarse_postorder < postorder;
    // peak_of() needs an order of the tree, and the order must be one.
    const std::vector<TaskId> fine = coarse.expand(coarse_liu.order);
    std::vector<std::size_t> place(tree.size(), tree.size());
    for (std::size_t k = 0; k < fine.size(); ++k) place[index(fine[k])] = k;
    for (std::size_t i = 0; i < tree.size(); ++i) {
      const auto parent = tree.parent(task_id(i));
      ASSERT_LT(place[i], parent ? place[index(*parent)] : tree.size()) << describe(tree);
    }
    ASSERT_EQ(peak_of(tree, fine), coarse_liu.peak) << describe(tree);
  }
  EXPECT_GT(above_liu, 0);  // the law is strict somewhere: the test sees both cases
  EXPECT_GT(below_postorder, 0);
}

TEST(Coarsen, ShortensAChainOfAMillion) {
  std::vector<Task> tasks(1'000'000, Task{std::nullopt, 1, 1, 1, 1});
  for (std::size_t i = 1; i < tasks.size(); ++i) tasks[i].parent = task_id(i - 1);
  const CoarseTree coarse = coarsen(TaskTree(tasks), 1, 0.25);
  EXPECT_EQ(coarse.tree.size(), 750'002u);
  EXPECT_EQ(coarse.tree.retained_size(task_id(750'001)), 249'999);
}

}  // namespace TEST_SOURCE
}  // namespace espalier
