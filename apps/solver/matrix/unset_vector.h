#pragma once

#include <memory>
#include <new>
#include <vector>

namespace espalier::solver {

/// An allocator whose vectors leave numbers that are given no value as the memory is.
template <class T>
struct LeavesUnset : std::allocator<T> {
  LeavesUnset() = default;
  template <class U>
  explicit(false) LeavesUnset(const LeavesUnset<U>&) {}
  template <class U>
  void construct(U* place) {
    ::new (static_cast<void*>(place)) U;
  }
};

/// A vector of which resize(n) and UnsetVector(n) write nothing: whose turn it is to
/// write a part of it first pays for the part's fresh pages, and not one thread for all.
template <class T>
using UnsetVector = std::vector<T, LeavesUnset<T>>;

}  // namespace espalier::solver
