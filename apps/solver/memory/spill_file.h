#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>

#include "espalier/model/units.h"
#include "espalier/solver/results.h"
#include "solver/memory/write_behind.h"

namespace espalier::solver {

/// An unnamed temporary file: where factors and contribution blocks go when they leave
/// memory. It has no name from the start (where the file system cannot do that, for an
/// instant), so nothing is left behind however the process ends. Once it is open,
/// removing or moving the directory does no harm.
///
/// Space for all of it is reserved on construction, so that a full disk is found before
/// any work. A file system that cannot reserve (NFS before 4.2) is asked for its free
/// space instead; then writes may still fail later.
///
/// Writes, and the reads that fetch() asks for, are made by one thread of the object, in
/// the order of the calls, through the system's page cache. All functions may be called
/// from any thread. The first failure of a write or a read is kept: from then on failed()
/// is true, write(), fetch(), read() and wait() throw it, and requests accepted before
/// are not carried out, but their callbacks still run, so that nobody waits for ever.
///
/// Pages that the system has cached count for a control group, as the program's own do.
/// Where there is a limit they are dropped: see WriteBehind. Elsewhere what was written
/// is read back from memory that nobody else wants.
class SpillFile {
 public:
  enum class PageCache {
    kAuto,  ///< dropped where a control group has a limit, else kept
    kKept,
    kDropped,
  };
  /// @throws FileError naming the directory when no file can be made in it or `bytes` do
  ///                   not fit: the disk, a quota or the process's limit of file size
  SpillFile(const std::string& directory, Bytes bytes,
            PageCache cache = PageCache::kAuto);
  /// Nothing is left there. @throws FileError when no file can be made in the directory
  static void check_directory(const std::string& directory);
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  /// Leaves out the requests not begun (nobody can read them any more), but runs their
  /// callbacks.
  ~SpillFile();

  /// Queues a write to [offset, offset + data.size()), inside the file. The bytes must
  /// stay as they are until `done` has run, on the object's thread; it must not throw
  /// and must not call wait(). After a failure it runs too: see failed().
  ///
  /// @throws Error an earlier failure; then the call has no effect and `done` never runs
  void write(Bytes offset, std::span<const std::byte> data, std::function<void()> done);

  /// Fills `data` from the file; zeros where nothing was written. Sees the writes whose
  /// callbacks have begun.
  ///
  /// @throws Error naming the directory, offset and size, and an earlier failure
  void read(Bytes offset, std::span<std::byte> data);

  /// Queues a read() like a write: it sees all writes queued before it. When `done` runs
  /// after a failure, `data` is not what it should be.
  ///
  /// @throws Error as write()
  void fetch(Bytes offset, std::span<std::byte> data, std::function<void()> done);

  /// Returns when no request is queued or under way and the callbacks have run; where
  /// pages are dropped, when all that was written is on the disk.
  ///
  /// @throws Error the first failure
  void wait();

  [[nodiscard]] bool failed() const noexcept { return failed_; }

  using Counters = SpillCounters;
  [[nodiscard]] Counters counters() const;

  [[nodiscard]] Bytes size() const { return size_; }
  /// False where the file system could not reserve.
  [[nodiscard]] bool reserved() const { return reserved_; }

 private:
  struct Descriptor {
    int number;
    ~Descriptor();
  };
  struct Request {
    Bytes offset = 0;
    std::span<const std::byte> data = {};  // to write
    std::span<std::byte> target = {};      // or to be filled
    std::function<void()> done = {};
    bool sync = false;  // what was written has to reach the disk
  };

  struct Failure {
    const char* verb;
    Bytes offset;
    std::size_t bytes;
    int error;  // errno
  };

  void reserve();
  void queue(Request&& request);
  void run() noexcept;
  void carry_out(const Request& request) noexcept;
  void get(Bytes offset, std::span<std::byte> data) noexcept;
  void put(Bytes offset, std::span<const std::byte> data) noexcept;
  void sync() noexcept;
  void fail(const Failure& failure) noexcept;
  [[noreturn]] void rethrow() const;

  std::string directory_;
  Bytes size_;
  Descriptor file_;
  std::optional<WriteBehind> write_behind_;  // none: cached pages are the system's
  bool reserved_ = false;

  mutable std::mutex mutex_;  // of all below but failed_
  std::condition_variable more_, idle_;
  std::deque<Request> queue_;
  bool busy_ = false;  // the thread has a request
  bool stop_ = false;
  Failure failure_{};  // written once, before failed_
  std::atomic<bool> failed_ = false;
  Counters counters_;
  std::thread thread_;
};

}  // namespace espalier::solver
