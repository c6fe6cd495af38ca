#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "policy/core/placement.h"
#include "policy/core/tree_gate.h"

namespace espalier::policy {

/// A plan at work in one scheduling context: its gate, where its nodes' tasks queue, and
/// what each worker has done for it.
class Job {
 public:
  /// Written by one worker alone, read by anyone.
  struct alignas(64) Tally {
    std::atomic<std::int64_t> tasks = 0;
    std::atomic<std::int64_t> stolen = 0;
    std::atomic<Seconds> busy = 0;
    Seconds task_start = 0;  // of the task that the worker runs; the worker's own
  };
  /// Where a node's tasks go once admitted.
  struct Destination {
    Placement::Queue* queue = nullptr;  // for tasks that every worker can execute
    std::uint32_t path = 0;             // upper half of their rank
  };

  /// `context_workers`: ids of the context's workers, increasing. Worker range [a, b) of
  /// the plan's P workers becomes the context's workers from rank a Q/P, rounded down, to
  /// rank b Q/P, rounded up, of Q. `all_workers`: how many StarPU has. `bound`:
  /// TreeGate's.
  Job(std::shared_ptr<const Plan> plan, std::span<const int> context_workers,
      std::size_t all_workers, Placement& placement, std::optional<Bytes> bound = {});

  [[nodiscard]] TreeGate& gate() { return gate_; }
  [[nodiscard]] const TreeGate& gate() const { return gate_; }
  [[nodiscard]] const Destination& destination(TaskId node) const {
    return destinations_[index(node)];
  }
  [[nodiscard]] Tally& tally(std::size_t worker) { return tallies_[worker]; }
  [[nodiscard]] std::span<const Tally> tallies() const { return tallies_; }
  [[nodiscard]] std::int32_t workers() const { return workers_; }

 private:
  TreeGate gate_;
  std::vector<Destination> destinations_;
  std::vector<Tally> tallies_;
  std::int32_t workers_;
};

/// The jobs of one context, found by the token that a task carries.
///
/// A task's sched_data belongs to the application unless it points into the node array of
/// an attached job, so it is compared and never followed. find() is on every task's path:
/// it takes no lock, each slot being read under a sequence count (even: at rest).
class JobTable {
 public:
  static constexpr std::size_t kCapacity = 16;

  /// @return false when the table is full
  [[nodiscard]] bool attach(Job& job);
  void detach(const Job& job);
  /// The attached job whose token this is, or nullptr.
  [[nodiscard]] Job* find(const void* token) const;

 private:
  struct Slot {
    std::atomic<std::uint32_t> sequence = 0;
    std::atomic<std::uintptr_t> begin = 0, end = 0;
    std::atomic<Job*> job = nullptr;
  };
  static void write(Slot& slot, Job* job);

  std::mutex writers_;
  std::atomic<std::size_t> used_ = 0;  // slots that ever held a job: a prefix
  std::array<Slot, kCapacity> slots_;
};

}  // namespace espalier::policy
