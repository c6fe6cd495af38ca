#include "espalier/checkpoint/split_search.h"

#include <algorithm>

namespace espalier {
namespace {

__extension__ using Wide = __int128;

// Is the point b above the line from a to c? (Points on it stay vertices: a long straight
// stretch is not gone over again each time that it grows.)
bool above(const std::vector<Nanoseconds>& y, std::size_t a, std::size_t b,
           std::size_t c) {
  const Wide left = static_cast<Wide>(y[b] - y[a]) * static_cast<Wide>(c - b);
  const Wide right = static_cast<Wide>(y[c] - y[b]) * static_cast<Wide>(b - a);
  return left > right;
}

// e is a sum of doubles. Where that is exact to less than a quarter, only e <= best - 1
// can hide something better, values being whole; above that the margin covers the error.
double limit(Nanoseconds best) {
  const auto value = static_cast<double>(best);
  return value < 0x1p48 ? value - 0.5 : value * (1 + 0x1p-48);
}

// The first turn that is not before i, from a guess nearby.
std::size_t seek(const std::vector<std::int32_t>& turns, std::size_t guess,
                 std::int64_t i) {
  guess = std::min(guess, turns.size());
  while (guess < turns.size() && turns[guess] < i) ++guess;
  while (guess > 0 && turns[guess - 1] >= i) --guess;
  return guess;
}

// Both ways from a turn, as long as `take` goes on.
template <class Take>
void outwards(const std::vector<std::int32_t>& turns, std::size_t from,
              const Take& take) {
  for (std::size_t k = from; k < turns.size() && take(turns[k]); ++k) {
  }
  for (std::size_t k = from; k > 0 && take(turns[k - 1]); --k) {
  }
}

}  // namespace

HullRow::HullRow(std::size_t capacity) {
  value_.reserve(capacity);
  hull_.reserve(capacity);
}

void HullRow::append(Nanoseconds value) {
  const std::size_t last = value_.size();
  value_.push_back(value);
  hull_.push_back(static_cast<double>(value));
  if (last >= 2 && value - value_[last - 1] > value_[last - 1] - value_[last - 2])
    turn_.push_back(static_cast<std::int32_t>(last - 1));
  while (vertex_.size() >= 2 &&
         above(value_, vertex_[vertex_.size() - 2], vertex_.back(), last)) {
    vertex_.pop_back();
  }
  if (!vertex_.empty() && vertex_.back() + 1 < last) {
    const std::size_t from = vertex_.back();
    const auto start = static_cast<double>(value_[from]);
    const double slope =
        static_cast<double>(value - value_[from]) / static_cast<double>(last - from);
    for (std::size_t i = from + 1; i < last; ++i)
      hull_[i] = start + slope * static_cast<double>(i - from);
  }
  vertex_.push_back(last);
}

namespace {

// From `low` on, up or down within 1 … last, as long as e decreases.
template <class Cost>
std::int64_t descend(std::int64_t low, std::int64_t last, const Cost& e) {
  double e_low = e(low);
  const auto walk = [&](std::int64_t by, std::int64_t end) {
    while (low != end) {
      const double next = e(low + by);
      if (next >= e_low) return;
      low += by;
      e_low = next;
    }
  };
  walk(1, last);
  walk(-1, 1);
  return low;
}

}  // namespace

SplitSearch::Best SplitSearch::least(std::int64_t l, Nanoseconds base,
                                     const HullRow& right, const HullRow& left) {
  const auto step = static_cast<double>(step_), constant = static_cast<double>(constant_);
  const auto e = [&](std::int64_t j) {
    return static_cast<double>(j) * step + constant +
           right.hull(static_cast<std::size_t>(l - j)) +
           left.hull(static_cast<std::size_t>(j - 1));
  };
  const auto f = [&](std::int64_t j) {
    return j * step_ + constant_ + right.value(static_cast<std::size_t>(l - j)) +
           left.value(static_cast<std::size_t>(j - 1));
  };
  const std::int64_t last = std::min(l, static_cast<std::int64_t>(left.size()));
  const std::int64_t low = descend(std::min(lowest_, last), last, e);
  lowest_ = low;
  Best best{base, 0};
  double stop = limit(base);
  // false: nothing better from there on outwards
  const auto take = [&](std::int64_t j) {
    if (e(j) >= stop) return false;
    const Nanoseconds value = f(j);
    if (value < best.value) {
      best = {value, static_cast<std::int32_t>(j)};
      stop = limit(value);
    }
    return true;
  };
  if (!take(low)) return best;
  (void)take(1);
  (void)take(last);
  left_turn_ = seek(left.turns(), left_turn_, low - 1);
  right_turn_ = seek(right.turns(), right_turn_, l - low);
  outwards(left.turns(), left_turn_,
           [&](std::int64_t i) { return i < last && take(i + 1); });
  outwards(right.turns(), right_turn_,
           [&](std::int64_t i) { return i < l && l - i <= last && take(l - i); });
  return best;
}

}  // namespace espalier
