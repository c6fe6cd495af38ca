#include "solver/memory/spill_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "espalier/model/clock.h"
#include "espalier/model/error.h"

namespace espalier::solver {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 20;  // of one system call

// A file without a name; where the file system cannot, one whose name is gone at once.
int open_unnamed(const std::string& directory) {
  if (directory.empty()) throw InvalidInput("no directory is given for the spill file");
  int file = open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
  if (file >= 0) return file;
  std::string path = directory + "/espalier-XXXXXX";
  file = mkostemp(path.data(), O_CLOEXEC);
  if (file < 0) {
    const int error = errno;
    throw FileError(directory, 0,
                    fmt::format("cannot make a temporary file: {}", system_text(error)));
  }
  unlink(path.c_str());
  return file;
}

// Calls until it is not interrupted. @return 0 or errno
template <class Call>
int retry(Call call) {
  while (call() != 0)
    if (errno != EINTR) return errno;
  return 0;
}

// A thread that handles no signals: they are the program's, and beyond the limit of file
// size a write is then an error instead of a signal.
template <class Run>
std::thread thread_without_signals(Run run) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread thread(std::move(run));
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return thread;
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
}

}  // namespace

SpillFile::Descriptor::~Descriptor() { close(number); }

SpillFile::SpillFile(const std::string& directory, Bytes bytes, PageCache cache)
    : directory_(directory), size_(bytes), file_{open_unnamed(directory)} {
  if (bytes < 0) throw InvalidInput(fmt::format("a spill file of {} bytes", bytes));
  if (cache == PageCache::kAuto)
    cache = page_cache_counts() ? PageCache::kDropped : PageCache::kKept;
  if (cache == PageCache::kDropped) write_behind_.emplace(file_.number);
  reserve();
  thread_ = thread_without_signals([this] { run(); });
}

SpillFile::~SpillFile() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  more_.notify_one();
  thread_.join();
}

void SpillFile::check_directory(const std::string& directory) {
  const Descriptor opened{open_unnamed(directory)};
}

void SpillFile::reserve() {
  const auto refuse = [&](const std::string& why) {
    throw FileError(directory_, 0,
                    fmt::format("cannot reserve {}: {}", format_size(size_), why));
  };
  if (size_ == 0) return;
  // Asked first: going beyond it raises a signal that ends the process.
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      limit.rlim_cur < static_cast<rlim_t>(size_)) {
    refuse(fmt::format("the limit of file size (ulimit -f) is {} bytes", limit.rlim_cur));
  }
  struct statvfs system {};
  const bool known = fstatvfs(file_.number, &system) == 0;
  const auto space = [&] {
    return known ? fmt::format("; {} bytes are free", system.f_bavail * system.f_frsize)
                 : std::string();
  };
  const int error = retry([&] { return fallocate(file_.number, 0, 0, size_); });
  reserved_ = error == 0;
  if (reserved_) return;
  if (error != EOPNOTSUPP && error != ENOSYS) refuse(system_text(error) + space());
  if (known && system.f_bavail < static_cast<std::uint64_t>(size_) / system.f_frsize)
    refuse("not enough space" + space());
  const int cut = retry([&] { return ftruncate(file_.number, size_); });
  if (cut != 0) refuse(system_text(cut));
}

void SpillFile::write(Bytes offset, std::span<const std::byte> data,
                      std::function<void()> done) {
  ESPALIER_ASSERT(offset >= 0 && offset + std::ssize(data) <= size_, "beyond the file");
  queue({.offset = offset, .data = data, .done = std::move(done)});
}

void SpillFile::fetch(Bytes offset, std::span<std::byte> data,
                      std::function<void()> done) {
  ESPALIER_ASSERT(offset >= 0 && offset + std::ssize(data) <= size_, "beyond the file");
  queue({.offset = offset, .target = data, .done = std::move(done)});
}

void SpillFile::queue(Request&& request) {
  {
    const std::lock_guard lock(mutex_);
    if (failed_) rethrow();
    queue_.push_back(std::move(request));
  }
  more_.notify_one();
}

void SpillFile::run() noexcept {
  std::unique_lock lock(mutex_);
  while (true) {
    more_.wait(lock, [this] { return stop_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const bool leave_out = stop_ || failed_;
    busy_ = true;
    {
      const Request request = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      if (!leave_out) carry_out(request);
      if (request.done) request.done();
    }
    lock.lock();
    busy_ = false;
    if (queue_.empty()) idle_.notify_all();
  }
}

void SpillFile::carry_out(const Request& request) noexcept {
  put(request.offset, request.data);
  get(request.offset, request.target);
  if (request.sync) sync();
}

void SpillFile::put(Bytes offset, std::span<const std::byte> data) noexcept {
  while (!data.empty()) {
    const std::size_t chunk = std::min(data.size(), kChunkBytes);
    const auto start = Clock::now();
    const ssize_t put = pwrite(file_.number, data.data(), chunk, offset);
    const int error = put < 0 ? errno : ENOSPC;  // writing nothing: there is no room
    if (put < 0 && error == EINTR) continue;
    if (put <= 0) return fail({"write", offset, data.size(), error});
    const int lost = write_behind_ ? write_behind_->wrote(offset, put) : 0;
    if (lost != 0) return fail({"write", offset, data.size(), lost});
    {
      const std::lock_guard lock(mutex_);
      counters_.bytes_written += put;
      counters_.write_seconds += since(start);
    }
    offset += put;
    data = data.subspan(static_cast<std::size_t>(put));
  }
}

void SpillFile::sync() noexcept {
  const int lost = write_behind_ ? write_behind_->sync() : 0;
  if (lost != 0) fail({"write", 0, static_cast<std::size_t>(size_), lost});
}

void SpillFile::read(Bytes offset, std::span<std::byte> data) {
  ESPALIER_ASSERT(offset >= 0 && offset + std::ssize(data) <= size_, "beyond the file");
  if (failed_) rethrow();
  get(offset, data);
  if (failed_) rethrow();
}

void SpillFile::get(Bytes offset, std::span<std::byte> data) noexcept {
  while (!data.empty()) {
    const std::size_t chunk = std::min(data.size(), kChunkBytes);
    const auto start = Clock::now();
    const ssize_t got = pread(file_.number, data.data(), chunk, offset);
    const int error = got < 0 ? errno : EIO;  // the file has its full size: cannot end
    if (got < 0 && error == EINTR) continue;
    if (got <= 0) return fail({"read", offset, data.size(), error});
    if (write_behind_) write_behind_->has_read(offset, got);
    {
      const std::lock_guard lock(mutex_);
      counters_.bytes_read += got;
      counters_.read_seconds += since(start);
    }
    offset += got;
    data = data.subspan(static_cast<std::size_t>(got));
  }
}

void SpillFile::wait() {
  std::unique_lock lock(mutex_);
  if (write_behind_ && !failed_) {
    queue_.push_back({.sync = true});
    more_.notify_one();
  }
  idle_.wait(lock, [this] { return queue_.empty() && !busy_; });
  if (failed_) rethrow();
}

SpillFile::Counters SpillFile::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

void SpillFile::fail(const Failure& failure) noexcept {
  const std::lock_guard lock(mutex_);
  if (failed_) return;
  failure_ = failure;
  failed_ = true;
}

void SpillFile::rethrow() const {
  const auto& [verb, offset, bytes, error] = failure_;
  throw Error(fmt::format("{}: cannot {} {} bytes at offset {} of the spill file: {}",
                          directory_, verb, bytes, offset, system_text(error)));
}

}  // namespace espalier::solver
