#include "espalier/io/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <limits>
#include <optional>
#include <system_error>

#include "espalier/model/error.h"

namespace espalier {
namespace {

// The temporary names that are in use, of the process, as signal handlers are. Slots are
// taken before the name exists and freed after it is gone.
struct Unfinished {
  std::atomic<int> state{0};  // 0: free, 1: being filled, 2: the name may exist
  int directory = -1;
  std::array<char, 64> name{};
};
std::array<Unfinished, 64> unfinished_files;

int take_slot(int directory, const std::string& name) {
  for (std::size_t k = 0; k < unfinished_files.size(); ++k) {
    Unfinished& slot = unfinished_files[k];
    int free = 0;
    if (!slot.state.compare_exchange_strong(free, 1)) continue;
    slot.directory = directory;
    std::strncpy(slot.name.data(), name.c_str(), slot.name.size() - 1);
    slot.state = 2;
    return static_cast<int>(k);
  }
  return -1;  // more files at once than slots: the destructor still removes it
}

void free_slot(int& slot) {
  if (slot >= 0) unfinished_files[static_cast<std::size_t>(slot)].state = 0;
  slot = -1;
}

std::uint64_t largest_file() {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return std::numeric_limits<std::uint64_t>::max();
  return limit.rlim_cur;
}

std::string random_name() {
  std::uint64_t bits[2] = {};
  if (getrandom(bits, sizeof bits, 0) != static_cast<ssize_t>(sizeof bits))
    throw std::system_error(errno, std::generic_category(), "getrandom");
  return fmt::format(".espalier-{:016x}{:016x}.part", bits[0], bits[1]);
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string read_link(const std::string& path) {
  std::array<char, PATH_MAX> text{};
  const ssize_t length = readlink(path.c_str(), text.data(), text.size());
  return length > 0 ? std::string(text.data(), static_cast<std::size_t>(length))
                    : std::string();
}

// The links of /proc lead to what they stand for, not to a name.
bool is_in_proc(const std::string& folder) {
  struct statfs system {};
  return statfs(folder.c_str(), &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

bool may_follow(const struct stat& link, const std::string& folder) {
  struct stat directory {};
  if (stat(folder.c_str(), &directory) != 0) return false;
  const bool shared =
      (directory.st_mode & S_ISVTX) != 0 && (directory.st_mode & S_IWOTH) != 0;
  return !shared || link.st_uid == geteuid() || link.st_uid == directory.st_uid;
}

// A group that could not be kept has the rights of all others and no more.
mode_t without_group(mode_t mode) {
  return static_cast<mode_t>((mode & ~mode_t{070}) | (mode & ((mode & 07) << 3)));
}

}  // namespace

void OutputFile::fail(const char* what, int error) const {
  throw WriteError(path_, 0, fmt::format("cannot be {}: {}", what, system_text(error)));
}

OutputFile::OutputFile(const std::string& path, Temporary kind)
    : path_(path), name_(path), limit_(largest_file()) {
  if (path.empty()) throw FileError(path, 0, "is not the name of a file");
  if (path.ends_with('/')) fail("written", EISDIR);
  try {
    open_directory();
    if (directory_ >= 0) open_temporary(kind);
  } catch (...) {
    close_all();
    throw;
  }
}

OutputFile::~OutputFile() { close_all(); }

void OutputFile::close_all() noexcept {
  if (!temporary_.empty()) unlinkat(directory_, temporary_.c_str(), 0);
  free_slot(slot_);
  temporary_.clear();
  for (int* const number : {&file_, &directory_}) {
    if (*number >= 0) close(*number);
    *number = -1;
  }
}

// Follows links to the name that is to be replaced, and opens its directory; or opens the
// device that the path stands for.
void OutputFile::open_directory() {
  constexpr int kMostLinks = 40;
  struct stat known {};
  for (int links = 0;; ++links) {
    folder_ = folder_of(name_);
    if (lstat(name_.c_str(), &known) != 0) {
      if (errno != ENOENT) fail("written", errno);
      break;
    }
    const bool is_link = S_ISLNK(known.st_mode);
    if ((!is_link && !S_ISREG(known.st_mode)) || (is_link && is_in_proc(folder_))) {
      if (S_ISDIR(known.st_mode)) fail("written", EISDIR);
      file_ = ::open(name_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY);
      if (file_ < 0) fail("written", errno);
      return;
    }
    if (!is_link) break;
    if (links == kMostLinks) fail("written", ELOOP);
    if (!may_follow(known, folder_))
      throw FileError(path_, 0,
                      fmt::format("{} is another user's link in a directory for all: "
                                  "not followed",
                                  name_));
    const std::string target = read_link(name_);
    if (target.empty()) fail("written", errno);
    name_ = target.front() == '/' ? target : folder_ + '/' + target;
  }
  directory_ = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory_ < 0) fail("written", errno);
  name_ = name_.substr(name_.rfind('/') + 1);
}

void OutputFile::open_temporary(Temporary kind) {
  // Replacing needs the directory alone, but a file that its owner has made read-only is
  // meant to stay.
  if (faccessat(directory_, name_.c_str(), F_OK, AT_EACCESS) == 0 &&
      faccessat(directory_, name_.c_str(), W_OK, AT_EACCESS) != 0)
    fail("written", errno);
  if (kind == Temporary::kUnnamed && access("/proc/self/fd", X_OK) == 0) {
    file_ = openat(directory_, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    if (file_ >= 0) return;
  }
  open_named();
}

void OutputFile::open_named() {
  do {
    const std::string name = random_name();
    slot_ = take_slot(directory_, name);
    file_ = openat(directory_, name.c_str(),
                   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file_ >= 0) {
      temporary_ = name;
      return;
    }
    const int error = errno;
    free_slot(slot_);
    errno = error;
  } while (errno == EEXIST);
  fail("written", errno);
}

void OutputFile::write(std::span<const std::byte> bytes) {
  // Asked first: going beyond the limit raises a signal that ends the process.
  if (directory_ >= 0 && bytes.size() > limit_ - written_) fail("written", EFBIG);
  while (!bytes.empty()) {
    const ssize_t put = ::write(file_, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) fail("written", put < 0 ? errno : ENOSPC);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
    written_ += static_cast<std::uint64_t>(put);
  }
}

void OutputFile::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put =
        pwrite(file_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) fail("written", put < 0 ? errno : ENOSPC);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
    offset += static_cast<std::uint64_t>(put);
  }
}

int OutputFile::copy_of_descriptor() const {
  const int copy = fcntl(file_, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) fail("written", errno);
  return copy;
}

void OutputFile::keep_mode() {
  struct stat old {
  }, own{};
  if (fstatat(directory_, name_.c_str(), &old, AT_SYMLINK_NOFOLLOW) != 0) return;
  if (!S_ISREG(old.st_mode)) fail("put in place", EEXIST);  // since it was opened
  if (fstat(file_, &own) != 0) fail("written", errno);
  mode_t mode = old.st_mode & 0777;
  if (own.st_uid != old.st_uid || own.st_gid != old.st_gid) {
    const bool kept = fchown(file_, old.st_uid, old.st_gid) == 0 ||
                      fchown(file_, static_cast<uid_t>(-1), old.st_gid) == 0;
    if (!kept) mode = without_group(mode);
  }
  if (fchmod(file_, mode) != 0) fail("written", errno);
}

// A file without a name can take a name that is free; one that is taken is replaced by
// way of a random one.
void OutputFile::put_in_place() {
  if (temporary_.empty()) {
    const std::string self = fmt::format("/proc/self/fd/{}", file_);
    const auto link_as = [&](const std::string& name) {
      return linkat(AT_FDCWD, self.c_str(), directory_, name.c_str(),
                    AT_SYMLINK_FOLLOW) == 0;
    };
    if (link_as(name_)) return;
    if (errno != EEXIST) fail("put in place", errno);
    const std::string name = random_name();
    slot_ = take_slot(directory_, name);
    if (!link_as(name)) fail("put in place", errno);
    temporary_ = name;
  }
  if (renameat(directory_, temporary_.c_str(), directory_, name_.c_str()) != 0)
    fail("put in place", errno);
  temporary_.clear();
  free_slot(slot_);
}

void OutputFile::commit() {
  if (directory_ < 0) return close_all();
  keep_mode();
  if (fsync(file_) != 0) fail("written", errno);
  put_in_place();
  // Some file systems do not know it for directories.
  if (fsync(directory_) != 0 && errno != EINVAL && errno != EROFS)
    fail("put in place", errno);
  close_all();
}

void check_output(const std::string& path) {
  struct stat known {};
  const bool exists = stat(path.c_str(), &known) == 0;
  if (!exists || S_ISREG(known.st_mode) || S_ISDIR(known.st_mode)) {
    const OutputFile given_up(path);
  } else if (access(path.c_str(), W_OK) != 0) {
    // Who reads a pipe would take opening and closing it for the end.
    throw FileError(path, 0, "cannot be written: " + system_text(errno));
  }
}

void remove_unfinished_files() noexcept {
  for (Unfinished& slot : unfinished_files)
    if (slot.state == 2) unlinkat(slot.directory, slot.name.data(), 0);
}

}  // namespace espalier
