#include "solver/symbolic/amalgamate.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "solver/symbolic/independent_subtrees.h"

namespace espalier::solver {
namespace {

// A narrow front: so many pivots at most, and so many times as many rows in its
// contribution block. Adding that to the parent costs as much as some hundred pivots do,
// so it may hold more zeros where that saves a front.
constexpr std::int64_t kNarrowPivots = 256, kRowsPerPivot = 4;
constexpr double kNarrowZeros = 0.15;
// Zeros that such children may bring beyond that: those whose rows are nearly all of
// their parent's join it whatever zeros both have already. Links of a chain that took in
// a leaf or two would all stay apart.
constexpr double kJoinedZeros = 0.02;
// Those of fewer rows cost next to nothing.
constexpr std::int64_t kJoinedRows = 128;

// Fronts grouped by parent: those of parent p are child[start[p]] … child[start[p+1]-1].
struct Children {
  std::vector<std::int32_t> start, child;

  explicit Children(const SupernodeTree& tree)
      : start(tree.parent.size() + 1, 0), child(tree.parent.size()) {
    for (std::int32_t parent : tree.parent) {
      if (parent >= 0) ++start[parent];
    }
    std::partial_sum(start.begin(), start.end(), start.begin());
    // From the last one on: what begins as the end of a list ends as its beginning.
    for (std::int32_t front = tree.fronts(); front-- > 0;) {
      const std::int32_t parent = tree.parent[front];
      if (parent >= 0) child[--start[parent]] = front;
    }
  }
};

class Merger {
 public:
  Merger(SupernodeTree& tree, const AmalgamationOptions& options)
      : tree_(tree), options_(options), place_(tree.parent.size(), -1) {
    std::int32_t above = 0;
    for (const std::int32_t parent : tree.parent)
      if (parent >= 0 && place_[parent] < 0) place_[parent] = above++;
    zeros_.resize(static_cast<std::size_t>(above));
  }

  // The fronts that each front was merged into; itself when it was not. Of the children
  // of a front nothing changes but by itself, so subtrees are done at the same time.
  std::vector<std::int32_t> run(TaskPool& pool) {
    std::vector<std::int32_t> merged_into(tree_.parent.size());
    std::iota(merged_into.begin(), merged_into.end(), 0);
    Children children(tree_);
    const IndependentSubtrees trees = pool.shares()
                                          ? independent_subtrees(tree_.parent)
                                          : IndependentSubtrees::whole(tree_.fronts());
    pool.for_each_block(std::ssize(trees.parts), [&](std::int64_t k) {
      for (auto front = trees.parts[k].first; front <= trees.parts[k].last; ++front)
        merge_children(front, children, merged_into);
    });
    for (const std::int32_t front : trees.top)
      merge_children(front, children, merged_into);
    return merged_into;
  }

 private:
  // Explicit zeros in the panel of a front, and those of them by kJoinedZeros.
  struct Zeros {
    std::int64_t all = 0, joined = 0;
    friend bool operator==(const Zeros&, const Zeros&) = default;
  };

  void merge_children(std::int32_t front, Children& children,
                      std::vector<std::int32_t>& merged_into) {
    const auto begin = children.child.begin() + children.start[front];
    const auto end = children.child.begin() + children.start[front + 1];
    // Each merge adds as many rows to all later ones, so one sort is enough.
    const auto larger = [this](std::int32_t a, std::int32_t b) {
      return std::pair(contribution(b), a) < std::pair(contribution(a), b);
    };
    if (!std::is_sorted(begin, end, larger)) std::sort(begin, end, larger);
    auto refused = end;
    for (auto child = begin; child != end; ++child) {
      if (refused != end && are_alike(*child, *refused)) continue;
      const bool merged = merge(*child, front);
      if (merged) merged_into[*child] = front;
      refused = merged ? end : child;
    }
  }

  [[nodiscard]] std::int32_t contribution(std::int32_t front) const {
    return tree_.order[front] - tree_.pivots[front];
  }

  [[nodiscard]] Zeros zeros_of(std::int32_t front) const {
    return place_[front] < 0 ? Zeros{} : zeros_[place_[front]];
  }

  // Whether a front would be merged where the other is: stars have thousands of these.
  [[nodiscard]] bool are_alike(std::int32_t a, std::int32_t b) const {
    return tree_.pivots[a] == tree_.pivots[b] && tree_.order[a] == tree_.order[b] &&
           zeros_of(a) == zeros_of(b);
  }

  [[nodiscard]] double most_zeros(std::int64_t pivots, std::int64_t order) const {
    if (!options_.relaxed) return 0;
    const bool narrow = pivots <= kNarrowPivots && order >= (kRowsPerPivot + 1) * pivots;
    const double least = narrow ? std::max(kNarrowZeros, options_.zeros_beyond) : 0;
    for (const auto& limit : options_.limits) {
      if (pivots <= limit.pivots) return std::max(least, limit.zeros);
    }
    return std::max(least, options_.zeros_beyond);
  }

  bool merge(std::int32_t child, std::int32_t parent) {
    const std::int64_t added = tree_.pivots[child], rows = contribution(child);
    const std::int64_t pivots = added + tree_.pivots[parent];
    const std::int64_t order = added + tree_.order[parent];
    const std::int64_t brought = added * (tree_.order[parent] - rows);
    const Zeros of_child = zeros_of(child), before = zeros_of(parent);
    const std::int64_t zeros = of_child.all + before.all + brought;
    const auto panel = static_cast<double>(panel_entries(pivots, order));
    std::int64_t joined = of_child.joined + before.joined;
    if (static_cast<double>(zeros) > most_zeros(pivots, order) * panel) {
      joined += brought;
      const bool narrow =
          options_.relaxed && rows >= std::max(kJoinedRows, kRowsPerPivot * added);
      if (!narrow || static_cast<double>(joined) > kJoinedZeros * panel) return false;
    }
    tree_.pivots[parent] = static_cast<std::int32_t>(pivots);
    tree_.order[parent] = static_cast<std::int32_t>(order);
    zeros_[place_[parent]] = {zeros, joined};
    return true;
  }

  SupernodeTree& tree_;
  const AmalgamationOptions& options_;
  std::vector<std::int32_t> place_;  // in zeros_, of fronts with children; else -1
  std::vector<Zeros> zeros_;
};

// Keeps the fronts that were merged into none and renumbers them in the same order, in
// place: no number grows.
void compress(SupernodeTree& tree, std::vector<std::int32_t> merged_into) {
  std::vector<std::int32_t> number(tree.parent.size());
  for (std::int32_t front = tree.fronts() - 1; front >= 0; --front) {
    merged_into[front] = merged_into[merged_into[front]];  // parents are greater
  }
  std::int32_t kept = 0;
  for (std::int32_t front = 0; front < tree.fronts(); ++front) {
    if (merged_into[front] != front) continue;
    tree.pivots[kept] = tree.pivots[front];
    tree.order[kept] = tree.order[front];
    tree.parent[kept] = tree.parent[front];
    number[front] = kept++;
  }
  tree.pivots.resize(kept);
  tree.order.resize(kept);
  tree.parent.resize(kept);
  for (std::int32_t& parent : tree.parent) {
    if (parent >= 0) parent = number[merged_into[parent]];
  }
  for (std::int32_t& front : tree.front_of_column) front = number[merged_into[front]];
}

}  // namespace

SupernodeTree amalgamate(SupernodeTree tree, const AmalgamationOptions& options,
                         TaskPool& pool) {
  if (std::ranges::all_of(tree.parent, [](auto above) { return above < 0; })) return tree;
  std::vector<std::int32_t> merged_into = Merger(tree, options).run(pool);
  compress(tree, std::move(merged_into));
  return tree;
}

SupernodeTree amalgamate(SupernodeTree tree, const AmalgamationOptions& options) {
  TaskPool alone(1);
  return amalgamate(std::move(tree), options, alone);
}

}  // namespace espalier::solver
