#include "espalier/layout/join_pieces.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

namespace espalier {
namespace {

std::size_t at(std::int32_t number) { return static_cast<std::size_t>(number); }

}  // namespace

JoinedPieces::JoinedPieces(const Pieces& pieces)
    : leaves_(pieces.size()), sections_(pieces.sections), nodes_(pieces.size()) {
  for (std::size_t i = 0; i < pieces.size(); ++i) nodes_[i].piece = pieces.list[i];
  roots_.resize(pieces.size());
  std::iota(roots_.begin(), roots_.end(), 0);
}

JoinedPieces JoinedPieces::stacked(const Pieces& pieces) {
  JoinedPieces joined(pieces);
  joined.stack();
  joined.keep_roots();
  return joined;
}

JoinedPieces JoinedPieces::stacked_and_in_rows(const Pieces& pieces) {
  JoinedPieces joined(pieces);
  // Rows first: that two sizes are equal by chance is less likely than two lifetimes.
  while (joined.row() || joined.stack()) {
  }
  joined.keep_roots();
  return joined;
}

std::int32_t JoinedPieces::join(std::int32_t left, std::int32_t right, bool stacked) {
  const Piece &a = nodes_[at(left)].piece, &b = nodes_[at(right)].piece;
  Node node{a, left, right, stacked};
  if (stacked) {
    node.piece.size += b.size;
  } else {
    node.piece.last = b.last;
    node.piece.length = a.length > std::numeric_limits<std::int64_t>::max() - b.length
                            ? std::numeric_limits<std::int64_t>::max()
                            : a.length + b.length;
  }
  nodes_.push_back(node);
  return static_cast<std::int32_t>(nodes_.size() - 1);
}

// All of one lifetime become one. False when nothing changed.
bool JoinedPieces::stack() {
  std::ranges::sort(roots_, [&](std::int32_t a, std::int32_t b) {
    const Piece &x = nodes_[at(a)].piece, &y = nodes_[at(b)].piece;
    return std::tie(x.first, x.last, a) < std::tie(y.first, y.last, b);
  });
  std::size_t kept = 0;
  for (const std::int32_t root : roots_) {
    if (kept > 0) {
      const Piece& last = nodes_[at(roots_[kept - 1])].piece;
      const Piece& piece = nodes_[at(root)].piece;
      if (last.first == piece.first && last.last == piece.last) {
        roots_[kept - 1] = join(roots_[kept - 1], root, true);
        continue;
      }
    }
    roots_[kept++] = root;
  }
  const bool changed = kept < roots_.size();
  roots_.resize(kept);
  return changed;
}

// Every piece goes on in one of its size that starts right after it, if there is one.
bool JoinedPieces::row() {
  const auto start_key = [&](std::int32_t root) {
    const Piece& piece = nodes_[at(root)].piece;
    return std::pair(piece.first, piece.size);
  };
  std::ranges::sort(roots_, [&](std::int32_t a, std::int32_t b) {
    return std::pair(start_key(a), a) < std::pair(start_key(b), b);
  });
  // By decreasing start, so that what is appended has grown already.
  std::vector<std::int32_t> grown = roots_;  // -1: a part of another one now
  bool changed = false;
  for (std::size_t i = roots_.size(); i-- > 0;) {
    const Piece piece = nodes_[at(roots_[i])].piece;
    auto next = std::ranges::lower_bound(roots_, std::pair(piece.last + 1, piece.size),
                                         {}, start_key);
    for (; next != roots_.end() &&
           start_key(*next) == std::pair(piece.last + 1, piece.size);
         ++next) {
      std::int32_t& follower = grown[static_cast<std::size_t>(next - roots_.begin())];
      if (follower < 0) continue;
      grown[i] = join(roots_[i], follower, false);
      follower = -1;
      changed = true;
      break;
    }
  }
  std::erase(grown, -1);
  roots_ = std::move(grown);
  return changed;
}

void JoinedPieces::keep_roots() {
  std::ranges::sort(roots_);
  Pieces all;
  all.sections = sections_;
  for (const std::int32_t root : roots_) all.list.push_back(nodes_[at(root)].piece);
  std::vector<std::int32_t> everything(roots_.size());
  std::iota(everything.begin(), everything.end(), 0);
  pieces_ = select(all, everything);
}

std::vector<Bytes> JoinedPieces::expand(std::span<const Bytes> offsets) const {
  std::vector<Bytes> base(nodes_.size(), 0);
  for (std::size_t r = 0; r < roots_.size(); ++r) base[at(roots_[r])] = offsets[r];
  for (std::size_t k = nodes_.size(); k-- > leaves_;) {  // a node comes after its parts
    const Node& node = nodes_[k];
    base[at(node.left)] = base[k];
    base[at(node.right)] =
        base[k] + (node.stacked ? nodes_[at(node.left)].piece.size : 0);
  }
  base.resize(leaves_);
  return base;
}

}  // namespace espalier
