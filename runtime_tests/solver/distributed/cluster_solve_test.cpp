// Solves of every type of entry and shape of tree: over 300 lines.

#include "solver/distributed/cluster_solve.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "solver/distributed/distributed_systems.h"
#include "solver/distributed/thread_communicators.h"
#include "solver/matrix/grid.h"
#include "solver/solve/cut_products.h"

namespace espalier::solver {
namespace TEST_SOURCE {

constexpr FactorKind kKinds[] = {FactorKind::kCholesky, FactorKind::kLdlt,
                                 FactorKind::kLu};
constexpr Bytes kNoLimit = Bytes{1} << 62;

std::unique_ptr<Runtime> runtime;

class ClusterSolves : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    runtime = std::make_unique<Runtime>(RuntimeOptions{2, "espalier"});
    runtime->wake();
  }
  static void TearDownTestSuite() {
    runtime->sleep();
    runtime.reset();
  }
  std::mt19937 random{23};
};

template <class T>
std::vector<T> right_hand_sides(std::mt19937& random, std::int32_t n, std::int32_t nrhs) {
  std::vector<T> b(static_cast<std::size_t>(n) * nrhs);
  for (T& value : b) value = static_cast<RealOf<T>>(draw(random, -9, 9));
  return b;
}

// The solution at every process.
template <class T>
std::vector<std::vector<T>> solve_distributed(const DistributedSystem<T>& system,
                                              const FrontDistribution& distribution,
                                              bool transposed, const std::vector<T>& b,
                                              std::int32_t nrhs) {
  std::vector<std::vector<T>> solutions(distribution.processes);
  const std::int64_t n = system.size();
  run_threads(distribution.processes, [&](Communicator& communicator) {
    const Factor<T> factor = system.part(distribution, communicator.rank());
    // More vectors than are used: strides of work space and of vectors differ.
    ClusterSolve<T> solve({system.analysis.symbolic, system.tree, factor}, distribution,
                          communicator, *runtime, nrhs + 1, kNoLimit);
    std::vector<T> rhs = b, x(b.size(), std::numeric_limits<T>::quiet_NaN());
    const bool in_place = system.tree.kind != FactorKind::kLu;
    T* const result = in_place ? rhs.data() : x.data();
    solve.solve(transposed, {rhs.data(), n, nrhs}, {result, n, nrhs});
    solutions[communicator.rank()].assign(result, result + n * nrhs);
  });
  return solutions;
}

template <class T>
std::vector<T> solve_alone(const DistributedSystem<T>& system, bool transposed,
                           std::vector<T> b, std::int32_t nrhs) {
  std::vector<T> x(b.size());
  const std::int64_t n = system.size();
  solve_sequentially<T>(system.view(), transposed, {b.data(), n, nrhs},
                        {x.data(), n, nrhs});
  return x;
}

// With the sequential solve to `tolerance` of the largest entry, everywhere the same
// bits.
template <class T>
void expect_solution(const DistributedSystem<T>& system,
                     const FrontDistribution& distribution, bool transposed,
                     std::mt19937& random, double tolerance) {
  const std::int32_t nrhs = draw(random, 1, 3);
  const std::vector<T> b = right_hand_sides<T>(random, system.size(), nrhs);
  const std::vector<T> expected = solve_alone(system, transposed, b, nrhs);
  const auto solutions = solve_distributed(system, distribution, transposed, b, nrhs);
  RealOf<T> largest = 0;
  for (const T value : expected) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < b.size(); ++i)
    ASSERT_LE(std::abs(solutions[0][i] - expected[i]), tolerance * largest) << "x" << i;
  for (const auto& solution : solutions) ASSERT_EQ(solution, solutions[0]);
}

template <class T>
void expect_solutions(const DistributedSystem<T>& system, std::mt19937& random,
                      Sharing sharing, double tolerance, bool grids = false) {
  const FrontDistribution distribution = random_distribution(
      random, system.analysis.symbolic, system.tree, draw(random, 1, grids ? 6 : 5),
      sharing, system.may_share(), grids);
  SCOPED_TRACE(fmt::format("kind {}; {}; {}", int(system.tree.kind),
                           describe(distribution),
                           describe(system.analysis, system.options)));
  for (const bool transposed : {false, true})
    expect_solution(system, distribution, transposed, random, tolerance);
}

template <class T>
void check_dominant(std::mt19937& random, FactorKind kind, double tolerance) {
  const std::int32_t n = draw(random, 0, 70);
  const DistributedSystem<T> system(of_kind(random_dominant(random, n), kind), kind,
                                    random);
  ASSERT_TRUE(system.factored);
  const auto sharing = static_cast<Sharing>(draw(random, 0, 2));
  expect_solutions(system, random, sharing, tolerance);
}

TEST_F(ClusterSolves, AgreeWithTheSequentialSolveInDoublePrecision) {
  for (int instance = 0; instance < 40 && !HasFatalFailure(); ++instance)
    for (const FactorKind kind : kKinds) check_dominant<double>(random, kind, 1e-12);
}

TEST_F(ClusterSolves, AgreeWithTheSequentialSolveInSinglePrecision) {
  for (int instance = 0; instance < 15 && !HasFatalFailure(); ++instance)
    for (const FactorKind kind : kKinds) check_dominant<float>(random, kind, 1e-3);
}

// ||A|| ||A^-1|| in the maximum norm, by the factor.
double condition(const DistributedSystem<double>& system) {
  const auto n = static_cast<std::size_t>(system.size());
  const Dense a = dense_of(system.analysis.permuted, Operation::kPlain);
  std::vector<double> of_a(n), of_inverse(n);
  for (std::size_t j = 0; j < n; ++j) {
    std::vector<double> unit(n);
    unit[j] = 1;
    const std::vector<double> column = solve_alone(system, false, unit, 1);
    for (std::size_t i = 0; i < n; ++i) {
      of_inverse[i] += std::abs(column[i]);
      of_a[i] += std::abs(static_cast<double>(
          a(static_cast<std::int32_t>(i), static_cast<std::int32_t>(j))));
    }
  }
  return n == 0 ? 1 : std::ranges::max(of_a) * std::ranges::max(of_inverse);
}

// Pairs of pivots, permuted rows and columns; columns that are delayed. @param grids
// also to fronts that processes share, in tiles
void check_permuted(std::mt19937& random, int instances, bool grids) {
  int checked = 0, delayed = 0;
  std::int64_t pairs = 0;
  for (int instance = 0; instance < instances; ++instance) {
    const FactorKind kind = instance % 2 == 0 ? FactorKind::kLdlt : FactorKind::kLu;
    const Bytes reserve = draw(random, 0, 1) * std::numeric_limits<Bytes>::max();
    const std::int32_t n = draw(random, 2, grids ? 90 : 50);
    const DistributedSystem<double> system(of_kind(random_square(random, n), kind), kind,
                                           random, reserve, grids);
    ASSERT_TRUE(system.factored);
    const double tolerance = 1e-9 * condition(system);
    if (!(tolerance < 1e-3)) continue;
    expect_solutions(system, random, Sharing::kRandom, tolerance, grids);
    if (testing::Test::HasFatalFailure()) return;
    ++checked;
    pairs += system.report.pivots.two_by_two;
    delayed += system.report.pivots.delayed > 0 ? 1 : 0;
  }
  EXPECT_GT(checked, instances / 3);
  EXPECT_GT(delayed, 10);
  EXPECT_GT(pairs, 50);
}

TEST_F(ClusterSolves, AgreeWherePivotsArePermuted) { check_permuted(random, 150, false); }

TEST_F(ClusterSolves, OverGridsAgreeWherePivotsArePermuted) {
  check_permuted(random, 80, true);
}

TEST_F(ClusterSolves, OfComplexFactorsAreThoseOfOneThread) {
  const auto check = [&]<class T>(T, FactorKind kind, double tolerance) {
    const std::int32_t n = draw(random, 0, 60);
    const DistributedSystem<T> system(
        with_imaginary(random, of_kind(random_dominant(random, n), kind),
                       kIsHermitian<T>),
        kind, random);
    ASSERT_TRUE(system.factored);
    expect_solutions(system, random, Sharing::kAll, tolerance);
  };
  for (int instance = 0; instance < 20 && !HasFatalFailure(); ++instance) {
    check(std::complex<double>(), FactorKind::kLdlt, 1e-12);
    check(std::complex<double>(), FactorKind::kLu, 1e-12);
    check(HermitianEntry<double>(), FactorKind::kCholesky, 1e-12);
    check(HermitianEntry<double>(), FactorKind::kLdlt, 1e-12);
    check(std::complex<float>(), FactorKind::kLu, 1e-4);
    check(HermitianEntry<float>(), FactorKind::kLdlt, 1e-4);
  }
}

TEST_F(ClusterSolves, OfOneProcessAreTreeSolvesToTheLastBit) {
  for (int instance = 0; instance < 30; ++instance)
    for (const FactorKind kind : kKinds) {
      const std::int32_t n = draw(random, 0, 70);
      const DistributedSystem<double> system(of_kind(random_dominant(random, n), kind),
                                             kind, random);
      const FrontDistribution distribution =
          random_distribution(random, system.analysis.symbolic, system.tree, 1,
                              Sharing::kRandom, system.may_share());
      const std::vector<double> b = right_hand_sides<double>(random, n, 2);
      for (const bool transposed : {false, true}) {
        std::vector<double> rhs = b, x(b.size());
        TreeSolve<double> alone(system.view(), *runtime, 3, kNoLimit);
        alone.solve(transposed, {rhs.data(), n, 2}, {x.data(), n, 2});
        ASSERT_EQ(solve_distributed(system, distribution, transposed, b, 2)[0], x);
      }
    }
}

// Products with a large front are cut into the same tiles by whoever has its blocks.
TEST_F(ClusterSolves, WithALargeFrontHaveTheBitsOfOneThread) {
  constexpr std::int32_t kOrder = 1300, kWidth = 256;
  ASSERT_GT(row_tiles(kOrder - kWidth, kWidth, 1).tiles, 1);
  const Pattern all = random_pattern(random, Shape::kDense, kOrder);
  const SymmetricMatrix dense = random_values(random, all, kOrder);
  for (const FactorKind kind : kKinds) {
    const DistributedSystem<double> system(of_kind({dense, {}}, kind), kind, random, 0,
                                           true, kWidth);
    for (const std::int32_t processes : {1, 2, 4}) {
      const auto whose =
          random_distribution(random, system.analysis.symbolic, system.tree, processes,
                              Sharing::kAll, system.may_share());
      const auto b = right_hand_sides<double>(random, kOrder, processes);
      for (const bool transposed : {false, true})
        EXPECT_EQ(solve_distributed(system, whose, transposed, b, processes)[0],
                  solve_alone(system, transposed, b, processes));
    }
  }
}

// So they have where the front's tiles are dealt out over a grid of processes.
TEST_F(ClusterSolves, OverGridsHaveTheBitsOfOneThread) {
  constexpr std::int32_t kOrder = 900, kWidth = 64;
  const Pattern all = random_pattern(random, Shape::kDense, kOrder);
  const SymmetricMatrix dense = random_values(random, all, kOrder);
  std::int32_t slots = 0;
  for (const FactorKind kind : kKinds) {
    const DistributedSystem<double> system(of_kind({dense, {}}, kind), kind, random,
                                           std::numeric_limits<Bytes>::max(), true,
                                           kWidth);
    slots +=
        system.factor.delays_of(0) != nullptr ? system.factor.delays_of(0)->slots() : 0;
    for (const std::int32_t processes : {2, 4, 6}) {
      const auto whose =
          random_distribution(random, system.analysis.symbolic, system.tree, processes,
                              Sharing::kAll, system.may_share(), true);
      const auto b = right_hand_sides<double>(random, kOrder, processes);
      for (const bool transposed : {false, true})
        EXPECT_EQ(solve_distributed(system, whose, transposed, b, processes)[0],
                  solve_alone(system, transposed, b, processes))
            << describe(whose);
    }
  }
  EXPECT_GT(slots, 0);
}

TEST_F(ClusterSolves, OverGridsAgreeWithTheSequentialSolve) {
  for (int instance = 0; instance < 100; ++instance) {
    const FactorKind kind = kKinds[instance % 3];
    const std::int32_t n = draw(random, 20, 120);
    const DistributedSystem<double> system(of_kind(random_dominant(random, n), kind),
                                           kind, random, 0, true);
    const FrontDistribution distribution = random_distribution(
        random, system.analysis.symbolic, system.tree, draw(random, 2, 6),
        Sharing::kRandom, system.may_share(), true);
    SCOPED_TRACE(describe(distribution));
    for (const bool transposed : {false, true})
      expect_solution(system, distribution, transposed, random, 1e-12);
    if (HasFatalFailure()) return;
  }
}

// Nodes of single fronts: all of them can be shared.
template <class Make>
void check_shape(std::mt19937& random, const Make& pattern) {
  for (int instance = 0; instance < 5; ++instance)
    for (const FactorKind kind : kKinds)
      for (const Sharing sharing : {Sharing::kRandom, Sharing::kAll, Sharing::kNone}) {
        const std::int32_t n = draw(random, 1, 60);
        SquareMatrix a{random_values(random, pattern(n), n), {}};
        const DistributedSystem<double> system(of_kind(std::move(a), kind), kind, random);
        ASSERT_TRUE(system.factored);
        expect_solutions(system, random, sharing, 1e-9);
        if (testing::Test::HasFatalFailure()) return;
      }
}

TEST_F(ClusterSolves, OfAChain) {
  check_shape(random, [&](std::int32_t n) {
    return random_pattern(random, Shape::kTridiagonal, n);
  });
}

TEST_F(ClusterSolves, OfAStar) {
  check_shape(random, [&](std::int32_t n) {
    return random_pattern(random, Shape::kArrowLast, n);
  });
}

TEST_F(ClusterSolves, OfADenseMatrix) {
  check_shape(random,
              [&](std::int32_t n) { return random_pattern(random, Shape::kDense, n); });
}

// What is in use of the heap, and all that is mapped beside it: what nobody has written
// to is not resident yet.
Bytes held_bytes() {
  std::ifstream file("/proc/self/statm");
  Bytes pages = 0;
  file >> pages;
  const struct mallinfo2 heap = mallinfo2();
  return pages * sysconf(_SC_PAGESIZE) + static_cast<Bytes>(heap.uordblks) -
         static_cast<Bytes>(heap.arena);
}

// At one of three processes; the constructor does not talk to the others.
TEST_F(ClusterSolves, TakeTheirFootprint) {
  const std::int32_t count = 1000;
  Bytes largest = 0;
  for (const Sharing sharing : {Sharing::kRandom, Sharing::kAll, Sharing::kNone}) {
    AssemblyOptions options{.kind = FactorKind::kLu, .subtree_fraction = 0};
    options.subtree_floor = sharing == Sharing::kAll ? 0 : 2e5;
    const Analysis analysis = analyse(make_grid({40, 40, 1}));
    const AssemblyTree tree = build_assembly_tree(analysis.symbolic, options);
    std::vector<bool> single;
    for (const AssemblyTree::Node& node : tree.nodes)
      single.push_back(node.first_front == node.last_front);
    const FrontDistribution distribution =
        random_distribution(random, analysis.symbolic, tree, 3, sharing, single);
    const Factor<double> factor(analysis.symbolic, tree);
    ThreadJob job(3);
    for (std::int32_t p = 0; p < 3; ++p) {
      ThreadCommunicator communicator(job, p);
      const Bytes before = held_bytes();
      const ClusterSolve<double> solve({analysis.symbolic, tree, factor}, distribution,
                                       communicator, *runtime, count, kNoLimit);
      const Bytes taken = held_bytes() - before;
      const Bytes foreseen = ClusterSolve<double>::footprint(
          analysis.symbolic, tree, distribution, p, runtime->workers(), count);
      largest = std::max(largest, foreseen);
      // The heap's lists of nodes are not exact.
      EXPECT_NEAR(static_cast<double>(taken), static_cast<double>(foreseen), 3e5)
          << describe(distribution);
    }
    EXPECT_GT(std::exchange(largest, 0), 2'000'000);
  }
}

TEST_F(ClusterSolves, OfOrderZero) {
  for (const FactorKind kind : kKinds) {
    const DistributedSystem<double> system(of_kind({{0, {0}, {}, {}}, {}}, kind), kind,
                                           random);
    const FrontDistribution distribution{3, {}, {}};
    for (const auto& solution :
         solve_distributed<double>(system, distribution, false, {}, 1))
      EXPECT_TRUE(solution.empty());
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
