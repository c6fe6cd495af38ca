// How a node is cut for threads: by hand, and laws on random trees.

#include "solver/tree/node_pieces.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "solver/matrix/grid.h"
#include "solver/support/systems.h"

namespace espalier::solver {
namespace TEST_SOURCE {

// Entries of which blocks have a multiple, so that each begins with a line of the cache.
constexpr std::int64_t kRoom = 64;

// Two chains of 40 fronts that meet in one of two pivots: 5024 flops each, and 5025 the
// last. A piece for two threads has a sixteenth of all: five fronts.
TEST(NodePieces, OfTwoChainsAreFiveFrontsEach) {
  constexpr std::int32_t kLength = 40;
  SymmetricMatrix a;
  a.size = 2 * kLength + 2;
  a.column_start = {0};
  for (std::int32_t j = 0; j < a.size; ++j) {
    a.row.push_back(j);
    a.value.push_back(4);
    if (j + 1 < a.size) {
      a.row.push_back(j == kLength - 1 ? 2 * kLength : j + 1);
      a.value.push_back(1);
    }
    a.column_start.push_back(std::ssize(a.row));
  }
  AnalyseOptions options;
  options.ordering = OrderingKind::kNatural;
  options.amalgamation.relaxed = false;
  options.bundles.bundle_work = 0;
  const Analysis analysis = analyse(std::move(a), options);
  ASSERT_EQ(analysis.symbolic.fronts(), 2 * kLength + 1);
  AssemblyOptions assembly;
  assembly.whole = true;
  assembly.subtree_fraction = assembly.subtree_floor = assembly.chain_floor = 0;
  const AssemblyTree tree = build_assembly_tree(analysis.symbolic, assembly);
  const NodePieces cut = cut_into_pieces(analysis.symbolic, tree, 2);
  ASSERT_EQ(cut.pieces.size(), 17U);
  for (std::int32_t p = 0; p < 16; ++p) {
    EXPECT_EQ(cut.pieces[p].first_front, 5 * p);
    EXPECT_EQ(cut.pieces[p].last_front, 5 * p + 4);
    EXPECT_EQ(cut.parent[p], p == 7 ? 16 : p + 1);
    EXPECT_EQ(cut.children[p], p % 8 == 0 ? 0 : 1);
    EXPECT_EQ(cut.work[p], 5 * 5024);
    EXPECT_EQ(cut.panels[p], 5 * 2 * p);
  }
  EXPECT_EQ(cut.parent[16], -1);
  EXPECT_EQ(cut.children[16], 2);
  EXPECT_EQ(cut.work[16], 5025);
  EXPECT_EQ(cut.stack_entries, 2);
  // A block each of one entry, with room up to the next: in either chain two of one and
  // of the other sort, of which one is there at a time.
  EXPECT_EQ(cut.block_entries, 4 * kRoom);
  EXPECT_EQ(cut.block_at[7], cut.block_at[5]);
  EXPECT_NE(cut.block_at[7], cut.block_at[6]);
  EXPECT_NE(cut.block_at[7], cut.block_at[15]);
}

struct Instance {
  explicit Instance(std::mt19937& random)
      : analysis(
            analyse(random_spd(random, draw(random, 20, 300)), random_analysis(random))),
        options(random_assembly(random)) {
    options.whole = true;
    options.tiled_order = draw(random, 1, 40);
    options.subtree_floor = draw(random, 0, 3) * 1e4;
    tree = build_assembly_tree(analysis.symbolic, options);
  }
  Analysis analysis;
  AssemblyOptions options;
  AssemblyTree tree;
};

// Every front is in one piece, every grain too; whatever leaves a piece does so from its
// last front, to the piece of that one's parent.
void expect_cut(const Symbolic& symbolic, const AssemblyTree& tree,
                const NodePieces& cut) {
  std::int32_t next = 0;
  std::vector<std::int32_t> children(cut.pieces.size(), 0);
  for (std::size_t p = 0; p < cut.pieces.size(); ++p) {
    const AssemblyTree::Node& piece = cut.pieces[p];
    ASSERT_EQ(piece.first_front, next);
    next = piece.last_front + 1;
    for (std::int32_t s = piece.first_front; s < next; ++s) {
      ASSERT_EQ(cut.of_front[s], static_cast<std::int32_t>(p));
      const std::int32_t parent = symbolic.parent[s];
      ASSERT_TRUE(s == piece.last_front || parent < 0 || parent <= piece.last_front);
    }
    const std::int32_t above = symbolic.parent[piece.last_front];
    ASSERT_EQ(cut.parent[p], above < 0 ? -1 : cut.of_front[above]);
    if (above >= 0) ++children[cut.of_front[above]];
    if (piece.tiled) {
      ASSERT_EQ(piece.first_front, piece.last_front);
      ASSERT_TRUE(tree.is_tiled[piece.last_front]);
    }
    ASSERT_LE(piece.stack_entries, cut.stack_entries);
    ASSERT_LE(piece.index_entries, cut.index_entries);
  }
  ASSERT_EQ(next, symbolic.fronts());
  ASSERT_EQ(children, cut.children);
  for (const IndexRange& grain : tree.grains)
    ASSERT_EQ(cut.of_front[grain.begin], cut.of_front[grain.end - 1]);
}

// Pieces in an order drawn at random, as any number of threads may run them: the blocks
// of those that run, or are done and not read yet, do not meet.
void expect_apart(std::mt19937& random, const Symbolic& symbolic,
                  const AssemblyTree& tree, const NodePieces& cut) {
  const auto last = cut.pieces.size() - 1;
  const auto end_of = [&](std::size_t p) {
    return cut.block_at[p] +
           tree.sides() * tree.contribution(symbolic, cut.pieces[p].last_front).entries();
  };
  std::vector<std::int32_t> left = cut.children;
  std::vector<std::size_t> ready, running, there;
  for (std::size_t p = 0; p <= last; ++p)
    if (left[p] == 0) ready.push_back(p);
  while (!ready.empty() || !running.empty()) {
    const bool begins = !ready.empty() && (running.empty() || draw(random, 0, 1) == 1);
    auto& from = begins ? ready : running;
    const auto place = from.begin() + draw(random, 0, static_cast<int>(from.size()) - 1);
    const std::size_t p = *place;
    from.erase(place);
    if (begins) {
      running.push_back(p);
      if (p == last) continue;
      ASSERT_LE(end_of(p), cut.block_entries);
      for (const std::size_t other : there)
        ASSERT_TRUE(end_of(p) <= cut.block_at[other] || end_of(other) <= cut.block_at[p])
            << p << " " << other;
      there.push_back(p);
      continue;
    }
    std::erase_if(there, [&](std::size_t c) {
      return cut.parent[c] == static_cast<std::int32_t>(p);
    });
    const std::int32_t above = cut.parent[p];
    if (above >= 0 && --left[above] == 0) ready.push_back(above);
  }
}

TEST(NodePieces, HaveWholeGrainsAndBlocksThatDoNotMeet) {
  std::mt19937 random(97);
  std::int64_t pieces = 0, tiled = 0, again = 0;
  for (int round = 0; round < 200; ++round) {
    const Instance instance(random);
    const Symbolic& symbolic = instance.analysis.symbolic;
    for (const std::int32_t threads : {1, 2, 7}) {
      const NodePieces cut = cut_into_pieces(symbolic, instance.tree, threads);
      expect_cut(symbolic, instance.tree, cut);
      for (int order = 0; order < 3; ++order)
        expect_apart(random, symbolic, instance.tree, cut);
      ASSERT_FALSE(HasFailure()) << describe(instance.analysis, instance.options);
      pieces += std::ssize(cut.pieces);
      tiled += std::ranges::count_if(cut.pieces, &AssemblyTree::Node::tiled);
      std::int64_t all = 0;
      for (std::size_t p = 0; p + 1 < cut.pieces.size(); ++p) {
        const std::int32_t last = cut.pieces[p].last_front;
        const std::int64_t entries =
            instance.tree.sides() * instance.tree.contribution(symbolic, last).entries();
        all += (entries + kRoom - 1) / kRoom * kRoom;
      }
      ASSERT_LE(cut.block_entries, all);
      again += 4 * cut.block_entries < 3 * all;
    }
  }
  EXPECT_GT(pieces, 5000);
  EXPECT_GT(tiled, 500);
  EXPECT_GT(again, 100);  // where others were
}

// A path of 8 and 4 of 20: threads share the rest. One of 2 and 8 of 12 leaves them
// nothing, unless the root is in tiles.
TEST(NodePieces, AreNotForAPath) {
  NodePieces cut;
  cut.threads = 2;
  cut.pieces.resize(3);
  cut.parent = {2, 2, -1};
  cut.work = {8, 8, 4};
  EXPECT_FALSE(is_one_path(cut));
  cut.work = {2, 2, 8};
  EXPECT_TRUE(is_one_path(cut));
  cut.pieces[2].tiled = true;
  EXPECT_FALSE(is_one_path(cut));
  EXPECT_FALSE(is_one_path(NodePieces()));
}

TEST(NodePieces, AreNotForLittleWork) {
  AssemblyOptions options;
  options.whole = true;
  const auto threads = [&](std::int32_t side) {
    const Analysis analysis = analyse(make_grid({side, side, side}), AnalyseOptions{});
    return useful_threads(build_assembly_tree(analysis.symbolic, options), 64);
  };
  EXPECT_EQ(threads(4), 1);
  EXPECT_GT(threads(20), 4);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
