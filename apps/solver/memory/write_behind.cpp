#include "solver/memory/write_behind.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "espalier/machine/memory_limits.h"

namespace espalier::solver {
namespace {

// Errors of the disk. Others say that the file system cannot be told.
bool is_lost(int error) { return error == EIO || error == ENOSPC || error == EDQUOT; }

int sync_range(int file, Bytes offset, Bytes bytes, unsigned flags) {
  while (sync_file_range(file, offset, bytes, flags) != 0)
    if (errno != EINTR) return is_lost(errno) ? errno : 0;
  return 0;
}

}  // namespace

int WriteBehind::wrote(Bytes offset, Bytes bytes) noexcept {
  Piece& last = pieces_[(first_ + count_ + kPieces - 1) % kPieces];
  int error = 0;
  if (growing_ && last.end() == offset) {
    last.bytes += bytes;
  } else {
    start_last();
    if (count_ == kPieces) error = finish_oldest();
    pieces_[(first_ + count_++) % kPieces] = {offset, bytes};
    growing_ = true;
  }
  bytes_ += bytes;
  if (pieces_[(first_ + count_ - 1) % kPieces].bytes >= kPiece) start_last();
  while (bytes_ > kWindow && error == 0) error = finish_oldest();
  return error;
}

int WriteBehind::settle() noexcept {
  int error = 0;
  start_last();
  while (count_ > 0) {
    const int status = finish_oldest();
    if (error == 0) error = status;
  }
  return error;
}

void WriteBehind::start_last() noexcept {
  if (!growing_) return;
  growing_ = false;
  const Piece& last = pieces_[(first_ + count_ - 1) % kPieces];
  // An error here is an error when it is waited for.
  static_cast<void>(sync_range(file_, last.offset, last.bytes, SYNC_FILE_RANGE_WRITE));
}

int WriteBehind::finish_oldest() noexcept {
  const Piece piece = pieces_[first_];
  if (count_ == 1) growing_ = false;
  first_ = (first_ + 1) % kPieces;
  --count_;
  bytes_ -= piece.bytes;
  const int error = sync_range(
      file_, piece.offset, piece.bytes,
      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
  drop(piece.offset, piece.bytes);
  return error;
}

void WriteBehind::drop(Bytes offset, Bytes bytes) const noexcept {
  // Pages at the ends, which neighbours share, and folios of several pages around them:
  // what is dirty or under way stays.
  const Bytes first = offset / kPiece * kPiece;
  const Bytes end = (offset + bytes + kPiece - 1) / kPiece * kPiece;
  posix_fadvise(file_, first, end - first, POSIX_FADV_DONTNEED);
}

bool page_cache_counts() { return !control_group_memory().empty(); }

}  // namespace espalier::solver
