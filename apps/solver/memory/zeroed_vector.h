#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

namespace espalier::solver {

/// Elements are zero, and of what is never touched there are no pages: a process that
/// writes its part of a long vector pays for that part.
template <class T>
struct ZeroedPages : std::allocator<T> {
  static_assert(std::is_trivially_copyable_v<T>);
  ZeroedPages() = default;
  template <class U>
  explicit(false) ZeroedPages(const ZeroedPages<U>&) {}

  /// @throws std::bad_alloc
  [[nodiscard]] T* allocate(std::size_t count) {
    void* const place = has_pages(count) ? map(count) : std::calloc(count, sizeof(T));
    if (place == nullptr) throw std::bad_alloc();
    return static_cast<T*>(place);
  }
  void deallocate(T* place, std::size_t count) noexcept {
    if (has_pages(count))
      munmap(place, count * sizeof(T));
    else
      std::free(place);
  }
  template <class U>
  void construct(U* /*place*/) {}  // it is zero

 private:
  // The heap may give such that were used before, and clears all of them.
  static bool has_pages(std::size_t count) {
    constexpr std::size_t kLeast = std::size_t{128} << 10;
    return count > kLeast / sizeof(T);
  }
  static void* map(std::size_t count) {
    if (count > static_cast<std::size_t>(-1) / sizeof(T)) return nullptr;
    void* const pages = mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? nullptr : pages;
  }
};

/// Of a length that it is made with: to take elements off and put others on would not
/// leave them zero.
template <class T>
using ZeroedVector = std::vector<T, ZeroedPages<T>>;

}  // namespace espalier::solver
