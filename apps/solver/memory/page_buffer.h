#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "espalier/model/units.h"
#include "solver/memory/page_pool.h"

namespace espalier::solver {

/// Counts the bytes of the buffers that are told of it; safe from any thread.
class MemoryMeter {
 public:
  MemoryMeter() = default;
  virtual ~MemoryMeter() = default;
  MemoryMeter(const MemoryMeter&) = delete;
  MemoryMeter& operator=(const MemoryMeter&) = delete;

  void add(Bytes bytes) noexcept;
  [[nodiscard]] Bytes now() const { return now_.load(); }
  [[nodiscard]] Bytes peak() const { return peak_.load(); }

 protected:
  /// Called after memory has been taken or given back.
  virtual void changed(Bytes /*delta*/) noexcept {}

 private:
  std::atomic<Bytes> now_{0}, peak_{0};
};

/// Zeroed memory taken from the system in whole pages, and given back to it at once.
/// Without a pool a small one is of the heap: system calls and fresh pages would take ten
/// times what a system of ten equations does, and what the heap keeps of the few that a
/// calling thread has is in every reserve (runtime_reserve()).
///
/// Fronts live in page buffers and not in the heap, so that what is freed leaves the
/// resident set of the process, and what is booked for a buffer, footprint(), is the most
/// that it can ever add to it, whatever the size of the system's pages. All pages are
/// resident from the start.
///
/// A buffer that was reserve()d has no memory yet: fill() and drain() bring and take it
/// page by page. Calls that run at the same time must be of pages that do not meet.
class PageBuffer {
 public:
  using Content = PagePool::Content;

  PageBuffer() = default;
  /// @param pool     where the pages come from and go to; null: the system
  /// @param content  kAny: for what writes before it reads
  /// @throws Error when the system refuses (the message names the size)
  explicit PageBuffer(Bytes bytes, MemoryMeter* meter = nullptr, PagePool* pool = nullptr,
                      Content content = Content::kZeros);
  /// Of any content, from the system.
  [[nodiscard]] static PageBuffer unset(Bytes bytes) {
    return PageBuffer(bytes, nullptr, nullptr, Content::kUntouched);
  }
  /// Address space only.
  [[nodiscard]] static PageBuffer reserve(Bytes bytes, MemoryMeter* meter,
                                          PagePool* pool);
  /// A buffer in the place of one that is done with: what has memory keeps it, and is
  /// zeroed, if it was reserved when it is filled. Without memory that was drained.
  /// @param former   same_as() what is asked for
  /// @param content  kAny: what was not reserved is as it was
  [[nodiscard]] static PageBuffer renew(PageBuffer&& former, MemoryMeter* meter,
                                        Content content = Content::kZeros) noexcept;
  /// Whether renew() makes of it what the constructor, or reserve(), would make.
  [[nodiscard]] bool same_as(Bytes bytes, bool reserved) const;
  ~PageBuffer() { release(); }
  PageBuffer(PageBuffer&& other) noexcept { *this = std::move(other); }
  PageBuffer& operator=(PageBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(meter_, other.meter_);
    std::swap(pool_, other.pool_);
    std::swap(pages_, other.pages_);
    std::swap(heap_, other.heap_);
    return *this;
  }

  /// Memory for every page that [begin, end) touches and that never had any.
  /// @throws Error when the system refuses
  void fill(Bytes begin, Bytes end, Content content = Content::kZeros);
  /// Gives back the pages that lie wholly inside [begin, end). They must not be used
  /// again.
  void drain(Bytes begin, Bytes end) noexcept;
  /// The same for a part of the buffer.
  void fill(std::span<const std::byte> part) {
    const Bytes begin = part.data() - data_;
    fill(begin, begin + std::ssize(part));
  }
  void drain(std::span<const std::byte> part) noexcept {
    const Bytes begin = part.data() - data_;
    drain(begin, begin + std::ssize(part));
  }

  [[nodiscard]] std::byte* data() const { return data_; }
  template <class T>
  [[nodiscard]] T* as() const {
    return reinterpret_cast<T*>(data_);
  }
  [[nodiscard]] Bytes size() const { return bytes_; }  ///< a multiple of the page size
  /// Of the heap without a pool, in pages.
  static constexpr Bytes kSmall = Bytes{512} << 10;
  /// Bytes that were filled and are not drained, also before it was renewed.
  [[nodiscard]] Bytes resident() const;
  void release() noexcept;
  /// For a buffer that outlives its meter.
  void forget_meter() noexcept { meter_ = nullptr; }
  /// And its pool: its pages go back to the system.
  void forget_pool() noexcept { pool_ = nullptr; }

  /// What a buffer of so many bytes takes: rounded up to whole pages.
  [[nodiscard]] static Bytes footprint(Bytes bytes);

 private:
  enum class Page : std::int8_t { kReserved, kHeld, kFilled, kGone };
  template <class Change>
  void change_runs(Bytes page, Bytes last, Page before, Page after, Change change);
  [[nodiscard]] bool take_heap(Content content);
  void take_system(Content content);
  void take(Bytes begin, Bytes end, Content content);
  void give(Bytes begin, Bytes end) noexcept;
  void hold(Bytes begin, Bytes end, Content content) noexcept;

  std::byte* data_ = nullptr;
  Bytes bytes_ = 0;
  void* heap_ = nullptr;     // what it lies in of the heap: whole until it is released
  std::vector<Page> pages_;  // empty: all are filled
  MemoryMeter* meter_ = nullptr;  // both outlive the buffer
  PagePool* pool_ = nullptr;
};

}  // namespace espalier::solver
