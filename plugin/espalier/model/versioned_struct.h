#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>

#include "espalier/model/error.h"

// Structs of the C interfaces that may grow at their end. The first member, `size`, is
// sizeof the struct as the caller was compiled.

namespace espalier {

/// The size of a caller's struct. Smaller than the present one, it must be one that an
/// older version had; larger, any up to 4 KiB.
/// @param sizes  that the struct has had, increasing; the last one is the present one
/// @throws InvalidInput naming the struct and the size
inline std::size_t checked_size(std::size_t size, std::span<const std::size_t> sizes,
                                const char* name) {
  constexpr std::size_t kMost = 4096;  // more is no size of a struct
  if ((size > sizes.back() && size <= kMost) ||
      std::find(sizes.begin(), sizes.end(), size) != sizes.end())
    return size;
  throw InvalidInput(fmt::format("{}.size is {}: no version had that; this one has {}",
                                 name, size, sizes.back()));
}

/// What a caller of any version means: what an older one does not know is zero.
/// @throws InvalidInput as checked_size(), and for a newer struct with anything but zeros
///         behind what this version knows
/// @par Test  VersionedStruct.*
template <class Struct>
Struct versioned(const Struct& given, std::span<const std::size_t> sizes,
                 const char* name) {
  static_assert(std::is_trivially_copyable_v<Struct>);
  ESPALIER_ASSERT(sizes.back() == sizeof(Struct), "the last size is the present one");
  const std::size_t size = checked_size(given.size, sizes, name);
  const auto* const bytes = reinterpret_cast<const unsigned char*>(&given);
  for (std::size_t k = sizeof(Struct); k < size; ++k)
    if (bytes[k] != 0)
      throw InvalidInput(
          fmt::format("{}.size is {} and byte {} is not zero: this version knows the "
                      "first {} bytes only",
                      name, size, k, sizeof(Struct)));
  Struct result{};
  std::memcpy(static_cast<void*>(&result), bytes, std::min(size, sizeof(Struct)));
  result.size = sizeof(Struct);
  return result;
}

/// Fills a caller's struct as far as its version has it, and with zeros behind what this
/// version knows; its `size` stays. @throws InvalidInput as checked_size()
template <class Struct>
void give_versioned(const Struct& all, std::span<const std::size_t> sizes,
                    const char* name, Struct& to) {
  static_assert(std::is_trivially_copyable_v<Struct>);
  ESPALIER_ASSERT(sizes.back() == sizeof(Struct), "the last size is the present one");
  const std::size_t size = checked_size(to.size, sizes, name);
  auto* const bytes = reinterpret_cast<unsigned char*>(&to);
  std::memcpy(bytes, &all, std::min(size, sizeof(Struct)));
  if (size > sizeof(Struct))
    std::fill(bytes + sizeof(Struct), bytes + size, static_cast<unsigned char>(0));
  to.size = size;
}

}  // namespace espalier
