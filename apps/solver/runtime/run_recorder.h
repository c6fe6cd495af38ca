#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include "espalier/model/clock.h"
#include "espalier/model/run_record.h"
#include "solver/tree/assembly_tree.h"
#include "solver/tree/tile_graph.h"

namespace espalier::solver {

/// Records the tasks of a factorisation, for RunRecord. Each worker writes a list of its
/// own; nothing is recorded for other threads. What a task does before end() counts as
/// its own time, the submission of others among it.
///
/// Memory: some 120 bytes a task, and as much again for the record.
class RunRecorder {
 public:
  explicit RunRecorder(std::int32_t workers);

  /// A tiled front is open: what its tasks wait for is known.
  void opened(std::int32_t node, const TileShape& shape);
  /// The calling worker begins a task of a node.
  /// @param tile  null: the node's first task
  void begin(std::int32_t node, const TileTask* tile, int priority) noexcept;
  void end() noexcept;
  /// The calling worker has taken or given back memory.
  void changed(Bytes delta) noexcept;

  /// What was recorded; no task runs any more. Input, operation, order, mapping and bound
  /// are left to the caller.
  [[nodiscard]] RunRecord record(const AssemblyTree& tree) const;

 private:
  struct Entry {
    RunRecord::Task task;
    bool first = true;  // of its node
    TileTask tile;
  };
  struct alignas(64) Worker {
    std::deque<Entry> entries;
    bool running = false;
    double processor_start = 0;
    bool failed = false;  // no memory for an entry: the record is not whole
  };
  // What each entry waits for, but for other nodes; of each node, what nothing waits for.
  struct Order {
    std::vector<std::vector<std::int32_t>> after, last;
  };
  [[nodiscard]] std::vector<const Entry*> in_order() const;
  [[nodiscard]] Order order_of(const AssemblyTree& tree,
                               const std::vector<const Entry*>& entries) const;
  static void set_place(const AssemblyTree::Node& node, const Entry& entry,
                        RunRecord::Task& task);

  Clock::time_point start_;
  std::vector<Worker> workers_;
  std::mutex mutex_;  // guards what follows
  std::map<std::int32_t, TileShape> shapes_;
};

}  // namespace espalier::solver
