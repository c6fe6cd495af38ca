#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "policy/core/worker_set.h"

namespace espalier::policy {

/// Order among admitted tasks, higher first: 32 bits of critical path, then 32 bits of
/// the task's own priority. Never 0, which stands for an empty queue.
using Rank = std::uint64_t;

/// The upper half of a rank for `weight`, the work on the path to the root (>= 0),
/// rounded to single precision: what that makes equal is ordered by priority.
[[nodiscard]] std::uint32_t path_rank(double weight);

/// For tasks of no declared tree: they come before all that belong to one, since nothing
/// is known about what waits for them.
inline constexpr std::uint32_t kUnboundRank = 0xffffffff;

[[nodiscard]] constexpr Rank make_rank(std::uint32_t path, int priority) {
  return Rank{path} << 32 | (static_cast<std::uint32_t>(priority) ^ 0x80000000U);
}

/// Where admitted tasks wait for a worker: one priority queue per pair of worker sets,
///
///   preferred   the workers that the mapping gives to the task's node
///   able        the workers that can execute the task at all
///
/// A worker takes the task of highest rank among the queues that prefer it, else among
/// all queues that it is able to serve: no worker idles while a task that it can execute
/// waits. In a queue equal ranks go first in, first out.
///
/// Tasks are opaque pointers. There are as many queues as different pairs, a few dozen in
/// practice; they are never removed.
///
/// Thread-safe; pop() for one worker from one thread at a time. With nothing queued,
/// pop() reads one atomic and takes no lock; otherwise it reads one atomic a queue and
/// locks the queue that it takes from, for O(1) while all ranks in it are equal and
/// O(log n) else. Calls nothing outside.
///
/// @par Test  Placement.*, also under ThreadSanitizer
class Placement {
 public:
  class Queue;
  struct Popped {
    void* task = nullptr;  ///< nullptr: nothing for this worker
    bool stolen = false;   ///< from a queue that prefers other workers
  };

  /// For workers 0 … workers-1.
  explicit Placement(std::size_t workers);
  ~Placement();
  Placement(const Placement&) = delete;
  Placement& operator=(const Placement&) = delete;

  /// The queue for these sets, made when there is none. Lives as long as the object.
  [[nodiscard]] Queue& queue(const WorkerSet& preferred, const WorkerSet& able);
  [[nodiscard]] static const WorkerSet& preferred(const Queue& queue);
  [[nodiscard]] static const WorkerSet& able(const Queue& queue);

  void push(Queue& queue, Rank rank, void* task);
  [[nodiscard]] Popped pop(std::size_t worker);

 private:
  /// The queues as one worker sees them; read and extended by that worker alone.
  struct alignas(64) View {
    std::size_t seen = 0;  // of queues_
    std::vector<Queue*> own, others;
  };
  void refresh(View& view, std::size_t worker);
  void* take_best(const std::vector<Queue*>& queues);

  alignas(64) std::atomic<std::int64_t> occupied_ = 0;  // queues that hold a task
  alignas(64) std::atomic<std::size_t> queue_count_ = 0;
  std::shared_mutex registry_;  // guards queues_
  std::vector<std::unique_ptr<Queue>> queues_;
  std::vector<View> views_;
};

}  // namespace espalier::policy
