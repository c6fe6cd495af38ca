#include "espalier/checkpoint/uneven_revolve.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "espalier/checkpoint/part_stream.h"

namespace espalier {

UnevenTables::UnevenTables(const std::vector<Nanoseconds>& forwards, std::int64_t slots,
                           const CheckpointProgress& progress)
    : steps_(static_cast<std::int64_t>(forwards.size())),
      slots_(std::min(slots, steps_)),
      sum_(1, 0) {
  if (steps_ == 0) throw InvalidInput("0 is not a number of steps");
  if (slots < 1) throw InvalidInput(fmt::format("{} is not 1 slot or more", slots));
  for (const Nanoseconds cost : forwards) {
    if (cost < 0) throw InvalidInput(fmt::format("{} ns is not a cost", cost));
    sum_.push_back(checked_add(sum_.back(), cost));
  }
  (void)checked_mul(checked_mul(sum_.back(), steps_), 2);
  Values values = one_slot();
  for (std::int64_t c = 2; c <= slots_; ++c) {
    values = more_slots(values);
    if (progress) progress(static_cast<double>(c - 1) / static_cast<double>(slots_ - 1));
  }
  cost_ = values[cell(0, steps_ - 1)];
}

// T(i, j, 1): a sweep from x_i to each of x_{i+1} … x_j.
UnevenTables::Values UnevenTables::one_slot() const {
  Values values(cell(0, steps_ - 1) + 1, 0);
  for (std::int64_t length = 1; length < steps_; ++length) {
    for (std::int64_t i = 0; i + length < steps_; ++i) {
      values[cell(i, i + length)] = values[cell(i, i + length - 1)] +
                                    sum_[static_cast<std::size_t>(i + length)] -
                                    sum_[static_cast<std::size_t>(i)];
    }
  }
  return values;
}

std::pair<Nanoseconds, std::int64_t> UnevenTables::best(const Values& fewer,
                                                        const Values& same,
                                                        std::int64_t i, std::int64_t j,
                                                        std::int64_t guess) const {
  // What s costs, when the left part ends before `left` and the right begins at `right`.
  const auto bound = [&](std::int64_t left, std::int64_t right) {
    return sum_[static_cast<std::size_t>(left)] - sum_[static_cast<std::size_t>(i)] +
           fewer[cell(right, j)] + same[cell(i, left - 1)];
  };
  std::pair<Nanoseconds, std::int64_t> least{bound(guess, guess), guess};
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges{{i + 1, j}};
  while (!ranges.empty()) {
    const auto [first, last] = ranges.back();
    ranges.pop_back();
    const Nanoseconds value = bound(first, last);
    if (value >= least.first) continue;
    if (first == last) {
      least = {value, first};
      continue;
    }
    const std::int64_t middle = first + (last - first) / 2;
    ranges.emplace_back(first, middle);
    ranges.emplace_back(middle + 1, last);
  }
  return least;
}

UnevenTables::Values UnevenTables::more_slots(const Values& fewer) {
  Values values(fewer.size(), 0);
  std::vector<std::int32_t> splits(fewer.size(), 0);
  for (std::int64_t length = 1; length < steps_; ++length) {
    for (std::int64_t i = 0; i + length < steps_; ++i) {
      const std::int64_t j = i + length;
      const std::int64_t guess = length == 1 ? j : splits[cell(i, j - 1)];
      const auto [value, split] = best(fewer, values, i, j, guess);
      values[cell(i, j)] = value;
      splits[cell(i, j)] = static_cast<std::int32_t>(split);
    }
  }
  splits_.push_back(std::move(splits));
  return values;
}

std::int64_t UnevenTables::split(std::int64_t i, std::int64_t j, std::int64_t c) const {
  return c == 1 ? j : splits_[static_cast<std::size_t>(c - 2)][cell(i, j)];
}

namespace {

// States x_first … x_last with so many slots; x_first is in the first of them, or the
// working state.
struct UnevenPart {
  std::int64_t first, last, slots;
  bool stored;
};

class UnevenStream final : public PartStream<UnevenPart> {
 public:
  explicit UnevenStream(std::shared_ptr<const UnevenTables> tables)
      : tables_(std::move(tables)), slots_(tables_->slots()) {
    push({0, tables_->steps() - 1, slots_, false});
  }

 private:
  Action take(const UnevenPart& part) override {
    const Place slot{0, slots_ - part.slots};
    if (part.first == part.last) {
      if (!part.stored) return reverse(part.first);
      then(Action::reverse(part.first));
      return Action::move(part.first, slot);
    }
    const std::int64_t s = tables_->split(part.first, part.last, part.slots);
    push({part.first, s - 1, part.slots, true});
    push({s, part.last, part.slots - 1, false});
    if (!part.stored) return Action::forward(part.first, s, slot);
    then(Action::forward(part.first, s));
    return Action::copy(part.first, slot);
  }

  std::shared_ptr<const UnevenTables> tables_;
  std::int64_t slots_;
};

}  // namespace

std::unique_ptr<ActionStream> uneven_stream(std::shared_ptr<const UnevenTables> tables) {
  return std::make_unique<UnevenStream>(std::move(tables));
}

}  // namespace espalier
