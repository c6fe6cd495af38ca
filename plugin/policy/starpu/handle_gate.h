#pragma once

#include <starpu.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "espalier/model/error.h"
#include "policy/core/application_data.h"
#include "policy/core/brief_mutex.h"
#include "policy/core/settings.h"
#include "policy/core/submission_gate.h"
#include "policy/core/throttle.h"
#include "policy/core/trace.h"
#include "policy/starpu/allocation.h"
#include "policy/starpu/joins.h"

namespace espalier::policy {

/// The bound cannot be kept; the message says why, and what is needed.
class BoundBroken : public Error {
 public:
  using Error::Error;
};

/// Tasks that a gate has let in, to be queued in their contexts: starpu_task*.
using Admitted = std::vector<void*>;

/// A SubmissionGate at work in StarPU: one for the process, whatever the number of
/// contexts.
///
///   submitted() ─► ready() ─┬─► placement ─► taken() ─► fetched() ─► ended()
///                           └─ held ─► ended(), poll(), wait_for_admitted() ─► placement
///
/// When nothing runs and only held tasks are left, and nothing changes for a while, the
/// program has asked for what the bound does not allow: see Settings::on_overflow.
///
/// What was held and may start is returned, by whatever call made room for it; the caller
/// queues it.
///
/// Thread-safe. StarPU is not called while the lock is held.
///
/// @par Test  HandleGate.*, and HandlePrograms.* over random programs
class HandleGate final : private AllocationObserver {
 public:
  /// Without `settings.memory` nothing is held: what the program needs is found out.
  /// `trace` may be nullptr. Both and `throttle` outlive it.
  HandleGate(const Settings& settings, unsigned workers, const Throttle& throttle,
             Trace* trace);
  ~HandleGate();
  HandleGate(const HandleGate&) = delete;
  HandleGate& operator=(const HandleGate&) = delete;

  /// Any task, in the order of submission; tells those of StarPU's own in which data
  /// come together to say when they begin and end. @throws BoundBroken
  void submitted(starpu_task& task);
  /// @return false: the gate holds the task
  [[nodiscard]] bool ready(starpu_task& task);
  /// The task starts on a worker of its own choice.
  void bypasses(const starpu_task& task);
  /// A worker has taken the task, whose data are fetched now.
  void taken(const starpu_task& task);
  /// In the same thread: they are in memory.
  void fetched(const starpu_task& task);
  [[nodiscard]] Admitted ended(const starpu_task& task);
  /// The same for the last one fetched in this thread, which StarPU may have destroyed by
  /// now.
  [[nodiscard]] Admitted ended_unseen(const starpu_task* task);
  /// The application waits for tasks.
  void application_waits();

  /// StarPU-MPI is about to acquire the handle for a message, in the order of submission.
  /// What it receives is allocated by a task of the policy's own, which is submitted here
  /// and waits at the gate like any other; the message follows it.
  void message_begins(starpu_data_handle_t handle, bool receives);
  /// It is about to give the handle back.
  void message_ended(starpu_data_handle_t handle);

  /// Whether this thread has freed blocks since it last called: see end_pending_frees().
  [[nodiscard]] static bool frees_are_pending();
  /// StarPU's call in which this thread freed them has returned: they are gone. Any other
  /// call says so, too; for threads that make none for a while.
  void end_pending_frees();

  /// By a worker that looks for a task: what may start since memory was freed. Without
  /// any, one load.
  [[nodiscard]] Admitted poll() {
    looks_for_task();
    end_pending_frees();
    return room_.load(std::memory_order_relaxed) ? admit_held() : Admitted();
  }

  /// In a thread of its own: waits until something may start that no other call returns,
  /// since nothing goes on or where workers sleep. nullopt: end_waiting() was called.
  /// @throws BoundBroken
  [[nodiscard]] std::optional<Admitted> wait_for_admitted();
  void end_waiting();

  [[nodiscard]] SubmissionGateReport report() const;
  /// What tasks needed that had overtaken others and could not wait; 0: none.
  [[nodiscard]] Bytes needed_to_overtake() const { return needed_to_overtake_; }
  [[nodiscard]] bool measured() const { return measured_; }
  /// Data of tasks that the application allocated itself.
  [[nodiscard]] ApplicationData application_data() const;
  /// Of a context whose tasks allocated memory that nothing held back; "": none.
  [[nodiscard]] std::string other_policy() const;
  /// Tasks on workers of their own choice, which could not be held.
  [[nodiscard]] std::int64_t bypassed() const { return bypassed_; }
  /// Blocks whose thread did not say that they are gone: tasks waited for that longer
  /// than they had to.
  [[nodiscard]] std::int64_t late_frees() const { return late_frees_; }

 private:
  void allocated(const void* block, std::size_t bytes) override;
  void allocated_outside(const void* block, std::size_t bytes) override;
  void allocated_for_message(const void* block, std::size_t bytes) override;
  std::uint32_t freeing(const void* block, bool evicted) override;
  void freed(std::uint32_t token) override;

  [[nodiscard]] bool may_spill() const {
    return settings_.memory && settings_.on_overflow == Overflow::kDisk;
  }
  void follow(const starpu_task& task);
  void pass(starpu_task& task);
  template <class Read>
  [[nodiscard]] std::unique_lock<BriefMutex> lock_with(std::vector<DataAccess>& data,
                                                       Read read);
  void look_for_data(std::unique_lock<BriefMutex>& lock, const starpu_task& task,
                     SubmissionGate::Op op);
  [[nodiscard]] bool others_go_on(std::unique_lock<BriefMutex>& lock) const;
  void tell_of_other_policy(const char* policy);
  void end_own_frees();  // with the lock
  std::int64_t end_pending_frees(const void* thread, Seconds before);
  [[nodiscard]] Admitted admit_held();
  void changed();                                                         // with the lock
  void refuse_too_large(SubmissionGate::Op op, const starpu_task& task);  // with the lock
  [[nodiscard]] Admitted end(std::unique_lock<BriefMutex>& lock, SubmissionGate::Op op);
  [[nodiscard]] Seconds patience() const;              // with the lock
  [[nodiscard]] bool goes_on() const;                  // with the lock
  [[nodiscard]] Admitted act_on_stall(Seconds still);  // with the lock
  void go_on(Admitted& admitted);                      // with the lock
  [[nodiscard]] bool overtakes() const;                // with the lock
  void tell_of_messages();                             // with the lock
  void look_for_stuck_fetches();                       // with the lock
  [[nodiscard]] std::string overflow_text() const;
  [[nodiscard]] std::string needs_text() const;

  const Settings& settings_;
  const unsigned workers_;
  const Throttle& throttle_;
  Trace* const trace_;
  bool measured_ = false;
  std::atomic<bool> reduces_ = false;  // a task has contributed to a reduction
  std::atomic<bool> room_ = false;     // memory has been given back since admit_held()
  std::atomic<std::uint64_t> next_number_ = 0;  // of a task to be submitted
  std::atomic<std::int64_t> bypassed_ = 0, late_frees_ = 0;
  std::atomic<Bytes> needed_to_overtake_ = 0;
  std::atomic<std::int64_t> taken_ = 0, fetched_ = 0;  // tasks with data
  Joins joins_;
  /// Grows when a block is about to be freed, and when it counts as free: in between
  /// StarPU may still say that the datum is there.
  std::atomic<std::uint64_t> frees_ = 0;

  mutable BriefMutex mutex_;  // guards what follows
  SubmissionGate gate_;
  /// Blocks that were freed but that StarPU may still count: it does until the call in
  /// which it freed them returns, so until the same thread calls the policy again.
  struct PendingFree {
    std::uint32_t token;
    const void* thread;
    Seconds since;
  };
  std::vector<PendingFree> pending_frees_;
  /// Messages that have begun and not ended, by handle; those of one handle in order.
  /// A message's address stands for it in the gate.
  struct Message {
    SubmissionGate::Op op;
  };
  std::unordered_map<starpu_data_handle_t, std::deque<std::unique_ptr<Message>>>
      messages_;
  ApplicationData application_data_;
  std::uint64_t changes_ = 0;       // of the gate's state
  bool application_waits_ = false;  // since the last submission
  std::string other_policy_;
  /// Tasks on workers of their own choice, which have not ended.
  std::unordered_set<const starpu_task*> bypassing_;
  /// Whatever moves while data are fetched where they may be evicted, for how long it has
  /// not, and when that was last seen.
  struct Fetching {
    std::int64_t taken = 0, fetched = 0, joined = 0, operations = 0;
    std::uint64_t changes = 0;
    bool operator==(const Fetching&) const = default;
  };
  Fetching fetching_;
  Seconds stuck_for_ = 0, stuck_seen_ = 0;
  bool warned_ = false;
  bool told_of_messages_ = false;
  bool ending_ = false;
  std::condition_variable_any watched_;  // a task is held, or the end
};

// Fills `data` by read() and locks, so that what they say of memory is true under the
// lock. Not locked when there are none.
template <class Read>
std::unique_lock<BriefMutex> HandleGate::lock_with(std::vector<DataAccess>& data,
                                                   Read read) {
  std::uint64_t frees = frees_;
  read();
  std::unique_lock lock(mutex_, std::defer_lock);
  if (data.empty()) return lock;
  lock.lock();
  while (frees != frees_ && gate_.adopts(data)) {
    // What was seen to be in memory may have left it, and its address be another block's.
    lock.unlock();
    frees = frees_;
    read();
    lock.lock();
  }
  return lock;
}

}  // namespace espalier::policy
