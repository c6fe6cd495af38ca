// The factor has the same bits however many workers make it, whatever the bound, in and
// out of core, for all kinds and with delayed pivots.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <memory>
#include <string>

#include "solver/kernels/dense.h"
#include "solver/runtime/factorise.h"
#include "solver/save/saved_system.h"
#include "solver/support/plans.h"
#include "solver/tree/spill_plan.h"

namespace espalier::solver {
namespace TEST_SOURCE {

constexpr Bytes kUnbounded = std::numeric_limits<Bytes>::max();

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
  constexpr FactorKind kKinds[] = {FactorKind::kCholesky, FactorKind::kLdlt,
                                   FactorKind::kLu};
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

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
