#include "espalier/parallel/bounds.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "espalier/model/error.h"
#include "parallel/instances.h"

namespace espalier {
namespace TEST_SOURCE {

TEST(LowerBounds, AgreeWithHandComputation) {
  const LowerBounds bounds = lower_bounds(worked_example(), 2, 20);
  EXPECT_DOUBLE_EQ(bounds.work, 9);           // 18 / 2
  EXPECT_DOUBLE_EQ(bounds.critical_path, 9);  // 4 + 1 + 0: 4 + 3 + 2
  EXPECT_DOUBLE_EQ(bounds.memory_area, 134.0 / 20);
  EXPECT_DOUBLE_EQ(bounds.best(), 9);
}

TEST(LowerBounds, HaveNoMemoryAreaWithoutABound) {
  EXPECT_EQ(lower_bounds(worked_example(), 2, std::nullopt).memory_area, 0);
  EXPECT_EQ(lower_bounds(worked_example(), 2, 0).memory_area, 0);
}

TEST(LowerBounds, CountUsefulWorkersUpToAllOfThem) {
  const std::vector<double> useful(7, 8.0);
  const LowerBounds bounds = lower_bounds(worked_example(), 2, 20, useful);
  EXPECT_DOUBLE_EQ(bounds.work, 9);
  EXPECT_DOUBLE_EQ(bounds.critical_path, 4.5);
  EXPECT_DOUBLE_EQ(bounds.memory_area, 67.0 / 20);
}

TEST(LowerBounds, RefuseBadWorkers) {
  const TaskTree tree = worked_example();
  EXPECT_THROW((void)lower_bounds(tree, 0, 20), InvalidInput);
  EXPECT_THROW((void)useful_workers(tree, std::vector<double>(3, 1.0)), InvalidInput);
  for (const double bad : {0.5, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_THROW((void)useful_workers(tree, std::vector<double>(7, bad)), InvalidInput);
  }
}

TEST(RootPathWeights, SumTheWorkUpToTheRoot) {
  EXPECT_EQ(root_path_weights(worked_example()),
            (std::vector<Flops>{2, 5, 5, 7, 9, 7, 7}));
  EXPECT_TRUE(root_path_weights(TaskTree()).empty());
}

TEST(RootPathTimes, DivideEachTaskByTheWorkersThatItCanUse) {
  const TaskTree tree = worked_example();
  EXPECT_EQ(root_path_times(tree, 4, {}), root_path_weights(tree));
  const std::vector<double> useful{2, 1, 3, 1, 8, 1, 1};  // works 2 3 3 2 4 2 2
  EXPECT_EQ(root_path_times(tree, 4, useful), (std::vector<Flops>{1, 4, 2, 6, 5, 4, 4}));
  EXPECT_THROW((void)root_path_times(tree, 0, {}), InvalidInput);
}

}  // namespace TEST_SOURCE
}  // namespace espalier
