#include "espalier/checkpoint/rotor.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace espalier {
namespace {

using Staircase = std::vector<BudgetPoint>;

constexpr Nanoseconds kNever = std::numeric_limits<Nanoseconds>::max();

Nanoseconds cost_at(std::span<const BudgetPoint> stairs, Bytes m) {
  const auto after = std::upper_bound(
      stairs.begin(), stairs.end(), m,
      [](Bytes bytes, const BudgetPoint& point) { return bytes < point.bytes; });
  return after == stairs.begin() ? kNever : std::prev(after)->cost;
}

// The sum of two staircases, one of them shifted, plus a cost, from `floor` on: one step
// after the other.
class SumOfStairs {
 public:
  SumOfStairs(std::span<const BudgetPoint> shifted, Bytes shift,
              std::span<const BudgetPoint> plain, Nanoseconds cost, Bytes floor)
      : a_(shifted), b_(plain), shift_(shift), cost_(cost) {
    bytes_ = std::max({floor, a_.front().bytes + shift, b_.front().bytes});
    settle();
  }
  [[nodiscard]] Bytes bytes() const { return bytes_; }
  [[nodiscard]] Nanoseconds cost() const {
    return cost_ + a_[in_a_].cost + b_[in_b_].cost;
  }
  /// To the next step; false: there is none.
  bool next() {
    const Bytes a = in_a_ + 1 < a_.size() ? a_[in_a_ + 1].bytes + shift_ : kEnd;
    const Bytes b = in_b_ + 1 < b_.size() ? b_[in_b_ + 1].bytes : kEnd;
    bytes_ = std::min(a, b);
    if (bytes_ == kEnd) return false;
    in_a_ += a == bytes_ ? 1 : 0;
    in_b_ += b == bytes_ ? 1 : 0;
    return true;
  }
  /// Goes on where the cost is below `enough`; false: nowhere. A block of steps whose
  /// last is not below it is skipped whole.
  bool find_below(Nanoseconds enough) {
    while (cost() >= enough) {
      const std::size_t a = std::min(in_a_ + kBlock, a_.size() - 1);
      const std::size_t b = block_end(a_[a].bytes + shift_);
      if (cost_ + a_[a].cost + b_[b].cost >= enough && (a > in_a_ || b > in_b_)) {
        bytes_ = std::max(a_[a].bytes + shift_, b_[b].bytes);
        in_a_ = a;
        in_b_ = b;
      } else if (!next()) {
        return false;
      }
    }
    return true;
  }

 private:
  static constexpr Bytes kEnd = std::numeric_limits<Bytes>::max();
  static constexpr std::size_t kBlock = 16;

  // The last step of b that lies at or before `bytes`, when it is near.
  [[nodiscard]] std::size_t block_end(Bytes bytes) const {
    std::size_t b = in_b_;
    while (b + 1 < b_.size() && b_[b + 1].bytes <= bytes) ++b;
    return b;
  }
  void settle() {
    while (in_a_ + 1 < a_.size() && a_[in_a_ + 1].bytes + shift_ <= bytes_) ++in_a_;
    while (in_b_ + 1 < b_.size() && b_[in_b_ + 1].bytes <= bytes_) ++in_b_;
  }

  std::span<const BudgetPoint> a_, b_;
  Bytes shift_;
  Nanoseconds cost_;
  Bytes bytes_ = 0;
  std::size_t in_a_ = 0, in_b_ = 0;
};

// The lower one of two staircases at each m. `least` is below no step of `sum`: where the
// envelope has come down to it, it stays.
void lower(Staircase& envelope, SumOfStairs sum, Nanoseconds least, Staircase& spare) {
  std::size_t next = 0;           // of the envelope
  Nanoseconds old_cost = kNever;  // of the envelope at sum.bytes()
  const auto catch_up = [&] {
    while (next < envelope.size() && envelope[next].bytes <= sum.bytes())
      old_cost = envelope[next++].cost;
  };
  catch_up();
  // Up to where it is better for the first time nothing changes.
  while (sum.cost() >= old_cost) {
    if (old_cost <= least) return;
    if (!sum.find_below(old_cost)) return;
    catch_up();
  }
  spare.assign(envelope.begin(), envelope.begin() + static_cast<std::ptrdiff_t>(next));
  if (!spare.empty() && spare.back().bytes == sum.bytes()) spare.pop_back();
  const auto add = [&spare](BudgetPoint point) {
    if (!spare.empty() && point.cost >= spare.back().cost) return;
    if (!spare.empty() && spare.back().bytes == point.bytes) spare.pop_back();
    spare.push_back(point);
  };
  add({sum.bytes(), sum.cost()});
  bool more = sum.next();
  while (more) {
    while (next < envelope.size() && envelope[next].bytes <= sum.bytes())
      add(envelope[next++]);
    if (spare.back().cost <= least) break;
    if (sum.cost() < spare.back().cost) {
      add({sum.bytes(), sum.cost()});
      more = sum.next();
    } else {
      more = sum.find_below(spare.back().cost);
    }
  }
  while (next < envelope.size()) add(envelope[next++]);
  envelope.swap(spare);
}

}  // namespace

RotorTable::RotorTable(std::shared_ptr<const Chain> chain,
                       const CheckpointProgress& progress)
    : chain_(std::move(chain)),
      forward_(1, 0),
      both_(1, 0),
      parts_(static_cast<std::size_t>(checked_mul(chain_->size(), chain_->size()))) {
  for (const Stage& stage : chain_->stages()) {
    forward_.push_back(forward_.back() + stage.forward);
    both_.push_back(both_.back() + stage.forward + stage.backward);
  }
  (void)checked_mul(both_.back(), 2 * (chain_->size() + 1));
  const std::int64_t size = chain_->size();
  for (std::int64_t length = 0; length < size; ++length) {
    for (std::int64_t i = 0; i + length < size; ++i)
      parts_[cell(i, i + length)] = fill(i, i + length);
    if (progress) {
      const double done = static_cast<double>(length + 1) / static_cast<double>(size);
      progress(done * done * (3 - 2 * done));
    }
  }
}

Bytes RotorTable::run_bytes(std::int64_t i, std::int64_t t) const {
  const Chain& c = *chain_;
  Bytes most = c.state(i + 1) + c.stage(i).forward_workspace;
  for (std::int64_t k = i + 1; k < t; ++k)
    most = std::max(most, c.state(k) + c.state(k + 1) + c.stage(k).forward_workspace);
  return most + c.state(t + 1);
}

Bytes RotorTable::saved_bytes(std::int64_t i, std::int64_t t) const {
  const Stage& stage = chain_->stage(i);
  return stage.saved + std::max(chain_->state(t + 1) + stage.forward_workspace,
                                chain_->state(i + 1) + stage.backward_workspace);
}

std::vector<BudgetPoint> RotorTable::fill(std::int64_t i, std::int64_t t) const {
  const Stage& stage = chain_->stage(i);
  const Nanoseconds once = stage.forward + stage.backward;
  if (i == t) return {{saved_bytes(i, i), once}};
  const Bytes floor = run_bytes(i, t);
  const Staircase nothing = {{saved_bytes(i, t), once}};
  Staircase envelope, spare;
  lower(envelope, SumOfStairs(part(i + 1, t), stage.saved, nothing, 0, floor), 0, spare);
  const Nanoseconds all =
      both_[static_cast<std::size_t>(t) + 1] - both_[static_cast<std::size_t>(i)];
  for (std::int64_t j = i + 1; j <= t; ++j) {
    const Nanoseconds again =
        forward_[static_cast<std::size_t>(j)] - forward_[static_cast<std::size_t>(i)];
    lower(envelope,
          SumOfStairs(part(j, t), chain_->state(j), part(i, j - 1), again, floor),
          all + again, spare);
  }
  envelope.shrink_to_fit();
  return envelope;
}

std::vector<BudgetPoint> RotorTable::curve() const {
  std::vector<BudgetPoint> points = parts_[cell(0, chain_->size() - 1)];
  for (BudgetPoint& point : points) point.bytes += chain_->state(0);
  return points;
}

std::int64_t RotorTable::choice(std::int64_t i, std::int64_t t, Bytes m) const {
  const Nanoseconds goal = cost_at(part(i, t), m);
  const Stage& stage = chain_->stage(i);
  if (m >= saved_bytes(i, t)) {
    const Nanoseconds rest = cost_at(part(i + 1, t), m - stage.saved);
    if (rest != kNever && stage.forward + stage.backward + rest == goal) return 0;
  }
  for (std::int64_t j = i + 1; j <= t; ++j) {
    const Nanoseconds again =
        forward_[static_cast<std::size_t>(j)] - forward_[static_cast<std::size_t>(i)];
    const Nanoseconds right = cost_at(part(j, t), m - chain_->state(j));
    const Nanoseconds left = cost_at(part(i, j - 1), m);
    if (right != kNever && left != kNever && again + right + left == goal) return j;
  }
  ESPALIER_ASSERT(false, "a step of a staircase has a reason");
  return t;
}

}  // namespace espalier
