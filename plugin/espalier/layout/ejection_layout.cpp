#include "espalier/layout/ejection_layout.h"

#include <algorithm>
#include <array>
#include <limits>

#include "espalier/layout/fit_layout.h"
#include "espalier/model/numbers.h"

namespace espalier {
namespace {

constexpr int kShifts = 2;  // after a move

constexpr std::pair<Bytes, double> kNoneAbove = {std::numeric_limits<Bytes>::max(), 0};

}  // namespace

EjectionLayout::EjectionLayout(const Pieces& pieces, std::uint64_t seed)
    : pieces_(&pieces), random_(seed) {
  const std::size_t n = pieces.size();
  begins_.resize(n + 1);
  ends_.resize(n + 1);
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
  by_begin_.clear();
  by_end_.clear();
  for (const std::int32_t p : order_by_extent(*pieces_, 1, 0, 0)) {
    if (const auto place = gap(at(p), Gap::kAny))
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
  if (const auto place = gap(piece, Gap::kTightest)) {
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
  const auto place = gap(piece, Gap::kAny);
  if (!place || *place == offset_[piece]) return;
  take(piece);
  put(piece, *place);
}

void EjectionLayout::put(std::size_t piece, Bytes offset) {
  offset_[piece] = offset;
  placed_[piece] = 1;
  const Placed own{offset, end(piece), static_cast<std::int32_t>(piece)};
  by_begin_.insert(std::ranges::upper_bound(by_begin_, own.begin, {}, &Placed::begin),
                   own);
  by_end_.insert(std::ranges::upper_bound(by_end_, own.end, {}, &Placed::end), own);
}

void EjectionLayout::take(std::size_t piece) {
  const auto number = static_cast<std::int32_t>(piece);
  const auto first =
      std::ranges::lower_bound(by_begin_, offset_[piece], {}, &Placed::begin);
  by_begin_.erase(std::ranges::find(first, by_begin_.end(), number, &Placed::piece));
  const auto last = std::ranges::lower_bound(by_end_, end(piece), {}, &Placed::end);
  by_end_.erase(std::ranges::find(last, by_end_.end(), number, &Placed::piece));
  placed_[piece] = 0;
}

// One of the places at the lower and the upper end of gaps that hold the piece, at
// random: of all of them or of the smallest.
std::optional<Bytes> EjectionLayout::gap(std::size_t piece, Gap which) {
  const Bytes own = size(piece);
  std::optional<Bytes> place;
  std::uint64_t places = 0;
  Bytes least = std::numeric_limits<Bytes>::max();
  const auto offer = [&](Bytes offset) {
    if (random_.below(++places) == 0) place = offset;
  };
  const auto look = [&](Bytes from, Bytes to) {
    if (to - from < own || to - from > least) return;
    if (which == Gap::kTightest && to - from < least) {
      least = to - from;
      places = 0;
    }
    offer(from);
    if (to - from > own) offer(to - own);
  };
  // What the piece does not meet counts as lying at 0 and empty: no branch to be guessed.
  Bytes top = 0;
  for (const Placed& other : by_begin_) {
    const Bytes counts = -Bytes{meets(piece, at(other.piece))};
    const Bytes begin = counts & other.begin;
    if (begin - top >= own) look(top, begin);
    top = std::max(top, counts & other.end);
  }
  look(top, capacity_);
  return place;
}

// What the piece meets, from below, by begins and by ends; none above ends each list.
void EjectionLayout::find_way(std::size_t piece) {
  std::size_t count = 0, count_ends = 0;  // each is written; those it meets stay
  for (const Placed& p : by_begin_) {
    begins_[count] = {p.begin, weight_[at(p.piece)]};
    count += meets(piece, at(p.piece));
  }
  for (const Placed& p : by_end_) {
    ends_[count_ends] = {p.end, weight_[at(p.piece)]};
    count_ends += meets(piece, at(p.piece));
  }
  begins_[count] = ends_[count_ends] = kNoneAbove;
}

// On or below one of those that the piece meets, at the bottom or at the top; of equal
// ones one at random, the likelier the more of them it touches. Upwards, an end takes its
// weight out of the way, and a begin adds its own above the place where it touches.
Bytes EjectionLayout::least_weight_place(std::size_t piece) {
  find_way(piece);
  const Bytes own = size(piece), highest = capacity_ - own;
  auto begin = begins_.begin();
  auto end = ends_.begin();
  double weight = 0;
  for (; begin->first < own; ++begin) weight += begin->second;
  Bytes best = 0;
  double least = weight;
  std::uint64_t equal = 1;
  const auto offer = [&](Bytes offset, double in_way, std::uint64_t times) {
    if (in_way > least) return;
    if (in_way < least) equal = 0;
    least = in_way;
    equal += times;
    if (random_.below(equal) < times) best = offset;
  };
  // Of the events at one offset: ends so far, and what is in the way before its begins.
  Bytes last = -1, last_begin = -1;
  std::uint64_t ended = 0;
  double before = 0;
  for (;;) {
    const Bytes touches = begin->first - own;
    const bool ends = end->first <= touches;  // a sum, not a branch to be guessed
    const Bytes offset = std::min(end->first, touches);
    if (offset > highest) break;
    const std::array<double, 2> changes = {begin->second, -end->second};
    ended = offset == last ? ended + 1 : 1;
    before = offset == last_begin ? before : weight;
    last = offset;
    last_begin = ends ? last_begin : offset;
    weight += changes[ends ? 1 : 0];
    const std::array<double, 2> offered = {before, weight};
    offer(offset, offered[ends ? 1 : 0], ends ? ended : 1);
    begin += ends ? 0 : 1;
    end += ends ? 1 : 0;
  }
  offer(highest, weight, 1);
  return best;
}

void EjectionLayout::eject(std::size_t piece, Bytes offset) {
  const std::size_t before = waiting_.size();
  for (const Placed& p : by_begin_) {
    if (p.begin >= offset + size(piece)) break;
    if (meets(piece, at(p.piece)) != 0 && p.end > offset) waiting_.push_back(p.piece);
  }
  for (std::size_t k = before; k < waiting_.size(); ++k) take(at(waiting_[k]));
}

}  // namespace espalier
