#include "espalier/distributed/validate_distribution.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "support/expect_violation.h"
#include "support/random_tree.h"
#include "support/tree_shapes.h"

namespace espalier {
namespace TEST_SOURCE {

std::vector<std::int32_t> random_parts(std::mt19937& random, const TaskTree& tree) {
  std::vector<std::int32_t> parts(tree.size());
  for (std::int32_t& count : parts)
    count = std::uniform_int_distribution<std::int32_t>(1, 9)(random);
  return parts;
}

TEST(ValidateDistribution, TakesWhatThePlannerMakesAndAgreesWithReplay) {
  std::mt19937 random(73);
  for (int instance = 0; instance < 300; ++instance) {
    const TaskTree tree = support::varied_tree(random, instance, 14);
    const auto parts = random_parts(random, tree);
    for (const auto kind :
         {DistributedMapping::kMemoryAware, DistributedMapping::kProportional}) {
      const Distribution d = distribute_least(
          tree, {.processes = 1 + instance % 5, .most_parts = parts, .kind = kind});
      ASSERT_EQ(validate(tree, d), Violations{}) << support::describe(tree);
      ASSERT_EQ(replay_distribution(tree, d), d.peak) << support::describe(tree);
    }
  }
}

TEST(ValidateDistribution, SaysWhatIsWrong) {
  const TaskTree tree(support::balanced(31));
  const std::vector<std::int32_t> parts(tree.size(), 6);
  const Distribution right =
      distribute_least(tree, {.processes = 4, .most_parts = parts});
  ASSERT_EQ(validate(tree, right), Violations{});
  const auto has = [&](const char* words,
                       const std::function<void(Distribution&)>& spoil) {
    Distribution d = right;
    spoil(d);
    support::expect_first_violation(validate(tree, d), words);
  };
  has("4 peaks for 5", [](auto& d) { d.processes = 5; });
  has("the peak of process 1", [](auto& d) { ++d.peak[1]; });
  has("the bound is", [](auto& d) { d.bound = d.largest_peak() - 1; });
  has("lower bound", [](auto& d) { d.lower_bound = d.largest_peak() + 1; });
  has("has run", [](auto& d) { d.witness[1] = d.witness[0]; });
  has("before its child",
      [](auto& d) { std::swap(d.witness.front(), d.witness.back()); });
  has("outside its group", [](auto& d) { d.owner[0].pieces = 0; });
  has("lists", [](auto& d) { d.owner.pop_back(); });
  has("there are 4", [](auto& d) { d.group[0].count = 5; });
}

TEST(ValidateDistribution, OfALongChain) {
  const TaskTree tree(support::chain(50000));
  EXPECT_EQ(validate(tree, distribute_least(tree, {.processes = 2})), Violations{});
}

}  // namespace TEST_SOURCE
}  // namespace espalier
