#pragma once

#include <starpu.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "policy/core/application_data.h"
#include "policy/core/brief_mutex.h"
#include "policy/core/submission_gate.h"
#include "policy/core/settings.h"
#include "policy/core/throttle.h"
#include "policy/core/trace.h"
#include "policy/starpu/allocation.h"

namespace espalier::policy {

/// A SubmissionGate at work in StarPU: one for the process, whatever the number of contexts.
///
///   submitted() ─► ready() ─┬─► placement ─► taken() ─► fetched() ─► ended()
///                           └─ held ─► place_admitted() ─► placement
///
/// When nothing runs and only held tasks are left, and nothing changes for a while, the
/// program has asked for what the bound does not allow: see Settings::on_overflow.
///
/// Thread-safe. StarPU is not called while the lock is held.
///
/// @par Test  TransparentGate.*, and HandlePrograms.* over random programs
class TransparentGate final : private AllocationObserver {
 public:
  /// What to do before the process is stopped.
  using LastWords = std::function<void()>;
  /// Queues a task that was held.
  using Place = void (*)(starpu_task* task);

  /// Without `settings.memory` nothing is held: what the program needs is found out.
  /// `trace` may be nullptr. Both and `throttle` outlive it.
  TransparentGate(const Settings& settings, unsigned workers, const Throttle& throttle,
                  Trace* trace, Place place, LastWords last_words);
  ~TransparentGate();
  TransparentGate(const TransparentGate&) = delete;
  TransparentGate& operator=(const TransparentGate&) = delete;

  /// Any task, in the order of submission.
  void submitted(const starpu_task& task);
  /// @return false: the gate holds the task
  [[nodiscard]] bool ready(starpu_task& task);
  /// The task starts on a worker of its own choice.
  void bypasses(const starpu_task& task);
  /// A worker has taken the task, whose data are fetched now.
  static void taken(const starpu_task& task);
  /// In the same thread: they are in memory.
  void fetched(const starpu_task& task);
  void ended(const starpu_task& task);
  /// The same for a task that StarPU may have destroyed by now.
  void ended_unseen(const starpu_task* task);
  /// The application waits for tasks.
  void application_waits();

  /// StarPU-MPI is about to acquire the handle for a message, in the order of submission.
  /// What it receives is allocated by a task of the policy's own, which is submitted here
  /// and waits at the gate like any other; the message follows it.
  void message_begins(starpu_data_handle_t handle, bool receives);
  /// It is about to give the handle back.
  void message_ended(starpu_data_handle_t handle);

  /// By a worker that looks for a task: queues held tasks that may start since memory was
  /// freed. Without any, one load.
  void place_admitted() {
    looks_for_task();
    settle();
    if (room_.load(std::memory_order_relaxed)) place_all();
  }

  [[nodiscard]] SubmissionGateReport report() const;
  [[nodiscard]] bool measured() const { return measured_; }
  /// Data of tasks that the application allocated itself.
  [[nodiscard]] ApplicationData application_data() const;
  /// Tasks on workers of their own choice, which could not be held.
  [[nodiscard]] std::int64_t bypassed() const { return bypassed_; }

 private:
  void allocated(const void* block, std::size_t bytes) override;
  void allocated_for_message(const void* block, std::size_t bytes) override;
  std::uint32_t freeing(const void* block, bool evicted) override;
  void freed(std::uint32_t token) override;

  void follow(const starpu_task& task);
  template <class Read>
  [[nodiscard]] std::unique_lock<BriefMutex> lock_with(std::vector<DataAccess>& data,
                                                       Read read);
  void settle();
  void settle_own();  // with the lock
  void settle_locked(const void* thread, Seconds before);
  void place_all();
  void hand_on(const std::vector<void*>& admitted) const;
  void changed();  // with the lock
  void refuse_if_too_large(std::unique_lock<BriefMutex>& lock, SubmissionGate::Op op,
                           const starpu_task& task);
  void watch();
  void end(std::unique_lock<BriefMutex>& lock, SubmissionGate::Op op);
  [[nodiscard]] Seconds patience() const;  // with the lock
  void act_on_stall(std::unique_lock<BriefMutex>& lock, Seconds still);
  void go_on(std::vector<void*>& admitted);  // with the lock
  void tell_of_messages();                   // with the lock
  [[nodiscard]] std::string overflow_text() const;
  [[nodiscard]] std::string needs_text() const;
  [[noreturn]] void stop(const std::string& text);  // without the lock

  const Settings& settings_;
  const unsigned workers_;
  const Throttle& throttle_;
  Trace* const trace_;
  const Place place_;
  const LastWords last_words_;
  bool measured_ = false;
  std::atomic<bool> room_ = false;  // memory has been given back since place_all()
  std::atomic<std::int64_t> bypassed_ = 0;
  std::atomic<std::uint64_t> frees_ = 0;  // blocks that were about to be freed

  mutable BriefMutex mutex_;  // guards what follows
  SubmissionGate gate_;
  /// Blocks that were freed but that StarPU may still count: it does until the call in
  /// which it freed them returns, so until the same thread calls the policy again.
  struct Leaving {
    std::uint32_t token;
    const void* thread;
    Seconds since;
  };
  std::vector<Leaving> leaving_;
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
  bool warned_ = false;
  bool told_of_messages_ = false;
  bool ending_ = false;
  std::condition_variable_any watched_;  // a task is held, or the end
  std::thread watcher_;
};

// Fills `data` by read() and locks, so that what they say of memory is true under the
// lock. Not locked when there are none.
template <class Read>
std::unique_lock<BriefMutex> TransparentGate::lock_with(std::vector<DataAccess>& data,
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
