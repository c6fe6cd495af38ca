#include "solver/symbolic/fill_rows.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "espalier/model/error.h"
#include "solver/ordering/vertex_blocks.h"
#include "solver/symbolic/independent_subtrees.h"

namespace espalier::solver {
namespace {

// Rows of the top, in all of a subtree's fronts, that are worth no threads: more than
// half of all. A chain is like that.
constexpr std::int64_t kTooMuchAbove = 2;
// A part of the rows that bundle_siblings() adds without moving all of them.
constexpr std::int64_t kRoomForBundles = 64;

class Filler {
 public:
  Filler(const LowerRows& lower, std::span<const std::int32_t> column_order,
         TaskPool& pool, Symbolic& symbolic)
      : lower_(lower),
        column_order_(column_order),
        pool_(pool),
        symbolic_(symbolic),
        front_of_(symbolic.size),
        next_(symbolic.fronts()),
        last_row_(symbolic.fronts()) {}

  void run() {
    const auto blocks = VertexBlocks::fine(symbolic_.fronts());
    pool_.for_each_block(blocks.count(), [&](std::int64_t k) {
      for (auto front = blocks.first(k); front < blocks.first(k + 1); ++front)
        begin(front);
    });
    const IndependentSubtrees trees = subtrees();
    const Above above = rows_above(trees);
    pool_.for_each_block(std::ssize(trees.parts), [&](std::int64_t part) {
      fill_part(trees.parts[part], above.of_part[part]);
    });
    fill_top(trees, above);
  }

 private:
  void begin(std::int32_t front) {
    next_[front] = symbolic_.row_start[front];
    last_row_[front] = -1;
    for (auto row = symbolic_.first_column[front];
         row < symbolic_.first_column[front + 1]; ++row)
      front_of_[column_order_[row]] = front;
  }

  // A row and a front of one of its columns.
  struct Entry {
    std::int32_t row, front;
  };
  // Of the rows that the top eliminates, what A has in the subtrees and in the top
  // itself.
  struct Above {
    std::vector<std::vector<Entry>> of_part;        // by rows
    std::vector<std::vector<std::int32_t>> of_top;  // rows, by place in the top
  };

  [[nodiscard]] IndependentSubtrees subtrees() const {
    const IndependentSubtrees whole = IndependentSubtrees::whole(symbolic_.fronts());
    if (!pool_.shares()) return whole;
    IndependentSubtrees trees =
        independent_subtrees(symbolic_.parent, symbolic_.row_start);
    std::int64_t rows = 0;
    for (const std::int32_t front : trees.top)
      rows += symbolic_.row_start[front + 1] - symbolic_.row_start[front];
    return rows * kTooMuchAbove > symbolic_.row_start.back() ? whole : trees;
  }

  [[nodiscard]] Above rows_above(const IndependentSubtrees& trees) const {
    Above above;
    above.of_part.resize(trees.parts.size());
    above.of_top.resize(trees.top.size());
    if (trees.top.empty()) return above;
    std::vector<std::int32_t> place(symbolic_.fronts());  // in the parts: below 0
    for (std::int32_t part = 0; part < std::ssize(trees.parts); ++part)
      std::fill(place.begin() + trees.parts[part].first,
                place.begin() + trees.parts[part].last + 1, -1 - part);
    for (std::size_t k = 0; k < trees.top.size(); ++k)
      place[trees.top[k]] = static_cast<std::int32_t>(k);
    for (const std::int32_t own : trees.top)
      for (auto row = symbolic_.first_column[own]; row < symbolic_.first_column[own + 1];
           ++row)
        for (const std::int32_t column : lower_.columns_of(column_order_[row])) {
          const std::int32_t front = front_of_[column];
          if (place[front] < 0)
            above.of_part[-1 - place[front]].push_back({row, front});
          else if (front != own)
            above.of_top[place[front]].push_back(row);
        }
    return above;
  }

  void add(std::int32_t front, std::int32_t row) {
    last_row_[front] = row;
    ESPALIER_ASSERT(next_[front] < symbolic_.row_start[front + 1],
                    "column counts and row structures agree");
    symbolic_.rows[next_[front]++] = row;
  }

  // Its own rows, then those above that reach it.
  void fill_part(IndependentSubtrees::Range part, const std::vector<Entry>& above) {
    for (auto row = symbolic_.first_column[part.first];
         row < symbolic_.first_column[part.last + 1]; ++row) {
      const std::int32_t own = front_of_[column_order_[row]];
      for (const std::int32_t column : lower_.columns_of(column_order_[row]))
        for (auto front = front_of_[column]; front != own && last_row_[front] != row;
             front = symbolic_.parent[front])
          add(front, row);
    }
    for (const auto& [row, reached] : above)
      for (auto front = reached;
           front >= 0 && front <= part.last && last_row_[front] != row;
           front = symbolic_.parent[front])
        add(front, row);
  }

  // Children first: of their rows those that the front does not eliminate are its own.
  void fill_top(const IndependentSubtrees& trees, const Above& above) {
    std::vector<std::vector<std::int32_t>> children(trees.top.size());
    const auto place = [&](std::int32_t front) {
      return std::ranges::lower_bound(trees.top, front) - trees.top.begin();
    };
    const auto hang = [&](std::int32_t front) {
      const std::int32_t parent = symbolic_.parent[front];
      if (parent >= 0) children[place(parent)].push_back(front);
    };
    for (const auto& part : trees.parts)
      for (auto front = part.first; front <= part.last; ++front)
        if (symbolic_.parent[front] > part.last) hang(front);
    for (const std::int32_t front : trees.top) hang(front);
    for (std::size_t k = 0; k < trees.top.size(); ++k)
      for (const std::int32_t row :
           rows_of_top(trees.top[k], children[k], above.of_top[k]))
        add(trees.top[k], row);
  }

  // Its own rows of A and what its children leave it, each of them in order: merged.
  [[nodiscard]] std::vector<std::int32_t> rows_of_top(
      std::int32_t front, const std::vector<std::int32_t>& children,
      const std::vector<std::int32_t>& own) const {
    std::vector<std::int32_t> rows = own;
    std::vector<std::ptrdiff_t> start = {0, std::ssize(rows)};  // of each list
    for (const std::int32_t child : children) {
      const auto of_child = symbolic_.rows_of(child);
      rows.insert(rows.end(),
                  std::ranges::lower_bound(of_child, symbolic_.first_column[front + 1]),
                  of_child.end());
      start.push_back(std::ssize(rows));
    }
    while (start.size() > 2) {  // two neighbours become one
      std::vector<std::ptrdiff_t> longer = {0};
      for (std::size_t k = 2; k < start.size(); k += 2) {
        std::inplace_merge(rows.begin() + start[k - 2], rows.begin() + start[k - 1],
                           rows.begin() + start[k]);
        longer.push_back(start[k]);
      }
      if (longer.back() != start.back()) longer.push_back(start.back());
      start = std::move(longer);
    }
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    return rows;
  }

  const LowerRows& lower_;
  std::span<const std::int32_t> column_order_;
  TaskPool& pool_;
  Symbolic& symbolic_;
  UnsetVector<std::int32_t> front_of_;  // by column of `lower`
  UnsetVector<std::int64_t> next_;      // place of each front's next row
  UnsetVector<std::int32_t> last_row_;  // of each front
};

}  // namespace

void fill_rows(const LowerRows& lower, std::span<const std::int32_t> column_order,
               TaskPool& pool, Symbolic& symbolic) {
  const std::int64_t rows = symbolic.row_start.back();
  symbolic.rows.reserve(rows + rows / kRoomForBundles);
  symbolic.rows.resize(rows);
  if (!symbolic.rows.empty()) Filler(lower, column_order, pool, symbolic).run();
}

}  // namespace espalier::solver
