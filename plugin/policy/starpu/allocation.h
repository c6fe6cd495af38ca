#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace espalier::policy {

/// Sees every block of main memory that StarPU allocates and frees, for the data of tasks
/// and through starpu_malloc() for the application, by StarPU's own hooks
/// (starpu_malloc_set_hooks). The blocks come from malloc; those of 64 bytes and more are
/// aligned to 64 bytes, and to a page from 16 KiB on; all of them as
/// starpu_malloc_set_align() asks (align_blocks()), and to pages while StarPU has disks
/// of the program's, which may need that. free() takes them, so they may outlive the
/// hooks.
///
/// One observer at a time.
class AllocationObserver {
 public:
  // Called with locks of StarPU held: these must not call StarPU.
  /// Not for a task: those blocks are told by fetch_ends().
  virtual void allocated(const void* block, std::size_t bytes) = 0;
  /// For a datum of one of StarPU's interfaces, but for no task of this policy's: one of
  /// a context with another policy, an acquisition, parts that come together.
  virtual void allocated_outside(const void* block, std::size_t bytes) = 0;
  /// By StarPU-MPI's thread: for a message that comes before it is asked for, or packed.
  virtual void allocated_for_message(const void* block, std::size_t bytes) = 0;
  /// The block is about to be freed, and its address may come again. `evicted`: by a
  /// worker between two tasks, in search of memory. @return for freed()
  virtual std::uint32_t freeing(const void* block, bool evicted) = 0;
  virtual void freed(std::uint32_t token) = 0;

 protected:
  ~AllocationObserver() = default;
};

/// From now on, or with nullptr never more. With `promptly` freed blocks of 1 MiB and
/// more leave the resident set at once. @return false where blocks cannot come from
/// malloc: pinned memory for GPUs, several NUMA nodes, simulated memory
bool observe_allocation(AllocationObserver* observer, bool promptly = true);

/// From now on all blocks are aligned to that, a power of two, if not to more already.
void align_blocks(std::size_t alignment);

/// Whether this is the thread in which StarPU-MPI sends and receives.
[[nodiscard]] bool in_message_thread();

struct FetchedBlock {
  const void* block;
  std::size_t bytes;
};

/// This thread's worker looks for a task: what it did for the last one is over.
void looks_for_task();
/// It has taken a task, whose data StarPU fetches now.
void fetch_begins();
[[nodiscard]] bool is_fetching();
/// @return the blocks allocated since; valid until the next fetch_begins()
[[nodiscard]] const std::vector<FetchedBlock>& fetch_ends();

}  // namespace espalier::policy
