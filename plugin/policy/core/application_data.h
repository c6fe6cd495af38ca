#pragma once

#include <cstdint>
#include <map>

#include "espalier/model/units.h"

namespace espalier::policy {

/// How much of the application's own memory the data of tasks are in: what it registered
/// with a place of its own, which no bound on what StarPU allocates holds.
///
/// Memory that lies inside a part that is known counts once, so that a matrix and its
/// tiles are not counted twice. Memory counts though it has been given back since: the
/// sum is that of all places that were ever used, not of one moment. Not thread-safe.
///
/// @par Cost  O(log n) a place
/// @par Test  ApplicationData.*
class ApplicationData {
 public:
  /// A datum of `bytes` that begins at `begin` and reaches over `extent` bytes, more than
  /// that where it is a part of a matrix.
  void add(const void* begin, Bytes extent, Bytes bytes);

  [[nodiscard]] Bytes bytes() const { return bytes_; }
  [[nodiscard]] std::int64_t count() const {
    return static_cast<std::int64_t>(parts_.size());
  }

 private:
  struct Part {
    std::uintptr_t end;
    Bytes bytes;
  };
  std::map<std::uintptr_t, Part> parts_;  // by begin
  Bytes bytes_ = 0;
};

}  // namespace espalier::policy
