#include "espalier/layout/fit_layout.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "espalier/layout/random.h"
#include "espalier/model/numbers.h"

namespace espalier {
namespace {

// What is placed, by offset.
class Placed {
 public:
  explicit Placed(std::size_t pieces) { list_.reserve(pieces); }

  void add_all(const Pieces& pieces, std::span<const Bytes> offsets,
               const std::vector<bool>& waits) {
    for (std::size_t p = 0; p < pieces.size(); ++p) {
      if (waits[p] || pieces.list[p].size == 0) continue;
      const Piece& piece = pieces.list[p];
      list_.push_back({offsets[p], offsets[p] + piece.size, piece.first, piece.last});
    }
    std::ranges::sort(list_, {}, &Entry::offset);
  }

  // The offset at which the piece is added.
  Bytes add(const Piece& piece, Fit fit) {
    const Bytes offset = fit == Fit::kFirst ? first_gap(piece) : best_gap(piece);
    const auto place = std::ranges::lower_bound(list_, offset, {}, &Entry::offset);
    list_.insert(place, {offset, offset + piece.size, piece.first, piece.last});
    return offset;
  }

  [[nodiscard]] std::size_t size() const { return list_.size(); }

 private:
  struct Entry {
    Bytes offset, end;
    std::int32_t first, last;
  };

  [[nodiscard]] Bytes first_gap(const Piece& piece) const {
    Bytes low = 0;
    for (const Entry& entry : list_) {
      if (entry.first > piece.last || entry.last < piece.first) continue;
      if (entry.offset - low >= piece.size) return low;
      low = std::max(low, entry.end);
    }
    return low;
  }

  [[nodiscard]] Bytes best_gap(const Piece& piece) const {
    Bytes low = 0, best = -1, smallest = std::numeric_limits<Bytes>::max();
    for (const Entry& entry : list_) {
      if (entry.first > piece.last || entry.last < piece.first) continue;
      const Bytes gap = entry.offset - low;
      if (gap >= piece.size && gap < smallest) {
        smallest = gap;
        best = low;
      }
      low = std::max(low, entry.end);
    }
    return best < 0 ? low : best;
  }

  std::vector<Entry> list_;
};

}  // namespace

std::optional<Bytes> fit_layout(const Pieces& pieces, std::span<const std::int32_t> order,
                                Fit fit, std::vector<Bytes>& offsets,
                                LayoutBudget& budget) {
  constexpr std::size_t kEntriesAStep = 64;
  offsets.resize(pieces.size(), 0);
  std::vector<bool> waits(pieces.size(), false);
  for (const std::int32_t p : order) waits[at(p)] = true;
  Placed placed(pieces.size());
  placed.add_all(pieces, offsets, waits);
  for (const std::int32_t p : order) {
    if (budget.spend(1 + static_cast<std::int64_t>(placed.size() / kEntriesAStep)))
      return std::nullopt;
    offsets[at(p)] =
        pieces.list[at(p)].size == 0 ? 0 : placed.add(pieces.list[at(p)], fit);
  }
  return capacity(pieces, offsets);
}

std::vector<std::int32_t> order_by_extent(const Pieces& pieces, double exponent,
                                          double spread, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::pair<double, double>> key(pieces.size());
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    const double size = std::log2(static_cast<double>(pieces.list[p].size) + 1);
    const double length = std::log2(static_cast<double>(pieces.list[p].length));
    const double shake = spread > 0 ? std::log2(random.factor(spread)) : 0;
    key[p] = std::isinf(exponent) ? std::pair(length + shake, size)
                                  : std::pair(size + exponent * length + shake, length);
  }
  std::vector<std::int32_t> order(pieces.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](std::int32_t a, std::int32_t b) {
    return key[at(a)] != key[at(b)] ? key[at(a)] > key[at(b)] : a < b;
  });
  return order;
}

}  // namespace espalier
