#pragma once

#include <cstddef>

#include "espalier/model/units.h"

namespace espalier::training {

/// One piece of memory, zeroed and resident from the start. It ends where a page begins
/// that nobody may touch: whoever writes or reads behind its last byte ends the program.
class Arena {
 public:
  /// @param bytes  a multiple of 64, to which the arena is aligned
  /// @throws Error when the system refuses (the message names the size)
  explicit Arena(Bytes bytes);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] Bytes size() const { return bytes_; }

  /// What an arena adds to the resident set: whole pages.
  [[nodiscard]] static Bytes footprint(Bytes bytes);

 private:
  std::byte* data_ = nullptr;
  Bytes bytes_ = 0;
  void* mapped_ = nullptr;
  Bytes mapped_bytes_ = 0;
};

}  // namespace espalier::training
