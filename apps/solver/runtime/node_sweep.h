#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <vector>

#include "solver/runtime/task_group.h"
#include "solver/runtime/tile_team.h"

namespace espalier::solver {

/// One way through the nodes of a tree on StarPU's workers: a node is one task, which
/// submits those that waited for it; a large one may be cut into tiles, which workers
/// without a node help with. Made for one sweep.
class NodeSweep : private TileRunner {
 public:
  NodeSweep(const Runtime& runtime, std::size_t nodes);
  virtual ~NodeSweep() = default;
  NodeSweep(const NodeSweep&) = delete;
  NodeSweep& operator=(const NodeSweep&) = delete;

 protected:
  /// From these nodes on, until every task has ended. The runtime must be awake.
  /// @param ask  called by this thread about 20 times a second while it waits; may be
  ///             empty
  /// @throws the first error that visit(), StarPU or `ask` gave; no node was visited
  ///         after it
  void run_from(std::span<const std::int32_t> first,
                const std::function<void()>& ask = {});

  virtual void visit(std::int32_t node) = 0;
  /// Submits the nodes that waited for this one last; called after an error as well.
  virtual void submit_next(std::int32_t node) = 0;
  void submit(std::int32_t node);
  /// For visit(), where there are several workers; null: there are not.
  [[nodiscard]] TileRunner* tiles() { return teams_.size() > 1 ? this : nullptr; }

 private:
  struct Argument {
    NodeSweep* sweep;
    std::int32_t node;
  };
  void run(std::int32_t tiles, const std::function<void(std::int32_t)>& tile) override;
  static void run_node(void* buffers[], void* argument) noexcept;
  void stop() noexcept;

  std::vector<Argument> arguments_;
  TaskGroup group_;
  std::deque<TileTeam> teams_;  // of each worker that visits a node
  std::atomic<bool> stopped_{false};
  std::mutex mutex_;
  std::exception_ptr error_;  // the first
};

}  // namespace espalier::solver
