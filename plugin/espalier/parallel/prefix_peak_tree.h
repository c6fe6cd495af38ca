#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "espalier/model/units.h"

namespace espalier {

/// Memory along a sequence of tasks that run one after the other. Task i takes alloc_i
/// bytes when it starts and gives back free_i when it ends, so that with `base` bytes in
/// memory before the first, there are while i runs
///
///   base + (alloc_1 - free_1) + … + (alloc_{i-1} - free_{i-1}) + alloc_i.
///
/// Tasks are appended at the end, change, and leave from anywhere.
///
/// A complete binary tree of (sum, peak) over blocks of 16 tasks: 20 bytes a place and 2
/// for the tree, at most 3/2 places a task. Places of tasks that left are reused when the
/// last place is taken: then the rest is closed up, which is O(1) a task in the long run.
///
/// @par Cost  O(log n) for append, change, remove and first_above; no recursion
/// @par Test  PrefixPeakTree.MatchesAScan
class PrefixPeakTree {
 public:
  using Place = std::uint32_t;
  /// Told where a task is now when tasks are closed up.
  using Moved = std::function<void(std::uint32_t task, Place place)>;

  explicit PrefixPeakTree(Moved moved) : moved_(std::move(moved)) {}

  struct Entry {
    Bytes alloc = 0, free = 0;
  };

  /// Instead of what it holds: tasks 0, 1, 2 … at these places, with room for no more.
  /// O(n).
  void assign(std::vector<Entry> tasks);
  /// A task at the end, with free = 0.
  [[nodiscard]] Place append(std::uint32_t task, Bytes alloc = 0);
  /// Of a task that has left, in O(1): what restore() brings back.
  void change(Place place, Bytes more_alloc, Bytes more_free);
  void remove(Place place);
  /// Undoes remove(), no append() having come between.
  void restore(Place place);

  /// The first task during which more than `limit` bytes above the base are in memory;
  /// nothing when there is none.
  [[nodiscard]] std::optional<Place> first_above(Bytes limit) const;
  /// The most bytes above the base; 0 without tasks.
  [[nodiscard]] Bytes peak() const;
  /// The first task, by going through the places of those that left.
  [[nodiscard]] std::optional<Place> first() const;
  [[nodiscard]] std::size_t size() const { return alive_; }

 private:
  static constexpr std::size_t kBlock = 16;
  static constexpr Bytes kNothing = std::numeric_limits<Bytes>::min() / 2;
  struct Node {
    Bytes sum = 0, peak = kNothing;  // of alloc - free; of alloc on top of the sum before
  };
  [[nodiscard]] static Node joined(const Node& a, const Node& b);
  [[nodiscard]] Node block(std::size_t index) const;
  void update(Place place);
  void close_up();
  void rebuild();

  Moved moved_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> tasks_;  // kGone: left
  static constexpr std::uint32_t kGone = 1U << 31;
  std::vector<Node> nodes_;  // 1: root, children of i at 2i and 2i+1; then the blocks
  std::size_t end_ = 0, alive_ = 0;
};

}  // namespace espalier
