// All fronts in one task: the stack gives way to the last panels.

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "solver/matrix/grid.h"
#include "solver/runtime/factorise.h"
#include "solver/support/systems.h"
#include "solver/tree/spill_plan.h"

namespace espalier::solver {
namespace TEST_SOURCE {

AssemblyTree whole_tree(const Symbolic& symbolic, FactorKind kind) {
  return build_assembly_tree(
      symbolic, {.kind = kind, .whole = true, .bytes_per_task = 0, .bytes_per_block = 0});
}

// All of it is there from the start.
AssemblyTree without_turn(const Symbolic& symbolic, AssemblyTree tree) {
  tree.nodes[0].early_last = -1;
  tree.nodes[0].saved_bytes = 0;
  describe_tasks(symbolic, tree);
  return tree;
}

struct Factored {
  Factor<double> factor;
  Bytes peak;
};

Factored run(const Analysis& analysis, const AssemblyTree& tree,
             std::vector<PageBuffer> former = {}) {
  FactorInput input{analysis.symbolic, analysis.permuted, tree, {}};
  input.former = former;
  FactorReport report;
  auto factor = factorise_sequentially<double>(input, std::vector{task_id(0)}, report);
  return {std::move(factor.value()), report.allocated_peak};
}

void expect_same_panels(const Factor<double>& a, const Factor<double>& b) {
  ASSERT_EQ(a.storage[0].size(), b.storage[0].size());
  EXPECT_EQ(std::memcmp(a.storage[0].data(), b.storage[0].data(),
                        static_cast<std::size_t>(a.storage[0].size())),
            0);
}

// What is booked is what is there, to the byte, and less than both together; the factor
// is the same, and so is one in the pages of another.
TEST(EarlyPanels, TakeTheirMemoryWhenTheStackHasGivenItBack) {
  for (const FactorKind kind : {FactorKind::kCholesky, FactorKind::kLdlt})
    for (const char* grid : {"24x26x25"}) {
      const Analysis analysis = analyse(make_grid(parse_grid(grid)), {});
      const AssemblyTree tree = whole_tree(analysis.symbolic, kind);
      const AssemblyTree::Node& node = tree.nodes[0];
      ASSERT_GE(node.early_last, 0) << grid;
      const Factored early = run(analysis, tree);
      EXPECT_EQ(early.peak, least_bound(tree.tasks, OrderKind::kLiu)) << grid;
      const AssemblyTree all_at_once = without_turn(analysis.symbolic, tree);
      const Factored reference = run(analysis, all_at_once);
      EXPECT_EQ(early.peak + node.saved_bytes, reference.peak) << grid;
      expect_same_panels(early.factor, reference.factor);
      Factored first = run(analysis, tree);
      const Factored again = run(analysis, tree, std::move(first.factor.storage));
      expect_same_panels(again.factor, reference.factor);
      EXPECT_EQ(again.peak, early.peak) << grid;
    }
}

// A chain has a stack of nothing, and what fits in the heap is not worth system calls.
TEST(EarlyPanels, AreOnlyWhereMegabytesAreSaved) {
  for (const char* grid : {"200000x1", "12x12", "6x6x6"}) {
    const Analysis analysis = analyse(make_grid(parse_grid(grid)), {});
    EXPECT_EQ(whole_tree(analysis.symbolic, FactorKind::kCholesky).nodes[0].early_last,
              -1)
        << grid;
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
