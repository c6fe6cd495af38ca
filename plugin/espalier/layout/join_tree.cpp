#include "espalier/layout/join_tree.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "espalier/layout/random.h"
#include "espalier/model/numbers.h"

namespace espalier {
namespace {

std::size_t bucket(std::int64_t value) {
  return static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(value)));
}

// Lists of roots that may be joined, by what they have in common, and a queue of those
// with two roots or more.
class JoinQueue {
 public:
  JoinQueue(JoinTree& tree, const Coincidence& coincidence, std::uint64_t seed)
      : tree_(tree), coincidence_(coincidence), random_(seed), shaken_(seed != 0) {
    const std::size_t most = 2 * tree.nodes.size();  // every join leaves one root less
    for (auto& list : next_) list.assign(most, -1);
    is_root_.assign(most, false);
    lists_.reserve(most);
  }

  void run() {
    for (const std::int32_t root : tree_.roots) add(root);
    while (!queue_.empty()) {
      const Entry entry = queue_.top();
      queue_.pop();
      if (entry.key.second < 0) {
        stack(entry.key);
      } else {
        row(entry.key);
      }
    }
    tree_.roots.clear();
    for (std::size_t k = 0; k < tree_.nodes.size(); ++k)
      if (is_root_[k]) tree_.roots.push_back(static_cast<std::int32_t>(k));
  }

 private:
  // Of a lifetime: first section, -1 - last one. Of a border between two pieces: the
  // section after it, the size.
  using Key = std::pair<std::int32_t, std::int64_t>;
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      const auto mixed = static_cast<std::uint64_t>(key.second) * 0x9E3779B97F4A7C15U;
      return static_cast<std::size_t>(
          (mixed ^ (mixed >> 29) ^ static_cast<std::uint64_t>(key.first)) *
          0xBF58476D1CE4E5B9U);
    }
  };
  struct Entry {
    double coincidence;
    std::int32_t root;  // for ties: the last one that came to the list
    Key key;
    bool operator<(const Entry& b) const {  // a queue gives the largest first
      return std::tie(b.coincidence, b.root, b.key) < std::tie(coincidence, root, key);
    }
  };
  enum List : std::uint8_t { kLifetime, kEnding, kStarting };
  // The latest root of a list; the others follow in next_. A border has two lists.
  struct Heads {
    std::int32_t first = -1, second = -1;
  };

  double shaken(double coincidence) {
    return shaken_ ? coincidence * std::exp(4 * random_.unit()) : coincidence;
  }

  [[nodiscard]] const Piece& piece(std::int32_t root) const {
    return tree_.nodes[at(root)].piece;
  }

  void add(std::int32_t root) {
    is_root_[at(root)] = true;
    const Piece& p = piece(root);
    const Key lifetime{p.first, -1 - static_cast<std::int64_t>(p.last)};
    Heads& same = lists_[lifetime];
    const bool company = same.first >= 0;
    next_[kLifetime][at(root)] = std::exchange(same.first, root);
    if (company) queue_.push({shaken(coincidence_.of_lifetime(p)), root, lifetime});
    add_to_border(kEnding, root, p.last + 1);
    add_to_border(kStarting, root, p.first);
  }

  void add_to_border(List list, std::int32_t root, std::int32_t section) {
    const Bytes size = piece(root).size;
    Heads& heads = lists_[{section, size}];
    std::int32_t& mine = list == kEnding ? heads.first : heads.second;
    const std::int32_t other = list == kEnding ? heads.second : heads.first;
    next_[list][at(root)] = std::exchange(mine, root);
    if (other >= 0)
      queue_.push({shaken(coincidence_.of_size(size, section)), root, {section, size}});
  }

  // The latest of a list that is a root still, taken from it; -1: none.
  std::int32_t take(List list, std::int32_t& head) {
    while (head >= 0 && !is_root_[at(head)]) head = next_[list][at(head)];
    return head < 0 ? -1 : std::exchange(head, next_[list][at(head)]);
  }

  void stack(const Key& key) {
    std::int32_t head = std::exchange(lists_[key].first, -1);
    std::int32_t whole = take(kLifetime, head);
    if (whole < 0) return;
    bool grown = false;
    for (std::int32_t part; (part = take(kLifetime, head)) >= 0; grown = true)
      whole = merge(part, whole, true);
    if (grown) {
      add(whole);
    } else {
      next_[kLifetime][at(whole)] = std::exchange(lists_[key].first, whole);
    }
  }

  void row(const Key& key) {
    const Heads heads = std::exchange(lists_[key], {});
    Heads left = heads;
    for (;;) {
      const std::int32_t before = take(kEnding, left.first);
      const std::int32_t after = before < 0 ? -1 : take(kStarting, left.second);
      if (after < 0) {  // what has no other side waits for one
        if (before >= 0) next_[kEnding][at(before)] = std::exchange(left.first, before);
        break;
      }
      joins_.push_back(merge(before, after, false));
    }
    lists_[key] = left;
    for (const std::int32_t whole : std::exchange(joins_, {})) add(whole);
  }

  std::int32_t merge(std::int32_t left, std::int32_t right, bool stacked) {
    is_root_[at(left)] = is_root_[at(right)] = false;
    const std::int32_t whole = tree_.join(left, right, stacked);
    is_root_[at(whole)] = true;
    return whole;
  }

  JoinTree& tree_;
  const Coincidence& coincidence_;
  Random random_;
  bool shaken_;
  std::unordered_map<Key, Heads, KeyHash> lists_;
  std::array<std::vector<std::int32_t>, 3> next_;  // by List, then root
  std::vector<bool> is_root_;                      // by node
  std::vector<std::int32_t> joins_;
  std::priority_queue<Entry> queue_;
};

}  // namespace

std::int32_t JoinTree::join(std::int32_t left, std::int32_t right, bool stacked) {
  const Piece &a = nodes[at(left)].piece, &b = nodes[at(right)].piece;
  Node node{a, left, right, stacked};
  if (stacked) {
    node.piece.size += b.size;
  } else {
    node.piece.last = b.last;
    node.piece.length = a.length > std::numeric_limits<std::int64_t>::max() - b.length
                            ? std::numeric_limits<std::int64_t>::max()
                            : a.length + b.length;
  }
  nodes.push_back(node);
  return static_cast<std::int32_t>(nodes.size() - 1);
}

Coincidence::Coincidence(const Pieces& pieces)
    : starts_(static_cast<std::size_t>(pieces.sections) + 1, 0) {
  for (const Piece& piece : pieces.list) unit_ = std::gcd(unit_, piece.size);
  unit_ = std::max<Bytes>(unit_, 1);
  for (const Piece& piece : pieces.list) {
    ++starts_[at(piece.first)];
    lengths_[bucket(piece.last - piece.first + 1)] += 1;
    sizes_[bucket(piece.size / unit_)] += 1;
  }
  for (std::size_t b = 0; b < lengths_.size(); ++b) {
    lengths_[b] = std::ldexp(lengths_[b], -static_cast<int>(b));
    sizes_[b] = std::ldexp(sizes_[b], -static_cast<int>(b));
  }
}

double Coincidence::of_lifetime(const Piece& piece) const {
  return lengths_[bucket(piece.last - piece.first + 1)] * starts_[at(piece.first)];
}

double Coincidence::of_size(Bytes size, std::int32_t section) const {
  return sizes_[bucket(size / unit_)] * starts_[at(section)];
}

void join_all(JoinTree& tree, const Coincidence& coincidence, std::uint64_t seed) {
  JoinQueue(tree, coincidence, seed).run();
}

}  // namespace espalier
