#include "training/step/arena.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "espalier/model/error.h"

namespace espalier::training {
namespace {

Bytes page_bytes() {
  static const auto bytes = static_cast<Bytes>(sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace

Bytes Arena::footprint(Bytes bytes) {
  const Bytes page = page_bytes();
  return checked_add(bytes, page - 1) / page * page;
}

Arena::Arena(Bytes bytes)
    : bytes_(bytes), mapped_bytes_(checked_add(footprint(bytes), page_bytes())) {
  mapped_ = mmap(nullptr, static_cast<std::size_t>(mapped_bytes_), PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped_ == MAP_FAILED)
    throw Error(fmt::format("the system refuses an arena of {}: {}", format_size(bytes),
                            std::strerror(errno)));
  auto* const first = static_cast<std::byte*>(mapped_);
  const Bytes usable = footprint(bytes);
  data_ = first + (usable - bytes);
  std::memset(first, 0, static_cast<std::size_t>(usable));
  if (mprotect(first + usable, static_cast<std::size_t>(page_bytes()), PROT_NONE) != 0) {
    munmap(mapped_, static_cast<std::size_t>(mapped_bytes_));
    throw Error("the system refuses to protect the end of an arena");
  }
}

Arena::~Arena() { munmap(mapped_, static_cast<std::size_t>(mapped_bytes_)); }

}  // namespace espalier::training
