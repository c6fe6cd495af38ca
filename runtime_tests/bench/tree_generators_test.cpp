#include "bench/tree_generators.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "espalier/model/error.h"

namespace espalier::bench {
namespace TEST_SOURCE {

// Five points in a row are one box: each is eliminated into the next, and the last two
// are one front.
TEST(TreeGenerators, ARowOfPointsIsAChainOfFronts) {
  const GeneratedTree row = assembly_tree("5", Elimination::kDissection, 1);
  ASSERT_EQ(row.tree->size(), 4);
  EXPECT_EQ(row.front_order, (std::vector<std::int32_t>{2, 2, 2, 2}));
  for (std::size_t i = 0; i < 4; ++i) {
    const TaskId task = task_id(i);
    const bool root = !row.tree->parent(task);
    EXPECT_EQ(row.tree->output_size(task), root ? 0 : 8);
    EXPECT_EQ(row.tree->execution_size(task), root ? 32 : 24);
    EXPECT_DOUBLE_EQ(row.tree->work(task), root ? 16.0 / 3 : 8.0 / 3);
  }
}

TEST(TreeGenerators, DissectionEndsWithTheMiddlePlane) {
  for (const auto& [grid, plane] : {std::pair{"31x31", 31}, {"11x11x11", 121}}) {
    const GeneratedTree made = assembly_tree(grid, Elimination::kDissection, 1);
    ASSERT_EQ(made.tree->roots().size(), 1) << grid;
    const TaskId root = made.tree->roots().front();
    EXPECT_EQ(made.tree->output_size(root), 0);
    // A point next to all of the plane joins its front without a zero.
    EXPECT_GE(made.front_order[index(root)], plane) << grid;
    EXPECT_LT(made.front_order[index(root)], 2 * plane) << grid;
    EXPECT_GE(made.tree->children(root).size(), 2) << grid;
  }
}

TEST(TreeGenerators, AmalgamationMergesFronts) {
  std::size_t before = 1'000'000;
  for (const std::int32_t pivots : {1, 4, 16}) {
    const GeneratedTree made = assembly_tree("40x40", Elimination::kDissection, pivots);
    EXPECT_LT(made.tree->size(), before);
    before = made.tree->size();
  }
}

TEST(TreeGenerators, UsefulWorkersGrowWithTheSquareOfTheFront) {
  const GeneratedTree made = assembly_tree("31x31", Elimination::kDissection, 1);
  const std::vector<double> useful = useful_workers(made, 12);
  const auto largest = std::ranges::max_element(made.front_order);
  const auto at = static_cast<std::size_t>(largest - made.front_order.begin());
  EXPECT_DOUBLE_EQ(useful[at], 144.0 / 6);
  for (std::size_t i = 0; i < useful.size(); ++i) {
    const double across = 12.0 * made.front_order[i] / *largest;
    EXPECT_DOUBLE_EQ(useful[i], std::max(1.0, across * across / 6));
  }
  const GeneratedTree synthetic = synthetic_tree(10, 1);
  EXPECT_EQ(useful_workers(synthetic, 8), std::vector<double>(10, 1.0));
}

TEST(TreeGenerators, SyntheticTreesAreOfTheSizeAsked) {
  const GeneratedTree one = synthetic_tree(1, 5), made = synthetic_tree(1000, 5);
  EXPECT_EQ(one.tree->size(), 1);
  ASSERT_EQ(made.tree->size(), 1000);
  double sum = 0;
  for (const TaskId task : made.tree->postorder()) {
    EXPECT_GE(made.tree->output_size(task), 10);
    EXPECT_LE(made.tree->output_size(task), 10'000);
    EXPECT_EQ(made.tree->execution_size(task), made.tree->output_size(task) / 10);
    EXPECT_LE(made.tree->children(task).size(), 5);
    sum += static_cast<double>(made.tree->output_size(task));
  }
  EXPECT_NEAR(sum / 1000, 100, 15);
  const GeneratedTree again = synthetic_tree(1000, 5), other = synthetic_tree(1000, 6);
  const auto outputs = [](const GeneratedTree& from) {
    std::vector<Bytes> all;
    for (std::size_t i = 0; i < from.tree->size(); ++i) {
      all.push_back(from.tree->output_size(task_id(i)));
    }
    return all;
  };
  EXPECT_EQ(outputs(again), outputs(made));
  EXPECT_NE(outputs(other), outputs(made));
}

TEST(TreeGenerators, RefuseWhatIsNoGrid) {
  EXPECT_THROW((void)assembly_tree("4 by 4", Elimination::kDissection, 1), InvalidInput);
  EXPECT_THROW((void)assembly_tree("0x3", Elimination::kDissection, 1), InvalidInput);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::bench
