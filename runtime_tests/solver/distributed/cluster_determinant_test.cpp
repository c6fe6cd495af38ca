#include "solver/distributed/cluster_determinant.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "solver/distributed/distributed_systems.h"
#include "solver/distributed/thread_communicators.h"
#include "solver/solve/determinant.h"

namespace espalier::solver {
namespace TEST_SOURCE {

// At every process.
template <class T>
std::vector<Determinant> of_processes(const DistributedSystem<T>& system,
                                      const FrontDistribution& distribution) {
  std::vector<Determinant> found(static_cast<std::size_t>(distribution.processes));
  run_threads(distribution.processes, [&](Communicator& communicator) {
    const Factor<T> factor = system.part(distribution, communicator.rank());
    found[static_cast<std::size_t>(communicator.rank())] = determinant<T>(
        {system.analysis.symbolic, system.tree, factor}, distribution, communicator);
  });
  return found;
}

// Products in another order: the same to rounding, by as many factors as there are rows.
template <class T>
void expect_that_of_one(const DistributedSystem<T>& system, std::mt19937& random,
                        Sharing sharing) {
  const FrontDistribution distribution =
      random_distribution(random, system.analysis.symbolic, system.tree,
                          draw(random, 1, 5), sharing, system.may_share());
  SCOPED_TRACE(fmt::format("kind {}; {}; {}", int(system.tree.kind),
                           describe(distribution),
                           describe(system.analysis, system.options)));
  const Determinant expected = determinant(system.view());
  const std::vector<Determinant> found = of_processes(system, distribution);
  for (const Determinant& each : found) {
    ASSERT_EQ(each.mantissa, found[0].mantissa);
    ASSERT_EQ(each.exponent, found[0].exponent);
    ASSERT_EQ(each.phase, found[0].phase);
  }
  ASSERT_EQ(found[0].sign(), expected.sign());
  if (expected.sign() == 0) return;
  ASSERT_NEAR(found[0].log_modulus(), expected.log_modulus(),
              1e-13 * (1 + system.size()) * (1 + std::abs(expected.log_modulus())));
  ASSERT_LE(std::abs(found[0].phase - expected.phase), 1e-13 * (1 + system.size()));
}

TEST(ClusterDeterminant, IsThatOfTheWholeFactor) {
  std::mt19937 random(31);
  for (int instance = 0; instance < 30 && !HasFatalFailure(); ++instance)
    for (const FactorKind kind :
         {FactorKind::kCholesky, FactorKind::kLdlt, FactorKind::kLu}) {
      const DistributedSystem<double> system(
          of_kind(random_dominant(random, draw(random, 0, 70)), kind), kind, random);
      ASSERT_TRUE(system.factored);
      expect_that_of_one(system, random, static_cast<Sharing>(draw(random, 0, 2)));
    }
}

TEST(ClusterDeterminant, OfComplexFactorsHasTheArgument) {
  std::mt19937 random(43);
  int turned = 0;
  const auto check = [&]<class T>(T, FactorKind kind) {
    const DistributedSystem<T> system(
        with_imaginary(random, of_kind(random_square(random, 40), kind), kIsHermitian<T>),
        kind, random, std::numeric_limits<Bytes>::max());
    ASSERT_TRUE(system.factored);
    expect_that_of_one(system, random, Sharing::kAll);
    turned += std::abs(determinant(system.view()).phase.imag()) > 0.1 ? 1 : 0;
  };
  for (int instance = 0; instance < 15 && !testing::Test::HasFatalFailure(); ++instance) {
    check(std::complex<double>(), FactorKind::kLdlt);
    check(std::complex<double>(), FactorKind::kLu);
    check(HermitianEntry<double>(), FactorKind::kLdlt);
  }
  EXPECT_GT(turned, 10);
}

// Pairs of pivots, permuted rows and columns, columns that are delayed, tails.
TEST(ClusterDeterminant, CountsPermutationsAndDelayedPivots) {
  std::mt19937 random(37);
  int delayed = 0, negative = 0;
  for (int instance = 0; instance < 150 && !HasFatalFailure(); ++instance) {
    const FactorKind kind = instance % 2 == 0 ? FactorKind::kLdlt : FactorKind::kLu;
    const Bytes reserve = draw(random, 0, 1) * std::numeric_limits<Bytes>::max();
    const DistributedSystem<double> system(
        of_kind(random_square(random, draw(random, 2, 50)), kind), kind, random, reserve);
    ASSERT_TRUE(system.factored);
    expect_that_of_one(system, random, Sharing::kAll);
    delayed += system.report.pivots.delayed > 0 ? 1 : 0;
    negative += determinant(system.view()).sign() < 0 ? 1 : 0;
  }
  EXPECT_GT(delayed, 20);
  EXPECT_GT(negative, 30);
}

TEST(ClusterDeterminant, OfSinglePrecisionAndOfOrderZero) {
  std::mt19937 random(41);
  for (const FactorKind kind :
       {FactorKind::kCholesky, FactorKind::kLdlt, FactorKind::kLu}) {
    const DistributedSystem<float> system(of_kind(random_dominant(random, 40), kind),
                                          kind, random);
    ASSERT_TRUE(system.factored);
    expect_that_of_one(system, random, Sharing::kAll);
    const DistributedSystem<double> nothing(of_kind({{0, {0}, {}, {}}, {}}, kind), kind,
                                            random);
    const std::vector<Determinant> one = of_processes(nothing, {3, {}, {}});
    EXPECT_EQ(one[2].mantissa, 0.5);
    EXPECT_EQ(one[2].exponent, 1);
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
