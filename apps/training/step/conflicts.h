#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "espalier/model/units.h"

namespace espalier::training {

/// Bytes that an operator touches.
struct MemoryAccess {
  std::uintptr_t begin = 0;
  Bytes bytes = 0;
  bool writes = false;
};

/// For each operator of an order, those before it that it has to wait for so that any
/// schedule gives what the order gives: of two that touch a byte, one of them writing,
/// the later waits for the earlier. What follows from others is left out where that is
/// seen at once. So a tensor's first writer waits for the last readers of whatever lay
/// there before, and a layout made for the order is right for any number of workers.
/// @return positions, ascending
/// @par Cost  O((accesses + pieces of memory) log pieces)
/// @par Test  equals all pairs on random accesses, up to transitivity
[[nodiscard]] std::vector<std::vector<std::int32_t>> conflicts(
    std::span<const std::vector<MemoryAccess>> order);

}  // namespace espalier::training
