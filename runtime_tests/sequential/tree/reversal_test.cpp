#include "espalier/sequential/tree/reversal.h"

#include <gtest/gtest.h>

#include "espalier/sequential/tree/liu_traversal.h"
#include "support/random_tree.h"

namespace espalier {
namespace TEST_SOURCE {

// Peak of an order of the out-tree, from its own definition: a parent makes a file for
// each child, which goes when the child has ended.
Bytes out_tree_peak(const TaskTree& tree, const std::vector<TaskId>& order) {
  Bytes bytes = 0, peak = 0;
  for (std::size_t i = 0; i < tree.size(); ++i) {
    bytes += tree.retained_size(task_id(i));
    if (!tree.parent(task_id(i))) bytes += tree.output_size(task_id(i));
  }
  for (const TaskId task : order) {
    bytes += tree.input_size(task);
    peak = std::max(peak, bytes + tree.execution_size(task));
    bytes -= tree.output_size(task) + tree.retained_size(task);
  }
  return peak;
}

TEST(Reversal, KeepsThePeak) {
  std::mt19937 random(17);
  for (int instance = 0; instance < 500; ++instance) {
    const TaskTree tree = support::varied_tree(random, instance, 40);
    const Traversal up = liu_traversal(tree);
    const Traversal down = reversal(up);
    EXPECT_EQ(down.peak, up.peak);
    ASSERT_EQ(out_tree_peak(tree, down.order), up.peak) << support::describe(tree);
  }
}

TEST(Reversal, RunsParentsBeforeChildren) {
  std::mt19937 random(19);
  const TaskTree tree = support::random_tree(random, {.tasks = 200});
  std::vector<bool> done(tree.size(), false);
  for (const TaskId task : reversal(liu_traversal(tree)).order) {
    const auto parent = tree.parent(task);
    EXPECT_TRUE(!parent || done[index(*parent)]);
    done[index(task)] = true;
  }
}

TEST(Reversal, TwiceChangesNothing) {
  std::mt19937 random(23);
  const TaskTree tree = support::random_tree(random, {.tasks = 50});
  const Traversal traversal = liu_traversal(tree);
  EXPECT_EQ(reversal(reversal(traversal)).order, traversal.order);
}

}  // namespace TEST_SOURCE
}  // namespace espalier
