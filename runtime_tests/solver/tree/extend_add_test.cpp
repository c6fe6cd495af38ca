#include "solver/tree/extend_add.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "solver/support/systems.h"

namespace espalier::solver {
namespace TEST_SOURCE {

// Fronts with the given first columns and rows; parents from the rows.
Symbolic make_symbolic(std::vector<std::int32_t> first_column,
                       const std::vector<std::vector<std::int32_t>>& rows) {
  Symbolic symbolic;
  symbolic.size = first_column.back();
  symbolic.first_column = std::move(first_column);
  symbolic.row_start.assign(1, 0);
  for (const auto& list : rows) {
    symbolic.rows.insert(symbolic.rows.end(), list.begin(), list.end());
    symbolic.row_start.push_back(static_cast<std::int64_t>(symbolic.rows.size()));
    std::int32_t parent = -1;
    if (!list.empty())
      parent = static_cast<std::int32_t>(std::upper_bound(symbolic.first_column.begin(),
                                                          symbolic.first_column.end(),
                                                          list[0]) -
                                         symbolic.first_column.begin() - 1);
    symbolic.parent.push_back(parent);
  }
  return symbolic;
}

// A front's entries in buffers of their own, between canaries.
class Front {
 public:
  Front(std::int32_t order, std::int32_t pivots, std::int32_t width) : order_(order) {
    storage_.panel_layout = {order, pivots, width};
    storage_.contribution_layout = {order - pivots, order - pivots, width};
    const auto panel = static_cast<std::size_t>(storage_.panel_layout.entries());
    const auto rest = static_cast<std::size_t>(storage_.contribution_layout.entries());
    entries_.assign(panel + rest + 3 * kGap, 0.0);
    storage_.panel[0] = entries_.data() + kGap;
    storage_.contribution[0] = entries_.data() + 2 * kGap + panel;
    for (std::size_t k = 0; k < kGap; ++k)
      entries_[k] = entries_[kGap + panel + k] = entries_[entries_.size() - 1 - k] =
          kGapValue;
  }
  [[nodiscard]] const FrontStorage<double>& storage() const { return storage_; }
  [[nodiscard]] double operator()(std::int32_t i, std::int32_t j) const {
    return storage_.column(0, j)[i];
  }
  // Entries stored that are not zero, also where they should be; -1: a write outside.
  [[nodiscard]] std::int64_t nonzeros() const {
    const auto zeros = std::count(entries_.begin(), entries_.end(), 0.0);
    const auto gaps = std::count(entries_.begin(), entries_.end(), kGapValue);
    if (gaps != 3 * kGap) return -1;
    return static_cast<std::int64_t>(entries_.size()) - zeros - gaps;
  }

 private:
  static constexpr std::int64_t kGap = 4;
  static constexpr double kGapValue = 1e300;
  std::int32_t order_;
  FrontStorage<double> storage_;
  std::vector<double> entries_;
};

TEST(RelativeIndices, OfTheExampleOfTheComment) {
  const Symbolic symbolic = make_symbolic({0, 7, 9, 13}, {{7, 9, 12}, {9, 11, 12}, {}});
  std::vector<std::int32_t> indices(3);
  relative_indices(symbolic, 0, 1, indices);
  EXPECT_EQ(indices, (std::vector<std::int32_t>{0, 2, 4}));
}

TEST(RelativeIndices, OfAChildWithoutRowsAreNone) {
  const Symbolic symbolic = make_symbolic({0, 1, 2}, {{}, {}});
  relative_indices(symbolic, 0, 1, {});
}

// Parent: pivots 7 8, rows 9 11 12. Child: rows 7 9 12.
//   child   7 | 1           parent   7 | 1
//           9 | 2 4                  8 | . .
//          12 | 3 5 6                9 | 2 . 4
//                                   11 | . . . .
//                                   12 | 3 . 5 . 6
TEST(ExtendAdd, PutsTheExampleInItsPlaces) {
  for (const std::int32_t width : {1, 2, 8}) {
    Front child(3, 0, width), parent(5, 2, width);
    const FrontStorage<double>& block = child.storage();
    double next = 1;
    for (std::int32_t j = 0; j < 3; ++j)
      for (std::int32_t i = j; i < 3; ++i) block.column(0, j)[i] = next++;
    const std::int32_t indices[] = {0, 2, 4};
    extend_add(block.contribution_layout, block.contribution[0], 0, indices, 0, 3,
               parent.storage(), 0);
    EXPECT_EQ(parent(0, 0), 1);
    EXPECT_EQ(parent(2, 0), 2);
    EXPECT_EQ(parent(4, 0), 3);
    EXPECT_EQ(parent(2, 2), 4);
    EXPECT_EQ(parent(4, 2), 5);
    EXPECT_EQ(parent(4, 4), 6);
    EXPECT_EQ(parent.nonzeros(), 6);
  }
}

// Increasing numbers out of [first, last), each taken with probability 1/divisor.
std::vector<std::int32_t> subset(std::mt19937& random, std::int32_t first,
                                 std::int32_t last, int divisor) {
  std::vector<std::int32_t> result;
  for (std::int32_t i = first; i < last; ++i)
    if (draw(random, 1, divisor) == 1) result.push_back(i);
  return result;
}

void add_in_two_parts(const FrontStorage<double>& source,
                      std::span<const std::int32_t> indices, std::int32_t cut,
                      const FrontStorage<double>& parent) {
  const Trapezoid& layout = source.contribution_layout;
  extend_add(layout, source.contribution[0], 0, indices, cut, layout.rows(), parent, 0);
  extend_add(layout, source.contribution[0], 0, indices, 0, cut, parent, 0);
}

void add_by_tiles(const FrontStorage<double>& source,
                  std::span<const std::int32_t> indices,
                  const FrontStorage<double>& parent) {
  const Trapezoid& layout = source.contribution_layout;
  const auto part = [&](std::int32_t block) {
    return indices.subspan(layout.first(block), layout.width(block));
  };
  for (std::int32_t k = 0; k < layout.blocks(); ++k)
    for (std::int32_t i = k; i < layout.blocks(); ++i)
      extend_add_tile(source.column(0, layout.first(k)) + layout.first(i),
                      layout.leading(k), part(i), part(k), parent);
}

// A front, and a child whose rows are some of its own.
struct FrontAndChild {
  std::int32_t pivots;
  std::vector<std::int32_t> rows, front, child;

  // Few rows of the parent, or most: long runs with gaps between.
  FrontAndChild(std::mt19937& random, bool few) : pivots(draw(random, 1, 12)) {
    rows =
        subset(random, pivots + 1, pivots + 1 + draw(random, 0, 40), draw(random, 1, 4));
    front = subset(random, 1, pivots + 1, 1);
    front.insert(front.end(), rows.begin(), rows.end());
    const int divisor = few ? draw(random, 1, 5) : 12;
    for (const std::int32_t row : front)
      if ((draw(random, 1, divisor) == 1) == few) child.push_back(row);
  }

  // Where the child's rows stand.
  [[nodiscard]] std::vector<std::int32_t> positions() const {
    std::map<std::int32_t, std::int32_t> position;
    for (std::size_t k = 0; k < front.size(); ++k)
      position[front[k]] = static_cast<std::int32_t>(k);
    std::vector<std::int32_t> found;
    for (const std::int32_t row : child) found.push_back(position[row]);
    return found;
  }
  [[nodiscard]] std::string text() const {
    return fmt::format("pivots 1 … {}, rows {}, child's {}", pivots, fmt::join(rows, " "),
                       fmt::join(child, " "));
  }
};

TEST(ExtendAdd, MatchesDenseAdditionThroughAMap) {
  std::mt19937 random(3);
  for (int instance = 0; instance < 3000; ++instance) {
    const FrontAndChild sizes(random, instance % 2 == 0);
    const auto& [pivots, rows, front, child] = sizes;
    const auto text = [&] { return sizes.text(); };
    const Symbolic symbolic = make_symbolic({0, 1, pivots + 1}, {child, rows});
    std::vector<std::int32_t> indices(child.size());
    relative_indices(symbolic, 0, 1, indices);
    ASSERT_EQ(indices, sizes.positions()) << text();

    const std::int32_t width = draw(random, 1, 15);
    const auto order = static_cast<std::int32_t>(front.size());
    const auto child_order = static_cast<std::int32_t>(child.size());
    Front parent(order, pivots, width), block(child_order, 0, draw(random, 1, 15));
    Dense expected(order);
    for (std::int32_t j = 0; j < order; ++j)
      for (std::int32_t i = j; i < order; ++i)
        expected(i, j) = parent.storage().column(0, j)[i] = draw(random, 0, 99);
    for (std::int32_t j = 0; j < child_order; ++j)
      for (std::int32_t i = j; i < child_order; ++i)
        expected(indices[i], indices[j]) += block.storage().column(0, j)[i] =
            draw(random, 0, 99);
    if (instance % 3 == 0)
      add_by_tiles(block.storage(), indices, parent.storage());
    else
      add_in_two_parts(block.storage(), indices, draw(random, 0, child_order),
                       parent.storage());
    std::int64_t nonzeros = 0;
    for (std::int32_t j = 0; j < order; ++j)
      for (std::int32_t i = j; i < order; ++i) {
        ASSERT_EQ(parent(i, j), expected(i, j)) << i << " " << j << ": " << text();
        nonzeros += parent(i, j) != 0;
      }
    ASSERT_EQ(parent.nonzeros(), nonzeros) << "outside the lower triangle: " << text();
  }
}

TEST(AddOriginalEntries, PutsEachColumnOfTheMatrixIntoItsFront) {
  std::mt19937 random(4);
  for (int instance = 0; instance < 300; ++instance) {
    const Analysis analysis =
        analyse(random_spd(random, draw(random, 1, 30)), random_analysis(random));
    const Symbolic& symbolic = analysis.symbolic;
    const Dense a(analysis.permuted.lower);
    for (std::int32_t s = 0; s < symbolic.fronts(); ++s) {
      const std::int32_t pivots = symbolic.pivots(s), order = symbolic.front_order(s);
      Front front(order, pivots, draw(random, 1, 9));
      const std::int32_t cut = draw(random, 0, pivots);
      add_original_entries(symbolic, analysis.permuted, s, 0, 0, cut, front.storage());
      add_original_entries(symbolic, analysis.permuted, s, 0, cut, pivots,
                           front.storage());
      std::vector<std::int32_t> rows(pivots);
      for (std::int32_t k = 0; k < pivots; ++k) rows[k] = symbolic.first_column[s] + k;
      rows.insert(rows.end(), symbolic.rows_of(s).begin(), symbolic.rows_of(s).end());
      std::int64_t nonzeros = 0;
      for (std::int32_t j = 0; j < pivots; ++j)
        for (std::int32_t i = j; i < order; ++i) {
          ASSERT_EQ(front(i, j), a(rows[i], rows[j]))
              << describe(analysis.permuted.lower);
          nonzeros += front(i, j) != 0;
        }
      ASSERT_EQ(front.nonzeros(), nonzeros) << describe(analysis.permuted.lower);
    }
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
