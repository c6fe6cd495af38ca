#include "espalier/sequential/out_of_core/plan_out_of_core.h"

#include <gtest/gtest.h>

#include "espalier/model/replay.h"
#include "espalier/sequential/out_of_core/rec_expand.h"
#include "espalier/sequential/tree/best_postorder.h"
#include "espalier/sequential/tree/liu_traversal.h"
#include "sequential/out_of_core/instances.h"
#include "support/exact_peak.h"
#include "support/tree_shapes.h"

namespace espalier {
namespace TEST_SOURCE {

using support::describe;

constexpr OutOfCoreMethod kMethods[] = {
    OutOfCoreMethod::kPostOrderMinIO, OutOfCoreMethod::kLiu, OutOfCoreMethod::kRecExpand,
    OutOfCoreMethod::kFullRecExpand};

Bytes written(const TaskTree& tree, Bytes bound, OutOfCoreMethod method) {
  const auto plan = plan_out_of_core(tree, bound, method);
  support::expect_kept(tree, *plan);
  return plan->written;
}

// A chain of three beside a chain of two: a postorder finishes one before the other.
TEST(PlanOutOfCore, BeatsPostordersOnTwoChains) {
  const TaskTree tree = support::atomic_tree({-1, 0, 1, 2, 0, 4}, {1, 2, 1, 6, 3, 7});
  EXPECT_EQ(written(tree, 7, OutOfCoreMethod::kPostOrderMinIO), 2);
  EXPECT_EQ(written(tree, 7, OutOfCoreMethod::kLiu), 1);
  EXPECT_EQ(support::exact_moved(tree, 7), 2);
}

// Liu's peak is 13; its order writes 5 bytes in 10, another one only 3.
TEST(PlanOutOfCore, TheLeastPeakIsNotTheFewestBytes) {
  const TaskTree tree =
      support::atomic_tree({-1, 0, 1, 0, 3, 4, 5}, {1, 4, 8, 6, 8, 5, 9});
  EXPECT_EQ(liu_traversal(tree).peak, 13);
  EXPECT_EQ(written(tree, 10, OutOfCoreMethod::kLiu), 5);
  EXPECT_EQ(written(tree, 10, OutOfCoreMethod::kFullRecExpand), 3);
  EXPECT_EQ(support::exact_moved(tree, 10), 6);
}

// At most two children a task, outputs of 1 … 100 bytes, atomic.
TaskTree random_binary(std::mt19937& random, std::size_t tasks) {
  std::vector<int> parent(tasks, -1), children(tasks, 0);
  std::vector<Bytes> output(tasks);
  for (std::size_t i = 0; i < tasks; ++i) {
    output[i] = std::uniform_int_distribution<Bytes>(1, 100)(random);
    while (i > 0 && parent[i] < 0) {
      const std::size_t p = random() % i;
      if (children[p] == 2) continue;
      parent[i] = static_cast<int>(p);
      ++children[p];
    }
  }
  return support::atomic_tree(parent, output);
}

Bytes fewest_read_of_postorders(const TaskTree& tree, Bytes bound) {
  Bytes fewest = std::numeric_limits<Bytes>::max();
  support::for_each_postorder(tree, [&](const std::vector<TaskId>& order) {
    fewest = std::min(fewest, furthest_in_future(tree, order, bound)->read);
  });
  return fewest;
}

// Task 1 cannot run in 10 bytes without the disk: 14. So it counts as 10 - 4, task 2 with
// 8 - 1 goes first, and 1 byte leaves beside the 4 below task 1. The best postorder for
// memory runs task 1 first, with 14 - 4, and 2 bytes leave beside the 4.
TEST(PostOrderMinIO, CountsNoSubtreeForMoreThanTheBound) {
  const TaskTree tree =
      support::atomic_tree({-1, 0, 0, 1, 1, 3, 4, 2}, {1, 4, 1, 5, 5, 9, 9, 8});
  const auto read = [&](const std::vector<TaskId>& order) {
    return furthest_in_future(tree, order, 10)->read;
  };
  EXPECT_EQ(read(post_order_min_io(tree, 10)), 5);
  EXPECT_EQ(read(best_postorder(tree).order), 6);
  EXPECT_EQ(fewest_read_of_postorders(tree, 10), 5);
}

// Of all postorders, with bounds between the least and what needs no disk.
void expect_fewest_read(const TaskTree& tree) {
  const Bytes least = least_out_of_core(tree), most = best_postorder(tree).peak;
  for (Bytes bound = least; bound < most; bound += 1 + (most - least) / 3) {
    const auto plan = furthest_in_future(tree, post_order_min_io(tree, bound), bound);
    ASSERT_EQ(plan->read, fewest_read_of_postorders(tree, bound))
        << describe(tree) << bound;
  }
}

TEST(PostOrderMinIO, MatchesBruteForceOverPostorders) {
  std::mt19937 random(1986);
  for (int instance = 0; instance < 10'000; ++instance) {
    const TaskTree tree = stream_retained(support::varied_tree(random, instance, 8));
    expect_fewest_read(tree);
    if (HasFatalFailure()) return;
  }
}

TEST(PostOrderMinIO, MatchesBruteForceOnBinaryTrees) {
  std::mt19937 random(1987);
  for (int instance = 0; instance < 3000; ++instance) {
    const TaskTree tree = random_binary(random, 5 + instance % 11);
    expect_fewest_read(tree);
    if (HasFatalFailure()) return;
  }
}

TEST(PlanOutOfCore, NeverMovesLessThanTheBestOfAllOrders) {
  std::mt19937 random(2017);
  for (int instance = 0; instance < 3000; ++instance) {
    const TaskTree tree = support::varied_tree(random, instance, 7);
    const Bytes least = least_out_of_core(tree), most = liu_traversal(tree).peak;
    for (Bytes bound = least; bound <= most; bound += 1 + (most - least) / 3) {
      const Bytes fewest = support::exact_moved(tree, bound);
      for (const OutOfCoreMethod method : kMethods) {
        const auto plan = plan_out_of_core(tree, bound, method);
        ASSERT_TRUE(plan);
        support::expect_kept(tree, *plan);
        ASSERT_GE(plan->moved(), fewest) << describe(tree) << bound;
        ASSERT_GE(plan->written, most - bound) << describe(tree) << bound;
      }
    }
    EXPECT_EQ(plan_out_of_core(tree, most, OutOfCoreMethod::kLiu)->moved(), 0);
  }
}

TEST(PlanOutOfCore, NeedsNoDiskWhereMemorySuffices) {
  std::mt19937 random(5);
  for (int instance = 0; instance < 200; ++instance) {
    const TaskTree tree = support::varied_tree(random, 100 + instance, 300);
    const Bytes liu = liu_traversal(tree).peak, postorder = best_postorder(tree).peak;
    for (const OutOfCoreMethod method : kMethods) {
      const Bytes bound = method == OutOfCoreMethod::kPostOrderMinIO ? postorder : liu;
      EXPECT_TRUE(plan_out_of_core(tree, bound, method)->evictions.empty());
      if (bound == least_out_of_core(tree)) continue;
      EXPECT_FALSE(plan_out_of_core(tree, bound - 1, method)->evictions.empty());
    }
  }
}

TEST(PlanOutOfCore, RefusesABoundBelowTheLargestTask) {
  const TaskTree tree = support::atomic_tree({-1, 0, 1}, {1, 9, 3});
  for (const OutOfCoreMethod method : kMethods) {
    EXPECT_TRUE(plan_out_of_core(tree, 9, method));
    const auto refused = plan_out_of_core(tree, 8, method);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().least_bytes, 9);
    EXPECT_TRUE(plan_out_of_core(TaskTree(), 0, method));
  }
}

// The second example with sizes near 2^60.
TEST(PlanOutOfCore, IsExactNearTheLargestSize) {
  std::vector<Bytes> output = {1, 4, 8, 6, 8, 5, 9};
  for (Bytes& size : output) size <<= 57;
  const TaskTree tree = support::atomic_tree({-1, 0, 1, 0, 3, 4, 5}, output);
  const Bytes bound = Bytes{10} << 57;
  EXPECT_EQ(written(tree, bound, OutOfCoreMethod::kLiu), Bytes{5} << 57);
  EXPECT_EQ(written(tree, bound, OutOfCoreMethod::kFullRecExpand), Bytes{3} << 57);
}

TEST(PlanOutOfCore, TakesLargeTreesOfAnyShape) {
  for (const support::Shape& shape : support::shapes()) {
    const TaskTree tree(shape.make(20'000));
    const Bytes least = least_out_of_core(tree), most = liu_traversal(tree).peak;
    for (const OutOfCoreMethod method : kMethods) {
      if (method == OutOfCoreMethod::kFullRecExpand) continue;
      const auto plan = plan_out_of_core(tree, (least + most) / 2, method);
      ASSERT_TRUE(plan) << shape.name;
      support::expect_kept(tree, *plan);
    }
  }
}

TEST(PlanOutOfCore, TakesAChainOfAMillion) {
  const TaskTree tree(support::chain(1'000'000));
  for (const OutOfCoreMethod method : kMethods) {
    EXPECT_EQ(plan_out_of_core(tree, least_out_of_core(tree), method)->moved(), 0);
  }
}

TEST(RecExpand, WritesLessThanLiusOrder) {
  std::mt19937 random(25);
  Bytes liu = 0, two = 0, full = 0;
  for (int instance = 0; instance < 60; ++instance) {
    const TaskTree tree = random_binary(random, 200);
    const Bytes bound = least_out_of_core(tree);
    liu += written(tree, bound, OutOfCoreMethod::kLiu);
    two += written(tree, bound, OutOfCoreMethod::kRecExpand);
    full += written(tree, bound, OutOfCoreMethod::kFullRecExpand);
  }
  EXPECT_LT(two, liu);
  EXPECT_LE(full, two);
}

TEST(RecExpand, GivesAnOrderWhateverTheWindow) {
  std::mt19937 random(37);
  for (int instance = 0; instance < 1000; ++instance) {
    const TaskTree tree = stream_retained(support::varied_tree(random, instance, 60));
    const Bytes bound = least_out_of_core(tree);
    for (const std::size_t window : {1, 2, 5, 100}) {
      for (const std::size_t expansions :
           {std::size_t{0}, std::size_t{2}, RecExpandOptions::kUnlimited}) {
        const auto order = rec_expand(tree, bound, {expansions, window});
        ASSERT_NO_THROW((void)replay(tree, order)) << describe(tree) << window;
      }
    }
  }
}

// Most of the gain over Liu's order is left with a small window.
TEST(RecExpand, LosesLittleByContraction) {
  std::mt19937 random(31);
  Bytes exact = 0, contracted = 0, liu = 0;
  for (int instance = 0; instance < 40; ++instance) {
    const TaskTree tree = random_binary(random, 400);
    const Bytes bound = least_out_of_core(tree);
    const auto bytes = [&](const std::vector<TaskId>& order) {
      const auto plan = furthest_in_future(tree, order, bound);
      support::expect_kept(tree, *plan);
      return plan->written;
    };
    exact += bytes(rec_expand(tree, bound, {.window = 1000}));
    contracted += bytes(rec_expand(tree, bound, {.window = 20}));
    liu += bytes(liu_traversal(tree).order);
  }
  EXPECT_LT(contracted - exact, (liu - exact) / 2);
}

}  // namespace TEST_SOURCE
}  // namespace espalier
