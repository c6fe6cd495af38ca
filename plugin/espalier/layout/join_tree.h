#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "espalier/layout/pieces.h"

namespace espalier {

/// Which pieces were put together. The first nodes are the parts themselves.
struct JoinTree {
  struct Node {
    Piece piece;
    std::int32_t left = -1, right = -1;  // what it was joined from; -1: nothing
    bool stacked = false;
  };
  std::vector<Node> nodes;
  std::vector<std::int32_t> roots;  // what belongs to nothing larger, by number

  std::int32_t join(std::int32_t below, std::int32_t above, bool stacked);
};

/// How many of the pieces that start in a section would have one's lifetime, or its
/// size, if they were drawn from all: by powers of two, as exact values are too rare.
class Coincidence {
 public:
  explicit Coincidence(const Pieces& pieces);
  [[nodiscard]] double of_lifetime(const Piece& piece) const;
  [[nodiscard]] double of_size(Bytes size, std::int32_t section) const;

 private:
  std::vector<std::int32_t> starts_;  // by section
  std::array<double, 65> lengths_{}, sizes_{};
  Bytes unit_ = 0;
};

/// Stacks roots of one lifetime, and puts roots of one size in a row where one starts in
/// the section after the last one of the other, until nothing can be joined any more;
/// first what is least likely equal by chance. A `seed` other than 0 shakes that.
/// @par Cost  O(n log n)
void join_all(JoinTree& tree, const Coincidence& coincidence, std::uint64_t seed = 0);

}  // namespace espalier
