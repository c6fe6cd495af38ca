#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace espalier::solver {

/// The open nodes of a search of shortest paths, the nearest first: a radix heap
/// [AMOT90]. Distances are not negative, and none is put in below the last that was taken
/// out, so nodes need no order but this: list k holds those whose distance has a pattern
/// that differs from the last one's in bit k and in none above; those that are as near
/// lie by themselves.
///
///   example, four bits, last 0100: 0101 in list 0, 0110 and 0111 in list 1, 1100 in 3
///
/// Which of several that are equally near comes first follows from the calls alone.
class NearestFirst {
 public:
  NearestFirst() { clear(); }

  void clear();
  /// @param distance  not negative, not -0.0, no less than that of the last taken out
  void put(double distance, std::int32_t node);

  /// Takes the nearest node out if its distance is below `limit`. A node that was put in
  /// again at a smaller distance stays where it was: what differs from `distance[node]`
  /// is out of date and skipped.
  ///
  /// @par Cost  amortised O(1) for each of the at most 63 lists that an entry goes down
  [[nodiscard]] std::optional<std::int32_t> take(std::span<const double> distance,
                                                 double limit);

 private:
  static constexpr std::int32_t kNone = -1;
  struct Entry {
    double distance;
    std::int32_t node;
    std::int32_t next;  // in its list, or of those that are unused
  };

  void link(std::int32_t at);
  void unuse(std::int32_t at);
  void spread(int list, std::span<const double> distance);

  std::vector<std::int32_t> nearest_;   // as near as the last one
  std::vector<Entry> entries_;          // of the lists
  std::int32_t unused_ = kNone;         // first of a list
  std::array<std::int32_t, 63> first_;  // of each list
  std::uint64_t occupied_ = 0;          // bit k: list k
  std::uint64_t last_ = 0;              // pattern of a distance
};

// Inline: most of the time of a search goes through them.
inline void NearestFirst::put(double distance, std::int32_t node) {
  if (std::bit_cast<std::uint64_t>(distance) == last_) {
    nearest_.push_back(node);
    return;
  }
  std::int32_t at = unused_;
  if (at == kNone) {
    at = static_cast<std::int32_t>(entries_.size());
    entries_.emplace_back();
  } else {
    unused_ = entries_[at].next;
  }
  entries_[at].distance = distance;
  entries_[at].node = node;
  link(at);
}

inline std::optional<std::int32_t> NearestFirst::take(std::span<const double> distance,
                                                      double limit) {
  while (true) {
    if (nearest_.empty()) {
      if (occupied_ == 0) return std::nullopt;
      spread(std::countr_zero(occupied_), distance);
      continue;
    }
    const auto last = std::bit_cast<double>(last_);
    if (last >= limit) return std::nullopt;
    const std::int32_t node = nearest_.back();
    nearest_.pop_back();
    if (distance[node] == last) return node;
  }
}

inline void NearestFirst::link(std::int32_t at) {
  const auto list = static_cast<int>(
      std::bit_width(std::bit_cast<std::uint64_t>(entries_[at].distance) ^ last_) - 1);
  entries_[at].next = first_[list];
  first_[list] = at;
  occupied_ |= std::uint64_t{1} << list;
}

inline void NearestFirst::unuse(std::int32_t at) {
  entries_[at].next = unused_;
  unused_ = at;
}

}  // namespace espalier::solver
