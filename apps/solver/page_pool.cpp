#include "solver/page_pool.h"

#include <fmt/core.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "espalier/model/error.h"

namespace espalier::solver {
namespace {

// From this size on, buffers ask for huge pages: a quarter of the page faults' time.
constexpr Bytes kHuge = Bytes{2} << 20;
// Pieces below are not worth keeping; more of them would be too many mappings.
constexpr Bytes kLeastPiece = Bytes{64} << 10;
constexpr std::size_t kMostPieces = 4096;
constexpr std::size_t kMostJoined = 64;

std::byte* reserve_pages(Bytes bytes) {
  void* const address = mmap(nullptr, static_cast<std::size_t>(bytes),
                             PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED)
    throw Error(
        fmt::format("cannot allocate {}: {}", format_size(bytes), std::strerror(errno)));
  return static_cast<std::byte*>(address);
}

void populate(std::byte* data, Bytes bytes) {
  const auto size = static_cast<std::size_t>(bytes);
  // Best effort: without huge pages everything works, a little slower.
  if (bytes >= kHuge) madvise(data, size, MADV_HUGEPAGE);
  // Adding into a fresh page reads it first: the system would map its page of zeros, then
  // copy it at the write, and interrupt every other thread for each page.
  madvise(data, size, MADV_POPULATE_WRITE);
}

void clear(std::byte* data, Bytes bytes) {
  std::memset(data, 0, static_cast<std::size_t>(bytes));
}

}  // namespace

std::byte* map_pages(Bytes bytes) {
  std::byte* const data = reserve_pages(bytes);
  populate(data, bytes);
  return data;
}

void unmap_pages(std::byte* data, Bytes bytes) noexcept {
  munmap(data, static_cast<std::size_t>(bytes));
}

PagePool::~PagePool() {
  for (const auto& [bytes, data] : free_) unmap_pages(data, bytes);
}

std::byte* PagePool::take(Bytes bytes) {
  std::vector<Piece> pieces;
  {
    const std::scoped_lock lock(mutex_);
    used_ += bytes;
    if (std::byte* const data = bytes >= kLeastPiece ? take_whole(bytes) : nullptr) {
      pieces.push_back({data, bytes});
    } else if (bytes >= kLeastPiece) {
      pieces = take_pieces(bytes);
    }
    trim();
  }
  if (pieces.size() == 1 && pieces[0].bytes == bytes) {
    clear(pieces[0].data, bytes);
    return pieces[0].data;
  }
  try {
    std::byte* const data = reserve_pages(bytes);
    std::byte* next = data;
    std::vector<Bytes> sizes;
    for (const Piece& piece : pieces) {
      void* const moved = mremap(piece.data, static_cast<std::size_t>(piece.bytes),
                                 static_cast<std::size_t>(piece.bytes),
                                 MREMAP_MAYMOVE | MREMAP_FIXED, static_cast<void*>(next));
      if (moved == MAP_FAILED) {  // fresh pages in their place
        unmap_pages(piece.data, piece.bytes);
        populate(next, piece.bytes);
      } else {
        clear(next, piece.bytes);
      }
      sizes.push_back(piece.bytes);
      next += piece.bytes;
    }
    const Bytes rest = bytes - (next - data);
    if (rest > 0) {
      populate(next, rest);
      sizes.push_back(rest);
    }
    if (sizes.size() > 1) {
      const std::scoped_lock lock(mutex_);
      joined_[data] = std::move(sizes);
    }
    return data;
  } catch (...) {
    const std::scoped_lock lock(mutex_);
    used_ -= bytes;
    for (const Piece& piece : pieces) keep(piece);
    throw;
  }
}

// The smallest piece that is large enough; what is left over of it stays.
std::byte* PagePool::take_whole(Bytes bytes) {
  const auto fit = free_.lower_bound(bytes);
  if (fit == free_.end()) return nullptr;
  const Piece piece{fit->second, fit->first};
  free_.erase(fit);
  kept_ -= piece.bytes;
  reused_ += bytes;
  if (piece.bytes > bytes) keep({piece.data + bytes, piece.bytes - bytes});
  return piece.data;
}

// The largest pieces, until they are enough.
std::vector<PagePool::Piece> PagePool::take_pieces(Bytes bytes) {
  std::vector<Piece> pieces;
  while (bytes > 0 && !free_.empty() && pieces.size() < kMostJoined) {
    const auto largest = std::prev(free_.end());
    Piece piece{largest->second, largest->first};
    free_.erase(largest);
    kept_ -= piece.bytes;
    if (piece.bytes > bytes) {
      keep({piece.data + bytes, piece.bytes - bytes});
      piece.bytes = bytes;
    }
    bytes -= piece.bytes;
    reused_ += piece.bytes;
    pieces.push_back(piece);
  }
  return pieces;
}

void PagePool::keep(Piece piece) {
  if (piece.bytes < kLeastPiece) {
    unmap_pages(piece.data, piece.bytes);
    return;
  }
  free_.emplace(piece.bytes, piece.data);
  kept_ += piece.bytes;
}

// What goes beyond the limit leaves the process: small pieces first.
void PagePool::trim() noexcept {
  while (!free_.empty() &&
         (used_ + kept_ + beside_ > limit_ || free_.size() > kMostPieces)) {
    const auto smallest = free_.begin();
    const Bytes over = used_ + kept_ + beside_ - limit_;
    const Bytes page = kLeastPiece;  // cut in multiples of it
    const Bytes cut = free_.size() > kMostPieces
                          ? smallest->first
                          : std::min(smallest->first, (over + page - 1) / page * page);
    const Piece piece{smallest->second, smallest->first};
    free_.erase(smallest);
    kept_ -= piece.bytes;
    unmap_pages(piece.data, cut);
    if (piece.bytes > cut) keep({piece.data + cut, piece.bytes - cut});
  }
}

void PagePool::give(std::byte* data, Bytes bytes) noexcept {
  const std::scoped_lock lock(mutex_);
  used_ -= bytes;
  const auto joined = joined_.find(data);
  if (joined == joined_.end()) {
    keep({data, bytes});
  } else {
    for (const Bytes part : joined->second) {
      keep({data, part});
      data += part;
    }
    joined_.erase(joined);
  }
  trim();
}

void PagePool::use_beside(Bytes delta) noexcept {
  const std::scoped_lock lock(mutex_);
  beside_ += delta;
  trim();
}

Bytes PagePool::kept() const {
  const std::scoped_lock lock(mutex_);
  return kept_;
}

Bytes PagePool::reused() const {
  const std::scoped_lock lock(mutex_);
  return reused_;
}

}  // namespace espalier::solver
