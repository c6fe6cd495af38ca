#include "solver/page_buffer.h"

#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "espalier/model/error.h"

namespace espalier::solver {
namespace {

// From this size on, buffers ask for huge pages: a quarter of the page faults' time.
constexpr Bytes kHuge = Bytes{2} << 20;

}  // namespace

Bytes PageBuffer::footprint(Bytes bytes) {
  static const Bytes page = sysconf(_SC_PAGESIZE);
  return checked_add(bytes, page - 1) / page * page;
}

void MemoryMeter::add(Bytes bytes) noexcept {
  const Bytes now = now_.fetch_add(bytes) + bytes;
  Bytes peak = peak_.load();
  while (now > peak && !peak_.compare_exchange_weak(peak, now)) {
  }
  changed(bytes);
}

PageBuffer::PageBuffer(Bytes bytes, MemoryMeter* meter)
    : bytes_(footprint(bytes)), meter_(meter) {
  if (bytes_ == 0) return;
  void* const address = mmap(nullptr, static_cast<std::size_t>(bytes_),
                             PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED)
    throw Error(
        fmt::format("cannot allocate {}: {}", format_size(bytes_), std::strerror(errno)));
  data_ = static_cast<std::byte*>(address);
  if (meter_ != nullptr) meter_->add(bytes_);
  // Best effort: without huge pages everything works, a little slower.
  if (bytes_ >= kHuge) madvise(address, static_cast<std::size_t>(bytes_), MADV_HUGEPAGE);
  // Adding into a fresh page reads it first: the system would map its page of zeros, then
  // copy it at the write, and interrupt every other thread for each page.
  madvise(address, static_cast<std::size_t>(bytes_), MADV_POPULATE_WRITE);
}

void PageBuffer::release() noexcept {
  if (data_ != nullptr) {
    munmap(data_, static_cast<std::size_t>(bytes_));
    if (meter_ != nullptr) meter_->add(-bytes_);
  }
  data_ = nullptr;
  bytes_ = 0;
}

}  // namespace espalier::solver
