#include "espalier/checkpoint/split_search.h"

#include <algorithm>
#include <numeric>
#include <optional>

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

// One row's turns are tried; the place i of either belongs to the place l-1-i of the
// other one.
struct Rows {
  const HullRow& of;
  const HullRow& other;
  std::int64_t l;
};

// All turns from `walked` to i have been tried. When these are a whole period of a
// stretch where both rows repeat themselves, so far on its last period begins.
std::optional<std::int64_t> last_period(const Rows& rows, std::int64_t walked,
                                        std::int64_t i) {
  const auto a = rows.of.runs().around(i), b = rows.other.runs().around(rows.l - 1 - i);
  if (!a || !b) return std::nullopt;
  const std::int64_t first = std::max(a->first, rows.l - 1 - b->last);
  const std::int64_t last = std::min(a->last, rows.l - 1 - b->first);
  const std::int64_t period =
      std::lcm(a->period, b->period) + 2;  // a turn has neighbours
  const bool up = walked <= i;
  const std::int64_t tried =
      up ? i - std::max(walked, first) : std::min(walked, last) - i;
  const std::int64_t there = up ? last - period : first + period;
  if (tried < period || (up ? there <= i : there >= i)) return std::nullopt;
  return there;
}

// Both ways from a turn, as long as `take` goes on; now and then it is asked whether a
// stretch can be passed over.
template <class Take>
void outwards(const Rows& rows, std::size_t from, const Take& take) {
  constexpr int kOften = 16;
  const std::vector<std::int32_t>& turns = rows.of.turns();
  std::int64_t walked = from < turns.size() ? turns[from] : 0;
  int tried = 0;
  for (std::size_t k = from; k < turns.size() && take(turns[k]); ++k) {
    if (++tried % kOften != 0) continue;
    if (const auto there = last_period(rows, walked, turns[k])) {
      walked = *there;
      k = static_cast<std::size_t>(std::ranges::lower_bound(turns, *there) -
                                   turns.begin() - 1);
    }
  }
  walked = from > 0 ? turns[from - 1] : 0;
  for (std::size_t k = from; k > 0 && take(turns[k - 1]); --k) {
    if (++tried % kOften != 0) continue;
    if (const auto there = last_period(rows, walked, turns[k - 1])) {
      walked = *there;
      k = static_cast<std::size_t>(std::ranges::upper_bound(turns, *there) -
                                   turns.begin() + 1);
    }
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
  runs_.append(value_, turn_);
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
  outwards({left, right, l}, left_turn_,
           [&](std::int64_t i) { return i < last && take(i + 1); });
  outwards({right, left, l}, right_turn_,
           [&](std::int64_t i) { return i < l && l - i <= last && take(l - i); });
  return best;
}

}  // namespace espalier
