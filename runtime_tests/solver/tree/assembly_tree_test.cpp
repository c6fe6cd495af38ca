// One tree by hand, by laws and at its extremes: over 300 lines.

#include "solver/tree/assembly_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "espalier/sequential/tree/tree_orders.h"
#include "solver/matrix/grid.h"
#include "solver/memory/page_buffer.h"
#include "solver/support/systems.h"
#include "solver/symbolic/front_cost.h"

namespace espalier::solver {
namespace TEST_SOURCE {

// `fronts` fronts of one pivot each; parents before none, rows = the parent's pivot.
Symbolic one_row_fronts(const std::vector<std::int32_t>& parents) {
  Symbolic symbolic;
  symbolic.size = static_cast<std::int32_t>(parents.size());
  symbolic.parent = parents;
  symbolic.first_column.resize(parents.size() + 1);
  std::iota(symbolic.first_column.begin(), symbolic.first_column.end(), 0);
  symbolic.row_start.assign(1, 0);
  for (const std::int32_t parent : parents) {
    if (parent >= 0) symbolic.rows.push_back(parent);
    symbolic.row_start.push_back(static_cast<std::int64_t>(symbolic.rows.size()));
  }
  symbolic.factor_entries = symbolic.size + std::ssize(symbolic.rows);
  return symbolic;
}

constexpr AssemblyOptions kNodePerFront{.subtree_fraction = 0, .subtree_floor = 0};
constexpr AssemblyOptions kNodePerTree{.subtree_floor = 1e300, .subtree_most = 1e300};

// Every front in one node, nodes contiguous, parents as the fronts say, children first.
void expect_partition(const Symbolic& symbolic, const AssemblyTree& tree) {
  std::int32_t next = 0;
  ASSERT_EQ(tree.tasks.size(), tree.nodes.size());
  ASSERT_EQ(tree.max_workers.size(), tree.nodes.size());
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    const AssemblyTree::Node& node = tree.nodes[i];
    ASSERT_EQ(node.first_front, next);
    ASSERT_GE(node.last_front, node.first_front);
    ASSERT_TRUE(!node.tiled || node.first_front == node.last_front);
    ASSERT_GE(tree.max_workers[i], 1);
    next = node.last_front + 1;
    for (std::int32_t s = node.first_front; s <= node.last_front; ++s) {
      ASSERT_EQ(tree.node_of_front[s], static_cast<std::int32_t>(i));
      // Inside a node every front but the last leads to a front of that node.
      if (s < node.last_front) {
        ASSERT_GT(symbolic.parent[s], s);
        ASSERT_LE(symbolic.parent[s], node.last_front);
      }
    }
    const std::int32_t above = symbolic.parent[node.last_front];
    const auto parent = tree.tasks.parent(task_id(i));
    ASSERT_EQ(parent.has_value(), above >= 0);
    if (parent) {
      ASSERT_EQ(index(*parent), static_cast<std::size_t>(tree.node_of_front[above]));
      ASSERT_GT(index(*parent), i);
    }
  }
  ASSERT_EQ(next, symbolic.fronts());
}

// Most entries on the stack of a node, by lists of blocks instead of counters.
std::int64_t simulated_stack(const Symbolic& symbolic, const AssemblyTree& tree,
                             const AssemblyTree::Node& node) {
  std::vector<std::int32_t> stack;
  std::int64_t most = 0;
  const auto measure = [&] {
    std::int64_t entries = 0;
    for (const std::int32_t s : stack) {
      const std::int64_t order = symbolic.front_order(s) - symbolic.pivots(s);
      const std::int64_t width = tree.block_width[s];
      for (std::int64_t j = 0; j < order; ++j) entries += order - j / width * width;
    }
    most = std::max(most, entries);
  };
  // A leaf takes the block on top where that is a sibling's with the same rows, in the
  // same grain, whose last front it is not.
  const auto joins = [&](std::int32_t s) {
    const auto is_child = [&](std::int32_t p) { return p == s; };
    const auto has_both = [&](const IndexRange& grain) {
      return grain.begin < s && s + 1 < grain.end;
    };
    if (stack.empty() || stack.back() != s - 1 ||
        std::ranges::none_of(tree.grains, has_both) ||
        std::ranges::any_of(symbolic.parent, is_child))
      return false;
    const auto rows = symbolic.rows_of(s), before = symbolic.rows_of(s - 1);
    return !rows.empty() && symbolic.parent[s] == symbolic.parent[s - 1] &&
           std::vector(rows.begin(), rows.end()) ==
               std::vector(before.begin(), before.end());
  };
  for (std::int32_t s = node.first_front; s < node.last_front; ++s) {
    if (joins(s)) stack.pop_back();
    stack.push_back(s);
    measure();
    std::erase_if(stack, [&](std::int32_t c) { return symbolic.parent[c] == s; });
  }
  return most;
}

TEST(AssemblyTree, OfATridiagonalMatrixByHand) {
  // Fronts {0} {1} {2,3} of order 2, as in symbolic.h; bytes before rounding to pages:
  //   f 8 8 0    r 16 16 32    scratch: index lists of 0 1 1 rows
  Symbolic symbolic;
  symbolic.size = 4;
  symbolic.first_column = {0, 1, 2, 4};
  symbolic.row_start = {0, 1, 2, 2};
  symbolic.rows = {1, 2};
  symbolic.parent = {1, 2, -1};
  const Bytes page = PageBuffer::footprint(1);
  const AssemblyTree tree = build_assembly_tree(symbolic, kNodePerFront);
  ASSERT_EQ(tree.nodes.size(), 3u);
  const Bytes output[] = {page, page, 0};
  const Bytes execution[] = {page, 2 * page, 2 * page};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(tree.tasks.output_size(task_id(i)), output[i]) << i;
    EXPECT_EQ(tree.tasks.execution_size(task_id(i)), execution[i]) << i;
    EXPECT_EQ(tree.tasks.retained_size(task_id(i)), page) << i;
    EXPECT_EQ(tree.nodes[i].stack_entries, 0) << i;
    EXPECT_EQ(tree.nodes[i].index_entries, i == 0 ? 0 : 1) << i;
  }

  const AssemblyTree one = build_assembly_tree(symbolic, kNodePerTree);
  ASSERT_EQ(one.nodes.size(), 1u);
  EXPECT_EQ(one.nodes[0].stack_entries, 2);  // the second block above the first
  EXPECT_EQ(one.nodes[0].index_entries, 1);
  EXPECT_EQ(one.tasks.retained_size(task_id(0)), page);
  EXPECT_EQ(one.tasks.output_size(task_id(0)), 0);
}

// A chain of 1000 fronts of 5024 units each but for the last, in stretches of 10.
TEST(AssemblyTree, RunsStretchesOfAChainAsOneTask) {
  std::vector<std::int32_t> parents(1000);
  std::iota(parents.begin(), parents.end(), 1);
  parents.back() = -1;
  const Symbolic chain = one_row_fronts(parents);
  EXPECT_EQ(front_cost(chain, 0, 1), 5024);
  AssemblyOptions options{.subtree_fraction = 0, .subtree_floor = 60'000};
  options.chain_floor = 10.5 * 5024;
  const AssemblyTree tree = build_assembly_tree(chain, options);
  expect_partition(chain, tree);
  // The first is a subtree, of 11.
  ASSERT_EQ(tree.nodes.size(), 100u);
  EXPECT_EQ(tree.nodes[1].first_front, 11);
  EXPECT_EQ(tree.nodes[1].last_front, 20);
  EXPECT_EQ(tree.nodes[1].contribution_bytes, PageBuffer::footprint(1));
  // On two processes only where less than an eighth of one's work is below, or beside the
  // longest path of a small factor.
  options.workers = options.processes = 2;
  EXPECT_EQ(build_assembly_tree(chain, options).nodes.size(), 100u);
  options.chain_bytes = 0;
  const AssemblyTree shared = build_assembly_tree(chain, options);
  expect_partition(chain, shared);
  EXPECT_EQ(shared.nodes[3].last_front, 40);
  EXPECT_EQ(shared.nodes.back().first_front, 999);
  EXPECT_EQ(shared.nodes[shared.nodes.size() - 900].first_front, 100);
}

// Two chains of 500 fronts that meet in the last of 1001: neither is below the other, so
// that the last front is no stretch with them on two processes.
TEST(AssemblyTree, RunsStretchesOfChainsThatMeet) {
  std::vector<std::int32_t> parents(1001);
  std::iota(parents.begin(), parents.end(), 1);
  parents[499] = 1000;
  parents.back() = -1;
  const Symbolic chains = one_row_fronts(parents);
  AssemblyOptions options{.subtree_fraction = 0, .subtree_floor = 60'000};
  options.chain_floor = 10.5 * 5024;
  options.workers = options.processes = 2;
  const AssemblyTree tree = build_assembly_tree(chains, options);
  expect_partition(chains, tree);
  EXPECT_LE(tree.nodes.size(), 103u);
  EXPECT_EQ(tree.nodes.back().first_front, 1000);
  options.chain_bytes = 0;
  EXPECT_GT(build_assembly_tree(chains, options).nodes.size(), 800u);
}

TEST(AssemblyTree, CutsALargeFrontIntoTiles) {
  Symbolic symbolic;
  symbolic.size = 600;
  symbolic.first_column = {0, 600};
  symbolic.row_start = {0, 0};
  symbolic.parent = {-1};
  AssemblyOptions options = kNodePerFront;
  EXPECT_TRUE(build_assembly_tree(symbolic, options).nodes[0].tiled);
  options.tiled_order = 601;
  EXPECT_FALSE(build_assembly_tree(symbolic, options).nodes[0].tiled);
  options.tiled_order = 1;
  options.bytes_per_task = 1'000'000;
  options.bytes_per_block = 10;
  const AssemblyTree tree = build_assembly_tree(symbolic, options);
  const std::int64_t blocks = tree.panel(symbolic, 0).blocks();
  ASSERT_GT(blocks, 1);
  // A task a tile, or a slice where there are more, and the task that starts.
  const auto panels = static_cast<std::int32_t>(blocks);
  const TileShape shape = tile_shape(tree, 0, panels, panels, true);
  EXPECT_GE(shape.most_ready(), blocks);
  EXPECT_GE(tree.tasks.execution_size(task_id(0)),
            (1 + shape.most_ready()) * 1'000'000 + blocks * 10);
  EXPECT_GE(tree.max_workers[0], 1);
}

// The same nodes, tiles and widths: the same operations whoever runs them.
TEST(AssemblyTree, DoesNotDependOnTheNumberOfWorkers) {
  std::mt19937 random(8);
  for (int instance = 0; instance < 300; ++instance) {
    const Symbolic symbolic =
        analyse_pattern(random_spd(random, draw(random, 1, 60)), random_analysis(random));
    AssemblyOptions options = random_assembly(random);
    options.workers = 1;
    const AssemblyTree one = build_assembly_tree(symbolic, options);
    options.workers = 64;
    const AssemblyTree many = build_assembly_tree(symbolic, options);
    ASSERT_EQ(one.node_of_front, many.node_of_front);
    ASSERT_EQ(one.block_width, many.block_width);
    for (std::size_t i = 0; i < one.nodes.size(); ++i) {
      ASSERT_EQ(one.nodes[i].tiled, many.nodes[i].tiled);
      ASSERT_EQ(one.tasks.execution_size(task_id(i)),
                many.tasks.execution_size(task_id(i)));
    }
  }
}

// What the planner finds for both trees, whatever the choice was made by.
TEST(AssemblyTree, TakesFrontsWholeWhereTheLeastPeakIsNoHigher) {
  std::mt19937 random(10);
  int whole = 0, left = 0, in_units = 0, wide = 0;
  const auto compare = [&](const Symbolic& symbolic, AssemblyOptions options) {
    options.fitting_part = 0;
    options.unit = 0;
    const AssemblyTree by_blocks = build_assembly_tree(symbolic, options);
    const Bytes peak = sequential_order(by_blocks.tasks, OrderKind::kLiu).peak;
    options.unit = PageBuffer::footprint(1);
    const AssemblyTree units = build_assembly_tree(symbolic, options);
    EXPECT_LE(sequential_order(units.tasks, OrderKind::kLiu).peak, peak);
    for (const AssemblyTree::Node& node : units.nodes) {
      EXPECT_TRUE(node.unit == 0 || (node.by_blocks && node.unit == options.unit));
      in_units += node.unit > 0;
      wide += node.by_blocks && node.window > 2;
    }
    options.fitting_part = 2;
    const AssemblyTree fitting = build_assembly_tree(symbolic, options);
    EXPECT_LE(sequential_order(fitting.tasks, OrderKind::kLiu).peak, peak);
    for (std::size_t i = 0; i < by_blocks.nodes.size(); ++i) {
      EXPECT_LE(fitting.nodes[i].by_blocks, by_blocks.nodes[i].by_blocks);
      whole += by_blocks.nodes[i].by_blocks && !fitting.nodes[i].by_blocks;
      left += fitting.nodes[i].by_blocks;
    }
  };
  for (int instance = 0; instance < 300; ++instance)
    compare(
        analyse_pattern(random_spd(random, draw(random, 1, 60)), random_analysis(random)),
        random_assembly(random));
  EXPECT_GT(whole, 100);
  EXPECT_EQ(left, 0);  // of few blocks, whose ends of pages are what matters
  for (const char* grid : {"20x20x20", "150x150", "60x12x12"})
    compare(analyse_pattern(make_grid(parse_grid(grid)), {}), {.tiled_order = 64});
  EXPECT_GT(left, 0);
  EXPECT_GT(in_units, 10);
  EXPECT_GT(wide, 10);
}

// As many block columns at once as the memory of the node is for.
TEST(AssemblyTree, AssemblesAllColumnsAtOnceWhereTheyAreInMemory) {
  const Symbolic symbolic = analyse_pattern(make_grid(parse_grid("20x20x20")), {});
  const AssemblyTree tree = build_assembly_tree(symbolic, {.tiled_order = 64});
  int whole = 0, by_blocks = 0;
  for (const AssemblyTree::Node& node : tree.nodes) {
    if (!node.tiled) continue;
    const TileShape shape = tile_shape(symbolic, tree, node.last_front, true);
    EXPECT_EQ(shape.window, (node.by_blocks ? node.window : shape.blocks) * shape.slices);
    ++(node.by_blocks ? by_blocks : whole);
  }
  EXPECT_GT(whole, 0);
  EXPECT_GT(by_blocks, 0);
}

TEST(AssemblyTree, RoundsToUnits) {
  AssemblyTree::Node node;
  EXPECT_EQ(node.units_of(50, 90), std::pair(Bytes{50}, Bytes{90}));
  EXPECT_EQ(node.units_in(90), 90);
  node.unit = 40;
  EXPECT_EQ(node.units_of(50, 90), std::pair(Bytes{40}, Bytes{120}));
  EXPECT_EQ(node.units_of(40, 80), std::pair(Bytes{40}, Bytes{80}));
  EXPECT_EQ(node.units_in(90), 80);
  EXPECT_EQ(node.units_in(39), 0);
}

std::vector<std::int32_t> ends_of_grains(const AssemblyTree& tree) {
  std::vector<std::int32_t> ends;
  for (const IndexRange& grain : tree.grains) {
    EXPECT_EQ(grain.begin, ends.empty() ? 0 : ends.back());
    ends.push_back(grain.end);
  }
  return ends;
}

// Chains end where a process has too much below them, and one node takes in all; how a
// front is cut, what is joined and what is summed up by itself stays the same.
TEST(AssemblyTree, CutsFrontsAlikeForAnyNumberOfProcesses) {
  std::mt19937 random(9);
  for (int instance = 0; instance < 300; ++instance) {
    const Symbolic symbolic =
        analyse_pattern(random_spd(random, draw(random, 1, 60)), random_analysis(random));
    AssemblyOptions options = random_assembly(random);
    options.chain_floor = 1e4;
    const AssemblyTree one = build_assembly_tree(symbolic, options);
    for (const AssemblyTree::Node& node : one.nodes) {
      EXPECT_EQ(node.tiled, one.is_tiled[node.last_front] != 0);
      ASSERT_FALSE(one.grains_of(node).empty());
      EXPECT_EQ(one.grains_of(node).front().begin, node.first_front);
      EXPECT_EQ(one.grains_of(node).back().end, node.last_front + 1);
    }
    for (const std::int32_t processes : {1, 2, 3, 4, 64}) {
      options.processes = processes;
      options.workers = 2 * processes;
      options.whole = processes == 1;
      const AssemblyTree many = build_assembly_tree(symbolic, options);
      if (!options.whole) expect_partition(symbolic, many);
      ASSERT_EQ(one.block_width, many.block_width);
      ASSERT_EQ(one.is_tiled, many.is_tiled) << "instance " << instance;
      ASSERT_EQ(one.joins_previous, many.joins_previous) << "instance " << instance;
      ASSERT_EQ(ends_of_grains(one), ends_of_grains(many)) << "instance " << instance;
    }
  }
}

// A system of little work is one grain and one node wherever it runs.
TEST(AssemblyTree, LeavesWhatIsLessThanATaskIsWorthWhole) {
  const Symbolic small = analyse_pattern(make_grid({8, 8, 1})),
                 large = analyse_pattern(make_grid({40, 40, 1}));
  for (const std::int32_t processes : {1, 4}) {
    const AssemblyOptions options{.workers = processes, .processes = processes};
    EXPECT_EQ(build_assembly_tree(small, options).nodes.size(), 1);
    EXPECT_GT(build_assembly_tree(large, options).nodes.size(), 4);
  }
}

// A front of 200 pivots and 400 rows, one of 130 pivots and 20 of these rows, and their
// parent: the contribution block of the first alone is worth it.
TEST(AssemblyTree, CompressesContributionBlocksOfALargePart) {
  Symbolic symbolic;
  symbolic.size = 730;
  symbolic.first_column = {0, 200, 330, 730};
  symbolic.row_start = {0, 400, 420, 420};
  symbolic.rows.resize(420);
  std::iota(symbolic.rows.begin(), symbolic.rows.begin() + 400, 330);
  std::iota(symbolic.rows.begin() + 400, symbolic.rows.end(), 330);
  symbolic.parent = {2, 2, -1};
  AssemblyOptions options = kNodePerFront;
  options.tiled_order = 1;
  for (const AssemblyTree::Node& node : build_assembly_tree(symbolic, options).nodes)
    EXPECT_FALSE(node.low_rank || node.low_rank_contribution);
  options.low_rank = true;
  const AssemblyTree tree = build_assembly_tree(symbolic, options);
  ASSERT_EQ(tree.nodes.size(), 3u);
  for (const AssemblyTree::Node& node : tree.nodes) EXPECT_TRUE(node.low_rank);
  EXPECT_TRUE(tree.nodes[0].low_rank_contribution);
  EXPECT_FALSE(tree.nodes[1].low_rank_contribution);
  EXPECT_FALSE(tree.nodes[2].low_rank_contribution);
  // Of 200 columns that are read the first block column is free, the second has moved.
  const Trapezoid block = tree.contribution(symbolic, 0);
  EXPECT_EQ(tree.nodes[0].read_before(block, 200), block.offset(1));
  EXPECT_EQ(tree.nodes[0].read_before(block, 400), block.entries());
  EXPECT_EQ(tree.nodes[1].read_before(block, 200), block.entries_before(200));
}

TEST(AssemblyTree, LargeFrontsKeepManyWorkersBusy) {
  Symbolic symbolic;
  symbolic.size = 6000;
  symbolic.first_column = {0, 6000};
  symbolic.row_start = {0, 0};
  symbolic.parent = {-1};
  const AssemblyTree tree = build_assembly_tree(symbolic, kNodePerFront);
  // Whole block columns keep about five: n^3 / 3 over 1.5 w n^2.
  EXPECT_GT(tree.max_workers[0], 15);
  EXPECT_LT(tree.max_workers[0], 200);
}

TEST(AssemblyTree, FlopsAreSumsOfSquaredLengths) {
  EXPECT_EQ(front_flops(1, 1), 1);
  EXPECT_EQ(front_flops(4, 4), 16 + 9 + 4 + 1);
  EXPECT_EQ(front_flops(10, 2), 100 + 81);
  EXPECT_EQ(front_flops(7, 0), 0);
}

TEST(AssemblyTree, PartitionsTheFrontsAndCountsTheirMemory) {
  std::mt19937 random(5);
  for (int instance = 0; instance < 2000; ++instance) {
    const std::int32_t n = instance < 40 ? instance : draw(random, 0, 60);
    const Analysis analysis = analyse(random_spd(random, n), random_analysis(random));
    const Symbolic& symbolic = analysis.symbolic;
    const AssemblyOptions options = random_assembly(random);
    const AssemblyTree tree = build_assembly_tree(symbolic, options);
    const auto text = describe(analysis, options);
    expect_partition(symbolic, tree);
    if (HasFatalFailure()) FAIL() << text;
    for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
      const AssemblyTree::Node& node = tree.nodes[i];
      ASSERT_EQ(node.stack_entries, simulated_stack(symbolic, tree, node)) << text;
      std::int64_t entries = 0;
      for (std::int32_t s = node.first_front; s <= node.last_front; ++s)
        entries += tree.panel(symbolic, s).entries();
      ASSERT_EQ(tree.tasks.retained_size(task_id(i)), PageBuffer::footprint(8 * entries))
          << text;
      const Trapezoid output = tree.contribution(symbolic, node.last_front);
      ASSERT_EQ(tree.tasks.output_size(task_id(i)),
                PageBuffer::footprint(8 * output.entries()))
          << text;
      if (symbolic.parent[node.last_front] < 0) {
        ASSERT_EQ(output.entries(), 0) << text;
      }
    }
  }
}

TEST(AssemblyTree, NodesAreFrontsOrWholeTreesAtTheExtremes) {
  std::mt19937 random(6);
  for (int instance = 0; instance < 200; ++instance) {
    const Symbolic symbolic =
        analyse_pattern(random_spd(random, draw(random, 1, 50)), random_analysis(random));
    EXPECT_EQ(build_assembly_tree(symbolic, kNodePerFront).nodes.size(),
              symbolic.parent.size());
    EXPECT_EQ(build_assembly_tree(symbolic, kNodePerTree).nodes.size(),
              std::count(symbolic.parent.begin(), symbolic.parent.end(), -1));
  }
}

TEST(AssemblyTree, OfALongChain) {
  std::vector<std::int32_t> parents(100'000);
  std::iota(parents.begin(), parents.end(), 1);
  parents.back() = -1;
  const Symbolic symbolic = one_row_fronts(parents);
  for (const AssemblyOptions& options :
       {kNodePerFront, kNodePerTree, AssemblyOptions{.workers = 4}}) {
    const AssemblyTree tree = build_assembly_tree(symbolic, options);
    expect_partition(symbolic, tree);
    for (const AssemblyTree::Node& node : tree.nodes) EXPECT_LE(node.stack_entries, 2);
  }
}

TEST(AssemblyTree, OfAStar) {
  const std::int32_t n = 100'000;
  std::vector<std::int32_t> parents(n, n - 1);
  parents.back() = -1;
  const Symbolic symbolic = one_row_fronts(parents);
  const AssemblyTree all = build_assembly_tree(symbolic, kNodePerFront);
  expect_partition(symbolic, all);
  EXPECT_EQ(all.nodes.size(), static_cast<std::size_t>(n));
  const AssemblyTree one = build_assembly_tree(symbolic, kNodePerTree);
  expect_partition(symbolic, one);
  EXPECT_EQ(one.nodes[0].stack_entries, 1);  // the leaves have one block together
}

TEST(AssemblyTree, OfNothingOneRowAndADiagonalMatrix) {
  EXPECT_TRUE(build_assembly_tree(one_row_fronts({}), {}).nodes.empty());
  const AssemblyTree one = build_assembly_tree(one_row_fronts({-1}), {});
  ASSERT_EQ(one.nodes.size(), 1u);
  EXPECT_EQ(one.tasks.retained_size(task_id(0)), PageBuffer::footprint(8));
  const Symbolic diagonal = one_row_fronts(std::vector<std::int32_t>(1000, -1));
  const AssemblyTree forest = build_assembly_tree(diagonal, {});
  EXPECT_EQ(forest.nodes.size(), 1000u);
  expect_partition(diagonal, forest);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
