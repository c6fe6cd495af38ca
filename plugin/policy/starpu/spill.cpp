// StarPU swaps by itself; what it writes and reads is seen by standing in for the
// functions of its disk backend, which are in a structure that everybody may read and
// change.

#include "policy/starpu/spill.h"

#include <fmt/format.h>
#include <starpu.h>
#include <sys/vfs.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <string_view>

#include "espalier/model/error.h"

namespace espalier::policy {

namespace {

// StarPU's functions for disks have no argument of the user's, and its swap is one for
// the process: this is the one place for it.
struct Spill {
  std::mutex mutex;  // guards the directory
  std::string directory;
  bool own = false;  // and to be removed
  std::atomic<Bytes> written = 0, read = 0;
  std::atomic<std::int64_t> writes = 0, reads = 0;
  std::atomic<Bytes> latest = 0;
  starpu_disk_ops* replaced = nullptr;
  starpu_disk_ops starpu{};           // its own functions
  std::atomic<void*> base = nullptr;  // of the swap, among all disks of the backend
};
Spill spill;

void count_write(const void* base, std::size_t size) {
  if (base != spill.base) return;
  spill.written += static_cast<Bytes>(size);
  spill.latest = static_cast<Bytes>(size);
  ++spill.writes;
}

void count_read(const void* base, std::size_t size) {
  if (base != spill.base) return;
  spill.read += static_cast<Bytes>(size);
  spill.latest = static_cast<Bytes>(size);
  ++spill.reads;
}

void* plug(void* parameter, starpu_ssize_t size) noexcept {
  void* const base = spill.starpu.plug(parameter, size);
  const std::scoped_lock lock(spill.mutex);
  if (spill.directory == static_cast<const char*>(parameter)) spill.base = base;
  return base;
}

void unplug(void* base) noexcept {
  const bool swap = base == spill.base;
  spill.starpu.unplug(base);
  if (swap) remove_spilled();
}

// It writes and reads to find out how fast the disk is.
int bandwidth(unsigned node, void* base) noexcept {
  const int status = spill.starpu.bandwidth(node, base);
  if (base == spill.base) {
    spill.written = spill.read = 0;
    spill.writes = spill.reads = 0;
  }
  return status;
}

int read(void* base, void* object, void* to, off_t offset, std::size_t size) noexcept {
  count_read(base, size);
  return spill.starpu.read(base, object, to, offset, size);
}

int write(void* base, void* object, const void* from, off_t offset,
          std::size_t size) noexcept {
  count_write(base, size);
  return spill.starpu.write(base, object, from, offset, size);
}

// Where these cannot be begun, StarPU takes those above instead.
void* async_read(void* base, void* object, void* to, off_t offset,
                 std::size_t size) noexcept {
  void* const request = spill.starpu.async_read(base, object, to, offset, size);
  if (request != nullptr) count_read(base, size);
  return request;
}

void* async_write(void* base, void* object, void* from, off_t offset,
                  std::size_t size) noexcept {
  void* const request = spill.starpu.async_write(base, object, from, offset, size);
  if (request != nullptr) count_write(base, size);
  return request;
}

int full_read(void* base, void* object, void** to, std::size_t* size,
              unsigned node) noexcept {
  const int status = spill.starpu.full_read(base, object, to, size, node);
  count_read(base, *size);
  return status;
}

int full_write(void* base, void* object, void* from, std::size_t size) noexcept {
  count_write(base, size);
  return spill.starpu.full_write(base, object, from, size);
}

template <class Function, class Ours>
void replace(Function& function, Ours& ours) {
  if (function != nullptr) function = ours;
}

// nullptr for one whose functions are not known to be so.
starpu_disk_ops* chosen_backend() {
  const char* const backend = std::getenv("STARPU_DISK_SWAP_BACKEND");
  const std::string_view name = backend != nullptr ? backend : "unistd";
  if (name == "unistd") return &starpu_disk_unistd_ops;
  if (name == "stdio") return &starpu_disk_stdio_ops;
#ifdef STARPU_LINUX_SYS
  if (name == "unistd_o_direct") return &starpu_disk_unistd_o_direct_ops;
#endif
  return nullptr;
}

void stand_in() {
  starpu_disk_ops* const backend = chosen_backend();
  if (backend == nullptr || backend == spill.replaced) return;
  if (spill.replaced != nullptr) *spill.replaced = spill.starpu;
  spill.replaced = backend;
  spill.starpu = *backend;
  replace(backend->plug, plug);
  replace(backend->unplug, unplug);
  replace(backend->bandwidth, bandwidth);
  replace(backend->read, read);
  replace(backend->write, write);
  replace(backend->async_read, async_read);
  replace(backend->async_write, async_write);
  replace(backend->full_read, full_read);
  replace(backend->full_write, full_write);
}

void warn_of_memory(const std::string& directory) {
  constexpr long kTmpfs = 0x01021994, kRamfs = static_cast<long>(0x858458f6);
  struct statfs system {};
  if (statfs(directory.c_str(), &system) != 0) return;
  if (system.f_type != kTmpfs && system.f_type != kRamfs) return;
  std::fprintf(
      stderr,
      "espalier: %s is in memory (tmpfs): what is spilled there takes as much as "
      "before. Name a directory on a disk in ESPALIER_SPILL_DIR.\n",
      directory.c_str());
}

std::string make_directory(const std::string& in) {
  std::string name = in + "/espalier-spill-XXXXXX";
  if (mkdtemp(name.data()) == nullptr)
    throw FileError(in, 0,
                    fmt::format("(ESPALIER_SPILL_DIR) cannot be spilled to: {}",
                                std::strerror(errno)));
  return name;
}

}  // namespace

void prepare_spilling(const std::string& directory) {
  const std::scoped_lock lock(spill.mutex);
  const char* const given = std::getenv("STARPU_DISK_SWAP");
  // Ours of a start of StarPU before this one is nobody's choice.
  spill.own = given == nullptr || spill.directory == given;
  spill.directory = spill.own ? make_directory(directory) : given;
  if (spill.own) setenv("STARPU_DISK_SWAP", spill.directory.c_str(), 1);
  spill.written = spill.read = 0;
  spill.writes = spill.reads = 0;
  spill.base = nullptr;
  warn_of_memory(spill.directory);
  stand_in();
}

bool spills() noexcept {
  const std::scoped_lock lock(spill.mutex);
  return !spill.directory.empty();
}

SpillFigures spill_figures() {
  const std::scoped_lock lock(spill.mutex);
  return {spill.directory, spill.written, spill.read, spill.writes, spill.reads};
}

SpillProgress spill_progress() noexcept {
  return {spill.writes + spill.reads, spill.latest};
}

void remove_spilled() noexcept {
  const std::scoped_lock lock(spill.mutex);
  if (!spill.own) return;
  std::error_code ignored;
  std::filesystem::remove_all(spill.directory, ignored);
}

}  // namespace espalier::policy
