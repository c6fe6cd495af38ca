#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "espalier/parallel/banker.h"

namespace espalier::policy {

/// Tasks that are ready and may not start yet, the first submitted in front, and how long
/// they have waited. Not thread-safe.
///
/// @par Cost  O(log n)
/// @par Test  HeldQueue.*
class HeldQueue {
 public:
  using Op = Banker::Op;

  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] std::size_t size() const { return heap_.size(); }
  [[nodiscard]] Op first() const { return heap_.front().op; }

  /// `number`: in the order of submission.
  void hold(Op op, std::uint64_t number) {
    heap_.push_back({number, op});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }
  Op take_first() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const Op op = heap_.back().op;
    heap_.pop_back();
    return op;
  }

  /// Before tasks join or leave: up to now, as many waited as are held.
  void count_to(Seconds now) {
    waited_ += static_cast<Seconds>(heap_.size()) * (now - counted_);
    counted_ = now;
  }
  /// Summed over tasks, up to the last count_to().
  [[nodiscard]] Seconds waited() const { return waited_; }

 private:
  struct Held {
    std::uint64_t number;
    Op op;
  };
  static bool later(const Held& a, const Held& b) { return a.number > b.number; }

  std::vector<Held> heap_;
  Seconds counted_ = 0, waited_ = 0;
};

}  // namespace espalier::policy
