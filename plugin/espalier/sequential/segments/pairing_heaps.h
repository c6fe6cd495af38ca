#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "espalier/model/units.h"

namespace espalier {

/// Pairing heaps [FSST86] of items that have a key(), the least key on top. An item has a
/// number from 0 to n-1 and is in at most one heap, which is named by the number of its
/// top. All heaps share one array: no allocation, melding in O(1), and a pop in O(log n)
/// amortised.
template <class Item>
class PairingHeaps {
 public:
  static constexpr std::int32_t kEmpty = -1;

  explicit PairingHeaps(std::size_t numbers) : nodes_(numbers) {}

  [[nodiscard]] const Item& top(std::int32_t heap) const { return at(heap).item; }

  /// A heap of one item.
  std::int32_t make(std::int32_t number, const Item& item) {
    at(number) = {item, kEmpty, kEmpty};
    return number;
  }

  std::int32_t meld(std::int32_t a, std::int32_t b) {
    if (a == kEmpty) return b;
    if (b == kEmpty) return a;
    if (at(b).item.key() < at(a).item.key()) std::swap(a, b);
    at(b).sibling = at(a).child;
    at(a).child = b;
    return a;
  }

  /// All `heaps`, by decreasing least key: each goes on top of the
  /// rest, so that a million heaps of one item become a list that is popped in linear
  /// time.
  template <class Heaps>
  std::int32_t meld_all(const Heaps& heaps) {
    by_key_.clear();
    for (const std::int32_t heap : heaps) {
      if (heap != kEmpty) by_key_.emplace_back(top(heap).key(), heap);
    }
    std::sort(by_key_.begin(), by_key_.end());
    std::int32_t melded = kEmpty;
    for (auto entry = by_key_.rbegin(); entry != by_key_.rend(); ++entry) {
      melded = meld(melded, entry->second);
    }
    return melded;
  }

  /// All items of a heap, by number, in no order. O(items).
  [[nodiscard]] std::vector<std::int32_t> members(std::int32_t heap) const {
    std::vector<std::int32_t> found;
    if (heap != kEmpty) found.push_back(heap);
    for (std::size_t k = 0; k < found.size(); ++k) {
      for (std::int32_t below = at(found[k]).child; below != kEmpty;) {
        found.push_back(below);
        below = at(below).sibling;
      }
    }
    return found;
  }

  /// The heap without its top: two passes over the top's children.
  std::int32_t pop(std::int32_t heap) {
    std::int32_t pairs = kEmpty;
    for (std::int32_t a = at(heap).child; a != kEmpty;) {
      const std::int32_t b = at(a).sibling;
      const std::int32_t rest = b == kEmpty ? kEmpty : at(b).sibling;
      const std::int32_t pair = meld(a, b);
      at(pair).sibling = pairs;
      pairs = pair;
      a = rest;
    }
    std::int32_t result = kEmpty;
    while (pairs != kEmpty) {
      const std::int32_t rest = at(pairs).sibling;
      result = meld(result, pairs);
      pairs = rest;
    }
    return result;
  }

 private:
  struct Node {
    Item item{};
    std::int32_t child = kEmpty, sibling = kEmpty;
  };

  Node& at(std::int32_t heap) { return nodes_[static_cast<std::size_t>(heap)]; }
  const Node& at(std::int32_t heap) const {
    return nodes_[static_cast<std::size_t>(heap)];
  }

  std::vector<Node> nodes_;
  std::vector<std::pair<Bytes, std::int32_t>> by_key_;  // scratch of meld_all()
};

}  // namespace espalier
