#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "espalier/model/units.h"

namespace espalier::solver {

/// What a task of a pool did, for replaying it on other numbers of workers: what it did
/// alone, and the blocks of its loops, which any workers may take. Times are the
/// processor's: what else the machine does is not in them.
struct RecordedTask {
  std::optional<std::int64_t> parent =
      {};                 ///< the task that added it, when that had ended
  std::int64_t size = 0;  ///< as it was added with
  Seconds alone = 0;
  std::vector<std::vector<Seconds>> loops = {};  ///< of each loop the time of each block
};

/// What a pool did, from its start to its end.
struct RecordedPhase {
  std::vector<RecordedTask> tasks;
  Seconds seconds = 0;  ///< of the thread that ran it, with what recording takes
};
/// Of pools one after the other, each when the one before it had ended.
using RecordedPhases = std::vector<RecordedPhase>;

/// Called often by the thread that runs a pool, between tasks and between blocks of
/// loops, and about 20 times a second while it waits for others: what it throws is what a
/// task of that pool has thrown. Empty: nothing is called.
using Interrupt = std::function<void()>;

/// Threads to work on, the caller's among them.
struct Threads {
  std::int32_t count = 1;
  RecordedPhases* record = nullptr;      ///< takes what they do; may be null
  const Interrupt* interrupt = nullptr;  ///< outlives what is done; may be null

  Threads(std::int32_t threads = 1, RecordedPhases* phases = nullptr,
          const Interrupt* ask = nullptr)
      : count(threads), record(phases), interrupt(ask) {}
};

/// Tasks that add tasks, on threads of its own and the caller's.
///
/// A task is ready when it is added; of those that are, the largest is started first. A
/// thread that finds none looks out for one for half a millisecond before it sleeps.
/// What comes out must not depend on which thread runs what: the pool promises no more
/// than that everything added has run when run() returns.
class TaskPool {
 public:
  using Task = std::function<void()>;
  /// @param record     takes every task; may be null
  /// @param interrupt  outlives the pool; may be null
  explicit TaskPool(std::int32_t workers, std::vector<RecordedTask>* record = nullptr,
                    const Interrupt* interrupt = nullptr)
      : workers_(workers), record_(record), interrupt_(interrupt) {}

  /// Inside a task, or before run(). @param size  of the task's work, in any unit
  void add(std::int64_t size, Task task);
  /// Runs what was added and what that adds, on `workers` threads, the caller's among
  /// them.
  /// @throws what the first task that failed has thrown; those not begun are dropped then
  void run();

  /// Runs this task on the calling thread, whose heap its memory comes from; the others
  /// take hands in its loops. Nothing else is to be run.
  /// @throws what the task has thrown
  void run_here(std::int64_t size, Task task);

  /// Inside a task: visit(0) to visit(count - 1), in any order and at the same time.
  void for_each_block(std::int64_t count, const std::function<void(std::int64_t)>& visit);

  /// Inside a task that takes long, now and then: calls the interrupt, where this is the
  /// thread that runs the pool.
  /// @throws what that throws; in each thread once it has
  void ask();

  /// Number of the calling thread among those of the pool whose task it runs; 0: the one
  /// that runs the pool, or none of a pool's.
  [[nodiscard]] static int rank();

  /// Whether loops may be shared out, or are recorded as if they were.
  [[nodiscard]] bool shares() const { return workers_ > 1 || record_ != nullptr; }

 private:
  struct Entry {
    std::int64_t size;
    std::int64_t number;  ///< ties: the earlier first; -1: a hand for a loop
    Task task;
    bool operator<(const Entry& other) const {
      return size != other.size ? size < other.size : number > other.number;
    }
  };
  struct Loop;
  void start_threads(std::vector<std::jthread>& threads);
  void add_locked(std::int64_t size, std::int64_t number, Task task);
  [[nodiscard]] bool asks() const { return interrupt_ != nullptr && *interrupt_; }
  void work();
  [[nodiscard]] bool is_idle() const { return ready_.empty() && running_ > 0; }
  void tell_change(bool all);
  void look_out(std::unique_lock<std::mutex>& lock);
  void wait_for_entries(std::unique_lock<std::mutex>& lock);
  void run_entry(Entry&& entry);
  void keep(std::exception_ptr failure);
  void rethrow();
  void take_blocks(Loop& loop);

  std::int32_t workers_;
  std::vector<RecordedTask>* record_;
  const Interrupt* interrupt_;
  std::thread::id caller_;  ///< that runs the pool
  std::atomic<bool> interrupted_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Entry> ready_;  ///< a heap
  std::int64_t running_ = 0;
  std::int32_t looking_out_ = 0;           ///< threads
  std::atomic<std::int64_t> changes_ = 0;  ///< that end waiting, for those
  std::exception_ptr failure_;
};

/// Runs work(tasks), and adds a phase to the record with what that puts into `tasks`;
/// where there is no record, work(null).
void record_phase(Threads threads,
                  const std::function<void(std::vector<RecordedTask>*)>& work);

/// Runs `work` as the only task of a pool: what it does alone, and loops.
/// @param size  of what is worked on: for so little no threads are started
void on_pool(Threads threads, std::int64_t size,
             const std::function<void(TaskPool&)>& work);

}  // namespace espalier::solver
