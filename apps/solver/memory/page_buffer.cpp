#include "solver/memory/page_buffer.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>

#include "espalier/model/error.h"

namespace espalier::solver {
namespace {

Bytes page_size() {
  static const Bytes size = sysconf(_SC_PAGESIZE);
  return size;
}

}  // namespace

Bytes PageBuffer::footprint(Bytes bytes) {
  return checked_add(bytes, page_size() - 1) / page_size() * page_size();
}

void MemoryMeter::add(Bytes bytes) noexcept {
  const Bytes now = now_.fetch_add(bytes) + bytes;
  Bytes peak = peak_.load();
  while (now > peak && !peak_.compare_exchange_weak(peak, now)) {
  }
  changed(bytes);
}

PageBuffer::PageBuffer(Bytes bytes, MemoryMeter* meter, PagePool* pool, Content content)
    : bytes_(footprint(bytes)), meter_(meter), pool_(pool) {
  if (bytes_ == 0) return;
  if (pool_ != nullptr)
    data_ = pool_->take(bytes_, content);
  else
    take_system(content);
  if (meter_ != nullptr) meter_->add(bytes_);
}

void PageBuffer::take_system(Content content) {
  if (take_heap(content)) return;
  data_ = reserve_pages(bytes_);
  SystemPages::of_process().take(data_, bytes_, content);
}

// Not aligned_alloc(): of what is large enough to be mapped, that maps anew each time,
// where malloc() soon keeps as much in the heap. Of many pages what is fresh is zero
// already, and is touched as populate_pages() does, or brought by one call where malloc()
// is likely to have mapped it; few ones have been used before.
bool PageBuffer::take_heap(Content content) {
  constexpr Bytes kFewPages = 4;
  constexpr Bytes kMapped = Bytes{128} << 10;  // M_MMAP_THRESHOLD at first
  if (bytes_ > kSmall) return false;
  const bool zeros = content == Content::kZeros;
  const bool few = bytes_ <= kFewPages * page_size();
  const auto page = static_cast<std::size_t>(page_size());
  auto space = static_cast<std::size_t>(bytes_) + page;
  heap_ = few || !zeros ? std::malloc(space) : std::calloc(1, space);
  if (heap_ == nullptr) return false;
  void* place = heap_;
  data_ = static_cast<std::byte*>(
      std::align(page, static_cast<std::size_t>(bytes_), place, space));
  if (few && zeros) std::fill_n(data_, bytes_, std::byte{0});
  if (!few && zeros) (bytes_ < kMapped ? touch_pages : bring_pages)(data_, bytes_);
  return true;
}

PageBuffer PageBuffer::reserve(Bytes bytes, MemoryMeter* meter, PagePool* pool) {
  PageBuffer buffer;
  buffer.bytes_ = footprint(bytes);
  buffer.meter_ = meter;
  buffer.pool_ = pool;
  if (buffer.bytes_ == 0) return buffer;
  buffer.data_ = reserve_pages(buffer.bytes_);
  buffer.pages_.assign(static_cast<std::size_t>(buffer.bytes_ / page_size()),
                       Page::kReserved);
  return buffer;
}

bool PageBuffer::same_as(Bytes bytes, bool reserved) const {
  return bytes_ == footprint(bytes) && pages_.empty() == (!reserved || bytes_ == 0) &&
         std::ranges::count(pages_, Page::kGone) == 0;
}

PageBuffer PageBuffer::renew(PageBuffer&& former, MemoryMeter* meter,
                             Content content) noexcept {
  PageBuffer buffer = std::move(former);
  buffer.meter_ = meter;
  std::ranges::replace(buffer.pages_, Page::kFilled, Page::kHeld);
  if (buffer.pages_.empty()) buffer.hold(0, buffer.bytes_, content);
  return buffer;
}

// Of memory that is there already.
void PageBuffer::hold(Bytes begin, Bytes end, Content content) noexcept {
  if (content == Content::kZeros) std::fill(data_ + begin, data_ + end, std::byte{0});
  if (meter_ != nullptr) meter_->add(end - begin);
}

void PageBuffer::take(Bytes begin, Bytes end, Content content) {
  if (pool_ != nullptr)
    pool_->take_at(data_ + begin, end - begin, content);
  else
    SystemPages::of_process().take(data_ + begin, end - begin, content);
  if (meter_ != nullptr) meter_->add(end - begin);
}

void PageBuffer::give(Bytes begin, Bytes end) noexcept {
  if (pool_ != nullptr)
    pool_->give(data_ + begin, end - begin);
  else if (heap_ != nullptr)
    std::free(heap_);
  else
    unmap_pages(data_ + begin, end - begin);
  if (meter_ != nullptr) meter_->add(begin - end);
}

// Calls change(begin, end), in bytes, for every run of pages in a state among the pages
// [page, last); they are in state `after` then.
template <class Change>
void PageBuffer::change_runs(Bytes page, Bytes last, Page before, Page after,
                             Change change) {
  while (page < last) {
    Bytes stop = page;
    while (stop < last && pages_[stop] == before) ++stop;
    if (stop > page) change(page * page_size(), stop * page_size());
    std::fill(pages_.begin() + page, pages_.begin() + stop, after);
    page = std::max(stop, page + 1);
  }
}

void PageBuffer::fill(Bytes begin, Bytes end, Content content) {
  if (pages_.empty() || begin >= end) return;
  const Bytes page = begin / page_size(), last = (end + page_size() - 1) / page_size();
  change_runs(page, last, Page::kHeld, Page::kFilled,
              [&](Bytes from, Bytes to) { hold(from, to, content); });
  change_runs(page, last, Page::kReserved, Page::kFilled,
              [&](Bytes from, Bytes to) { take(from, to, content); });
}

void PageBuffer::drain(Bytes begin, Bytes end) noexcept {
  if (data_ == nullptr || heap_ != nullptr) return;
  if (pages_.empty())
    pages_.assign(static_cast<std::size_t>(bytes_ / page_size()), Page::kFilled);
  change_runs((begin + page_size() - 1) / page_size(), end / page_size(), Page::kFilled,
              Page::kGone, [this](Bytes first, Bytes last) { give(first, last); });
}

Bytes PageBuffer::resident() const {
  if (pages_.empty()) return bytes_;
  const auto here = [](Page page) {
    return page == Page::kFilled || page == Page::kHeld;
  };
  return std::ranges::count_if(pages_, here) * page_size();
}

void PageBuffer::release() noexcept {
  if (data_ != nullptr && pages_.empty()) give(0, bytes_);
  const auto pages = static_cast<Bytes>(pages_.size());
  MemoryMeter* const meter = std::exchange(meter_, nullptr);  // which knows of none held
  change_runs(0, pages, Page::kHeld, Page::kGone,
              [this](Bytes first, Bytes last) { give(first, last); });
  meter_ = meter;
  change_runs(0, pages, Page::kFilled, Page::kGone,
              [this](Bytes first, Bytes last) { give(first, last); });
  change_runs(0, pages, Page::kReserved, Page::kGone, [this](Bytes first, Bytes last) {
    unmap_pages(data_ + first, last - first);
  });
  pages_.clear();
  data_ = nullptr;
  bytes_ = 0;
  heap_ = nullptr;
}

}  // namespace espalier::solver
