#include "solver/memory/system_pages.h"

#include <fmt/core.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "espalier/model/error.h"
#include "espalier/model/processor_time.h"
#include "solver/memory/page_buffer.h"

namespace espalier::solver {
namespace {

void* map(std::byte* at, Bytes bytes, int protection, int flags) {
  void* const address = mmap(at, static_cast<std::size_t>(bytes), protection,
                             MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  if (address == MAP_FAILED)
    throw Error(
        fmt::format("cannot allocate {}: {}", format_size(bytes), std::strerror(errno)));
  return address;
}

// Best effort: without huge pages everything works, a little slower.
void map_huge(std::byte* at, Bytes bytes) {
  map(at, bytes, PROT_READ | PROT_WRITE, MAP_FIXED);
  madvise(at, static_cast<std::size_t>(bytes), MADV_HUGEPAGE);
}

}  // namespace

Bytes to_huge_page(const std::byte* at) {
  constexpr auto kHuge = static_cast<std::uintptr_t>(PageChoice::kHugePage);
  return static_cast<Bytes>((kHuge - reinterpret_cast<std::uintptr_t>(at) % kHuge) %
                            kHuge);
}

// At the start of a huge page where the limits of the process leave that much more room.
std::byte* reserve_pages(Bytes bytes) {
  constexpr Bytes kHuge = PageChoice::kHugePage;
  const Bytes more = bytes >= kHuge ? kHuge : 0;
  void* const address =
      more > 0 ? mmap(nullptr, static_cast<std::size_t>(checked_add(bytes, more)),
                      PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
               : MAP_FAILED;
  if (address == MAP_FAILED)
    return static_cast<std::byte*>(map(nullptr, bytes, PROT_NONE, MAP_NORESERVE));
  auto* const data = static_cast<std::byte*>(address);
  const Bytes before = to_huge_page(data);
  if (before > 0) unmap_pages(data, before);
  if (before < more) unmap_pages(data + before + bytes, more - before);
  return data + before;
}

void populate_pages(std::byte* at, Bytes bytes) {
  map(at, bytes, PROT_READ | PROT_WRITE, MAP_FIXED);
  // Adding into a fresh page reads it first: the system would map its page of zeros, then
  // copy it at the write, and interrupt every other thread for each page.
  madvise(at, static_cast<std::size_t>(bytes), MADV_POPULATE_WRITE);
}

void touch_pages(std::byte* data, Bytes bytes) {
  const Bytes page = PageBuffer::footprint(1);
  for (Bytes at = 0; at < bytes; at += page)
    *static_cast<volatile std::byte*>(data + at) = std::byte{0};
}

void bring_pages(std::byte* data, Bytes bytes) {
  if (madvise(data, static_cast<std::size_t>(bytes), MADV_POPULATE_WRITE) != 0)
    touch_pages(data, bytes);
}

void unmap_pages(std::byte* data, Bytes bytes) noexcept {
  munmap(data, static_cast<std::size_t>(bytes));
}

SystemPages& SystemPages::of_process() {
  static SystemPages pages;
  return pages;
}

PageChoice::Step SystemPages::next(Bytes bytes, Bytes before, bool touched) {
  const std::scoped_lock lock(mutex_);
  return choice_.next(bytes, before, touched);
}

bool SystemPages::huge_is_cheaper() const {
  const std::scoped_lock lock(mutex_);
  return choice_.huge_is_cheaper();
}

std::vector<std::span<std::byte>> SystemPages::take(std::byte* at, Bytes bytes,
                                                    PageContent content) {
  const bool touched = content != PageContent::kUntouched;
  std::vector<std::span<std::byte>> parts;
  std::optional<bool> last;
  while (bytes > 0) {
    const PageChoice::Step step = next(bytes, to_huge_page(at), touched);
    std::byte* const place = step.aside ? reserve_pages(step.bytes) : at;
    // What others run meanwhile is not the pages' price.
    const Seconds start = step.priced ? thread_seconds() : 0;
    step.huge ? map_huge(place, step.bytes) : populate_pages(place, step.bytes);
    if (step.priced || (step.huge && touched)) touch_pages(place, step.bytes);
    if (step.priced) {
      const Seconds taken = thread_seconds() - start;
      const std::scoped_lock lock(mutex_);
      choice_.paid(step, taken);
    }
    if (step.aside) {
      unmap_pages(place, step.bytes);
      continue;
    }
    const auto size = static_cast<std::size_t>(step.bytes);
    if (last == step.huge)
      parts.back() = {parts.back().data(), parts.back().size() + size};
    else
      parts.emplace_back(at, size);
    last = step.huge;
    at += step.bytes;
    bytes -= step.bytes;
  }
  return parts;
}

}  // namespace espalier::solver
