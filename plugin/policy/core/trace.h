#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <iosfwd>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "espalier/model/units.h"

namespace espalier::policy {

/// Records a run for Perfetto: a row of tasks for each worker, and counters for the
/// memory and for the tasks that are held.
///
/// Each worker records into a row of its own, under a lock that only write() takes too:
/// a trace can be written in the middle of a run that has to stop. Times are on any one
/// clock. Memory is bounded: a row or a counter keeps its first `max_events` events, of
/// 24 bytes each, and counts the others; a row keeps 65 536 distinct names, cut at 200
/// bytes. Recording never throws: what finds no memory is counted as dropped.
class Trace {
 public:
  static constexpr std::size_t kMaxEvents = 1'000'000;
  static constexpr std::size_t kMaxNames = 65'536;
  static constexpr std::size_t kMaxNameLength = 200;

  explicit Trace(std::size_t workers, std::size_t max_events = kMaxEvents);

  /// A worker that was given no name is "worker 3".
  void name_worker(std::size_t worker, std::string name);

  /// A task that ran on `worker`, in the order in which a worker's tasks end. `name` is
  /// copied and may be null. `held` is the time that it waited at the gate before.
  void task(std::size_t worker, const char* name, Seconds start, Seconds end,
            Seconds held = 0) noexcept;

  /// A change of the memory at `time`; times must not decrease. `allocated` is nullopt
  /// where it is not measured.
  void memory(Seconds time, Bytes booked, std::optional<Bytes> allocated) noexcept;

  /// A change of the number of tasks held at the gate; times must not decrease.
  void held(Seconds time, std::int64_t tasks) noexcept;

  /// Events that were not kept for want of room.
  [[nodiscard]] std::int64_t dropped() const;

  /// Writes all as Chrome trace events (JSON), in microseconds from the first event, the
  /// memory in MiB. `process` tells the processes of an MPI job apart: its rank.
  ///
  /// A worker's tasks that overlap, as those of a GPU can, are shown one after the other.
  ///
  /// @throws FileError
  void write(const std::string& path, std::optional<Bytes> bound, int process) const;
  void write(std::ostream& out, std::optional<Bytes> bound, int process) const;

 private:
  struct Writer;

  static constexpr Seconds kNever = std::numeric_limits<Seconds>::infinity();

  struct TaskEvent {
    Seconds start, end;
    std::uint32_t name;  // in Row::names
    float held;
  };
  struct Sample {
    Seconds time;
    Bytes booked, allocated;  // -1: not measured
  };
  struct HeldSample {
    Seconds time;
    std::int64_t tasks;
  };
  /// The first events of a row or of a counter, and what was left out after them.
  template <class Event>
  struct Events {
    std::deque<Event> kept;
    Seconds first = kNever, last = -kNever;  // moments of what was kept
    std::int64_t dropped = 0;
    Seconds dropped_from = kNever;
    void add(const Event& event, Seconds start, Seconds end, std::size_t limit) noexcept;
  };
  struct alignas(64) Row {
    mutable std::mutex mutex;
    std::string name;
    Events<TaskEvent> tasks;
    std::deque<std::string> names;
    std::unordered_map<std::string_view, std::uint32_t> name_index;  // into names
    std::uint32_t intern(std::string_view text);
  };

  std::size_t max_events_;
  std::vector<Row> rows_;
  mutable std::mutex mutex_;  // of the counters
  Events<Sample> memory_;
  Events<HeldSample> held_;
};

}  // namespace espalier::policy
