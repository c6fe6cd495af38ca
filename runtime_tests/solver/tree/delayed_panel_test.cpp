// What a front needs beyond its plan for columns that are delayed to it: by hand, and
// against the pages that its assembly has, one after the other.

#include "solver/tree/delayed_panel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "solver/matrix/grid.h"
#include "solver/memory/page_buffer.h"
#include "solver/support/systems.h"
#include "solver/tree/extend_add.h"

namespace espalier::solver {
namespace TEST_SOURCE {

const Bytes kPage = PageBuffer::footprint(1);

// Pages of one buffer.
class Pages {
 public:
  explicit Pages(Bytes bytes) : here_(PageBuffer::footprint(bytes) / kPage, false) {}
  [[nodiscard]] Bytes size() const { return std::ssize(here_) * kPage; }
  [[nodiscard]] Bytes bytes() const { return std::ranges::count(here_, true) * kPage; }
  // All that an interval touches.
  void fill(Bytes begin, Bytes end) {
    for (Bytes p = begin / kPage; begin < end && p * kPage < std::min(end, size()); ++p)
      here_[p] = true;
  }
  // Those that lie inside it.
  void drain(Bytes begin, Bytes end) {
    for (Bytes p = (begin + kPage - 1) / kPage; (p + 1) * kPage <= end; ++p)
      here_[p] = false;
  }

 private:
  std::vector<bool> here_;
};

// The memory of a tiled front to which columns are delayed, while it is assembled.
class Assembly {
 public:
  Assembly(const Symbolic& symbolic, const AssemblyTree& tree, std::int32_t front,
           std::int32_t delayed)
      : symbolic_(symbolic),
        tree_(tree),
        node_(tree.nodes[tree.node_of_front[front]]),
        shape_(tile_shape(symbolic, tree, front, true)),
        panel_layout_(tree.panel(symbolic, front).rows() + delayed,
                      tree.panel(symbolic, front).columns() + delayed,
                      tree.block_width[front]),
        contribution_layout_(tree.contribution(symbolic, front)),
        panel_(tree.sides() * panel_layout_.entries() * tree.entry_bytes),
        contribution_(node_.contribution_bytes) {
    const std::vector<std::int32_t> start = block_starts(symbolic, tree, front, delayed);
    for (std::size_t b = 0; b + 1 < start.size(); ++b)
      for (std::int32_t part = 0; part < shape_.slices; ++part)
        first_.push_back(start[b] +
                         slice_start(start[b + 1] - start[b], part, shape_.slices));
    first_.push_back(start.back());
    for (auto c = tree.first_child[front]; c >= 0; c = tree.next_sibling[c]) {
      std::vector<std::int32_t> positions(symbolic.rows_of(c).size());
      relative_indices(symbolic, c, front, positions);
      for (std::int32_t& position : positions)
        if (position >= symbolic.pivots(front)) position += delayed;
      const Bytes bytes = tree.nodes[tree.node_of_front[c]].contribution_bytes;
      children_.push_back({c, std::move(positions), Pages(bytes)});
      children_.back().pages.fill(0, bytes);
    }
  }

  // The most at any time.
  [[nodiscard]] Bytes peak() {
    const auto slices = static_cast<std::int32_t>(first_.size()) - 1;
    const auto window =
        node_.by_blocks ? node_.window * shape_.slices : std::max(1, slices);
    Bytes peak = 0;
    std::int32_t begun = 0;
    for (std::int32_t done = 0; done < slices; ++done) {
      for (; begun < std::min(slices, done + window); ++begun) begin(begun);
      Bytes now = panel_.bytes() + contribution_.bytes();
      for (const Child& child : children_) now += child.pages.bytes();
      peak = std::max(peak, now);
      if (node_.by_blocks) finish(first_[done + 1]);
    }
    return peak;
  }

 private:
  struct Child {
    std::int32_t front;
    std::vector<std::int32_t> positions;
    Pages pages;
  };
  void begin(std::int32_t slice) {
    const std::int32_t columns = panel_layout_.columns();
    const bool of_panel = first_[slice] < columns;
    const Trapezoid& layout = of_panel ? panel_layout_ : contribution_layout_;
    const std::int32_t before = of_panel ? 0 : columns;
    for (std::int32_t side = 0; side < tree_.sides(); ++side) {
      const std::int64_t origin = side * layout.entries();
      const auto [from, to] = node_.units_of(
          (origin + layout.entries_before(first_[slice] - before)) * tree_.entry_bytes,
          (origin + layout.entries_before(first_[slice + 1] - before)) *
              tree_.entry_bytes);
      if (first_[slice] < first_[slice + 1])
        (of_panel ? panel_ : contribution_).fill(from, to);
    }
  }
  void finish(std::int32_t column) {
    for (Child& child : children_) {
      const Trapezoid layout = tree_.contribution(symbolic_, child.front);
      const auto used = static_cast<std::int32_t>(
          std::ranges::lower_bound(child.positions, column) - child.positions.begin());
      const Bytes read = layout.entries_before(used) * tree_.entry_bytes;
      for (std::int32_t side = 0; side < tree_.sides(); ++side) {
        const Bytes origin = side * layout.entries() * tree_.entry_bytes;
        child.pages.drain(origin, origin + node_.units_in(read));
      }
    }
  }

  const Symbolic& symbolic_;
  const AssemblyTree& tree_;
  const AssemblyTree::Node& node_;
  TileShape shape_;
  Trapezoid panel_layout_, contribution_layout_;
  Pages panel_, contribution_;
  std::vector<std::int32_t> first_;  // column of each slice, and the end
  std::vector<Child> children_;
};

// What a tiled node has by its plan, with its children's contribution blocks.
Bytes planned(const AssemblyTree& tree, std::int32_t front) {
  const std::int32_t number = tree.node_of_front[front];
  const AssemblyTree::Node& node = tree.nodes[number];
  return tree.tasks.memory_requirement(task_id(number)) - node.runtime_bytes -
         PageBuffer::footprint(node.stack_entries * tree.entry_bytes +
                               node.index_entries * Bytes{sizeof(std::int32_t)});
}

Bytes lists(const Symbolic& symbolic, std::int32_t front, std::int32_t delayed) {
  return Bytes{6 * sizeof(double)} * (symbolic.pivots(front) + delayed);
}

TEST(DelayedPanel, ByHand) {
  SymmetricMatrix dense;
  dense.size = 300;
  dense.column_start = {0};
  for (std::int32_t j = 0; j < 300; ++j) {
    for (std::int32_t i = j; i < 300; ++i) {
      dense.row.push_back(i);
      dense.value.push_back(i == j ? 300 : 1);
    }
    dense.column_start.push_back(std::ssize(dense.row));
  }
  const Symbolic symbolic = analyse_pattern(dense, {});
  ASSERT_EQ(symbolic.fronts(), 1);
  AssemblyTree tree = build_assembly_tree(
      symbolic, {.kind = FactorKind::kLdlt, .subtree_fraction = 0, .subtree_floor = 0});
  ASSERT_TRUE(tree.nodes[0].tiled);
  ASSERT_EQ(tree.block_width[0], 64);
  // 64 (300 + 236 + 172 + 108) + 44^2 = 54160 entries; with two more columns 64 (302 +
  // 238 + 174 + 110) + 46^2 = 54852. 106 and 108 pages of 4096 bytes.
  ASSERT_EQ(kPage, 4096);
  EXPECT_EQ(delayed_panel_bytes(symbolic, tree, 0, 0, false), 0);
  const Bytes grown = delayed_panel_bytes(symbolic, tree, 0, 2, false);
  EXPECT_EQ(grown, 2 * kPage + 6 * 8 * 302);
  tree.nodes[0].factor_at = 0;  // the file is to have it
  EXPECT_EQ(delayed_panel_bytes(symbolic, tree, 0, 2, false), 108 * kPage + 6 * 8 * 302);
  tree.nodes[0].factor_at = -1;
  tree.nodes[0].tiled = false;  // 433280 bytes, of the heap or, with a pool, of pages
  EXPECT_EQ(delayed_panel_bytes(symbolic, tree, 0, 2, false), 108 * kPage + 6 * 8 * 302);
  EXPECT_EQ(delayed_panel_bytes(symbolic, tree, 0, 2, true),
            (108 + 2) * kPage - 433280 + 6 * 8 * 302);
}

struct Seen {
  int tiled = 0, by_blocks = 0, in_units = 0, early = 0;
};

// Of a front, with a few columns and with some more.
void expect_paid(const Symbolic& symbolic, const AssemblyTree& tree, std::int32_t front,
                 std::mt19937& random, Seen& seen) {
  const Bytes plan = planned(tree, front);
  EXPECT_LE(Assembly(symbolic, tree, front, 0).peak(), plan);
  const auto pages = [&](std::int32_t delayed) {
    const Trapezoid panel(symbolic.front_order(front) + delayed,
                          symbolic.pivots(front) + delayed, tree.block_width[front]);
    return PageBuffer::footprint(tree.sides() * panel.entries() * tree.entry_bytes);
  };
  for (const std::int32_t delayed : {1, 2, draw(random, 3, 40)}) {
    const Bytes more = delayed_panel_bytes(symbolic, tree, front, delayed, true) -
                       lists(symbolic, front, delayed);
    EXPECT_LE(Assembly(symbolic, tree, front, delayed).peak(), plan + more);
    seen.early += more > pages(delayed) - pages(0);
  }
}

// Of all tiled fronts with children.
void expect_paid(const Symbolic& symbolic, const AssemblyOptions& options,
                 std::mt19937& random, Seen& seen) {
  const AssemblyTree tree = build_assembly_tree(symbolic, options);
  for (const AssemblyTree::Node& node : tree.nodes) {
    if (!node.tiled || tree.first_child[node.last_front] < 0) continue;
    ++seen.tiled;
    seen.by_blocks += node.by_blocks;
    seen.in_units += node.unit > 0;
    expect_paid(symbolic, tree, node.last_front, random, seen);
  }
}

TEST(DelayedPanel, IsPaidForAtAnyTime) {
  std::mt19937 random(17);
  Seen seen;
  constexpr FactorKind kKinds[] = {FactorKind::kLdlt, FactorKind::kLu};
  for (int instance = 0; instance < 300; ++instance) {
    AssemblyOptions options = random_assembly(random);
    options.kind = kKinds[instance % 2];
    options.tiled_order = draw(random, 1, 20);
    options.subtree_fraction = options.subtree_floor = 0;
    options.unit = draw(random, 0, 1) * 2 * kPage;
    const SymmetricMatrix matrix = random_spd(random, draw(random, 1, 80));
    expect_paid(analyse_pattern(matrix, random_analysis(random)), options, random, seen);
  }
  AssemblyOptions options;
  options.subtree_fraction = options.subtree_floor = options.fitting_part = 0;
  options.tiled_order = 64;
  options.unit = 4 * kPage;
  for (const char* grid : {"20x20x20", "150x150", "60x12x12"}) {
    const Symbolic symbolic = analyse_pattern(make_grid(parse_grid(grid)), {});
    for (const std::int32_t width : {8, 40, 200, 300, 400})
      for (const FactorKind kind : kKinds) {
        options.kind = kind;
        options.block_width = width;
        expect_paid(symbolic, options, random, seen);
      }
  }
  EXPECT_GT(seen.tiled, 1000);
  EXPECT_GT(seen.by_blocks, 100);
  EXPECT_GT(seen.in_units, 10);
  EXPECT_GT(seen.early, 10);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
