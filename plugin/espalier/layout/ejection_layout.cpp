#include "espalier/layout/ejection_layout.h"

#include <algorithm>

#include "espalier/layout/fit_layout.h"

namespace espalier {
namespace {

constexpr int kShifts = 1;  // after a move

std::size_t at(std::int32_t number) { return static_cast<std::size_t>(number); }

// Sums the weights of what lies in the way of a piece, for places from below.
class WayMeter {
 public:
  WayMeter(std::span<const std::pair<Bytes, double>> begins,
           std::span<const std::pair<Bytes, double>> ends, Bytes size)
      : begins_(begins), ends_(ends), size_(size) {}
  /// Of those that begin below the end of the piece less those that end below it.
  double at(Bytes offset) {
    for (; next_ < begins_.size() && begins_[next_].first < offset + size_; ++next_)
      begun_ += begins_[next_].second;
    for (; last_ < ends_.size() && ends_[last_].first <= offset; ++last_)
      ended_ += ends_[last_].second;
    return begun_ - ended_;
  }

 private:
  std::span<const std::pair<Bytes, double>> begins_, ends_;
  Bytes size_;
  std::size_t next_ = 0, last_ = 0;
  double begun_ = 0, ended_ = 0;
};

}  // namespace

EjectionLayout::EjectionLayout(const Pieces& pieces, std::uint64_t seed)
    : pieces_(&pieces), random_(seed) {
  const std::size_t n = pieces.size();
  meets_.resize(n * n);
  for (std::size_t p = 0; p < n; ++p)
    for (std::size_t q = 0; q < n; ++q)
      meets_[p * n + q] = p != q && meet(pieces.list[p], pieces.list[q]);
}

// All pieces wait, and first fit by area places what it can.
void EjectionLayout::start(Bytes capacity) {
  const std::size_t n = pieces_->size();
  capacity_ = capacity;
  offset_.assign(n, 0);
  placed_.assign(n, 0);
  weight_.clear();
  for (std::size_t p = 0; p < n; ++p) weight_.push_back(static_cast<double>(size(p)));
  waiting_.clear();
  by_offset_.clear();
  by_end_.clear();
  for (const std::int32_t p : order_by_extent(*pieces_, 1, 0, 0)) {
    if (const auto place = gap(at(p)))
      put(at(p), *place);
    else
      waiting_.push_back(p);
  }
}

bool EjectionLayout::search(Bytes capacity, std::int64_t moves, LayoutBudget& budget) {
  if (load(*pieces_) > capacity) return false;
  if (capacity != capacity_) start(capacity);
  const std::int64_t cost = steps_a_move(pieces_->size());
  for (std::int64_t k = 0; k < moves && !waiting_.empty(); ++k) {
    if (budget.spend(cost)) break;
    move();
  }
  return waiting_.empty();
}

void EjectionLayout::move() {
  std::size_t chosen = random_.below(waiting_.size());
  const std::size_t other = random_.below(waiting_.size());
  if (weight_[at(waiting_[other])] > weight_[at(waiting_[chosen])]) chosen = other;
  const std::size_t piece = at(waiting_[chosen]);
  waiting_[chosen] = waiting_.back();
  waiting_.pop_back();
  if (const auto place = gap(piece)) {
    put(piece, *place);
  } else {
    weight_[piece] += static_cast<double>(size(piece));
    const Bytes least = least_weight_place(piece);
    eject(piece, least);
    put(piece, least);
  }
  for (int k = 0; k < kShifts; ++k) shift();
}

// A piece at random goes to a gap at random, which may be where it was.
void EjectionLayout::shift() {
  const std::size_t piece = random_.below(pieces_->size());
  if (!placed_[piece]) return;
  const auto place = gap(piece);
  if (!place || *place == offset_[piece]) return;
  take(piece);
  put(piece, *place);
}

void EjectionLayout::put(std::size_t piece, Bytes offset) {
  const auto number = static_cast<std::int32_t>(piece);
  offset_[piece] = offset;
  placed_[piece] = 1;
  const auto begin = [&](std::int32_t p) { return offset_[at(p)]; };
  const auto ends = [&](std::int32_t p) { return end(at(p)); };
  by_offset_.insert(std::ranges::upper_bound(by_offset_, offset, {}, begin), number);
  by_end_.insert(std::ranges::upper_bound(by_end_, end(piece), {}, ends), number);
}

void EjectionLayout::take(std::size_t piece) {
  const auto number = static_cast<std::int32_t>(piece);
  const auto begin = [&](std::int32_t p) { return offset_[at(p)]; };
  const auto ends = [&](std::int32_t p) { return end(at(p)); };
  const auto first = std::ranges::lower_bound(by_offset_, offset_[piece], {}, begin);
  by_offset_.erase(std::find(first, by_offset_.end(), number));
  const auto last = std::ranges::lower_bound(by_end_, end(piece), {}, ends);
  by_end_.erase(std::find(last, by_end_.end(), number));
  placed_[piece] = 0;
}

// One of the places at the lower and the upper end of gaps that hold the piece, at
// random.
std::optional<Bytes> EjectionLayout::gap(std::size_t piece) {
  const Bytes own = size(piece);
  std::optional<Bytes> place;
  std::uint64_t places = 0;
  const auto offer = [&](Bytes offset) {
    if (random_.below(++places) == 0) place = offset;
  };
  const auto look = [&](Bytes from, Bytes to) {
    if (to - from < own) return;
    offer(from);
    if (to - from > own) offer(to - own);
  };
  // What the piece does not meet counts as lying at 0 and empty: no branch to be guessed.
  Bytes top = 0;
  for (const std::int32_t other : by_offset_) {
    const Bytes counts = meets(piece, at(other));
    const Bytes begin = counts * offset_[at(other)];
    if (begin - top >= own) look(top, begin);
    top = std::max(top, begin + counts * size(at(other)));
  }
  look(top, capacity_);
  return place;
}

// On or below one of those that the piece meets, at the bottom or at the top; of equal
// ones one at random.
Bytes EjectionLayout::least_weight_place(std::size_t piece) {
  begins_.resize(by_offset_.size());
  ends_.resize(by_end_.size());
  std::size_t count = 0, count_ends = 0;  // each is written; those it meets stay
  for (const std::int32_t p : by_offset_) {
    begins_[count] = {offset_[at(p)], weight_[at(p)]};
    count += meets(piece, at(p));
  }
  for (const std::int32_t p : by_end_) {
    ends_[count_ends] = {end(at(p)), weight_[at(p)]};
    count_ends += meets(piece, at(p));
  }
  begins_.resize(count);
  ends_.resize(count_ends);
  const Bytes highest = capacity_ - size(piece);
  Bytes best = 0;
  double least = 0;
  std::uint64_t equal = 0;
  const auto offer = [&](WayMeter& meter, Bytes offset) {
    if (offset < 0 || offset > highest) return;
    const double weight = meter.at(offset);
    if (equal == 0 || weight < least) {
      best = offset, least = weight, equal = 1;
    } else if (weight == least && random_.below(++equal) == 0) {
      best = offset;
    }
  };
  WayMeter above(begins_, ends_, size(piece)), below(begins_, ends_, size(piece));
  offer(above, 0);
  for (const auto& [end, weight] : ends_) offer(above, end);
  for (const auto& [begin, weight] : begins_) offer(below, begin - size(piece));
  offer(below, highest);
  return best;
}

void EjectionLayout::eject(std::size_t piece, Bytes offset) {
  const std::size_t before = waiting_.size();
  for (const std::int32_t p : by_offset_) {
    if (offset_[at(p)] >= offset + size(piece)) break;
    if (meets(piece, at(p)) && end(at(p)) > offset) waiting_.push_back(p);
  }
  for (std::size_t k = before; k < waiting_.size(); ++k) take(at(waiting_[k]));
}

}  // namespace espalier
