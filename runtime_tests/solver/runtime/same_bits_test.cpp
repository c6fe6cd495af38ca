// The factor has the same bits however many workers make it, whatever the bound, in and
// out of core, for all kinds and with delayed pivots.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <memory>
#include <string>
#include <tuple>

#include "solver/front/node_run.h"
#include "solver/kernels/dense.h"
#include "solver/runtime/factorise.h"
#include "solver/runtime/team_solve.h"
#include "solver/runtime/tree_solve.h"
#include "solver/save/saved_system.h"
#include "solver/support/plans.h"
#include "solver/tree/spill_plan.h"

namespace espalier::solver {
namespace TEST_SOURCE {

constexpr Bytes kUnbounded = std::numeric_limits<Bytes>::max();
constexpr FactorKind kKinds[] = {FactorKind::kCholesky, FactorKind::kLdlt,
                                 FactorKind::kLu};

// A system whose fronts are cut into tiles of a few rows, and its factor by one thread
// without a runtime: the bytes that a file of it has.
struct System {
  System(std::mt19937& random, std::int32_t n, FactorKind kind) {
    constexpr Shape kFilling[] = {Shape::kRandom, Shape::kDenseRows, Shape::kBlocks,
                                  Shape::kDense};
    analysis = analyse(random_of_kind(random, n, kind, kFilling[draw(random, 0, 3)]),
                       random_analysis(random));
    options = random_assembly(random);
    options.kind = kind;
    options.tiled_order = draw(random, 1, 20);
    options.subtree_fraction = 0;
    options.subtree_floor = 0;
    options.block_width = draw(random, 2, 5);
    options.tile_flops = draw(random, 0, 2) * 60.0;
    tree = build_assembly_tree(analysis.symbolic, options);
    expected = bytes_of(tree, factorise_sequentially<double>(
                                  input(tree), tree.tasks.postorder(), report));
  }

  [[nodiscard]] FactorInput input(const AssemblyTree& of) const {
    return {analysis.symbolic,
            analysis.permuted,
            of,
            {.threshold = 0.5, .zero = 1e-30, .perturbation = 1e-6}};
  }
  [[nodiscard]] std::string bytes_of(
      const AssemblyTree& of,
      const tl::expected<Factor<double>, NotPositiveDefinite>& factor) const {
    if (!factor) return fmt::format("bad pivot {}", factor.error().column);
    const TemporaryFile place;
    SectionWriter file(place.path());
    save_factor<double>({analysis.symbolic, of, *factor}, file);
    file.commit();
    return place.bytes();
  }
  // Whether a front has tiles under the diagonal one in some block column of its panel.
  [[nodiscard]] bool tiled() const {
    return std::ranges::any_of(tree.nodes, [this](const AssemblyTree::Node& node) {
      return node.tiled &&
             tile_shape(analysis.symbolic, tree, node.last_front, true).groups() > 2;
    });
  }

  Analysis analysis;
  AssemblyOptions options;
  AssemblyTree tree;
  FactorReport report;
  std::string expected;
};

void run(const System& system, const Runtime& runtime, bool out_of_core, Bytes bound) {
  AssemblyTree tree = system.tree;
  FactorInput input = system.input(tree);
  if (out_of_core) {
    spill_everything(system.analysis.symbolic, tree, OrderKind::kLiu);
    Bytes end = 0;
    for (const AssemblyTree::Node& node : tree.nodes)
      end = std::max({end, node.factor_at + node.factor_bytes,
                      node.contribution_at + node.contribution_bytes});
    input.file = std::make_shared<SpillFile>(testing::TempDir(), end);
  }
  const auto plan = plan_for(tree, runtime.workers(), bound);
  FactorReport report;
  const auto factor = factorise<double>(input, runtime, plan.get(), report);
  ASSERT_EQ(system.bytes_of(tree, factor), system.expected)
      << runtime.workers() << " workers, " << (out_of_core ? "out of core, " : "")
      << "bound " << bound;
  EXPECT_LE(report.booked_peak, espalier_plan_bound(plan.get()));
}

TEST(SameBits, WhoeverFactorsWithinWhateverBound) {
  std::mt19937 random(91);
  kernels::use_one_blas_thread();  // as every runtime does: threads would cut products
  std::deque<System> systems;
  std::int64_t delayed = 0, tiled = 0;
  for (int round = 0; round < 15; ++round) {
    const System& system =
        systems.emplace_back(random, draw(random, 150, 250), kKinds[round % 3]);
    delayed += system.report.pivots.delayed;
    tiled += system.tiled();
  }
  EXPECT_GT(delayed, 30);
  EXPECT_GT(tiled, 5);
  for (const std::int32_t workers : {1, 2, 4}) {
    const Runtime runtime({workers, "espalier"});
    for (const System& system : systems)
      for (const bool out_of_core : {false, true})
        for (const Bytes bound : {Bytes{0}, kUnbounded}) {
          run(system, runtime, out_of_core, bound);
          if (HasFatalFailure()) FAIL() << describe(system.analysis, system.options);
        }
  }
}

// Panels of fronts, as they are planned, one after the other.
std::vector<double> panels_of(const System& system, const AssemblyTree& tree,
                              const Factor<double>& factor) {
  std::vector<double> all;
  for (std::int32_t s = 0; s < system.analysis.symbolic.fronts(); ++s) {
    const auto* const storage = factor.storage[tree.node_of_front[s]].as<double>();
    const double* const panel = factor.panel_data(s, storage);
    const Trapezoid layout = factor.panel(system.analysis.symbolic, tree, s);
    for (std::int32_t side = 0; side < tree.sides(); ++side)
      for (std::int32_t k = 0; k < layout.blocks(); ++k)
        for (std::int32_t j = 0; j < layout.width(k); ++j)
          for (std::int32_t i = side == 0 && tree.sides() == 2 ? 0 : j;
               i < layout.leading(k); ++i)
            all.push_back(panel[side * layout.entries() + layout.offset(k) + i +
                                std::int64_t{j} * layout.leading(k)]);
  }
  return all;
}

std::vector<double> solution(const System& system, std::int32_t nrhs, bool transposed,
                             const FactorView<double>& view, const Runtime* runtime) {
  const std::int64_t n = system.analysis.symbolic.size;
  std::vector<double> b(n * nrhs), x(n * nrhs);
  std::mt19937 random(17);
  std::uniform_real_distribution<> value(-1, 1);
  for (double& each : b) each = value(random);
  const Vectors<double> left{b.data(), n, nrhs}, right{x.data(), n, nrhs};
  if (runtime == nullptr)
    solve_sequentially<double>(view, transposed, left, right);
  else
    TreeSolve<double>(view, *runtime, nrhs, kUnbounded).solve(transposed, left, right);
  return x;
}

// A system, as one node, and the factor by one thread.
struct WholeSystem {
  WholeSystem(std::mt19937& random, int round)
      : system(random, draw(random, 60, 250), kKinds[round % 3]) {
    system.options.subtree_floor = round % 2 == 0 ? 0 : 3e4;
    system.options.chain_floor = round % 4 < 2 ? 0 : 1e6;
    if (round % 5 < 2) {  // fronts that are not cut, small ones in several ways
      system.options.tiled_order = 1000;
      system.options.block_width = 64;
    }
    system.options.whole = true;
    tree = build_assembly_tree(system.analysis.symbolic, system.options);
    factor = std::move(*factorise_sequentially<double>(
        system.input(tree), tree.tasks.postorder(), system.report));
    system.options.whole = false;
  }
  [[nodiscard]] FactorView<double> view() const {
    return {system.analysis.symbolic, tree, factor};
  }

  System system;
  AssemblyTree tree;
  Factor<double> factor;
};

void expect_same(const WholeSystem& whole, const AssemblyTree& tree,
                 const Runtime& runtime) {
  const System& system = whole.system;
  const auto plan = plan_for(tree, runtime.workers(), kUnbounded);
  FactorReport report;
  const auto factor = factorise<double>(system.input(tree), runtime, plan.get(), report);
  ASSERT_TRUE(factor);
  ASSERT_EQ(panels_of(system, tree, *factor),
            panels_of(system, whole.tree, whole.factor));
  const FactorView<double> view{system.analysis.symbolic, tree, *factor};
  for (const std::int32_t nrhs : {1, 2, 5})
    for (const bool transposed : {false, true})
      ASSERT_EQ(solution(system, nrhs, transposed, view, &runtime),
                solution(system, nrhs, transposed, whole.view(), nullptr))
          << "vectors " << nrhs;
}

// A node of all fronts, by one thread, and the nodes of one process and of several, by
// the runtime: factors and solutions.
TEST(SameBits, ASystemOfOneNodeHasThoseOfMany) {
  std::mt19937 random(92);
  kernels::use_one_blas_thread();
  const Runtime runtime({2, "espalier"});
  const Awake awake(runtime);
  std::int64_t delayed = 0, tiled = 0, chains = 0, small = 0;
  for (int round = 0; round < 45; ++round) {
    WholeSystem whole(random, round);
    ASSERT_EQ(whole.tree.nodes.size(), 1);
    delayed += whole.system.report.pivots.delayed;
    for (std::int32_t s = 0; s < whole.system.analysis.symbolic.fronts(); ++s)
      small += is_small_front(whole.system.analysis.symbolic, whole.tree, s);
    for (const std::int32_t processes : {1, 3}) {
      AssemblyOptions options = whole.system.options;
      options.processes = options.workers = processes;
      const AssemblyTree tree =
          build_assembly_tree(whole.system.analysis.symbolic, options);
      tiled += std::ranges::count_if(tree.nodes, &AssemblyTree::Node::tiled);
      chains += std::ssize(tree.grains) - std::ssize(tree.nodes);
      expect_same(whole, tree, runtime);
      ASSERT_FALSE(HasFailure()) << "round " << round << ", processes " << processes;
    }
  }
  EXPECT_GT(delayed, 30);
  EXPECT_GT(tiled, 100);
  EXPECT_GT(chains, 20);
  EXPECT_GT(small, 500);
}

auto counts(const PivotStatistics& pivots) {
  return std::tuple(pivots.delayed, pivots.perturbed, pivots.negative, pivots.two_by_two,
                    pivots.smallest);
}

// Vectors of whole numbers and a few fractions, solved for in place of themselves.
std::vector<double> solution_of(const FactorView<double>& view, const NodePieces* cut,
                                bool transposed, std::int32_t count) {
  const std::int64_t n = view.symbolic.size;
  std::vector<double> b(static_cast<std::size_t>(n * count)), x(b.size());
  for (std::size_t i = 0; i < b.size(); ++i)
    b[i] = 1 / static_cast<double>(1 + i % 17) - static_cast<double>(i % 5);
  const Vectors<double> rhs{b.data(), n, count}, unknowns{x.data(), n, count};
  if (cut != nullptr)
    solve_in_threads(view, *cut, transposed, rhs, unknowns, {});
  else
    solve_sequentially<double>(view, transposed, rhs, unknowns, std::function<void()>());
  return x;
}

// The same node by several threads: the panels, what was pivoted, and solutions.
TEST(SameBits, ANodeThatThreadsShareHasThoseOfOne) {
  std::mt19937 random(93);
  kernels::use_one_blas_thread();
  std::int64_t delayed = 0, pieces = 0, tiled = 0;
  for (int round = 0; round < 60; ++round) {
    const WholeSystem whole(random, round);
    const System& system = whole.system;
    delayed += system.report.pivots.delayed;
    for (const std::int32_t threads : {2, 3, 5}) {
      const NodePieces cut =
          cut_into_pieces(system.analysis.symbolic, whole.tree, threads);
      pieces += std::ssize(cut.pieces);
      tiled += std::ranges::count_if(cut.pieces, &AssemblyTree::Node::tiled);
      FactorInput input = system.input(whole.tree);
      input.pieces = &cut;
      FactorReport report;
      const auto factor =
          factorise_sequentially<double>(input, whole.tree.tasks.postorder(), report);
      ASSERT_TRUE(factor);
      ASSERT_EQ(panels_of(system, whole.tree, *factor),
                panels_of(system, whole.tree, whole.factor))
          << "round " << round << ", threads " << threads;
      const FactorView<double> view{system.analysis.symbolic, whole.tree, *factor};
      for (const bool transposed : {false, true})
        for (const std::int32_t count : {1, 3})
          ASSERT_EQ(solution_of(view, &cut, transposed, count),
                    solution_of(view, nullptr, transposed, count))
              << "round " << round << ", threads " << threads;
      ASSERT_EQ(counts(report.pivots), counts(system.report.pivots));
      ASSERT_LE(report.allocated_peak, report.booked_peak);
      ASSERT_GE(report.tasks, std::ssize(cut.pieces));
    }
  }
  EXPECT_GT(delayed, 30);
  EXPECT_GT(pieces, 1000);
  EXPECT_GT(tiled, 100);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
