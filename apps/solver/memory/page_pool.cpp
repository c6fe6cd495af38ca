// One account of pages, kept and given out: over 300 lines.

#include "solver/memory/page_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "espalier/model/error.h"
#include "solver/memory/page_buffer.h"

namespace espalier::solver {
namespace {

// Pieces below are not worth moving; more of any size would be too many mappings.
constexpr Bytes kLeastPiece = Bytes{64} << 10;
constexpr std::size_t kMostPieces = 4096;
constexpr std::size_t kMostJoined = 64;
// Larger buffers have huge pages of their own.
constexpr Bytes kMostInChunks = 4 * PageChoice::kHugePage;
// What is given back a few pages at a time grows to a large piece meanwhile; what does
// not is in the way, and may be little beside everything.
Bytes most_crumbs(Bytes used) { return std::max(Bytes{1} << 20, used / 32); }
// Small buffers are cut from chunks, each a huge page where the limit has room for
// several. What is kept of the last one must be little beside everything.
constexpr Bytes kLeastChunk = Bytes{64} << 10, kMostChunk = Bytes{1} << 20;
Bytes chunk_bytes(Bytes limit) {
  if (limit >= 16 * PageChoice::kHugePage) return PageChoice::kHugePage;
  return std::clamp(limit / 64 / kLeastChunk * kLeastChunk, kLeastChunk, kMostChunk);
}

void clear(std::byte* data, Bytes bytes) {
  std::memset(data, 0, static_cast<std::size_t>(bytes));
}

}  // namespace

PagePool::PagePool(Bytes limit, MemoryMeter* resident, MemoryNodes nodes,
                   SystemPages& pages)
    : pages_(pages),
      limit_(limit),
      chunk_(chunk_bytes(limit)),
      resident_(resident),
      nodes_(std::move(nodes)),
      free_(static_cast<std::size_t>(std::max(1, nodes_.count))) {}

// What is still in use has owners of its own from now on.
PagePool::~PagePool() {
  for (const auto& [data, place] : free_at_) unmap_pages(data, place.bytes);
  if (resident_ != nullptr) resident_->add(used_ - told_);
}

// Under the lock, when pages have come or gone.
void PagePool::tell() noexcept {
  const Bytes resident = used_ + kept_ - coming_;
  most_ = std::max(most_, resident);
  if (resident_ == nullptr) return;
  if (resident != told_) resident_->add(resident - told_);
  told_ = resident;
}

// Near the calling thread.
std::int32_t PagePool::near_node() const {
  if (free_.size() == 1) return 0;
  return std::clamp(nodes_.near(), 0, nodes_.count - 1);
}

std::byte* PagePool::take(Bytes bytes, Content content) {
  const std::int32_t node = near_node();
  do {
    std::unique_lock lock(mutex_);
    if (const std::optional<Piece> piece = take_whole(bytes, node)) {
      used_ += bytes;
      taken_[piece->data] = {bytes, node, piece->mapping};
      lock.unlock();
      if (content == Content::kZeros) clear(piece->data, bytes);
      return piece->data;
    }
  } while (add_chunk(bytes, node));
  std::byte* const data = reserve_pages(bytes);
  try {
    take_at(data, bytes, content);
  } catch (...) {
    unmap_pages(data, bytes);
    throw;
  }
  return data;
}

// Whether fresh huge pages are taken rather than that kept ones are cut.
bool PagePool::by_huge_pages() const { return pages_.huge_is_cheaper(); }

// The bytes of chunks that are taken for a buffer, 0 where they are no use: of small
// pages a few buffers have one, of huge ones a buffer may have a few.
Bytes PagePool::chunk_for(Bytes wanted) const {
  if (wanted <= chunk_ / 4) return chunk_;
  if (chunk_ < PageChoice::kHugePage || wanted > kMostInChunks || !by_huge_pages())
    return 0;
  return (wanted + chunk_ - 1) / chunk_ * chunk_;
}

// False where a chunk is no use or does not fit in the limit.
bool PagePool::add_chunk(Bytes wanted, std::int32_t node) {
  Bytes chunk = 0;
  {
    const std::scoped_lock lock(mutex_);
    chunk = chunk_for(wanted);
    if (chunk == 0 || used_ + kept_ + beside_ + chunk > limit_ ||
        free_at_.size() >= kMostPieces)
      return false;
    kept_ += chunk;
    coming_ += chunk;
  }
  std::byte* data = nullptr;
  try {
    data = reserve_pages(chunk);
    pages_.take(data, chunk, Content::kAny);
  } catch (...) {
    if (data != nullptr) unmap_pages(data, chunk);
    const std::scoped_lock lock(mutex_);
    kept_ -= chunk;
    coming_ -= chunk;
    return false;
  }
  const std::scoped_lock lock(mutex_);
  kept_ -= chunk;
  coming_ -= chunk;
  chunks_[data] = {chunk, chunk};
  keep({data, chunk, node, ++mappings_});
  trim(node);
  tell();
  return true;
}

bool PagePool::in_chunk(const std::byte* data) const {
  const auto after = chunks_.upper_bound(data);
  if (after == chunks_.begin()) return false;
  const auto chunk = std::prev(after);
  return data < chunk->first + chunk->second.bytes;
}

void PagePool::take_at(std::byte* at, Bytes bytes, Content content) {
  const Bytes before = to_huge_page(at);
  if (before == 0 || bytes - before < PageChoice::kHugePage)
    return take_run(at, bytes, content);
  take_run(at, before, content);
  try {
    take_run(at + before, bytes - before, content);
  } catch (...) {
    give(at, before);
    throw;
  }
}

void PagePool::take_run(std::byte* at, Bytes bytes, Content content) {
  const std::int32_t node = near_node();
  std::vector<Piece> pieces;
  Bytes coming = 0;  // fresh ones
  {
    const std::scoped_lock lock(mutex_);
    used_ += bytes;
    pieces = take_pieces(at, bytes, node);
    coming = bytes;
    for (const Piece& piece : pieces) coming -= piece.bytes;
    coming_ += coming;
    trim(node);
    tell();
  }
  try {
    place(at, bytes, pieces, node, content);
  } catch (...) {
    const std::scoped_lock lock(mutex_);
    used_ -= bytes;
    coming_ -= coming;
    throw;
  }
  const std::scoped_lock lock(mutex_);
  coming_ -= coming;
  tell();
}

// Moves the pieces to `at`, one after the other, and fresh pages behind them.
void PagePool::place(std::byte* at, Bytes bytes, const std::vector<Piece>& pieces,
                     std::int32_t node, Content content) {
  std::vector<std::span<std::byte>> placed;  // each one mapping
  std::byte* next = at;
  for (const Piece& piece : pieces) {
    const auto size = static_cast<std::size_t>(piece.bytes);
    if (mremap(piece.data, size, size, MREMAP_MAYMOVE | MREMAP_FIXED,
               static_cast<void*>(next)) == MAP_FAILED) {
      unmap_pages(piece.data, piece.bytes);  // fresh pages in their place
      populate_pages(next, piece.bytes);
    } else if (content == Content::kZeros) {
      clear(next, piece.bytes);
    }
    placed.emplace_back(next, size);
    next += piece.bytes;
  }
  const auto fresh = pages_.take(next, bytes - (next - at), content);
  placed.insert(placed.end(), fresh.begin(), fresh.end());
  const std::scoped_lock lock(mutex_);
  for (const std::span<std::byte> each : placed)
    taken_[each.data()] = {static_cast<Bytes>(each.size()), node, ++mappings_};
}

void PagePool::insert_free(Piece piece) {
  free_at_node(piece.node).emplace(piece.bytes, piece.data);
  Place& place = free_at_[piece.data] = {piece.bytes, piece.node, piece.mapping};
  kept_ += piece.bytes;
  if (piece.bytes >= kLeastPiece || in_chunk(piece.data)) return;
  place.crumb = ++last_crumb_;
  crumbs_[place.crumb] = piece.data;
  crumb_bytes_ += piece.bytes;
}

PagePool::Piece PagePool::remove_free(std::byte* data) {
  const auto at = free_at_.find(data);
  const Piece piece{data, at->second.bytes, at->second.node, at->second.mapping};
  free_at_node(piece.node).erase({piece.bytes, data});
  if (crumbs_.erase(at->second.crumb) > 0) crumb_bytes_ -= piece.bytes;
  free_at_.erase(at);
  kept_ -= piece.bytes;
  return piece;
}

// The smallest piece that is large enough; what is left over of it stays.
std::optional<PagePool::Piece> PagePool::take_whole(Bytes bytes, std::int32_t node) {
  const Free& free = free_at_node(node);
  const auto fit = free.lower_bound({bytes, nullptr});
  if (fit == free.end()) return std::nullopt;
  const Piece piece = remove_free(fit->second);
  reused_ += bytes;
  keep_rest(piece, bytes);
  return piece;
}

// Of a piece that has been cut.
void PagePool::keep_rest(const Piece& piece, Bytes cut) {
  if (piece.bytes > cut)
    insert_free({piece.data + cut, piece.bytes - cut, piece.node, piece.mapping});
}

// Pieces that are moved to `at`, the largest ones first, until they are enough. Where
// huge pages come cheaper these move whole, to where they are whole again, and none is
// cut for less: the rest of it may cost as much to use again as fresh small pages do.
std::vector<PagePool::Piece> PagePool::take_pieces(const std::byte* at, Bytes bytes,
                                                   std::int32_t node) {
  constexpr Bytes kHuge = PageChoice::kHugePage;
  const bool huge = by_huge_pages(), aligned = to_huge_page(at) == 0;
  const Free& free = free_at_node(node);
  std::vector<Piece> pieces;
  auto next = free.end();
  while (bytes >= kLeastPiece && next != free.begin() && pieces.size() < kMostJoined) {
    const bool whole = huge && aligned && bytes >= kHuge;
    const auto [size, data] = *std::prev(next);
    if (size < (whole ? kHuge : kLeastPiece)) break;
    std::optional<Piece> piece;
    if (whole)
      piece = cut_huge(data, bytes);
    else if (!in_chunk(data) && !(huge && size - to_huge_page(data) >= kHuge))
      piece = cut_start(data, bytes);
    if (!piece) {
      --next;
      continue;
    }
    leave_chunk(*piece);
    bytes -= piece->bytes;
    reused_ += piece->bytes;
    pieces.push_back(*piece);
  }
  return pieces;
}

PagePool::Piece PagePool::cut_start(std::byte* data, Bytes most) {
  Piece piece = remove_free(data);
  keep_rest(piece, most);
  piece.bytes = std::min(piece.bytes, most);
  return piece;
}

// Whole huge pages, where a piece has any.
std::optional<PagePool::Piece> PagePool::cut_huge(std::byte* data, Bytes most) {
  constexpr Bytes kHuge = PageChoice::kHugePage;
  const Bytes before = to_huge_page(data);
  const Bytes bytes = std::min(most, free_at_.at(data).bytes - before) / kHuge * kHuge;
  if (bytes <= 0) return std::nullopt;
  const Piece piece = remove_free(data);
  keep_rest(piece, before + bytes);
  keep_rest({data, before, piece.node, piece.mapping}, 0);
  return Piece{data + before, bytes, piece.node, piece.mapping};
}

void PagePool::keep(Piece piece) { insert_free(merged_with_neighbours(piece)); }

PagePool::Piece PagePool::merged_with_neighbours(Piece piece) {
  const auto after = free_at_.lower_bound(piece.data + piece.bytes);
  if (after != free_at_.end() && after->first == piece.data + piece.bytes &&
      after->second.mapping == piece.mapping)
    piece.bytes += remove_free(after->first).bytes;
  const auto next = free_at_.lower_bound(piece.data);
  if (next == free_at_.begin()) return piece;
  const auto [data, place] = *std::prev(next);
  if (data + place.bytes != piece.data || place.mapping != piece.mapping) return piece;
  remove_free(data);
  return {data, place.bytes + piece.bytes, piece.node, piece.mapping};
}

// What goes beyond the limit leaves the process: crumbs that have not grown for longest;
// small pieces first, of the nodes after `node` before its own.
void PagePool::trim(std::int32_t node) noexcept {
  while (crumb_bytes_ > most_crumbs(used_)) unmap(remove_free(crumbs_.begin()->second));
  const auto count = static_cast<std::int32_t>(free_.size());
  for (std::int32_t k = 1; k <= count; ++k) {
    const std::int32_t from = (node + k) % count;
    while (!free_at_node(from).empty() &&
           (used_ + kept_ + beside_ > limit_ || free_at_.size() > kMostPieces))
      trim_by(from, used_ + kept_ + beside_ - limit_, free_at_.size() > kMostPieces);
  }
}

// Of a node, whole huge pages where those come cheaper (take_pieces()); else all of the
// smallest piece, or as much as is over.
void PagePool::trim_by(std::int32_t node, Bytes over, bool whole) noexcept {
  const Free& free = free_at_node(node);
  const auto up = [over](Bytes unit) { return (over + unit - 1) / unit * unit; };
  if (!whole && by_huge_pages())
    if (const std::optional<Piece> huge =
            cut_huge(std::prev(free.end())->second, up(PageChoice::kHugePage)))
      return unmap(*huge);
  std::byte* const smallest = free.begin()->second;
  unmap(whole ? remove_free(smallest) : cut_start(smallest, up(kLeastPiece)));
}

void PagePool::unmap(Piece piece) noexcept {
  leave_chunk(piece);
  unmap_pages(piece.data, piece.bytes);
}

// A chunk that has gone altogether is forgotten. Where the system has given addresses of
// it away again, what lies there counts as its own.
void PagePool::leave_chunk(const Piece& piece) noexcept {
  if (!in_chunk(piece.data)) return;
  const auto chunk = std::prev(chunks_.upper_bound(piece.data));
  chunk->second.left -= piece.bytes;
  if (chunk->second.left <= 0) chunks_.erase(chunk);
}

void PagePool::keep_at_most(Bytes most) noexcept {
  const std::scoped_lock lock(mutex_);
  for (std::int32_t node = 0; node < std::ssize(free_); ++node)
    while (!free_at_node(node).empty() && kept_ > most)
      trim_by(node, kept_ - most, most <= 0);
  tell();
}

void PagePool::give(std::byte* data, Bytes bytes) noexcept {
  const std::scoped_lock lock(mutex_);
  used_ -= bytes;
  std::byte* const end = data + bytes;
  auto piece = std::prev(taken_.upper_bound(data));
  std::int32_t node = 0;
  while (data < end) {
    const auto [first, place] = *piece;
    node = place.node;
    std::byte* const last = first + place.bytes;
    std::byte* const stop = std::min(last, end);
    piece = taken_.erase(piece);
    if (first < data) taken_[first] = {data - first, node, place.mapping};
    if (stop < last) taken_[stop] = {last - stop, node, place.mapping};
    keep({data, stop - data, node, place.mapping});
    data = stop;
  }
  trim(node);
  tell();
}

void PagePool::use_beside(Bytes delta) noexcept {
  const std::scoped_lock lock(mutex_);
  beside_ += delta;
  trim(0);
  tell();
}

void PagePool::raise_limit(Bytes limit) noexcept {
  const std::scoped_lock lock(mutex_);
  limit_ = std::max(limit_, limit);
}

Bytes PagePool::most() const {
  const std::scoped_lock lock(mutex_);
  return most_;
}

Bytes PagePool::used() const {
  const std::scoped_lock lock(mutex_);
  return used_;
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
