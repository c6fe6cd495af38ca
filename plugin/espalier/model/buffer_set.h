#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "espalier/model/id_vector.h"
#include "espalier/model/units.h"

namespace espalier {

/// Index of a buffer in its set: 0 … n-1.
enum class BufferId : std::int32_t {};

[[nodiscard]] constexpr BufferId buffer_id(std::size_t position) {
  return static_cast<BufferId>(position);
}

/// Memory that is needed during [lower, upper). Of times only the order matters.
struct Buffer {
  std::int64_t lower = 0;  ///< below `upper`
  std::int64_t upper = 0;
  Bytes size = 0;  ///< not negative
  friend bool operator==(const Buffer&, const Buffer&) = default;
};

/// Sizes, each rounded up to an alignment, and their sum.
class AlignedTotal {
 public:
  /// @pre alignment is 1 or more
  explicit AlignedTotal(Bytes alignment = 1) : alignment_(alignment) {}

  /// The size, rounded up; nothing where that or the sum leaves the 64-bit range.
  /// @pre it is not negative
  [[nodiscard]] std::optional<Bytes> add(Bytes size);
  [[nodiscard]] Bytes bytes() const { return bytes_; }
  /// "the sum of all sizes, rounded up to 64, leaves the 64-bit range at 5"
  [[nodiscard]] std::string overflow_at(Bytes size) const;

 private:
  Bytes alignment_, bytes_ = 0;
};

/// Whether there is a time at which both are needed.
[[nodiscard]] constexpr bool meet(const Buffer& a, const Buffer& b) {
  return a.lower < b.upper && b.lower < a.upper;
}

/// The question of a memory layout: buffers that want offsets in one piece of memory,
/// such that no two that meet in time share a byte.
///
///     address
///     3 |  +---------+        a: [0, 2), 1 byte     offsets: a 0, b 0, c 1
///     2 |  |    c    |        b: [2, 4), 1 byte     capacity: 3
///     1 +--+----+----+        c: [1, 3), 2 bytes
///       | a     | b  |
///     0 +-------+----+--> time
///
/// Immutable, and without answers.
class BufferSet {
 public:
  BufferSet() = default;

  /// @throws InvalidInput naming the buffer whose lifetime is empty or whose size is
  ///         negative, or for more than 2^31 - 1 buffers; OverflowError when the sum of
  ///         all sizes leaves the 64-bit range: no layout that stacks buffers on one
  ///         another can then overflow
  explicit BufferSet(std::vector<Buffer> buffers);

  [[nodiscard]] std::size_t size() const { return buffers_.size(); }
  [[nodiscard]] bool empty() const { return buffers_.empty(); }
  [[nodiscard]] const Buffer& operator[](BufferId buffer) const {
    return buffers_[index(buffer)];
  }
  [[nodiscard]] std::span<const Buffer> buffers() const { return buffers_; }
  [[nodiscard]] Bytes total_bytes() const { return total_bytes_; }

 private:
  std::vector<Buffer> buffers_;
  Bytes total_bytes_ = 0;
};

}  // namespace espalier
