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

// An error of what this starts is found when it is waited for.
void start(int file, Bytes offset, Bytes bytes) {
  static_cast<void>(sync_range(file, offset, bytes, SYNC_FILE_RANGE_WRITE));
}

}  // namespace

void WriteBehind::Pieces::add(Bytes offset, Bytes bytes) {
  bytes_ += bytes;
  if (is_apart(offset))
    pieces_[(first_ + count_++) % kPieces] = {offset, bytes};
  else
    pieces_[(first_ + count_ - 1) % kPieces].bytes += bytes;
}

WriteBehind::Piece WriteBehind::Pieces::take_first() {
  const Piece piece = pieces_[first_];
  first_ = (first_ + 1) % kPieces;
  --count_;
  bytes_ -= piece.bytes;
  return piece;
}

int WriteBehind::wrote(Bytes offset, Bytes bytes) noexcept {
  int error = 0;
  if (!written_.empty() && written_.is_apart(offset))
    start(file_, written_.last().offset, written_.last().bytes);
  while (written_.is_over() && error == 0) error = finish_oldest();
  written_.add(offset, bytes);
  return error;
}

void WriteBehind::has_read(Bytes offset, Bytes bytes) noexcept {
  const std::lock_guard lock(mutex_);
  while (read_.is_over()) drop(read_.take_first());
  read_.add(offset, bytes);
}

int WriteBehind::sync() noexcept {
  int error = 0;
  if (!written_.empty()) start(file_, written_.last().offset, written_.last().bytes);
  while (!written_.empty()) {
    const int status = finish_oldest();
    if (error == 0) error = status;
  }
  const std::lock_guard lock(mutex_);
  while (!read_.empty()) drop(read_.take_first());
  return error;
}

int WriteBehind::finish_oldest() noexcept {
  const Piece piece = written_.take_first();
  const int error = sync_range(
      file_, piece.offset, piece.bytes,
      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
  drop(piece);
  return error;
}

// Pages at the ends, which neighbours share, and folios of several pages around them,
// too. What is dirty or on its way to the disk stays.
void WriteBehind::drop(const Piece& piece) const noexcept {
  const Bytes first = piece.offset / kPiece * kPiece;
  const Bytes end = (piece.offset + piece.bytes + kPiece - 1) / kPiece * kPiece;
  posix_fadvise(file_, first, end - first, POSIX_FADV_DONTNEED);
}

bool page_cache_counts() { return !control_group_memory().empty(); }

}  // namespace espalier::solver
