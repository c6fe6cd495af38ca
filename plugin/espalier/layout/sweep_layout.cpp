#include "espalier/layout/sweep_layout.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

namespace espalier {
namespace {

// Memory cut into blocks, used or free, from the bottom up. Free blocks never touch, and
// the highest block is never free.
class Heap {
 public:
  // The number of the block, and its offset.
  std::pair<std::int32_t, Bytes> take(Bytes size) {
    const auto hole = holes_.lower_bound({size, -1, -1});
    if (hole == holes_.end()) return take_on_top(size);
    const auto [bytes, offset, block] = *hole;
    holes_.erase(hole);
    Block& used = blocks_[static_cast<std::size_t>(block)];
    used.free = false;
    if (bytes > size) {
      const std::int32_t rest = insert_after(block, offset + size, bytes - size);
      blocks_[static_cast<std::size_t>(block)].size = size;
      release(rest);
    }
    return {block, offset};
  }

  void give_back(std::int32_t block) {
    const Block freed = at(block);
    if (freed.above >= 0 && at(freed.above).free) absorb_above(block);
    if (freed.below >= 0 && at(freed.below).free) {
      block = freed.below;
      holes_.erase(key(block));
      merge_above(block);
    }
    if (at(block).above < 0) {
      drop_top(block);
    } else {
      release(block);
    }
  }

 private:
  struct Block {
    Bytes offset = 0, size = 0;
    std::int32_t below = -1, above = -1;
    bool free = false;
  };
  using Key = std::tuple<Bytes, Bytes, std::int32_t>;  // size, offset, block

  [[nodiscard]] Block& at(std::int32_t b) { return blocks_[static_cast<std::size_t>(b)]; }
  [[nodiscard]] Key key(std::int32_t b) { return {at(b).size, at(b).offset, b}; }

  std::int32_t fresh() {
    if (unused_.empty()) {
      blocks_.emplace_back();
      return static_cast<std::int32_t>(blocks_.size() - 1);
    }
    const std::int32_t block = unused_.back();
    unused_.pop_back();
    return block;
  }

  std::pair<std::int32_t, Bytes> take_on_top(Bytes size) {
    const std::int32_t block = fresh();
    const Bytes offset = top_ < 0 ? 0 : at(top_).offset + at(top_).size;
    at(block) = {offset, size, top_, -1, false};
    if (top_ >= 0) at(top_).above = block;
    top_ = block;
    return {block, offset};
  }

  std::int32_t insert_after(std::int32_t block, Bytes offset, Bytes size) {
    const std::int32_t rest = fresh();
    const std::int32_t above = at(block).above;
    at(rest) = {offset, size, block, above, false};
    at(block).above = rest;
    if (above >= 0) at(above).below = rest;
    return rest;
  }

  void release(std::int32_t block) {
    at(block).free = true;
    holes_.insert(key(block));
  }

  void absorb_above(std::int32_t block) {
    holes_.erase(key(at(block).above));
    merge_above(block);
  }

  // The block above becomes a part of this one.
  void merge_above(std::int32_t block) {
    const std::int32_t gone = at(block).above;
    at(block).size += at(gone).size;
    at(block).above = at(gone).above;
    if (at(gone).above >= 0) at(at(gone).above).below = block;
    unused_.push_back(gone);
  }

  void drop_top(std::int32_t block) {
    top_ = at(block).below;
    if (top_ >= 0) at(top_).above = -1;
    at(block).free = false;
    unused_.push_back(block);
  }

  std::vector<Block> blocks_;
  std::vector<std::int32_t> unused_;
  std::set<Key> holes_;
  std::int32_t top_ = -1;
};

// Numbers of the pieces in the order in which the sweep meets their ends.
std::vector<std::int32_t> by_last(const Pieces& pieces) {
  std::vector<std::int32_t> first(static_cast<std::size_t>(pieces.sections) + 1, 0);
  for (const Piece& piece : pieces.list)
    ++first[static_cast<std::size_t>(piece.last) + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<std::int32_t> order(pieces.size());
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const auto last = static_cast<std::size_t>(pieces.list[i].last);
    order[static_cast<std::size_t>(first[last]++)] = static_cast<std::int32_t>(i);
  }
  return order;
}

std::vector<std::int32_t> by_first(const Pieces& pieces) {
  std::vector<std::int32_t> order(pieces.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](std::int32_t a, std::int32_t b) {
    const Piece& x = pieces.list[static_cast<std::size_t>(a)];
    const Piece& y = pieces.list[static_cast<std::size_t>(b)];
    return std::tie(x.first, y.last, y.size, a) < std::tie(y.first, x.last, x.size, b);
  });
  return order;
}

}  // namespace

std::vector<Bytes> sweep_layout(const Pieces& pieces) {
  std::vector<Bytes> offsets(pieces.size(), 0);
  std::vector<std::int32_t> block(pieces.size(), -1);
  const std::vector<std::int32_t> ends = by_last(pieces);
  auto end = ends.begin();
  Heap heap;
  for (const std::int32_t p : by_first(pieces)) {
    const Piece& piece = pieces.list[static_cast<std::size_t>(p)];
    for (; pieces.list[static_cast<std::size_t>(*end)].last < piece.first; ++end) {
      const std::int32_t freed = block[static_cast<std::size_t>(*end)];
      if (freed >= 0) heap.give_back(freed);
    }
    if (piece.size == 0) continue;  // anywhere
    std::tie(block[static_cast<std::size_t>(p)], offsets[static_cast<std::size_t>(p)]) =
        heap.take(piece.size);
  }
  return offsets;
}

}  // namespace espalier
