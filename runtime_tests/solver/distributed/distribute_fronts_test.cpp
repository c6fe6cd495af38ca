// Who has what of shared fronts, and what it takes: no processes needed.
// The cases of one subject, which share their instances: over 300 lines.

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <numeric>

#include "espalier/model/replay.h"
#include "solver/distributed/deal_out_delays.h"
#include "solver/distributed/distribute_fronts.h"
#include "solver/distributed/distributed_systems.h"
#include "solver/distributed/front_pieces.h"
#include "solver/distributed/front_tiles.h"
#include "solver/distributed/process_part.h"
#include "solver/distributed/tree_mappings.h"
#include "solver/matrix/grid.h"
#include "solver/tree/extend_add.h"

namespace espalier::solver {
namespace TEST_SOURCE {

struct Instance {
  Instance(std::mt19937& random, std::int32_t processes, bool grids = false)
      : analysis(analyse(random_dominant(random, draw(random, 1, 120)),
                         random_analysis(random))) {
    AssemblyOptions options = random_assembly(random);
    options.kind = FactorKind{static_cast<std::int8_t>(draw(random, 0, 2))};
    options.block_width = draw(random, 1, 12);
    tree = build_assembly_tree(analysis.symbolic, options);
    std::vector<bool> may_share;
    for (const AssemblyTree::Node& node : tree.nodes)
      may_share.push_back(node.first_front == node.last_front);
    distribution = random_distribution(random, analysis.symbolic, tree, processes,
                                       Sharing::kRandom, may_share, grids);
  }
  Analysis analysis;
  AssemblyTree tree;
  FrontDistribution distribution;
};

using Moved = std::map<std::pair<int, int>, FrontPiece>;  // by child and column

Moved moved_columns(const Instance& instance, std::int32_t node, std::int32_t delayed) {
  Moved moved;
  std::int32_t last_block = 0;
  for (const FrontPiece& piece : front_pieces(instance.analysis.symbolic, instance.tree,
                                              instance.distribution, node, delayed)) {
    EXPECT_LE(last_block, piece.block);
    last_block = piece.block;
    for (std::int32_t c = piece.first; c < piece.last; ++c)
      EXPECT_TRUE(moved.emplace(std::pair(piece.child, c), piece).second);
  }
  return moved;
}

// Every column of every child goes once to the block that has its position, which delayed
// columns move.
TEST(FrontPieces, CoverEveryColumnOnce) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    const Instance instance(random, draw(random, 2, 5));
    const auto& [analysis, tree, distribution] = instance;
    const Symbolic& symbolic = analysis.symbolic;
    for (std::int32_t node = 0; node < std::ssize(tree.nodes); ++node) {
      if (!distribution.shared(node)) continue;
      const std::int32_t front = tree.nodes[node].last_front;
      const std::int32_t delayed = draw(random, 0, 1) * draw(random, 0, 40);
      const auto starts = block_starts(symbolic, tree, front, delayed);
      const std::int32_t planned = tree.panel(symbolic, front).blocks();
      const auto blocks = static_cast<std::int32_t>(starts.size()) - 1;
      const std::int32_t actual = blocks - tree.contribution(symbolic, front).blocks();
      Moved moved = moved_columns(instance, node, delayed);
      std::int32_t number = 0;
      for (auto c = tree.first_child[front]; c >= 0; c = tree.next_sibling[c], ++number) {
        std::vector<std::int32_t> positions(symbolic.rows_of(c).size());
        relative_indices(symbolic, c, front, positions);
        for (std::int32_t& position : positions)
          if (position >= symbolic.pivots(front)) position += delayed;
        const Trapezoid layout = tree.contribution(symbolic, c);
        const std::int32_t panels = tree.panel(symbolic, c).blocks();
        for (std::int32_t k = 0; k < layout.columns(); ++k) {
          const auto block = static_cast<std::int32_t>(
              std::upper_bound(starts.begin(), starts.end(), positions[k]) -
              starts.begin() - 1);
          const std::int32_t from =
              distribution.owner_of(tree.node_of_front[c], panels + layout.block_of(k));
          const std::int32_t to = distribution.owner_of(node, block, planned, actual);
          const auto place = moved.find({number, k});
          ASSERT_NE(place, moved.end());
          EXPECT_EQ(place->second.block, block);
          EXPECT_EQ(place->second.from, from);
          EXPECT_EQ(place->second.to, to);
          moved.erase(place);
        }
      }
      EXPECT_TRUE(moved.empty());
    }
  }
}

// Delayed columns make the panel longer: planned blocks stay where they were, so does the
// last block of the panel, and the contribution block's.
// Forty columns above 1300 others, and forty that they have nothing to do with.
TEST(FrontPieces, OfSeveralColumnsHaveAMebibyteAtMost) {
  constexpr std::int32_t kBelow = 40, kOrder = 1300;
  SquareMatrix matrix;
  matrix.lower.size = 2 * kBelow + kOrder;
  matrix.lower.column_start = {0};
  for (std::int32_t j = 0; j < matrix.lower.size; ++j) {
    for (std::int32_t i = j; i < matrix.lower.size; ++i)
      if (j >= kBelow || i < kBelow || i >= 2 * kBelow) {
        matrix.lower.row.push_back(i);
        matrix.lower.value.push_back(i == j ? 2000.0 : 1.0);
      }
    matrix.lower.column_start.push_back(std::ssize(matrix.lower.row));
  }
  AnalyseOptions options;
  options.ordering = OrderingKind::kNatural;
  options.amalgamation.relaxed = false;
  const Analysis analysis = analyse(std::move(matrix), options);
  const AssemblyTree tree = build_assembly_tree(
      analysis.symbolic,
      {.subtree_fraction = 0, .subtree_floor = 0, .chain_floor = 0, .block_width = 256});
  ASSERT_EQ(tree.nodes.size(), 2U);  // the latter forty are the root's, with the 1300
  const FrontDistribution distribution =
      distribute_fronts(analysis.symbolic, tree, 2, {{0, 1}, {0, 2}});
  const Trapezoid child = tree.contribution(analysis.symbolic, tree.nodes[0].last_front);
  constexpr Bytes kMost = Bytes{1} << 20;
  std::int32_t columns = 0;
  Bytes largest = 0;
  for (const FrontPiece& piece : front_pieces(analysis.symbolic, tree, distribution, 1)) {
    const std::int32_t count = piece.last - piece.first;
    const Bytes bytes = 8 * Bytes{count} * child.leading(child.block_of(piece.first));
    EXPECT_LE(bytes, kMost);
    largest = std::max(largest, bytes);
    columns += count;
  }
  EXPECT_EQ(columns, kOrder);
  EXPECT_GT(largest, kMost / 2);
}

// Four processes take turns with blocks, as in round 0: 0 1 2 3, round 1: 4 5 6 7.
TEST(SharedFrontRules, BeginBlocksInRounds) {
  const auto before = [](std::vector<std::int32_t> own, std::int32_t window) {
    std::vector<std::int32_t> result;
    for (std::size_t i = 0; i < own.size(); ++i)
      result.push_back(SharedFrontRules::finished_before(own, i, window, 4));
    return result;
  };
  using Blocks = std::vector<std::int32_t>;
  EXPECT_EQ(before({0, 4, 8}, 1), (Blocks{0, 4, 8}));
  EXPECT_EQ(before({3, 7, 11}, 1), (Blocks{0, 4, 8}));
  EXPECT_EQ(before({2, 3, 9}, 1), (Blocks{0, 3, 8}));  // two of a round in turn
  EXPECT_EQ(before({0, 4, 8, 12}, 2), (Blocks{0, 0, 4, 8}));
  EXPECT_EQ(before({9}, 1), (Blocks{8}));
}

// What comes first waits for nothing that comes later.
TEST(SharedFrontRules, WaitForEarlierBlocksOnly) {
  std::mt19937 random(10);
  for (int round = 0; round < 1000; ++round) {
    std::vector<std::int32_t> own;
    for (std::int32_t b = 0; b < 30; ++b)
      if (draw(random, 0, 2) == 0) own.push_back(b);
    const std::int32_t window = draw(random, 1, 4), of_round = draw(random, 1, 6);
    std::int32_t last = 0;
    for (std::size_t i = 0; i < own.size(); ++i) {
      const std::int32_t before =
          SharedFrontRules::finished_before(own, i, window, of_round);
      EXPECT_LE(before, own[i]);
      EXPECT_GE(before, last);
      last = before;
    }
  }
}

TEST(FrontDistribution, KeepsTheOwnersOfAFrontThatTakesInColumns) {
  FrontDistribution distribution;
  distribution.processes = 4;
  distribution.group = {{1, 3}};
  distribution.owner = {{2, 3, 1, 1, 3}};  // two of the panel
  const auto owners = [&](std::int32_t panels) {
    std::vector<std::int32_t> result;
    for (std::int32_t b = 0; b < panels + 3; ++b)
      result.push_back(distribution.owner_of(0, b, 2, panels));
    return result;
  };
  EXPECT_EQ(owners(2), (std::vector<std::int32_t>{2, 3, 1, 1, 3}));
  EXPECT_EQ(owners(3), (std::vector<std::int32_t>{2, 3, 3, 1, 1, 3}));
  EXPECT_EQ(owners(5), (std::vector<std::int32_t>{2, 3, 3, 1, 3, 1, 1, 3}));
}

// No process has more dealt out than half of its reserve, and the rest can be paid from.
TEST(DealOutDelays, KeepsTheReserveOfEveryProcess) {
  std::mt19937 random(8);
  int columns = 0;
  for (int round = 0; round < 200; ++round) {
    const std::int32_t processes = draw(random, 2, 5);
    const Instance instance(random, processes);
    const auto& [analysis, tree, distribution] = instance;
    const Bytes all = draw(random, 0, 4000) * Bytes{1000};
    PivotOptions pivoting;
    pivoting.delay_reserve = all;
    DelayReserve reserve(all);
    deal_out_delays(analysis.symbolic, tree, distribution, pivoting,
                    draw(random, 0, 1) == 1, reserve);
    std::vector<Bytes> dealt(processes, 0);
    bool shares = false;
    for (std::int32_t node = 0; node < std::ssize(tree.nodes); ++node) {
      const SharedDelays own = reserve.shared(tree.nodes[node].last_front);
      columns += own.from_child;
      if (!distribution.shared(node)) {
        EXPECT_EQ(own.slots + own.from_child, 0);
        continue;
      }
      shares = true;
      for (std::int32_t p = 0; p < processes; ++p)
        if (distribution.takes_part(node, p)) dealt[p] += 2 * own.slots;
    }
    for (const Bytes each : dealt) EXPECT_LE(each, all / 2);
    const Bytes left = shares ? all - all / 2 : all;
    EXPECT_FALSE(reserve.pay(-1, 1, left + 1, {}));
    EXPECT_TRUE(reserve.pay(-1, 1, left, {}));
  }
  EXPECT_GT(columns, 1000);
}

TEST(DealOutDelays, HaveNoLimitWhereTheReserveHasNone) {
  std::mt19937 random(9);
  const Instance instance(random, 4);
  const auto& [analysis, tree, distribution] = instance;
  const PivotOptions pivoting;
  DelayReserve reserve(pivoting.delay_reserve);
  deal_out_delays(analysis.symbolic, tree, distribution, pivoting, true, reserve);
  for (std::int32_t node = 0; node < std::ssize(tree.nodes); ++node) {
    const SharedDelays own = reserve.shared(tree.nodes[node].last_front);
    EXPECT_EQ(own.from_child,
              distribution.shared(node) ? std::numeric_limits<std::int32_t>::max() : 0);
  }
  EXPECT_TRUE(reserve.pay(-1, 1, Bytes{1} << 60, {}));
}

// Every entry of every child goes once to the process that has its place in the front.
TEST(FrontPieces, BringEveryEntryToItsTile) {
  std::mt19937 random(4);
  for (int round = 0; round < 200; ++round) {
    const Instance instance(random, draw(random, 2, 6), true);
    const auto& [analysis, tree, distribution] = instance;
    const Symbolic& symbolic = analysis.symbolic;
    for (std::int32_t node = 0; node < std::ssize(tree.nodes); ++node) {
      if (!distribution.shared(node)) continue;
      const std::int32_t front = tree.nodes[node].last_front;
      const FrontTiles parent(symbolic, tree, distribution, front);
      const auto pieces = front_pieces(symbolic, tree, distribution, node);
      std::int32_t number = 0;
      for (auto c = tree.first_child[front]; c >= 0; c = tree.next_sibling[c], ++number) {
        const FrontTiles child(symbolic, tree, distribution, c);
        std::vector<std::int32_t> positions(symbolic.rows_of(c).size());
        relative_indices(symbolic, c, front, positions);
        const auto n = static_cast<std::int32_t>(positions.size());
        std::vector<int> arrived(positions.size() * positions.size(), 0);
        for (const FrontPiece& piece : pieces) {
          if (piece.child != number) continue;
          const std::int32_t j =
              child.panels() + child.contribution().block_of(piece.first);
          const TilePlace tile = child.place(piece.strip, j);
          EXPECT_TRUE(child.has(piece.from, piece.strip, j));
          for (std::int32_t k = piece.first; k < piece.last; ++k)
            for (std::int32_t i = std::max(k, tile.begin); i < tile.end; ++i)
              if (parent.owner(strip_of_row(parent.strip_rows(), positions[i]),
                               piece.block) == piece.to)
                ++arrived[i + std::size_t(k) * n];
        }
        for (std::int32_t k = 0; k < n; ++k)
          for (std::int32_t i = k; i < n; ++i)
            ASSERT_EQ(arrived[i + std::size_t(k) * n], 1) << i << ' ' << k;
      }
    }
  }
}

// Tiles are apart and make up the block column.
TEST(FrontTiles, MakeUpEveryBlockColumn) {
  std::mt19937 random(10);
  for (int round = 0; round < 200; ++round) {
    const Instance instance(random, draw(random, 2, 6), true);
    const auto& [analysis, tree, distribution] = instance;
    for (std::int32_t node = 0; node < std::ssize(tree.nodes); ++node) {
      const FrontTiles tiles(analysis.symbolic, tree, distribution,
                             tree.nodes[node].last_front);
      for (std::int32_t b = 0; b < tiles.blocks(); ++b) {
        const bool in_panel = b < tiles.panels();
        const Trapezoid& layout = in_panel ? tiles.panel() : tiles.contribution();
        const std::int32_t local = in_panel ? b : b - tiles.panels();
        Bytes next = layout.offset(local) * tree.entry_bytes;
        for (std::int32_t s = tiles.strip_of(b); s < tiles.strips(); ++s) {
          const auto [begin, end] = tiles.bytes(s, b, 0);
          EXPECT_EQ(begin, next);
          next = end;
        }
        EXPECT_EQ(next, (layout.offset(local) +
                         std::int64_t{layout.leading(local)} * layout.width(local)) *
                            tree.entry_bytes);
      }
    }
  }
}

// Against the definition, tile by tile.
TEST(FrontTiles, AreNeededWhereTheyUpdateOrSolve) {
  std::mt19937 random(12);
  for (int round = 0; round < 100; ++round) {
    const Instance instance(random, draw(random, 2, 6), true);
    const auto& [analysis, tree, distribution] = instance;
    for (std::int32_t node = 0; node < std::ssize(tree.nodes); ++node) {
      if (!distribution.shared(node)) continue;
      const FrontTiles tiles(analysis.symbolic, tree, distribution,
                             tree.nodes[node].last_front);
      for (std::int32_t p = 0; p < distribution.processes; ++p) {
        if (!distribution.takes_part(node, p)) continue;
        for (std::int32_t k = 0; k < tiles.panels(); ++k) {
          std::vector<bool> needed(tiles.strips(), false);
          for (std::int32_t s = 0; s < tiles.strips(); ++s) {
            for (std::int32_t j = k + 1; j < tiles.blocks(); ++j)
              if (tiles.has(p, s, j)) needed[s] = needed[tiles.strip_of(j)] = true;
            if (tree.kind == FactorKind::kCholesky && tiles.has(p, s, k) &&
                s > tiles.strip_of(k))
              needed[tiles.strip_of(k)] = true;
          }
          for (std::int32_t s = tiles.strip_of(k); s < tiles.strips(); ++s)
            EXPECT_EQ(tiles.needs(p, s, k), needed[s]);
        }
      }
    }
  }
}

TEST(ProcessPart, IsTheWholeTreeWhereNothingIsShared) {
  std::mt19937 random(5);
  for (int round = 0; round < 100; ++round) {
    Instance instance(random, 1);
    const AssemblyTree part =
        part_of(instance.analysis.symbolic, instance.tree, instance.distribution, 0);
    for (std::size_t i = 0; i < part.tasks.size(); ++i) {
      const TaskId task = task_id(i);
      EXPECT_EQ(part.tasks.output_size(task), instance.tree.tasks.output_size(task));
      EXPECT_EQ(part.tasks.execution_size(task),
                instance.tree.tasks.execution_size(task));
      EXPECT_EQ(part.tasks.retained_size(task), instance.tree.tasks.retained_size(task));
      EXPECT_EQ(part.tasks.work(task), instance.tree.tasks.work(task));
    }
  }
}

// What all have of a node is what one would have, but for pages at the ends of blocks.
TEST(ProcessPart, PartsMakeUpTheNode) {
  std::mt19937 random(6);
  for (int round = 0; round < 400; ++round) {
    const std::int32_t processes = draw(random, 2, 4);
    const Instance instance(random, processes, round % 2 == 1);
    const auto& [analysis, tree, distribution] = instance;
    std::vector<AssemblyTree> parts;
    for (std::int32_t p = 0; p < processes; ++p)
      parts.push_back(part_of(analysis.symbolic, tree, distribution, p));
    const Bytes page = PageBuffer::footprint(1);
    for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
      Bytes factor = 0, contribution = 0;
      double work = 0;
      for (const AssemblyTree& part : parts) {
        factor += part.tasks.retained_size(task_id(i));
        contribution += part.tasks.output_size(task_id(i));
        work += part.tasks.work(task_id(i));
      }
      const std::int32_t front = tree.nodes[i].last_front;
      const Bytes ends = 2 * page * tree.sides() *
                         distribution.grid_of(static_cast<std::int32_t>(i)).strips();
      EXPECT_GE(factor, tree.tasks.retained_size(task_id(i)) - page);
      EXPECT_LE(factor, tree.tasks.retained_size(task_id(i)) +
                            ends * tree.panel(analysis.symbolic, front).blocks());
      EXPECT_GE(contribution, tree.tasks.output_size(task_id(i)) - page);
      EXPECT_LE(contribution,
                tree.tasks.output_size(task_id(i)) +
                    ends * tree.contribution(analysis.symbolic, front).blocks());
      EXPECT_NEAR(work, tree.tasks.work(task_id(i)), 1e-9 * tree.tasks.work(task_id(i)));
    }
  }
}

TEST(ProcessPart, OnePanelAtOnceIsLessMemoryAndIsWaitedFor) {
  std::mt19937 random(11);
  int less = 0;
  for (int round = 0; round < 200; ++round) {
    Instance instance(random, draw(random, 2, 4), round % 2 == 1);
    auto& [analysis, tree, distribution] = instance;
    for (std::int32_t p = 0; p < distribution.processes; ++p) {
      Traffic at_two, at_one;
      distribution.panels_at_once = 2;
      const AssemblyTree two = part_of(analysis.symbolic, tree, distribution, p, &at_two);
      distribution.panels_at_once = 1;
      const AssemblyTree one = part_of(analysis.symbolic, tree, distribution, p, &at_one);
      EXPECT_EQ(at_one.bytes, at_two.bytes);
      EXPECT_EQ(at_one.messages, at_two.messages);
      EXPECT_EQ(at_two.waited, 0);
      EXPECT_LE(at_one.waited, at_one.bytes);
      EXPECT_GE(estimated_seconds(one, at_one, 1), estimated_seconds(two, at_two, 1));
      for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
        const Bytes with_one = one.tasks.memory_requirement(task_id(i));
        EXPECT_LE(with_one, two.tasks.memory_requirement(task_id(i)));
        less += with_one < two.tasks.memory_requirement(task_id(i)) ? 1 : 0;
      }
    }
  }
  EXPECT_GT(less, 100);
}

// The tridiagonal matrix of order 4 in blocks of one column: fronts {0} {1} {2,3}.
TEST(ProcessPart, CountsThePagesOfOwnBlocks) {
  SymmetricMatrix matrix = make_grid({4, 1, 1});
  AnalyseOptions options;
  options.ordering = OrderingKind::kNatural;
  options.amalgamation.relaxed = false;
  const Analysis analysis = analyse(std::move(matrix), options);
  const AssemblyTree tree = build_assembly_tree(
      analysis.symbolic, {.subtree_fraction = 0, .subtree_floor = 0, .block_width = 1});
  const auto last = static_cast<std::int32_t>(tree.nodes.size()) - 1;
  const std::int32_t front = tree.nodes[last].last_front;
  const std::int32_t blocks = tree.panel(analysis.symbolic, front).blocks();
  FrontDistribution distribution{
      .processes = 2,
      .group = std::vector<WorkerRange>(tree.nodes.size(), {0, 1}),
      .owner = std::vector<std::vector<std::int32_t>>(tree.nodes.size())};
  distribution.group[last] = {0, 2};
  distribution.owner[last].assign(blocks, 1);
  const Bytes page = PageBuffer::footprint(1);
  const AssemblyTree first = part_of(analysis.symbolic, tree, distribution, 0);
  const AssemblyTree second = part_of(analysis.symbolic, tree, distribution, 1);
  // All of the root is at process 1, the children's blocks are at process 0.
  EXPECT_EQ(first.tasks.retained_size(task_id(last)), 0);
  EXPECT_EQ(second.tasks.retained_size(task_id(last)), page);
  EXPECT_EQ(first.tasks.work(task_id(last)), 0);
  EXPECT_EQ(second.tasks.work(task_id(last)), tree.tasks.work(task_id(last)));
  for (std::int32_t node = 0; node < last; ++node)
    EXPECT_EQ(second.tasks.memory_requirement(task_id(node)), 0);
  Traffic none, received;
  (void)part_of(analysis.symbolic, tree, distribution, 0, &none);
  (void)part_of(analysis.symbolic, tree, distribution, 1, &received);
  EXPECT_EQ(none.messages, 0);
  EXPECT_EQ(received.messages, 1);  // the one entry of the child's block
  EXPECT_EQ(received.bytes, static_cast<Bytes>(sizeof(double)));
}

// A dense front of 16 x 16 tiles: (p - 1) / p of its panel in block columns, and about
// (a + b - 2) / p of it on the grid that is chosen, or less.
TEST(AssignShares, OverGridsReceivesWhatTheirSizeSays) {
  constexpr std::int32_t kOrder = 512;
  std::mt19937 random(2);
  const Pattern all = random_pattern(random, Shape::kDense, kOrder);
  SquareMatrix matrix;
  matrix.lower = random_values(random, all, kOrder);
  const Analysis analysis = analyse(std::move(matrix));
  const AssemblyTree tree = build_assembly_tree(analysis.symbolic, {.subtree_fraction = 0,
                                                                    .subtree_floor = 0,
                                                                    .tiled_order = 1,
                                                                    .block_width = 8,
                                                                    .tile_flops = 1});
  ASSERT_EQ(tree.nodes.size(), 1U);
  const auto panel =
      8.0 * static_cast<double>(tree.panel(analysis.symbolic, 0).entries());
  for (const auto& [processes, rows] :
       {std::pair(2, 1), {3, 1}, {4, 2}, {6, 2}, {9, 3}, {16, 4}}) {
    const auto most = [&, processes = processes](FrontGrids grids) {
      const FrontDistribution distribution =
          distribute_fronts(analysis.symbolic, tree, processes, {{0, processes}}, grids);
      if (grids == FrontGrids::kByVolume) {
        EXPECT_EQ(distribution.grid_of(0).rows > 1, processes > 3) << processes;
      }
      return static_cast<double>(
                 most_panel_bytes(analysis.symbolic, tree, distribution, 0)) /
             panel;
    };
    const double p = processes, expected = (rows + p / rows - 2) / p;
    EXPECT_NEAR(most(FrontGrids::kNever), (p - 1) / p, 0.1);
    const double by_volume = most(FrontGrids::kByVolume);
    if (rows > 1) {
      EXPECT_LE(by_volume, expected + 0.1) << processes;
    }
  }
}

TEST(AssignShares, GivesEveryBlockToItsGroupAndLevelsMemory) {
  SquareMatrix matrix;
  matrix.lower = make_grid({14, 14, 14});
  const Analysis analysis = analyse(std::move(matrix));
  for (const std::int32_t processes : {2, 3, 4}) {
    const AssemblyTree tree = build_assembly_tree(
        analysis.symbolic, {.workers = processes, .processes = processes});
    std::vector<WorkerRange> groups(tree.nodes.size(), {0, processes});
    for (std::size_t i = 0; i < groups.size(); ++i)
      if (tree.nodes[i].first_front != tree.nodes[i].last_front)
        groups[i] = {static_cast<std::int32_t>(i) % processes, 1};
    const FrontDistribution distribution =
        distribute_fronts(analysis.symbolic, tree, processes, groups);
    std::vector<double> kept(processes, 0);
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const auto node = static_cast<std::int32_t>(i);
      const Trapezoid panel = tree.panel(analysis.symbolic, tree.nodes[i].last_front);
      if (!distribution.shared(node)) {
        kept[groups[i].first] += static_cast<double>(tree.nodes[i].factor_bytes);
        continue;
      }
      EXPECT_EQ(
          std::ssize(distribution.owner[i]),
          panel.blocks() +
              tree.contribution(analysis.symbolic, tree.nodes[i].last_front).blocks());
      for (std::int32_t k = 0; k < panel.blocks(); ++k)
        kept[distribution.owner_of(node, k)] += 8.0 * panel.leading(k) * panel.width(k);
    }
    const double all = std::accumulate(kept.begin(), kept.end(), 0.0);
    for (const double each : kept) EXPECT_NEAR(each, all / processes, 0.1 * all);
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
