#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "espalier/model/plan.h"
#include "espalier/parallel/memory_booking.h"

namespace espalier::policy {

/// A task that the gate has let go, and its node.
struct Released {
  void* task = nullptr;
  TaskId node{};
};

/// What the gate has seen so far; the fields are those of espalier_report.
struct TreeGateReport {
  Bytes booked_peak = 0;
  Bytes allocated = 0, allocated_peak = 0;
  std::int64_t overruns = 0;
  Bytes overrun_bytes = 0;
  std::int32_t overrun_node = -1;
  bool cancelled = false;
  std::int64_t nodes_ended = 0;
  Bytes given_back = 0;
  std::int64_t held_tasks = 0;
  Seconds held_time = 0;
};

/// Which tasks may start: memory booking on the nodes of a plan.
///
/// A node starts when MemoryBooking says so (it is activated and its children have
/// ended). Tasks bound to it are held until then and pass at once afterwards. It ends
/// when it has started, is closed, and all tasks bound to it have ended; that may let
/// others start, whose held tasks are then released to the caller.
///
///   bind ──► admit ─┬─ started ──► runs ──► finish ─┐
///                   └─ held until the node starts   ├─► node ends ──► other nodes start
///   close ──────────────────────────────────────────┘
///
/// Tasks are opaque pointers, times are seconds of any one clock. Thread-safe: one lock
/// for the booking and the held tasks, under which nothing outside is called. bind,
/// finish and admit of a started node take no lock unless the node ends.
///
/// @par Test  TreeGate.*, also under ThreadSanitizer
class TreeGate {
 public:
  /// Starts what can start.
  /// @param bound  in place of the plan's, in which its witness fits. Where it does not
  ///               fit in this one, give_back() may make up for it
  explicit TreeGate(std::shared_ptr<const Plan> plan, std::optional<Bytes> bound = {});

  /// One more task will come. @return false when the node is closed
  [[nodiscard]] bool bind(TaskId node);
  /// @return true: the task may run; false: the gate holds it
  [[nodiscard]] bool admit(TaskId node, void* task, Seconds now);
  /// A bound task has ended, or will not come after all.
  void finish(TaskId node, Seconds now, std::vector<Released>& released);
  /// No more tasks will be bound. @return false when the node was closed already
  [[nodiscard]] bool close(TaskId node, Seconds now, std::vector<Released>& released);
  /// Releases all that is held and books no more.
  void cancel(Seconds now, std::vector<Released>& released);

  /// The application has allocated (> 0) or freed (< 0) bytes for a node, -1: for none.
  /// @return false when more is allocated than booked, unless cancelled
  /// @throws OverflowError when the sum leaves 0 … 2^63-1
  bool allocate(std::int32_t node, Bytes delta);

  /// So many of the retained bytes of a node that has started are gone for good.
  /// @return false, and nothing is done, as MemoryBooking::give_back()
  [[nodiscard]] bool give_back(TaskId node, Bytes bytes, Seconds now,
                               std::vector<Released>& released);
  /// 0: the job goes on, has ended or is cancelled. Otherwise no node will start any
  /// more: the next one misses so many bytes.
  [[nodiscard]] Bytes missing() const;
  [[nodiscard]] Bytes bound() const { return booking_.bound(); }

  [[nodiscard]] bool started(TaskId node) const { return nodes_[index(node)].started; }
  /// All nodes have ended, or the job is cancelled and no bound task is left.
  [[nodiscard]] bool done() const;
  [[nodiscard]] TreeGateReport report() const;
  [[nodiscard]] const Plan& plan() const { return *plan_; }

  /// One per node, at addresses that tell which: the token that a bound task carries.
  struct Node {
    static constexpr std::uint32_t kOpen = 1U << 31;
    std::atomic<std::uint32_t> pending = kOpen;  // bound tasks not ended, and the flag
    std::atomic<bool> started = false;
    bool ended = false;             // under the lock
    std::int32_t newest_held = -1;  // under the lock: index into held_
  };
  [[nodiscard]] std::span<Node> nodes() { return nodes_; }
  [[nodiscard]] TaskId node_of(const void* token) const {
    return task_id(
        static_cast<std::size_t>(static_cast<const Node*>(token) - nodes_.data()));
  }

 private:
  struct Held {
    void* task;
    Seconds since;
    std::int32_t older;  // of the same node; in the free list: next free
  };
  void drained(TaskId node, Seconds now, std::vector<Released>& released);
  void end_locked(TaskId node, Seconds now, std::vector<Released>& released);
  void go_on_locked(Seconds now, std::vector<Released>& released);
  void start_locked(Seconds now, std::vector<Released>& released);
  void release_locked(TaskId node, Seconds now, std::vector<Released>& released);

  std::shared_ptr<const Plan> plan_;
  std::vector<Node> nodes_;

  mutable std::mutex mutex_;  // guards all below
  MemoryBooking booking_;
  std::vector<TaskId> startable_, ending_;  // work lists, empty between calls
  std::vector<Held> held_;
  std::int32_t free_held_ = -1;
  TreeGateReport report_;
};

}  // namespace espalier::policy
