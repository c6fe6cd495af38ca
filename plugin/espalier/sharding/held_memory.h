#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "espalier/model/units.h"

namespace espalier {

/// What is held at each section less the room there is: a tree over sections, in which a
/// change over a stretch and the fullest section take O(log n).
class HeldMemory {
 public:
  explicit HeldMemory(const std::vector<Bytes>& room);

  /// Adds to the sections [from, to).
  void add(std::int32_t from, std::int32_t to, Bytes bytes);

  /// The most that any section is over its room; negative: all have some left.
  [[nodiscard]] Bytes over() const { return most_[1]; }
  /// The first section that is over its room by over().
  [[nodiscard]] std::int32_t fullest() const;
  /// By section.
  [[nodiscard]] std::vector<Bytes> all() const;

 private:
  void raise(std::size_t node, std::size_t first, std::size_t size, std::size_t from,
             std::size_t to, Bytes bytes);

  std::size_t sections_, leaves_ = 1;
  std::vector<Bytes> most_;   // of the stretch below, with what was added to it
  std::vector<Bytes> added_;  // to the whole stretch below
};

}  // namespace espalier
