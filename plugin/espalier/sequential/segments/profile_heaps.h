#pragma once

#include <algorithm>
#include <cstdint>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

#include "espalier/sequential/segments/pairing_heaps.h"
#include "espalier/sequential/segments/profile.h"

namespace espalier {

/// Canonical profiles (profile.h) that grow large: series and parallel without a walk
/// along them.
///
/// A profile is two pairing heaps of the same segments, the first one on top of the one
/// and the last one on top of the other. Two profiles are merged by melding. A segment
/// that is taken at one end stays in the heap of the other end, marked, until it comes to
/// its top; so each segment is popped at most twice.
///
/// @par Cost  O(log n) amortised for each series(), O(1) for each parallel()
/// @par Test  ProfileHeaps.AgreeWithProfiles
class ProfileHeaps {
 public:
  /// A profile, by name. The default is the empty one. Used in an operation, it is lost.
  struct Handle {
    std::int32_t front = -1, back = -1;
  };

  /// Of tasks 0 … n-1, whose ropes are linked in `next`.
  explicit ProfileHeaps(std::span<TaskId> next)
      : segments_(next.size()),
        taken_(next.size(), 0),
        front_(next.size()),
        back_(next.size()),
        next_(next) {}

  [[nodiscard]] std::span<TaskId> links() const { return next_; }

  /// `a`, then `segment`, then `b`. The last task of `segment` names what comes of it: of
  /// no two segments in use, taken or not, the same.
  Handle series(Handle a, const Segment& segment, Handle b) {
    Segment s = segment;
    for (;;) {
      skip_taken(back_, a.back);
      skip_taken(front_, b.front);
      if (a.back >= 0 && joins(at(a.back), s)) {
        s = concat(at(a.back), s, next_);
        taken_[static_cast<std::size_t>(a.back)] = 1;
      } else if (b.front >= 0 && joins(s, at(b.front))) {
        s = concat(s, at(b.front), next_);
        taken_[static_cast<std::size_t>(b.front)] = 1;
      } else {
        return parallel(parallel(a, b),
                        single(static_cast<std::int32_t>(segment.last), s));
      }
    }
  }

  /// Two independent profiles side by side.
  Handle parallel(Handle a, Handle b) {
    return {front_.meld(a.front, b.front), back_.meld(a.back, b.back)};
  }

  /// Any number of them, at the price of a sort, and then faster to take apart.
  Handle parallel(std::span<const Handle> profiles) {
    if (profiles.size() == 1) return profiles[0];
    const auto meld = [&](PairingHeaps<Key>& heaps, std::int32_t Handle::*end) {
      return heaps.meld_all(
          profiles | std::views::transform([end](const Handle& h) { return h.*end; }));
    };
    return {meld(front_, &Handle::front), meld(back_, &Handle::back)};
  }

  /// The segments of a profile, in order. The profile is not lost.
  [[nodiscard]] Profile segments(Handle profile) const {
    Profile all;
    for (const std::int32_t number : front_.members(profile.front)) {
      if (taken_[static_cast<std::size_t>(number)] == 0) all.push_back(at(number));
    }
    const auto place = [](const Segment& s) { return std::pair(s.rank(), s.last); };
    std::sort(all.begin(), all.end(), [place](const Segment& a, const Segment& b) {
      return place(a) < place(b);
    });
    return all;
  }

 private:
  struct Key {
    Bytes value = 0;
    [[nodiscard]] Bytes key() const { return value; }
  };

  [[nodiscard]] const Segment& at(std::int32_t number) const {
    return segments_[static_cast<std::size_t>(number)];
  }

  Handle single(std::int32_t number, const Segment& segment) {
    segments_[static_cast<std::size_t>(number)] = segment;
    taken_[static_cast<std::size_t>(number)] = 0;
    const Bytes rank = segment.rank();
    return {front_.make(number, {rank}), back_.make(number, {~rank})};  // ~: reversed
  }

  void skip_taken(PairingHeaps<Key>& heaps, std::int32_t& heap) {
    while (heap >= 0 && taken_[static_cast<std::size_t>(heap)] != 0) {
      heap = heaps.pop(heap);
    }
  }

  std::vector<Segment> segments_;
  std::vector<std::uint8_t> taken_;
  PairingHeaps<Key> front_, back_;
  std::span<TaskId> next_;
};

}  // namespace espalier
