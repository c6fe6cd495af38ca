#include "policy/starpu/allocation.h"

#include <malloc.h>
#include <pthread.h>
#include <starpu.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace espalier::policy {

namespace {

// StarPU's hooks have no argument of the user's: this is the one place for it.
std::atomic<AllocationObserver*> current_observer = nullptr;

struct Fetch {
  bool open = false;
  bool between_tasks = false;  // of this worker; never in other threads
  std::vector<FetchedBlock> blocks;
};
thread_local Fetch fetch;

// This thread is in StarPU's allocation of a datum: what it allocates belongs to one.
thread_local bool allocates_datum = false;

// starpu_malloc() of the application's and StarPU's allocation of data call the same hook
// with the same arguments. They are told apart by standing in for the functions of
// StarPU's interfaces, which are in structures that everybody may read and change.
template <starpu_data_interface_ops& kInterface>
class DatumAllocation {
 public:
  static void stand_in() {
    if (starpus_ != nullptr || kInterface.allocate_data_on_node == nullptr) return;
    starpus_ = kInterface.allocate_data_on_node;
    kInterface.allocate_data_on_node = allocate;
  }

 private:
  static starpu_ssize_t allocate(void* interface, unsigned node) noexcept {
    allocates_datum = true;
    const starpu_ssize_t bytes = starpus_(interface, node);
    allocates_datum = false;
    return bytes;
  }
  static inline decltype(starpu_data_interface_ops::allocate_data_on_node) starpus_ =
      nullptr;
};

void watch_interfaces() {
  DatumAllocation<starpu_interface_matrix_ops>::stand_in();
  DatumAllocation<starpu_interface_coo_ops>::stand_in();
  DatumAllocation<starpu_interface_block_ops>::stand_in();
  DatumAllocation<starpu_interface_vector_ops>::stand_in();
  DatumAllocation<starpu_interface_variable_ops>::stand_in();
  DatumAllocation<starpu_interface_csr_ops>::stand_in();
  DatumAllocation<starpu_interface_bcsr_ops>::stand_in();
#if STARPU_MAJOR_VERSION > 1 || STARPU_MINOR_VERSION > 3
  DatumAllocation<starpu_interface_tensor_ops>::stand_in();
  DatumAllocation<starpu_interface_ndim_ops>::stand_in();
#endif
}

constexpr std::size_t kPage = 4096, kPageAligned = 16384, kCacheLine = 64;
constexpr std::size_t kMalloc = alignof(std::max_align_t);

// As for STARPU_MALLOC_ALIGN: StarPU remembers the most that was asked for, and so do we.
std::atomic<std::size_t> asked_alignment = kMalloc;

// A disk of the program's, beside the one that StarPU swaps to: StarPU asks for pages
// where it is one that needs them, but that is heard only where this library was loaded
// with the program. Reads what StarPU sets before it uses a disk; takes no lock.
bool has_disks() {
  const unsigned nodes = starpu_memory_nodes_get_count();
  for (unsigned node = 1; node < nodes; ++node)
    if (starpu_node_get_kind(node) == STARPU_DISK_RAM &&
        static_cast<int>(node) != starpu_disk_swap_node)
      return true;
  return false;
}

std::size_t alignment_of(std::size_t bytes) {
  const std::size_t usual = bytes >= kPageAligned ? kPage
                            : bytes >= kCacheLine ? kCacheLine
                                                  : kMalloc;
  const std::size_t asked = std::max(usual, asked_alignment.load());
  return asked < kPage && has_disks() ? kPage : asked;
}

int allocate(unsigned, void** block, std::size_t bytes, int) noexcept {
  const std::size_t alignment = alignment_of(bytes);
  if (alignment <= kMalloc)
    *block = std::malloc(bytes > 0 ? bytes : 1);
  else if (posix_memalign(block, alignment, bytes) != 0)
    *block = nullptr;
  if (*block == nullptr) return -ENOMEM;
  if (AllocationObserver* const observer = current_observer) {
    if (fetch.open)
      fetch.blocks.push_back({*block, bytes});
    else if (in_message_thread())
      observer->allocated_for_message(*block, bytes);
    else if (allocates_datum)
      observer->allocated_outside(*block, bytes);
    else
      observer->allocated(*block, bytes);
  }
  return 0;
}

int release(unsigned, void* block, std::size_t, int) noexcept {
  AllocationObserver* const observer = current_observer;
  const std::uint32_t token =
      observer != nullptr ? observer->freeing(block, fetch.between_tasks) : 0;
  std::free(block);
  if (observer != nullptr) observer->freed(token);
  return 0;
}

bool from_malloc() {
#ifdef STARPU_SIMGRID
  return false;
#else
  return starpu_memory_nodes_get_numa_count() <= 1 && starpu_cuda_worker_get_count() == 0;
#endif
}

}  // namespace

bool observe_allocation(AllocationObserver* observer, bool promptly) {
  if (observer == nullptr) {
    if (current_observer.exchange(nullptr) != nullptr)
      starpu_malloc_set_hooks(nullptr, nullptr);
    return true;
  }
  if (!from_malloc()) return false;
  // Otherwise glibc raises the threshold as blocks are freed, and keeps freed blocks of
  // up to 32 MiB resident.
  if (promptly) mallopt(M_MMAP_THRESHOLD, 1 << 20);
  watch_interfaces();
  current_observer = observer;
  starpu_malloc_set_hooks(allocate, release);
  return true;
}

// By the name that StarPU-MPI gives its thread: nothing else tells it.
bool in_message_thread() {
  thread_local const bool is = [] {
    char name[16] = "";
    return pthread_getname_np(pthread_self(), name, sizeof name) == 0 &&
           std::strcmp(name, "MPI") == 0;
  }();
  return is;
}

void align_blocks(std::size_t alignment) {
  std::size_t before = asked_alignment;
  while (before < alignment &&
         !asked_alignment.compare_exchange_weak(before, alignment)) {
  }
}

void looks_for_task() { fetch.between_tasks = true; }

void fetch_begins() {
  fetch.blocks.clear();
  fetch.open = true;
}

bool is_fetching() { return fetch.open; }

const std::vector<FetchedBlock>& fetch_ends() {
  if (!fetch.open) fetch.blocks.clear();  // those of the last one that was begun
  fetch.open = fetch.between_tasks = false;
  return fetch.blocks;
}

}  // namespace espalier::policy
