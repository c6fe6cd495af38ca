#include "espalier/layout/join_pieces.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "espalier/layout/layout_budget.h"
#include "espalier/layout/random.h"
#include "espalier/model/numbers.h"

namespace espalier {
namespace {

constexpr std::uint64_t kDeepest = 1 << 5;  // 2 to the levels that are taken apart

JoinTree leaves_of(const Pieces& pieces) {
  JoinTree tree;
  tree.nodes.resize(pieces.size());
  for (std::size_t i = 0; i < pieces.size(); ++i) tree.nodes[i].piece = pieces.list[i];
  tree.roots.resize(pieces.size());
  std::iota(tree.roots.begin(), tree.roots.end(), 0);
  return tree;
}

// All of one lifetime become one.
void stack(JoinTree& tree) {
  std::ranges::sort(tree.roots, [&](std::int32_t a, std::int32_t b) {
    const Piece &x = tree.nodes[at(a)].piece, &y = tree.nodes[at(b)].piece;
    return std::tie(x.first, x.last, a) < std::tie(y.first, y.last, b);
  });
  std::size_t kept = 0;
  for (const std::int32_t root : tree.roots) {
    if (kept > 0) {
      const Piece& last = tree.nodes[at(tree.roots[kept - 1])].piece;
      const Piece& piece = tree.nodes[at(root)].piece;
      if (last.first == piece.first && last.last == piece.last) {
        tree.roots[kept - 1] = tree.join(tree.roots[kept - 1], root, true);
        continue;
      }
    }
    tree.roots[kept++] = root;
  }
  tree.roots.resize(kept);
}

// What roots consist of, each taken apart down to a level by chance, mostly the first.
std::vector<std::int32_t> taken_apart(const JoinTree& tree, Random& random) {
  std::vector<std::int32_t> parts;
  std::vector<std::pair<std::int32_t, int>> open;
  for (const std::int32_t root : tree.roots) {
    open.emplace_back(root, std::countr_zero(random.next() | kDeepest));
    while (!open.empty()) {
      const auto [number, levels] = open.back();
      open.pop_back();
      const JoinTree::Node& node = tree.nodes[at(number)];
      if (node.left < 0 || levels == 0) {
        parts.push_back(number);
      } else {
        open.emplace_back(node.left, levels - 1);
        open.emplace_back(node.right, levels - 1);
      }
    }
  }
  return parts;
}

// The nodes that `parts` belonged to are nothing any more; `joined` says what they are
// joined to now.
void adopt(JoinTree& tree, const std::vector<std::int32_t>& parts,
           const JoinTree& joined) {
  const std::set<std::int32_t> kept(parts.begin(), parts.end());
  std::vector<std::int32_t> gone = tree.roots;
  while (!gone.empty()) {
    const std::int32_t number = gone.back();
    gone.pop_back();
    if (kept.contains(number)) continue;
    JoinTree::Node& node = tree.nodes[at(number)];
    gone.push_back(std::exchange(node.left, -1));
    gone.push_back(std::exchange(node.right, -1));
  }
  std::vector<std::int32_t> number = parts;  // in the tree, by node of `joined`
  for (std::size_t k = parts.size(); k < joined.nodes.size(); ++k) {
    const JoinTree::Node& node = joined.nodes[k];
    number.push_back(
        tree.join(number[at(node.left)], number[at(node.right)], node.stacked));
  }
  tree.roots.clear();
  for (const std::int32_t root : joined.roots) tree.roots.push_back(number[at(root)]);
}

// What remains is taken apart and joined anew, preferences shaken, as long as that leaves
// fewer pieces now and then, and for no more work than a few times the first joining.
void join_anew(JoinTree& tree, const Coincidence& coincidence, LayoutBudget* budget) {
  constexpr int kPatience = 400;
  const std::size_t most_work = std::max<std::size_t>(100'000, 10 * tree.nodes.size());
  Random random(1);
  std::size_t work = 0;
  for (int failed = 0; failed < kPatience && work < most_work; ++failed) {
    if (budget != nullptr && budget->look()) return;
    const std::vector<std::int32_t> parts = taken_apart(tree, random);
    work += parts.size();
    JoinTree again;
    for (const std::int32_t part : parts)
      again.nodes.push_back({tree.nodes[at(part)].piece});
    again.roots.resize(parts.size());
    std::iota(again.roots.begin(), again.roots.end(), 0);
    join_all(again, coincidence, random.next());
    if (again.roots.size() > tree.roots.size()) continue;
    if (again.roots.size() < tree.roots.size()) failed = 0;
    adopt(tree, parts, again);
  }
}

}  // namespace

JoinedPieces::JoinedPieces(std::size_t leaves, std::int32_t sections, JoinTree tree)
    : leaves_(leaves), tree_(std::move(tree)) {
  std::ranges::sort(tree_.roots);
  Pieces all;
  all.sections = sections;
  for (const std::int32_t root : tree_.roots)
    all.list.push_back(tree_.nodes[at(root)].piece);
  std::vector<std::int32_t> everything(tree_.roots.size());
  std::iota(everything.begin(), everything.end(), 0);
  pieces_ = select(all, everything);
}

JoinedPieces JoinedPieces::stacked(const Pieces& pieces) {
  JoinTree tree = leaves_of(pieces);
  stack(tree);
  return {pieces.size(), pieces.sections, std::move(tree)};
}

JoinedPieces JoinedPieces::stacked_and_in_rows(const Pieces& pieces,
                                               LayoutBudget* budget) {
  JoinTree tree = leaves_of(pieces);
  const Coincidence coincidence(pieces);
  join_all(tree, coincidence);
  join_anew(tree, coincidence, budget);
  return {pieces.size(), pieces.sections, std::move(tree)};
}

std::vector<Bytes> JoinedPieces::expand(std::span<const Bytes> offsets) const {
  std::vector<Bytes> base(tree_.nodes.size(), 0);
  for (std::size_t r = 0; r < tree_.roots.size(); ++r)
    base[at(tree_.roots[r])] = offsets[r];
  for (std::size_t k = tree_.nodes.size(); k-- > leaves_;) {  // after its parts
    const JoinTree::Node& node = tree_.nodes[k];
    if (node.left < 0) continue;  // taken apart again
    base[at(node.left)] = base[k];
    base[at(node.right)] =
        base[k] + (node.stacked ? tree_.nodes[at(node.left)].piece.size : 0);
  }
  base.resize(leaves_);
  return base;
}

}  // namespace espalier
