// Solves through the tree have the same bits however many workers there are, and as one
// thread alone has them: with a root whose products are cut into tiles, in and out of
// core.

#include "solver/runtime/tree_solve.h"

#include <gtest/gtest.h>

#include <complex>
#include <limits>
#include <memory>
#include <vector>

#include "solver/kernels/dense.h"
#include "solver/matrix/grid.h"
#include "solver/runtime/factorise.h"
#include "solver/solve/cut_products.h"
#include "solver/support/plans.h"
#include "solver/support/systems.h"
#include "solver/tree/spill_plan.h"

namespace espalier::solver {
namespace TEST_SOURCE {

constexpr Bytes kNoLimit = Bytes{1} << 62;
constexpr std::int32_t kLeaves = 6, kLeaf = 40, kRoot = 1590, kWidth = 512;

AnalyseOptions ordered_by(OrderingKind kind) {
  AnalyseOptions options;
  options.ordering = kind;
  return options;
}

// Leaves that each meet every fifth row of a dense root.
SymmetricMatrix leaves_and_root(std::mt19937& random, bool definite) {
  constexpr std::int32_t kSize = kLeaves * kLeaf + kRoot;
  std::uniform_real_distribution<> value(-1, 1);
  SymmetricMatrix a;
  a.size = kSize;
  a.column_start.push_back(0);
  for (std::int32_t j = 0; j < kSize; ++j) {
    const bool in_leaf = j < kLeaves * kLeaf;
    const std::int32_t end = in_leaf ? (j / kLeaf + 1) * kLeaf : kSize;
    for (std::int32_t i = j; i < end; ++i) a.row.push_back(i);
    for (std::int32_t i = kLeaves * kLeaf + j / kLeaf; in_leaf && i < kSize; i += 5)
      a.row.push_back(i);
    a.column_start.push_back(std::ssize(a.row));
    a.value.push_back(definite ? 2.0 * kSize : value(random));
    while (a.value.size() < a.row.size()) a.value.push_back(value(random));
  }
  return a;
}

// With imaginary parts where T has them.
template <class T>
SquareMatrix matrix_of(FactorKind kind) {
  std::mt19937 random(29);
  SquareMatrix a{leaves_and_root(random, kind == FactorKind::kCholesky), {}};
  if (kind == FactorKind::kLu) a.upper = a.lower.value;
  const auto entries = a.lower.value.size();
  std::uniform_real_distribution<> value(-1, 1);
  const auto draw_all = [&] {
    std::vector<double> parts(entries);
    for (double& part : parts) part = value(random);
    return parts;
  };
  if (kind == FactorKind::kLu) {
    const std::vector<double> other = draw_all();
    for (std::int32_t j = 0; j < a.size(); ++j)
      for (auto k = a.lower.column_start[j] + 1; k < a.lower.column_start[j + 1]; ++k)
        a.upper[k] = other[k];
  }
  if constexpr (kIsComplex<T>) {
    a.complex =
        kind == FactorKind::kLu ? ComplexSymmetry::kGeneral : ComplexSymmetry::kSymmetric;
    a.lower_imaginary = draw_all();
    if (kind == FactorKind::kLu) a.upper_imaginary = a.lower_imaginary;
  }
  return a;
}

template <class T>
struct TiledSystem {
  explicit TiledSystem(FactorKind kind)
      : analysis(analyse(matrix_of<T>(kind), ordered_by(OrderingKind::kNatural))) {
    AssemblyOptions options;
    options.kind = kind;
    options.entry_bytes = sizeof(T);
    options.subtree_fraction = options.subtree_floor = options.chain_floor = 0;
    options.block_width = kWidth;
    tree = build_assembly_tree(analysis.symbolic, options);
    factor =
        factorise_sequentially<T>(input(tree), tree.tasks.postorder(), report).value();
  }
  [[nodiscard]] FactorInput input(const AssemblyTree& of) const {
    return {analysis.symbolic,
            analysis.permuted,
            of,
            {.threshold = 0.5, .zero = 1e-30, .perturbation = 1e-6}};
  }
  [[nodiscard]] FactorView<T> view() const { return {analysis.symbolic, tree, factor}; }
  [[nodiscard]] std::vector<T> right_hand_sides(std::int32_t nrhs) const {
    std::mt19937 random(7);
    std::vector<T> b(static_cast<std::size_t>(analysis.symbolic.size) * nrhs);
    for (T& each : b) each = T(RealOf<T>(draw(random, -9, 9)));
    return b;
  }

  Analysis analysis;
  AssemblyTree tree;
  FactorReport report;
  Factor<T> factor;
};

template <class T, class Solve>
std::vector<T> solution(const TiledSystem<T>& system, std::int32_t nrhs,
                        const Solve& solve) {
  const std::int64_t n = system.analysis.symbolic.size;
  std::vector<T> b = system.right_hand_sides(nrhs), x(b.size());
  solve(Vectors<T>{b.data(), n, nrhs}, Vectors<T>{x.data(), n, nrhs});
  return x;
}

constexpr std::int32_t kMostVectors = 5;

template <class T>
void expect_same_bits(const TiledSystem<T>& system, const FactorView<T>& view,
                      const Runtime& runtime) {
  TreeSolve<T> through_tree(view, runtime, kMostVectors + 1, kNoLimit);
  for (const bool transposed : {false, true})
    for (const std::int32_t nrhs : {1, 2, kMostVectors}) {
      const auto alone = solution(system, nrhs, [&](const auto& b, const auto& x) {
        solve_sequentially<T>(system.view(), transposed, b, x);
      });
      for (int round = 0; round < 3; ++round)
        ASSERT_EQ(solution(system, nrhs,
                           [&](const auto& b, const auto& x) {
                             through_tree.solve(transposed, b, x);
                           }),
                  alone)
            << runtime.workers() << " workers, " << nrhs << " vectors, transposed "
            << transposed << ", round " << round;
    }
}

template <class T>
void check(FactorKind kind) {
  kernels::use_one_blas_thread();  // as every runtime does: threads would cut products
  const TiledSystem<T> system(kind);
  ASSERT_GT(system.tree.nodes.size(), kLeaves);
  const Trapezoid root =
      system.tree.panel(system.analysis.symbolic, system.analysis.symbolic.fronts() - 1);
  ASSERT_GT(row_tiles(root.rows() - root.width(0), root.width(0), 1).tiles, 1);
  for (const std::int32_t workers : {1, 2, 3, 4}) {
    const Runtime runtime({workers, "espalier"});
    const Awake awake(runtime);
    expect_same_bits(system, system.view(), runtime);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(TreeSolves, HaveTheBitsOfOneThreadWithCholesky) {
  check<double>(FactorKind::kCholesky);
}

TEST(TreeSolves, HaveTheBitsOfOneThreadInSinglePrecision) {
  check<float>(FactorKind::kCholesky);
}

TEST(TreeSolves, HaveTheBitsOfOneThreadWithPairsOfPivots) {
  check<double>(FactorKind::kLdlt);
  EXPECT_GT(TiledSystem<double>(FactorKind::kLdlt).report.pivots.delayed, 0);
}

TEST(TreeSolves, HaveTheBitsOfOneThreadWithTwoSides) { check<double>(FactorKind::kLu); }

TEST(TreeSolves, HaveTheBitsOfOneThreadWithComplexNumbers) {
  check<std::complex<double>>(FactorKind::kLdlt);
  check<std::complex<float>>(FactorKind::kLu);
}

TEST(TreeSolves, HaveTheBitsOfOneThreadOutOfCore) {
  kernels::use_one_blas_thread();
  const TiledSystem<double> system(FactorKind::kCholesky);
  AssemblyTree tree = system.tree;
  spill_everything(system.analysis.symbolic, tree, OrderKind::kLiu);
  Bytes end = 0;
  for (const AssemblyTree::Node& node : tree.nodes)
    end = std::max({end, node.factor_at + node.factor_bytes,
                    node.contribution_at + node.contribution_bytes});
  for (const std::int32_t workers : {1, 2, 4}) {
    const Runtime runtime({workers, "espalier"});
    FactorInput input = system.input(tree);
    input.file = std::make_shared<SpillFile>(testing::TempDir(), end);
    const auto plan = plan_for(tree, workers, std::numeric_limits<Bytes>::max());
    FactorReport report;
    const auto factor = factorise<double>(input, runtime, plan.get(), report);
    ASSERT_TRUE(factor);
    const Awake awake(runtime);
    expect_same_bits(system, {system.analysis.symbolic, tree, *factor}, runtime);
  }
}

// The bound counts what the constructor takes: no map as long as the matrix.
TEST(TreeSolves, TakeNoVectorOfTheMatrixForAWorker) {
  const Analysis analysis =
      analyse(make_grid(parse_grid("200x200")), ordered_by(OrderingKind::kAmd));
  const AssemblyTree tree = build_assembly_tree(analysis.symbolic, {});
  const auto bytes = [&](std::int32_t workers) {
    return TreeSolve<double>::footprint(analysis.symbolic, tree, workers, 1);
  };
  EXPECT_LT(bytes(2) - bytes(1), analysis.symbolic.size * Bytes{sizeof(std::int32_t)});
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
