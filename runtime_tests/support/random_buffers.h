#pragma once

#include <fmt/format.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "espalier/model/buffer_set.h"

namespace espalier::support {

/// `count` buffers of sizes 0 … largest with lifetimes between 0 and `horizon`.
inline BufferSet random_buffers(std::mt19937& random, std::size_t count,
                                std::int64_t horizon, Bytes largest) {
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(n));
  };
  std::vector<Buffer> buffers(count);
  for (Buffer& buffer : buffers) {
    buffer.lower = below(horizon);
    buffer.upper = buffer.lower + 1 + below(horizon - buffer.lower);
    buffer.size = below(largest + 1);
  }
  return BufferSet(std::move(buffers));
}

/// The same lifetimes, each size one more: none is empty.
inline BufferSet none_empty(const BufferSet& buffers) {
  std::vector<Buffer> larger(buffers.buffers().begin(), buffers.buffers().end());
  for (Buffer& buffer : larger) ++buffer.size;
  return BufferSet(std::move(larger));
}

/// Ten buffers whose load is 9, and that need 10.
inline BufferSet above_its_load() {
  return BufferSet({{0, 1, 3},
                    {0, 2, 4},
                    {1, 3, 2},
                    {2, 3, 2},
                    {1, 4, 1},
                    {2, 4, 2},
                    {4, 5, 3},
                    {0, 6, 2},
                    {3, 6, 4},
                    {5, 6, 3}});
}

/// "[0,2)3 [1,4)1"
inline std::string describe(const BufferSet& buffers) {
  std::string text;
  for (const Buffer& buffer : buffers.buffers())
    text += fmt::format("[{},{}){} ", buffer.lower, buffer.upper, buffer.size);
  return text;
}

/// The least capacity, by trying all orders in which buffers are put on what they meet:
/// every layout that cannot be pushed down comes from the order of its offsets.
class ExhaustiveLayout {
 public:
  explicit ExhaustiveLayout(const BufferSet& buffers)
      : buffers_(buffers), offset_(buffers.size(), -1), best_(buffers.total_bytes()) {
    place(0, 0, 0);
  }
  [[nodiscard]] Bytes least() const { return best_; }

 private:
  void place(std::size_t placed, Bytes lowest, Bytes highest) {
    if (highest >= best_) return;
    if (placed == buffers_.size()) {
      best_ = highest;
      return;
    }
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      if (offset_[i] >= 0) continue;
      const Buffer& buffer = buffers_[buffer_id(i)];
      Bytes low = 0;
      for (std::size_t j = 0; j < buffers_.size(); ++j) {
        const Buffer& other = buffers_[buffer_id(j)];
        if (offset_[j] >= 0 && meet(buffer, other))
          low = std::max(low, offset_[j] + other.size);
      }
      if (low < lowest) continue;  // comes by another order
      offset_[i] = low;
      place(placed + 1, low, std::max(highest, low + buffer.size));
      offset_[i] = -1;
    }
  }

  const BufferSet& buffers_;
  std::vector<Bytes> offset_;
  Bytes best_;
};

}  // namespace espalier::support
