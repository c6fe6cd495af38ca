#pragma once

#include <array>
#include <cstddef>

#include "espalier/model/units.h"

namespace espalier::solver {

/// Keeps what passes through a file out of the system's page cache. In a control group
/// cached pages count for its limit, and dirty ones cannot be dropped when room is
/// needed.
///
/// What was written is brought on its way to the disk at once, in pieces of neighbours of
/// up to kPiece bytes; while more than kWindow bytes, or kPieces pieces, are on their way
/// the oldest is waited for and dropped from the cache, and so is all at settle(). So the
/// cache has about kWindow of the file, and the disk always has something to do.
///
/// Writes, and settle(), by one thread. Where the system cannot do it, nothing is done.
///
/// @par Test  WriteBehind.*, SpillFile.*PageCache*
class WriteBehind {
 public:
  static constexpr Bytes kPiece = Bytes{1} << 20, kWindow = Bytes{8} << 20;
  static constexpr std::size_t kPieces = 64;

  /// @param file  a descriptor that stays open
  explicit WriteBehind(int file) : file_(file) {}

  /// After [offset, offset + bytes) was written.
  /// @return 0, or the error (errno) with which the disk refused an earlier piece
  [[nodiscard]] int wrote(Bytes offset, Bytes bytes) noexcept;
  /// Waits for all pieces and drops them. @return as wrote()
  [[nodiscard]] int settle() noexcept;

  /// Drops what is in the cache of these pages and is on the disk. From any thread.
  void drop(Bytes offset, Bytes bytes) const noexcept;

 private:
  struct Piece {
    Bytes offset = 0, bytes = 0;
    [[nodiscard]] Bytes end() const { return offset + bytes; }
  };

  void start_last() noexcept;
  int finish_oldest() noexcept;

  int file_;
  std::array<Piece, kPieces> pieces_;  // a ring
  std::size_t first_ = 0, count_ = 0;  // the last may still grow, until …
  bool growing_ = false;               // … its write-back has been started
  Bytes bytes_ = 0;                    // of all
};

/// Whether a control group with a limit is around this process.
[[nodiscard]] bool page_cache_counts();

}  // namespace espalier::solver
