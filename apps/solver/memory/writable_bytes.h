#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace espalier::solver {

/// What a message fills.
template <class Value>
[[nodiscard]] std::span<std::byte> writable_bytes(std::vector<Value>& values) {
  return std::as_writable_bytes(std::span(values));
}

}  // namespace espalier::solver
