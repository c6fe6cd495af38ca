#include "solver/symbolic/front_postorder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "espalier/model/task_tree.h"
#include "espalier/sequential/tree/best_postorder.h"

namespace espalier::solver {
namespace TEST_SOURCE {

using Ints = std::vector<std::int32_t>;

Bytes contribution(const SupernodeTree& tree, std::int32_t front) {
  const Bytes rows = tree.order[front] - tree.pivots[front];
  return 8 * (rows * (rows + 1) / 2);
}
Bytes panel(const SupernodeTree& tree, std::int32_t front) {
  const Bytes order = tree.order[front], rows = order - tree.pivots[front];
  return 8 * (order * (order + 1) / 2 - rows * (rows + 1) / 2);
}

// Of fronts that are factored one after the other, entry by entry of the definition.
Bytes need(const SupernodeTree& tree, const Ints& order) {
  Bytes kept = 0, waiting = 0, most = 0;
  std::vector<Bytes> inputs(order.size(), 0);
  for (const std::int32_t front : order) {
    kept += panel(tree, front);
    most = std::max(most, kept + waiting + contribution(tree, front));
    waiting += contribution(tree, front) - inputs[front];
    if (tree.parent[front] >= 0) inputs[tree.parent[front]] += contribution(tree, front);
  }
  return most;
}

Bytes least_of_postorders(const SupernodeTree& tree) {
  std::vector<Task> tasks(tree.parent.size());
  for (std::int32_t front = 0; front < tree.fronts(); ++front) {
    if (tree.parent[front] >= 0)
      tasks[front].parent = task_id(static_cast<std::size_t>(tree.parent[front]));
    tasks[front].output_size = contribution(tree, front);
    tasks[front].retained_size = panel(tree, front);
  }
  return best_postorder(TaskTree(tasks)).peak;
}

// Numbered in a postorder; contribution blocks of up to `rows` rows.
SupernodeTree random_tree(std::mt19937& random, std::int32_t fronts, std::int32_t rows) {
  const auto draw = [&](std::int32_t low, std::int32_t high) {
    return std::uniform_int_distribution<std::int32_t>(low, high)(random);
  };
  SupernodeTree tree;
  tree.parent.assign(fronts, -1);
  Ints open;  // roots of what has been numbered so far
  for (std::int32_t front = 0; front < fronts; ++front) {
    const std::int32_t taken =
        draw(0, std::min<std::int32_t>(3, static_cast<std::int32_t>(open.size())));
    for (std::int32_t k = 0; k < taken; ++k) {
      tree.parent[open.back()] = front;
      open.pop_back();
    }
    open.push_back(front);
    tree.pivots.push_back(draw(1, 4));
    tree.order.push_back(tree.pivots.back() + draw(1, rows));
  }
  for (const std::int32_t root : open) tree.order[root] = tree.pivots[root];
  return tree;
}

TEST(FrontPostorder, NeedsNoMoreThanTheBestButForALittle) {
  std::mt19937 random(8);
  int changed = 0, kept = 0;
  for (int instance = 0; instance < 600; ++instance) {
    const SupernodeTree tree =
        random_tree(random, 1 + instance % 40, 3 + 10 * (instance % 90));
    const Ints order = front_postorder(tree);
    Ints place(order.size());
    for (std::size_t k = 0; k < order.size(); ++k)
      place[order[k]] = static_cast<std::int32_t>(k);
    for (std::int32_t front = 0; front < tree.fronts(); ++front)
      if (tree.parent[front] >= 0) {
        ASSERT_LT(place[front], place[tree.parent[front]]) << "instance " << instance;
      }
    const Bytes best = least_of_postorders(tree);
    ASSERT_LE(need(tree, order), best + std::max<Bytes>(65536, best / 1024))
        << "instance " << instance;
    (std::ranges::is_sorted(order) ? kept : changed) += 1;
  }
  EXPECT_GT(changed, 50);  // both happen
  EXPECT_GT(kept, 50);
}

// Front 0 leaves a block for the root; fronts 1 and 2 need much for a while and go first.
TEST(FrontPostorder, SwapsSubtreesWhereThatSavesMemory) {
  const SupernodeTree small_first{.front_of_column = {},
                                  .pivots = {1, 1, 700, 300},
                                  .order = {301, 1001, 1000, 300},
                                  .parent = {3, 2, 3, -1}};
  EXPECT_EQ(front_postorder(small_first), (Ints{1, 2, 0, 3}));
  const SupernodeTree large_first{.front_of_column = {},
                                  .pivots = {1, 700, 1, 300},
                                  .order = {1001, 1000, 301, 300},
                                  .parent = {1, 3, 3, -1}};
  EXPECT_EQ(front_postorder(large_first), (Ints{0, 1, 2, 3}));
}

// Front 0 … leaves - 1 hang from the last, as a hub does that has another hub's tree
// below it: what the leaves leave would wait for that tree.
TEST(FrontPostorder, PutsLeavesOfAHubAfterTheTreeOfAnother) {
  constexpr std::int32_t kLeaves = 30'000;
  SupernodeTree tree;
  for (std::int32_t leaf = 0; leaf < 2 * kLeaves; ++leaf) {
    tree.parent.push_back(leaf < kLeaves ? 2 * kLeaves + 1 : 2 * kLeaves);
    tree.pivots.push_back(1);
    tree.order.push_back(2);
  }
  for (const std::int32_t order : {2, 1}) {  // the inner hub, the outer one
    tree.parent.push_back(order == 2 ? 2 * kLeaves + 1 : -1);
    tree.pivots.push_back(1);
    tree.order.push_back(order);
  }
  Ints identity(tree.parent.size());
  std::iota(identity.begin(), identity.end(), 0);
  const Bytes best = least_of_postorders(tree);
  ASSERT_GT(need(tree, identity), best + std::max<Bytes>(65536, best / 1024));
  const Ints order = front_postorder(tree);
  EXPECT_EQ(need(tree, order), best);
  EXPECT_EQ(order[0], kLeaves);
  EXPECT_EQ(order[kLeaves], 2 * kLeaves);
  EXPECT_EQ(order[kLeaves + 1], 0);
  EXPECT_EQ(order.back(), 2 * kLeaves + 1);
}

TEST(FrontPostorder, KeepsAMillionFrontsOfAChain) {
  SupernodeTree tree;
  tree.parent.resize(1'000'000);
  std::iota(tree.parent.begin(), tree.parent.end(), 1);
  tree.parent.back() = -1;
  tree.pivots.assign(tree.parent.size(), 1);
  tree.order.assign(tree.parent.size(), 2);
  tree.order.back() = 1;
  EXPECT_TRUE(std::ranges::is_sorted(front_postorder(tree)));
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
