#pragma once

#include <array>
#include <cstddef>
#include <mutex>

#include "espalier/model/units.h"

namespace espalier::solver {

/// Keeps what passes through a file out of the system's page cache. In a control group
/// cached pages count for its limit, and dirty ones cannot be dropped when room is
/// needed.
///
/// What was written is brought on its way to the disk at once, in pieces of neighbours of
/// up to kPiece bytes; while more than kWindow bytes, or kPieces pieces, are on their way
/// the oldest is waited for and dropped from the cache. What was read is dropped in the
/// same order, so late that neighbours which the system read ahead are used first. The
/// cache has about twice kWindow of the file and what the system reads ahead, after
/// sync() nothing, and the disk always has something to do.
///
/// Writes, and sync(), by one thread. Where the system cannot do it, nothing is done.
///
/// @par Test  WriteBehind*.*
class WriteBehind {
 public:
  static constexpr Bytes kPiece = Bytes{1} << 20, kWindow = Bytes{8} << 20;
  static constexpr std::size_t kPieces = 64;

  /// @param file  a descriptor that stays open
  explicit WriteBehind(int file) : file_(file) {}

  /// After [offset, offset + bytes) was written.
  /// @return 0, or the error (errno) with which the disk refused an earlier piece
  [[nodiscard]] int wrote(Bytes offset, Bytes bytes) noexcept;
  /// The same after reading. From any thread.
  void has_read(Bytes offset, Bytes bytes) noexcept;
  /// Waits for all that was written, and drops all. @return as wrote()
  [[nodiscard]] int sync() noexcept;

 private:
  struct Piece {
    Bytes offset = 0, bytes = 0;
  };

  /// Pieces in the order in which they came.
  class Pieces {
   public:
    [[nodiscard]] bool empty() const { return count_ == 0; }
    [[nodiscard]] bool is_over() const { return bytes_ > kWindow || count_ == kPieces; }
    /// Whether the last piece cannot grow by one that begins at `offset`.
    [[nodiscard]] bool is_apart(Bytes offset) const {
      return empty() || last().bytes >= kPiece || last().offset + last().bytes != offset;
    }
    [[nodiscard]] const Piece& last() const {
      return pieces_[(first_ + count_ - 1) % kPieces];
    }
    /// Not to be called when kPieces are there.
    void add(Bytes offset, Bytes bytes);
    Piece take_first();

   private:
    std::array<Piece, kPieces> pieces_;
    std::size_t first_ = 0, count_ = 0;
    Bytes bytes_ = 0;
  };

  int finish_oldest() noexcept;
  void drop(const Piece& piece) const noexcept;

  int file_;
  Pieces written_;
  std::mutex mutex_;
  Pieces read_;  // under the mutex
};

/// Whether a control group with a limit is around this process.
[[nodiscard]] bool page_cache_counts();

}  // namespace espalier::solver
