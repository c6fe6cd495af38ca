#include "espalier/sequential/out_of_core/furthest_in_future.h"

#include <gtest/gtest.h>

#include <numeric>

#include "espalier/model/replay.h"
#include "sequential/out_of_core/instances.h"
#include "support/tree_shapes.h"

namespace espalier {
namespace TEST_SOURCE {

using support::describe;

// How much of each datum is out while it waits is all that a plan decides.
struct Waits {
  Bytes size;
  std::size_t from, to;  // positions between which it waits, both excluded
  bool read;
};

std::vector<Waits> data_of(const TaskTree& tree, const std::vector<TaskId>& order) {
  std::vector<std::size_t> position(tree.size());
  for (std::size_t k = 0; k < order.size(); ++k) position[index(order[k])] = k;
  std::vector<Waits> data;
  for (const TaskId task : order) {
    const auto parent = tree.parent(task);
    const std::size_t k = position[index(task)];
    const std::size_t end = parent ? position[index(*parent)] : order.size();
    data.push_back({tree.output_size(task), k, end, parent.has_value()});
    data.push_back({tree.retained_size(task), k, order.size(), false});
  }
  return data;
}

struct Fewest {
  Bytes written = std::numeric_limits<Bytes>::max();
  Bytes read = std::numeric_limits<Bytes>::max();
};

// All choices of how much is out.
Fewest brute_force(const TaskTree& tree, const std::vector<TaskId>& order, Bytes bound) {
  const std::vector<Waits> data = data_of(tree, order);
  std::vector<Bytes> out(data.size(), 0);
  Fewest fewest;
  for (;;) {
    bool fits = true;
    for (std::size_t k = 0; k < order.size(); ++k) {
      Bytes memory = tree.memory_requirement(order[k]);
      for (std::size_t d = 0; d < data.size(); ++d) {
        if (data[d].from < k && k < data[d].to) memory += data[d].size - out[d];
      }
      fits = fits && memory <= bound;
    }
    if (fits) {
      Bytes read = 0;
      for (std::size_t d = 0; d < data.size(); ++d) read += data[d].read ? out[d] : 0;
      fewest.written =
          std::min(fewest.written, std::accumulate(out.begin(), out.end(), Bytes{0}));
      fewest.read = std::min(fewest.read, read);
    }
    std::size_t turned = 0;
    while (turned < out.size() && out[turned] == data[turned].size) out[turned++] = 0;
    if (turned == out.size()) return fewest;
    ++out[turned];
  }
}

// A chain of three beside a leaf of 4; the leaf runs first and waits for the root.
//   0 (1) <- 1 (2) <- 2 (1) <- 3 (6),  0 <- 4 (3) <- 5 (7)
TEST(FurthestInFuture, FollowsAnExample) {
  const TaskTree tree = support::atomic_tree({-1, 0, 1, 2, 0, 4}, {1, 2, 1, 6, 3, 7});
  const std::vector<TaskId> order = {TaskId{3}, TaskId{2}, TaskId{1},
                                     TaskId{5}, TaskId{4}, TaskId{0}};
  const auto plan = furthest_in_future(tree, order, 7);
  ASSERT_TRUE(plan);
  // 2 bytes of task 1 wait; task 5 takes all 7.
  EXPECT_EQ(plan->evictions,
            (std::vector<Eviction>{{TaskId{1}, Eviction::Datum::kOutput, 2, 3, 5}}));
  EXPECT_EQ(plan->written, 2);
  EXPECT_EQ(plan->read, 2);
  EXPECT_EQ(replay_out_of_core(tree, *plan).running,
            (std::vector<Bytes>{6, 6, 2, 7, 7, 5}));
}

// Factors of 5 and 1 are never read again, and leave before the output of 2 that is.
TEST(FurthestInFuture, SendsFirstWhatNobodyReadsAgain) {
  const TaskTree tree(std::vector<Task>{
      {.output_size = 1},
      {.parent = TaskId{0}, .output_size = 2, .retained_size = 5},
      {.parent = TaskId{0}, .output_size = 3, .execution_size = 4, .retained_size = 1}});
  const std::vector<TaskId> order = {TaskId{1}, TaskId{2}, TaskId{0}};
  const auto plan = furthest_in_future(tree, order, 9);
  ASSERT_TRUE(plan);
  const auto retained = Eviction::Datum::kRetained, output = Eviction::Datum::kOutput;
  EXPECT_EQ(plan->evictions, (std::vector<Eviction>{{TaskId{1}, retained, 5, 1, {}},
                                                    {TaskId{1}, output, 1, 1, 2}}));
  EXPECT_EQ(plan->moved(), 7);
  support::expect_kept(tree, *plan);
}

TEST(FurthestInFuture, MovesNoMoreThanAnyOtherChoice) {
  std::mt19937 random(1966);
  for (int instance = 0; instance < 15'000; ++instance) {
    const bool retains = instance % 3 == 0;
    const TaskTree tree = support::random_tree(
        random, {.tasks = 1 + static_cast<std::size_t>(instance) % (retains ? 4 : 6),
                 .largest_size = 3,
                 .retains = retains,
                 .root_probability = instance % 5 == 0 ? 0.2 : 0,
                 .reuses = instance % 4 >= 2});
    const std::vector<TaskId> order = support::random_order(tree, random);
    const Bytes least = least_out_of_core(tree), most = replay(tree, order).peak;
    for (Bytes bound = least; bound <= most; bound += 2) {
      const auto plan = furthest_in_future(tree, order, bound);
      ASSERT_TRUE(plan);
      support::expect_kept(tree, *plan);
      const Fewest fewest = brute_force(tree, order, bound);
      ASSERT_EQ(plan->written, fewest.written)
          << describe(tree) << describe(order) << bound;
      ASSERT_EQ(plan->read, fewest.read) << describe(tree) << describe(order) << bound;
    }
  }
}

TEST(FurthestInFuture, WritesWhatIsMissingAtThePeakOrMore) {
  std::mt19937 random(7);
  for (int instance = 0; instance < 300; ++instance) {
    const TaskTree tree = support::varied_tree(random, 200 + instance, 200);
    const std::vector<TaskId> order = support::random_order(tree, random);
    const Bytes least = least_out_of_core(tree), peak = replay(tree, order).peak;
    Bytes before = std::numeric_limits<Bytes>::max();
    for (Bytes bound = least; bound < peak; bound += 1 + (peak - least) / 4) {
      const auto plan = furthest_in_future(tree, order, bound);
      support::expect_kept(tree, *plan);
      EXPECT_GE(plan->written, peak - bound) << describe(tree);
      EXPECT_LE(plan->written, before) << describe(tree);
      before = plan->written;
    }
    EXPECT_TRUE(furthest_in_future(tree, order, peak)->evictions.empty());
  }
}

TEST(FurthestInFuture, RefusesABoundBelowTheLargestTask) {
  const TaskTree tree = support::atomic_tree({-1, 0, 1}, {1, 9, 3});
  const std::vector<TaskId> order = {TaskId{2}, TaskId{1}, TaskId{0}};
  EXPECT_TRUE(furthest_in_future(tree, order, 9));
  const auto refused = furthest_in_future(tree, order, 8);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, Infeasible::Reason::kImpossible);
  EXPECT_EQ(refused.error().least_bytes, 9);
  EXPECT_EQ(refused.error().lower_bound_bytes, 9);
}

TEST(FurthestInFuture, RefusesWhatIsNoOrder) {
  const TaskTree tree = support::atomic_tree({-1, 0}, {1, 1});
  EXPECT_THROW(
      (void)furthest_in_future(tree, std::vector<TaskId>{TaskId{0}, TaskId{1}}, 9),
      InvalidInput);
  EXPECT_THROW((void)furthest_in_future(tree, std::vector<TaskId>{TaskId{1}}, 9),
               InvalidInput);
}

TEST(FurthestInFuture, TakesNothingLargeTreesAndLargeSizes) {
  EXPECT_TRUE(furthest_in_future(TaskTree(), {}, 0));
  for (const support::Shape& shape : support::shapes()) {
    const TaskTree tree(shape.make(100'000));
    support::expect_kept(
        tree, *furthest_in_future(tree, tree.postorder(), least_out_of_core(tree)));
  }
  const TaskTree chain(support::chain(1'000'000));
  support::expect_kept(
      chain, *furthest_in_future(chain, chain.postorder(), least_out_of_core(chain)));
  constexpr Bytes kLarge = Bytes{1} << 60;
  const TaskTree tree = support::atomic_tree({-1, 0, 0, 1}, {1, kLarge, kLarge, kLarge});
  const std::vector<TaskId> order = {TaskId{2}, TaskId{3}, TaskId{1}, TaskId{0}};
  const auto plan = furthest_in_future(tree, order, 2 * kLarge);
  EXPECT_EQ(plan->written, 0);
  EXPECT_FALSE(furthest_in_future(tree, order, 2 * kLarge - 1));
}

}  // namespace TEST_SOURCE
}  // namespace espalier
