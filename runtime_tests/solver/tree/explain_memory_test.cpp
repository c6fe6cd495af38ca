#include "solver/tree/explain_memory.h"

#include <gtest/gtest.h>

#include <numeric>

#include "espalier/model/replay.h"
#include "espalier/sequential/tree/liu_traversal.h"
#include "solver/matrix/grid.h"
#include "solver/symbolic/analyse.h"
#include "solver/tree/spill_plan.h"

namespace espalier::solver {
namespace TEST_SOURCE {

constexpr Bytes kMargin = ProcessAccount::kRunToRun;

Bytes sum(const MemoryExplanation& explanation) {
  return std::accumulate(
      explanation.parts.begin(), explanation.parts.end(), Bytes{0},
      [](Bytes bytes, const MemoryPart& part) { return bytes + part.bytes; });
}

MemoryAccount account() { return {.analysis_peak = 500, .baseline = 100, .reserve = 20}; }

TEST(ExplainMemory, NamesThePhaseThatDecides) {
  const auto explain = [](Bytes fronts, Bytes solve) {
    return explain_least(
        account(), {.fronts = fronts, .solve = solve, .factor = FactorInMemory{30, 4}});
  };
  const MemoryExplanation analysis = explain(300, 379);
  EXPECT_EQ(analysis.phase, MemoryPhase::kAnalysis);
  EXPECT_EQ(analysis.total, 500 + kMargin);
  const MemoryExplanation fronts = explain(400, 400);
  EXPECT_EQ(fronts.phase, MemoryPhase::kFactorisation);
  EXPECT_EQ(fronts.total, 520 + kMargin);
  const MemoryExplanation solve = explain(300, 401);
  EXPECT_EQ(solve.phase, MemoryPhase::kSolve);
  EXPECT_EQ(solve.total, 521 + kMargin);
  for (const MemoryExplanation& each : {analysis, fronts, solve})
    EXPECT_EQ(sum(each), each.total);
  EXPECT_EQ(solve.parts[2].bytes, 30);
  EXPECT_EQ(solve.parts[3].bytes, 4);
  EXPECT_EQ(solve.parts[4].bytes, 367);
}

TEST(ExplainMemory, NamesThePhaseOfThePeak) {
  const auto explain = [](Bytes peak) {
    return explain_peak(account(), {.peak = peak, .growth = 350, .allocated_peak = 330},
                        FactorInMemory{200, 0});
  };
  EXPECT_EQ(explain(450).phase, MemoryPhase::kFactorisation);
  EXPECT_EQ(explain(450).parts[2].bytes, 20);
  EXPECT_EQ(explain(500).phase, MemoryPhase::kAnalysis);
  EXPECT_EQ(explain(501).phase, MemoryPhase::kSolve);
  for (const Bytes peak : {440, 450, 500, 501}) EXPECT_EQ(sum(explain(peak)), peak);
}

TEST(ExplainMemory, TheChainHoldsWhatTheOrderNeeds) {
  for (const FactorKind kind : {FactorKind::kCholesky, FactorKind::kLu})
    for (const bool out_of_core : {false, true}) {
      PreparedMatrix prepared =
          prepare(make_grid({.nx = 12, .ny = 12, .nz = 12}), kind, {});
      const Analysis analysis = analyse(std::move(prepared), {});
      AssemblyTree tree =
          build_assembly_tree(analysis.symbolic, {.kind = kind, .workers = 2});
      if (out_of_core) (void)spill_everything(analysis.symbolic, tree, OrderKind::kLiu);
      const Traversal liu = liu_traversal(tree.tasks);
      const FrontsAtPeak fronts = fronts_at_peak(analysis.symbolic, tree, liu.order);
      EXPECT_EQ(fronts.total(), liu.peak);
      EXPECT_EQ(fronts.chain.front().node,
                static_cast<std::int32_t>(*replay(tree.tasks, liu.order).peak_task));
      EXPECT_EQ(fronts.factor_before == 0, out_of_core);
    }
}

TEST(ExplainMemory, OfNoFrontsIsNothing) {
  const FrontsAtPeak none = fronts_at_peak(Symbolic(), AssemblyTree(), {});
  EXPECT_EQ(none.total(), 0);
  EXPECT_TRUE(none.chain.empty());
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
