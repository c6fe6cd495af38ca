#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "espalier/sequential/pairing_heaps.h"
#include "espalier/sequential/segment.h"

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

  /// `a`, then the task of `segment`, then `b`. Each task once.
  Handle series(Handle a, const Segment& segment, Handle b) {
    Segment s = segment;
    for (;;) {
      if (skip_taken(a), a.back >= 0 && joins(at(a.back), s)) {
        s = concat(at(a.back), s, next_);
        taken_[static_cast<std::size_t>(a.back)] = 1;
      } else if (skip_taken(b), b.front >= 0 && joins(s, at(b.front))) {
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

  /// All of a profile, in order, as one segment. The profile must not be empty.
  Segment whole(Handle profile) {
    skip_taken(profile);
    Segment all = at(profile.back);
    for (;;) {
      taken_[static_cast<std::size_t>(profile.back)] = 1;
      skip_taken(profile);
      if (profile.back < 0) return all;
      all = concat(at(profile.back), all, next_);
    }
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
    const Bytes rank = segment.rank();
    return {front_.make(number, {rank}), back_.make(number, {~rank})};  // ~: reversed
  }

  void skip_taken(Handle& profile) {
    while (profile.front >= 0 && taken_[static_cast<std::size_t>(profile.front)] != 0) {
      profile.front = front_.pop(profile.front);
    }
    while (profile.back >= 0 && taken_[static_cast<std::size_t>(profile.back)] != 0) {
      profile.back = back_.pop(profile.back);
    }
  }

  std::vector<Segment> segments_;
  std::vector<std::uint8_t> taken_;
  PairingHeaps<Key> front_, back_;
  std::span<TaskId> next_;
};

}  // namespace espalier
