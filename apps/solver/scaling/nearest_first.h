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
/// out, so nodes need no order but this: place k holds those whose distance differs from
/// the last one in bit k - 1 of its pattern and in none above, place 0 those that are as
/// near.
///
///   example, four bits, last 0100: 0101 in place 1, 0110 and 0111 in place 2, 1100 in 4
///
/// Among equals the last in is mostly the first out; the order follows from the calls
/// alone.
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
  /// @par Cost  amortised O(1) for each of the at most 63 places that an entry goes down
  [[nodiscard]] std::optional<std::int32_t> take(std::span<const double> distance,
                                                 double limit);

 private:
  static constexpr std::int32_t kNone = -1;
  struct Entry {
    double distance;
    std::int32_t node;
    std::int32_t next;  // in its place, or of those that are unused
  };

  void link(std::int32_t at);
  void unuse(std::int32_t at);
  void spread(int place, std::span<const double> distance);

  std::vector<Entry> entries_;
  std::int32_t unused_ = kNone;         // first of a list
  std::array<std::int32_t, 64> first_;  // of each place
  std::uint64_t occupied_ = 0;          // bit k - 1: place k
  std::uint64_t last_ = 0;              // pattern of a distance
};

// Inline: most of the time of a search goes through them.
inline void NearestFirst::put(double distance, std::int32_t node) {
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
    const std::int32_t at = first_[0];
    if (at == kNone) {
      if (occupied_ == 0) return std::nullopt;
      spread(std::countr_zero(occupied_) + 1, distance);
      continue;
    }
    const auto [length, node, next] = entries_[at];
    if (length >= limit) return std::nullopt;
    first_[0] = next;
    unuse(at);
    if (length == distance[node]) return node;
  }
}

inline void NearestFirst::link(std::int32_t at) {
  const auto place = static_cast<int>(
      std::bit_width(std::bit_cast<std::uint64_t>(entries_[at].distance) ^ last_));
  entries_[at].next = first_[place];
  first_[place] = at;
  if (place > 0) occupied_ |= std::uint64_t{1} << (place - 1);
}

inline void NearestFirst::unuse(std::int32_t at) {
  entries_[at].next = unused_;
  unused_ = at;
}

}  // namespace espalier::solver
