#include "espalier/layout/rise_layout.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

#include "espalier/model/numbers.h"

namespace espalier {
namespace {

// The height reached in each section: largest over a range, and a range set to a height
// that none of it exceeds. A node holds the largest of its sections, and `flat` where all
// of them were set at once after what lies below it.
class Skyline {
 public:
  explicit Skyline(std::int32_t sections)
      : leaves_(std::bit_ceil(static_cast<std::size_t>(std::max(sections, 1)))),
        top_(2 * leaves_, 0),
        flat_(2 * leaves_, 0) {}

  // Heights only grow: the largest of all that was ever set over a range, or within it.
  [[nodiscard]] Bytes highest(std::int32_t first, std::int32_t last) const {
    Bytes most = 0;
    std::size_t low = at(first) + leaves_, high = at(last) + leaves_ + 1;
    for (std::size_t up = low; up > 0; up /= 2) most = std::max(most, flat_[up]);
    for (std::size_t up = high - 1; up > 0; up /= 2) most = std::max(most, flat_[up]);
    for (; low < high; low /= 2, high /= 2) {
      if (low % 2 == 1) most = std::max(most, top_[low++]);
      if (high % 2 == 1) most = std::max(most, top_[--high]);
    }
    return most;
  }

  void raise(std::int32_t first, std::int32_t last, Bytes height) {
    std::size_t low = at(first) + leaves_, high = at(last) + leaves_ + 1;
    const std::size_t left = low, right = high - 1;
    for (; low < high; low /= 2, high /= 2) {
      if (low % 2 == 1) set(low++, height);
      if (high % 2 == 1) set(--high, height);
    }
    for (std::size_t up = left / 2; up > 0; up /= 2)
      top_[up] = std::max(top_[up], height);
    for (std::size_t up = right / 2; up > 0; up /= 2)
      top_[up] = std::max(top_[up], height);
  }

 private:
  void set(std::size_t node, Bytes height) {
    top_[node] = std::max(top_[node], height);
    flat_[node] = std::max(flat_[node], height);
  }

  std::size_t leaves_;
  std::vector<Bytes> top_, flat_;
};

// The largest load among the sections of each piece.
std::vector<Bytes> crowds(const Pieces& pieces) {
  std::vector<std::vector<Bytes>> most = {loads(pieces)};  // over 2^k sections
  for (std::size_t width = 1; 2 * width <= most[0].size(); width *= 2) {
    const std::vector<Bytes>& half = most.back();
    std::vector<Bytes> both(half.size() - width);
    for (std::size_t s = 0; s < both.size(); ++s)
      both[s] = std::max(half[s], half[s + width]);
    most.push_back(std::move(both));
  }
  std::vector<Bytes> crowd(pieces.size());
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    const std::size_t first = at(pieces.list[p].first), last = at(pieces.list[p].last);
    const auto level = static_cast<std::size_t>(std::bit_width(last - first + 1)) - 1;
    crowd[p] =
        std::max(most[level][first], most[level][last + 1 - (std::size_t{1} << level)]);
  }
  return crowd;
}

}  // namespace

std::optional<std::vector<Bytes>> rise_layout(const Pieces& pieces,
                                              std::span<const std::int32_t> order,
                                              LayoutBudget& budget) {
  using Entry = std::pair<Bytes, std::int32_t>;  // offset, place in the order
  std::vector<Entry> all;
  all.reserve(order.size());
  for (std::size_t k = 0; k < order.size(); ++k)
    all.emplace_back(0, static_cast<std::int32_t>(k));
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open(std::greater<>(),
                                                                      std::move(all));
  Skyline skyline(pieces.sections);
  std::vector<Bytes> offsets(pieces.size(), 0);
  while (!open.empty()) {
    const auto [offset, place] = open.top();
    open.pop();
    const std::int32_t number = order[at(place)];
    const Piece& piece = pieces.list[at(number)];
    if (budget.spend(1)) return std::nullopt;
    const Bytes least = skyline.highest(piece.first, piece.last);
    if (least > offset) {
      open.emplace(least, place);
      continue;
    }
    offsets[at(number)] = piece.size == 0 ? 0 : least;
    if (piece.size > 0) skyline.raise(piece.first, piece.last, least + piece.size);
  }
  return offsets;
}

std::vector<std::int32_t> order_by_crowd(const Pieces& pieces) {
  const std::vector<Bytes> crowd = crowds(pieces);
  std::vector<std::int32_t> order(pieces.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](std::int32_t a, std::int32_t b) {
    if (crowd[at(a)] != crowd[at(b)]) return crowd[at(a)] > crowd[at(b)];
    const auto extent = [&](std::int32_t p) {
      return pieces.list[at(p)].last - pieces.list[at(p)].first;
    };
    return extent(a) != extent(b) ? extent(a) > extent(b) : a < b;
  });
  return order;
}

}  // namespace espalier
