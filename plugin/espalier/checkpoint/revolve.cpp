#include "espalier/checkpoint/revolve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "espalier/model/error.h"

namespace espalier {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMostSteps = std::int64_t{1} << 62;

__extension__ using Wide = __int128;

// a * b / divisor, which is a whole number; saturated. Products of 64 bits, the common
// case, take the short division.
std::int64_t scaled(std::int64_t a, std::int64_t b, std::int64_t divisor) {
  std::int64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) return product / divisor;
  const Wide value = static_cast<Wide>(a) * b / divisor;
  return value > kMost ? kMost : static_cast<std::int64_t>(value);
}

void check(std::int64_t steps, std::int64_t slots) {
  if (steps < 1 || steps > kMostSteps) {
    throw InvalidInput(fmt::format("{} is not a number of steps: 1 to 2^62", steps));
  }
  if (slots < 1) throw InvalidInput(fmt::format("{} is not 1 slot or more", slots));
}

RevolveRank rank_of(std::int64_t n, std::int64_t c) {
  if (n == 1) return {};
  if (c == 1) return {n - 1, n - 1};  // β(1, r) = r + 1
  RevolveRank rank{1, 1};
  std::int64_t reach = c + 1;  // β(c, r)
  if (c == 2) {  // β(2, r) = (r+1)(r+2)/2, and r may be 10^9: from just below its root
    const auto root = static_cast<std::int64_t>(std::sqrt(2 * static_cast<double>(n)));
    const std::int64_t r = std::max(std::int64_t{1}, root - 4);
    rank = {r, r * (r + 1) / 2};
    reach = (r + 1) * (r + 2) / 2;
  }
  while (reach < n) {
    rank.below = reach;
    ++rank.repetitions;
    reach = scaled(reach, c + rank.repetitions, rank.repetitions);
  }
  return rank;
}

// β(c, r-2) and β(c-1, r-1), from β(c, r-1).
std::int64_t two_below(std::int64_t c, const RevolveRank& rank) {
  return scaled(rank.below, rank.repetitions - 1, c + rank.repetitions - 1);
}
std::int64_t below_with_one_slot_less(std::int64_t c, const RevolveRank& rank) {
  return scaled(rank.below, c, c + rank.repetitions - 1);
}

// The rank of the left part, j states with c slots: r-1, or r-2 where j is β(c, r-2).
RevolveRank left_rank(std::int64_t j, std::int64_t c, const RevolveRank& rank) {
  const std::int64_t r = rank.repetitions;
  const std::int64_t below = two_below(c, rank);
  if (j > below) return {r - 1, below};
  return {r - 2, scaled(below, r - 2, c + r - 2)};
}

// The rank of the right part, n-j states with c-1 slots: r, or r-1 where n-j is
// β(c-1, r-1).
RevolveRank right_rank(std::int64_t right, std::int64_t c, const RevolveRank& rank) {
  const std::int64_t r = rank.repetitions;
  const std::int64_t below = below_with_one_slot_less(c, rank);
  if (right > below) return {r, below};
  return {r - 1, scaled(below, r - 1, c + r - 2)};
}

}  // namespace

std::int64_t revolve_repetitions(std::int64_t steps, std::int64_t slots) {
  check(steps, slots);
  return rank_of(steps, std::min(slots, steps)).repetitions;
}

std::int64_t revolve_cost(std::int64_t steps, std::int64_t slots) {
  check(steps, slots);
  const std::int64_t c = std::min(slots, steps);
  const auto [r, below] = rank_of(steps, c);
  // C(c+r, c+1) = β(c, r-1) (c+r) / (c+1).
  const Wide cost =
      static_cast<Wide>(r) * steps - static_cast<Wide>(below) * (c + r) / (c + 1);
  if (cost > kMost) {
    throw OverflowError(
        fmt::format("the forward steps to reverse {} steps with {} slot{} "
                    "leave the 64-bit range",
                    steps, slots, slots == 1 ? "" : "s"));
  }
  return static_cast<std::int64_t>(cost);
}

std::int64_t revolve_split(std::int64_t n, std::int64_t c, const RevolveRank& rank) {
  const std::int64_t right_least = below_with_one_slot_less(c, rank);  // β(c-1, r-1)
  const std::int64_t flat =
      right_least + scaled(right_least, c - 1, c + rank.repetitions - 2);
  const std::int64_t least = std::max({std::int64_t{1}, two_below(c, rank), n - flat});
  const std::int64_t most = std::min({n - 1, rank.below, n - right_least});
  return std::min(least, most);
}

std::int64_t revolve_stores(std::int64_t steps, std::int64_t slots) {
  check(steps, slots);
  const std::int64_t c = std::min(slots, steps);
  if (c == 1) return 0;
  const RevolveRank rank = rank_of(steps, c);
  const std::int64_t right_least = below_with_one_slot_less(c, rank);
  return right_least - 1 + std::max<std::int64_t>(0, steps - rank.below - right_least);
}

RevolveStream::RevolveStream(const RevolvePart& part)
    : first_(part.first), slots_(std::min(part.slots, part.steps)), end_(part.steps - 1) {
  check(part.steps, part.slots);
  stack_.push_back({0, rank_of(part.steps, slots_), part.stored});
  if (part.stored) next_ = Next::kRestore;
}

Action RevolveStream::advance() {
  const auto depth = static_cast<std::int64_t>(stack_.size());
  Entry& from = stack_.back();
  const Place target = from.stored ? Place() : Place{0, depth - 1};
  from.stored = true;
  const std::int64_t start = position_;
  const std::int64_t c = slots_ - depth + 1, n = end_ - position_ + 1;
  if (c == 1) {
    position_ = end_;
  } else {
    const std::int64_t j = revolve_split(n, c, from.rank);
    const RevolveRank right = right_rank(n - j, c, from.rank);
    from.rank = left_rank(j, c, from.rank);
    position_ += j;
    stack_.push_back({position_, right, false});  // `from` is no longer valid
  }
  return Action::forward(first_ + start, first_ + position_, target);
}

Action RevolveStream::restore() {
  while (stack_.back().step > end_) stack_.pop_back();
  Entry& top = stack_.back();
  position_ = top.step;
  next_ = Next::kGoOn;
  top.stored = position_ < end_;
  const Place slot{0, static_cast<std::int64_t>(stack_.size()) - 1};
  return top.stored ? Action::copy(first_ + position_, slot)
                    : Action::move(first_ + position_, slot);
}

Action RevolveStream::turn() {
  if (!turned_) {
    turned_ = true;
    return Action::end_forward(first_ + position_);
  }
  next_ = end_ == 0 ? Next::kEnd : Next::kRestore;
  --end_;
  return Action::reverse(first_ + position_);
}

std::optional<Action> RevolveStream::next() {
  switch (next_) {
    case Next::kGoOn:
      return position_ == end_ ? turn() : advance();
    case Next::kRestore:
      return restore();
    case Next::kEnd:
      next_ = Next::kNothing;
      return Action::end_reverse();
    case Next::kNothing:
      break;
  }
  return std::nullopt;
}

}  // namespace espalier
