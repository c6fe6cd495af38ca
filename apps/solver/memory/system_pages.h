#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "espalier/model/units.h"
#include "solver/memory/page_choice.h"

namespace espalier::solver {

/// Of memory that is handed out: all zeros; anything; anything, and huge pages may be
/// those that the system finds when they are first written to, so that the threads that
/// do so wait for them side by side.
enum class PageContent : std::int8_t { kZeros, kAny, kUntouched };

/// Address space of whole pages without memory; of a huge page's bytes or more it begins
/// where one may, if there is room. @throws Error when the system refuses
[[nodiscard]] std::byte* reserve_pages(Bytes bytes);
/// Fresh resident memory in small pages, all zeros, at an address that was reserved.
/// @throws Error
void populate_pages(std::byte* at, Bytes bytes);
/// Makes pages resident by writing a zero at the start of each. The first use of a page
/// has a price of its own where a host shadows its table.
void touch_pages(std::byte* data, Bytes bytes);
/// The same for pages of zeros, by one call where the system has it: at half the price of
/// a fault each.
void bring_pages(std::byte* data, Bytes bytes);
void unmap_pages(std::byte* data, Bytes bytes) noexcept;
/// Bytes up to the next place where a huge page may begin.
[[nodiscard]] Bytes to_huge_page(const std::byte* at);

/// Fresh memory in pages of the kind that comes cheaper. Safe from any thread.
class SystemPages {
 public:
  explicit SystemPages(PageChoice choice = {}) : choice_(choice) {}
  /// What is learned of prices serves all that share it.
  [[nodiscard]] static SystemPages& of_process();

  /// Memory, all zeros, at an address that was reserved.
  /// @return  its parts of one kind of pages, in order: a mapping each
  /// @throws Error when the system refuses
  std::vector<std::span<std::byte>> take(std::byte* at, Bytes bytes, PageContent content);

  [[nodiscard]] bool huge_is_cheaper() const;

 private:
  [[nodiscard]] PageChoice::Step next(Bytes bytes, Bytes before, bool touched);

  mutable std::mutex mutex_;
  PageChoice choice_;
};

}  // namespace espalier::solver
