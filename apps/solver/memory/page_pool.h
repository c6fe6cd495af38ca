#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "espalier/model/units.h"
#include "solver/memory/memory_nodes.h"
#include "solver/memory/system_pages.h"

namespace espalier::solver {

class MemoryMeter;

/// Pages that fronts pass on to one another instead of asking the system for new ones: it
/// clears a page several times slower than it is cleared here, page fault included.
///
/// What is given back is kept, as long as what is in use and what is kept stay inside a
/// limit together; what goes beyond leaves the process at once, before anything new is
/// taken. So a bound on the resident set holds with the pool as without it. Pieces of
/// address space are cut, grow together again where they were cut, and are joined by
/// moving their pages, so that every kept page of a large piece can serve a buffer of any
/// size.
///
/// Small buffers are cut from small pieces, and from chunks that are taken whole, where
/// the limit has room for them: most cost no call to the system. Parts of a chunk that
/// are no huge pages are never moved. A chunk is a huge page, unless the limit is small;
/// buffers of up to a few have a few chunks, where huge pages come cheaper. Then what is
/// moved or leaves the process does so in huge pages, too, as long as there are any. Safe
/// from any thread.
///
/// On a machine of several memory nodes fresh pages lie near the thread that takes them,
/// and those that are given back wait for threads near the same node: another one takes
/// fresh ones, for which they leave the process where the limit needs it.
class PagePool {
 public:
  using Content = PageContent;

  /// @param limit     of the bytes in use, kept and set aside by use_beside()
  /// @param resident  counts what is in use or kept, of the pool's life; may be null
  /// @param pages     where fresh ones come from; outlives the pool
  explicit PagePool(Bytes limit, MemoryMeter* resident = nullptr,
                    MemoryNodes nodes = system_memory_nodes(),
                    SystemPages& pages = SystemPages::of_process());
  /// Gives everything kept back to the system. Memory still in use stays valid; its
  /// owner unmaps it.
  ~PagePool();
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;

  /// Memory of whole pages, which counts as resident. @throws Error when the system
  /// refuses
  [[nodiscard]] std::byte* take(Bytes bytes, Content content = Content::kZeros);
  /// The same at an address that reserve_pages() has reserved.
  void take_at(std::byte* at, Bytes bytes, Content content = Content::kZeros);
  /// Gives back any part, in whole pages, of what was taken.
  void give(std::byte* data, Bytes bytes) noexcept;

  /// Bytes that something else uses of the limit: `delta` more.
  void use_beside(Bytes delta) noexcept;

  /// Gives back what is kept beyond `most` bytes.
  void keep_at_most(Bytes most) noexcept;

  /// The limit from now on, where it was not more already.
  void raise_limit(Bytes limit) noexcept;

  [[nodiscard]] Bytes used() const;
  /// In use and kept together, at most so far.
  [[nodiscard]] Bytes most() const;
  [[nodiscard]] Bytes kept() const;
  /// Bytes taken that were kept before.
  [[nodiscard]] Bytes reused() const;

 private:
  struct Piece {
    std::byte* data;
    Bytes bytes;
    std::int32_t node;     // where its pages lie
    std::int64_t mapping;  // of the system's: inside one a piece may be moved
  };
  using Free = std::set<std::pair<Bytes, std::byte*>>;
  struct Place {
    Bytes bytes;
    std::int32_t node;
    std::int64_t mapping;
    std::int64_t crumb = 0;  // its number among those too small to be moved; 0: none
  };
  [[nodiscard]] Free& free_at_node(std::int32_t node) {
    return free_[static_cast<std::size_t>(node)];
  }
  [[nodiscard]] std::int32_t near_node() const;
  void take_run(std::byte* at, Bytes bytes, Content content);
  [[nodiscard]] std::optional<Piece> take_whole(Bytes bytes, std::int32_t node);
  [[nodiscard]] bool by_huge_pages() const;
  [[nodiscard]] Bytes chunk_for(Bytes wanted) const;
  bool add_chunk(Bytes wanted, std::int32_t node);
  [[nodiscard]] bool in_chunk(const std::byte* data) const;
  void insert_free(Piece piece);
  Piece remove_free(std::byte* data);
  [[nodiscard]] Piece merged_with_neighbours(Piece piece);
  void unmap(Piece piece) noexcept;
  std::vector<Piece> take_pieces(const std::byte* at, Bytes bytes, std::int32_t node);
  Piece cut_start(std::byte* data, Bytes most);
  std::optional<Piece> cut_huge(std::byte* data, Bytes most);
  void place(std::byte* at, Bytes bytes, const std::vector<Piece>& pieces,
             std::int32_t node, Content content);
  void keep(Piece piece);
  void keep_rest(const Piece& piece, Bytes cut);
  void trim(std::int32_t node) noexcept;
  void trim_by(std::int32_t node, Bytes over, bool whole) noexcept;
  void leave_chunk(const Piece& piece) noexcept;
  void tell() noexcept;

  mutable std::mutex mutex_;
  SystemPages& pages_;
  Bytes limit_, chunk_, used_ = 0, kept_ = 0, beside_ = 0, reused_ = 0;
  MemoryMeter* resident_;
  Bytes coming_ = 0;  // of the bytes in use and kept, those that are not there yet
  Bytes told_ = 0;    // to the meter
  Bytes most_ = 0;
  MemoryNodes nodes_;
  std::vector<Free> free_;               // of each node, by size
  std::map<std::byte*, Place> free_at_;  // the same of all, by address
  std::map<std::byte*, Place> taken_;    // by address
  std::int64_t mappings_ = 0;            // so far
  // Free pieces outside chunks that are too small to be moved, since when.
  std::map<std::int64_t, std::byte*> crumbs_;
  std::int64_t last_crumb_ = 0;
  Bytes crumb_bytes_ = 0;
  struct Chunk {
    Bytes bytes;
    Bytes left;  // that have neither moved nor gone back to the system
  };
  std::map<const std::byte*, Chunk> chunks_;
};

}  // namespace espalier::solver
