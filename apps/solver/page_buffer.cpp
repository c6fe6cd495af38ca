#include "solver/page_buffer.h"

#include <unistd.h>

#include "espalier/model/error.h"

namespace espalier::solver {
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

PageBuffer::PageBuffer(Bytes bytes, MemoryMeter* meter, PagePool* pool)
    : bytes_(footprint(bytes)), meter_(meter), pool_(pool) {
  if (bytes_ == 0) return;
  data_ = pool_ != nullptr ? pool_->take(bytes_) : map_pages(bytes_);
  if (meter_ != nullptr) meter_->add(bytes_);
}

void PageBuffer::release() noexcept {
  if (data_ != nullptr) {
    if (pool_ != nullptr)
      pool_->give(data_, bytes_);
    else
      unmap_pages(data_, bytes_);
    if (meter_ != nullptr) meter_->add(-bytes_);
  }
  data_ = nullptr;
  bytes_ = 0;
}

}  // namespace espalier::solver
