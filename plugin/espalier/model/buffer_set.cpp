#include "espalier/model/buffer_set.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "espalier/model/error.h"

namespace espalier {

std::optional<Bytes> AlignedTotal::add(Bytes size) {
  const Bytes rest = size % alignment_;
  if (rest != 0 && __builtin_add_overflow(size, alignment_ - rest, &size))
    return std::nullopt;
  if (__builtin_add_overflow(bytes_, size, &bytes_)) return std::nullopt;
  return size;
}

std::string AlignedTotal::overflow_at(Bytes size) const {
  const std::string rounded =
      alignment_ == 1 ? "" : fmt::format(", rounded up to {},", alignment_);
  return fmt::format("the sum of all sizes{} leaves the 64-bit range at {}", rounded,
                     size);
}

BufferSet::BufferSet(std::vector<Buffer> buffers) : buffers_(std::move(buffers)) {
  if (buffers_.size() > std::numeric_limits<std::int32_t>::max())
    throw InvalidInput(fmt::format("{} buffers are more than 2^31 - 1", buffers_.size()));
  AlignedTotal total;
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    const Buffer& buffer = buffers_[i];
    if (buffer.lower >= buffer.upper)
      throw InvalidInput(fmt::format("buffer {}: the lifetime [{}, {}) is empty", i,
                                     buffer.lower, buffer.upper));
    if (buffer.size < 0)
      throw InvalidInput(
          fmt::format("buffer {}: the size {} is negative", i, buffer.size));
    if (!total.add(buffer.size))
      throw OverflowError(
          fmt::format("buffer {}: {}", i, total.overflow_at(buffer.size)));
  }
  total_bytes_ = total.bytes();
}

}  // namespace espalier
