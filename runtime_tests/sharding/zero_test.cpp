#include "espalier/sharding/zero.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "espalier/model/error.h"
#include "espalier/sharding/collectives.h"

namespace espalier {
namespace TEST_SOURCE {

using enum ZeroStage;

PersistentBytes kept(std::vector<std::int64_t> units, ZeroStage stage, int ranks) {
  return persistent_bytes(units, *optimiser_bytes("adam", true), stage, ranks);
}

TEST(ZeroStages, KeepWhatTheFormulasSay) {
  // 7.5e9 parameters on 64 ranks: 120, 31.4, 16.6, 1.9 GB [Rajbhandari20].
  const std::vector<std::int64_t> units(1000, 7'500'032);  // 64 divides each
  const std::int64_t all = 7'500'032'000;
  EXPECT_EQ(kept(units, kNone, 64).all(), 16 * all);
  EXPECT_EQ(kept(units, kStates, 64).all(), 4 * all + 12 * all / 64);
  EXPECT_EQ(kept(units, kGradients, 64).all(), 2 * all + 14 * all / 64);
  EXPECT_EQ(kept(units, kParameters, 64).all(), 16 * all / 64);
  EXPECT_NEAR(static_cast<double>(kept(units, kStates, 64).all()), 31.4e9, 5e7);
  EXPECT_NEAR(static_cast<double>(kept(units, kGradients, 64).all()), 16.6e9, 5e7);
}

TEST(ZeroStages, PadEveryUnitToAMultipleOfTheRanks) {
  // 10 and 3 parameters on 4 ranks: 12 and 4, so 3 and 1 a rank.
  EXPECT_EQ(kept({10, 3}, kNone, 4).all(), 16 * 13);
  const PersistentBytes states = kept({10, 3}, kStates, 4);
  EXPECT_EQ(states.parameters, 2 * 16);
  EXPECT_EQ(states.gradients, 2 * 16);
  EXPECT_EQ(states.states, 12 * 4);
  EXPECT_EQ(kept({10, 3}, kGradients, 4).gradients, 2 * 4);
  EXPECT_EQ(kept({10, 3}, kParameters, 4).all(), 16 * 4);
  EXPECT_EQ(kept({0}, kParameters, 4).all(), 0);
}

TEST(ZeroStages, NeverKeepMoreThanTheStageBelow) {
  for (int ranks = 1; ranks <= 9; ++ranks)
    for (std::int64_t unit = 0; unit < 40; ++unit) {
      const std::vector<std::int64_t> units = {unit, unit / 2, 17};
      EXPECT_LE(kept(units, kGradients, ranks).all(), kept(units, kStates, ranks).all());
      EXPECT_LE(kept(units, kParameters, ranks).all(),
                kept(units, kGradients, ranks).all());
      if (ranks == 1) {
        EXPECT_EQ(kept(units, kParameters, 1).all(), kept(units, kNone, 1).all());
      }
    }
}

TEST(ZeroStages, CountBytesAParameterOfEveryOptimiser) {
  EXPECT_EQ(optimiser_bytes("adam", true)->all(), 16);
  EXPECT_EQ(optimiser_bytes("adam", false)->all(), 16);
  EXPECT_EQ(optimiser_bytes("momentum", true)->all(), 12);
  EXPECT_EQ(optimiser_bytes("momentum", false)->all(), 12);
  EXPECT_EQ(optimiser_bytes("sgd", true)->all(), 8);
  EXPECT_EQ(optimiser_bytes("sgd", false)->all(), 8);
  EXPECT_FALSE(optimiser_bytes("adamw", true));
}

TEST(ZeroStages, RefuseSizesBeyondSixtyFourBits) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_THROW((void)kept({most}, kNone, 1), OverflowError);
  EXPECT_THROW((void)padded_elements(most, 2), OverflowError);
}

TEST(Collectives, TakeWhatRingsTake) {
  const Link link{1e-6, 1e9};
  EXPECT_EQ(all_reduce_time(1000, 1, link), 0);
  EXPECT_DOUBLE_EQ(all_reduce_time(4'000'000, 4, link), 6e-6 + 1.5 * 4e-3);
  EXPECT_DOUBLE_EQ(all_gather_time(4'000'000, 4, link), 3e-6 + 0.75 * 4e-3);
  EXPECT_DOUBLE_EQ(send_time(1'000'000, link), 1e-6 + 1e-3);
  EXPECT_EQ(all_gather_bytes(400, 4), 300);
  EXPECT_EQ(all_gather_bytes(401, 4), 301);
  EXPECT_EQ(all_gather_bytes(400, 1), 0);
}

TEST(Collectives, UseTheLinksOfANodeWhereAGroupLiesInOne) {
  Cluster cluster;
  cluster.node_size = 8;
  const Link* inside = &cluster.inside;
  EXPECT_EQ(&cluster.link(8, 1), inside);
  EXPECT_EQ(&cluster.link(2, 4), inside);
  EXPECT_EQ(&cluster.link(2, 8), &cluster.network);
  EXPECT_EQ(&cluster.link(3, 1), &cluster.network);  // some of these span two nodes
}

}  // namespace TEST_SOURCE
}  // namespace espalier
