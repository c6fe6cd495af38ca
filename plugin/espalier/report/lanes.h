#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "espalier/report/memory_chart.h"
#include "espalier/report/run_sweep.h"
#include "espalier/report/subtrees.h"

namespace espalier::report {

/// A bar of a Gantt chart: one task, or many that are too short to be seen.
struct GanttBar {
  Seconds from = 0, to = 0;
  std::int64_t tasks = 0;
  std::optional<TaskId> task;  ///< when it is one
  std::int32_t subtree = -1;   ///< of the most time, as Subtrees::of_task
  double busy = 1;             ///< part of the bar's time in which workers worked
};

/// One row of the chart: a worker, or several neighbours.
struct Lane {
  std::int32_t first_worker = 0, workers = 1;
  std::vector<GanttBar> blocks;  ///< in order of time; gaps are idle
};

struct LaneOptions {
  std::size_t most_lanes = 64;  ///< with more workers than that, neighbours share a lane
  std::size_t columns = 800;    ///< bars shorter than the window over this are merged
};

/// Makes the rows while a run is swept. A worker's own row shows every task that lasts
/// at least a column as itself; shorter ones next to each other become one bar. Rows of
/// several workers have a bar for each column in which one worked.
///
/// @par Cost  O(1) a call of worked(), and for shared rows one a column that it touches;
///            at most lanes x columns x 2 bars
/// @par Test  Lanes.BarsKeepTheTimeWorked
class LaneBuilder : public RunObserver {
 public:
  LaneBuilder(std::int32_t workers, Window window, const Subtrees& subtrees,
              const LaneOptions& options);
  void worked(TaskId task, std::int32_t worker, Seconds from, Seconds to) override;
  /// Once, after the sweep.
  [[nodiscard]] std::vector<Lane> take();

 private:
  // Time worked for each subtree, the last: above them.
  using Tally = std::vector<Seconds>;
  struct Mix {
    GanttBar block;
    Tally time;
  };
  struct Column {
    std::int64_t tasks = 0;
    Tally time;
  };

  void add_alone(Lane& lane, Mix& mix, const GanttBar& piece);
  void add_shared(std::size_t lane, const GanttBar& piece);
  void flush(Lane& lane, Mix& mix) const;
  void close_shared(std::size_t lane);
  [[nodiscard]] std::size_t slot(std::int32_t subtree) const;

  Window window_;
  const Subtrees& subtrees_;
  Seconds width_;  // of a column
  std::size_t columns_;
  std::int32_t workers_a_lane_;
  std::vector<Lane> lanes_;
  std::vector<Mix> mix_;                         // by lane, of one worker
  std::vector<std::vector<Column>> columns_of_;  // by lane, of several
};

}  // namespace espalier::report
