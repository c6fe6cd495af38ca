#include "espalier/model/buffer_set.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "espalier/model/error.h"

namespace espalier {

BufferSet::BufferSet(std::vector<Buffer> buffers) : buffers_(std::move(buffers)) {
  if (buffers_.size() > std::numeric_limits<std::int32_t>::max())
    throw InvalidInput(fmt::format("{} buffers are more than 2^31 - 1", buffers_.size()));
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    const Buffer& buffer = buffers_[i];
    if (buffer.lower >= buffer.upper)
      throw InvalidInput(fmt::format("buffer {}: the lifetime [{}, {}) is empty", i,
                                     buffer.lower, buffer.upper));
    if (buffer.size < 0)
      throw InvalidInput(
          fmt::format("buffer {}: the size {} is negative", i, buffer.size));
    if (__builtin_add_overflow(total_bytes_, buffer.size, &total_bytes_))
      throw OverflowError(
          fmt::format("buffer {}: the sum of all sizes leaves the 64-bit range at {}", i,
                      buffer.size));
  }
}

}  // namespace espalier
