#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "espalier/model/replay.h"
#include "espalier/report/run_sweep.h"
#include "espalier/report/subtrees.h"

namespace espalier::report {

/// A part of the time of a run.
struct Window {
  Seconds from = 0, to = 0;
};

/// Starts of columns that a picture of a profile is made of: one for each moment of the
/// profile when there are at most `most`, else `most` of equal width. Ascending.
struct Columns {
  std::vector<Seconds> start;
  Seconds end = 0;
  bool exact = false;  ///< a column for each moment
};
/// In a page's charts of memory: of all of it, and around the peak.
inline constexpr std::size_t kPageColumns = 1000, kPeakColumns = 500;

[[nodiscard]] Columns columns_of(std::span<const MemoryPoint> profile, std::size_t most);

/// One column for each of at most `most` moments around `middle`.
[[nodiscard]] Columns columns_around(std::span<const MemoryPoint> profile, Seconds middle,
                                     std::size_t most);

/// Memory over time, by column: the most and the least that was held at any moment of
/// it, and how the most was divided.
struct MemoryChart {
  Columns columns;
  std::vector<Bytes> high, low;
  /// [part][column], bytes when `high` was first reached; the parts add up to `high`.
  std::vector<std::vector<Bytes>> part;
};

/// Folds changes of memory, in order of time, into columns. Any number of changes may
/// happen at one moment: what is held between two of them counts, but what was held
/// before the first counts only in columns that begin earlier.
/// @par Cost  O(columns x parts + changes)
class ChartFolder {
 public:
  ChartFolder(Columns columns, std::size_t parts);
  /// Before any change at `time`. @param time  never decreases
  void go_to(Seconds time);
  void change(std::size_t part, Bytes by);
  /// What is held now counts in the column.
  void note();
  /// Once, after the last change.
  [[nodiscard]] MemoryChart take();

 private:
  MemoryChart chart_;
  std::vector<Bytes> now_;  // by part
  Bytes bytes_ = 0;         // their sum
  std::size_t column_ = 0;  // columns begun; 0: the time is before the first
  bool past_ = false;       // after the last
  std::vector<bool> filled_;
};

/// Makes the chart of a run of a tree while it is swept; one part for each subtree, the
/// last for the tasks above.
/// @par Test  MemoryChart.HighAndLowAreThoseOfTheProfile
class MemoryChartBuilder : public RunObserver {
 public:
  MemoryChartBuilder(const TaskTree& tree, const Subtrees& subtrees, Columns columns);
  void started(TaskId task, Seconds time) override;
  void ended(TaskId task, Seconds time) override;
  /// Once, after the sweep.
  [[nodiscard]] MemoryChart take() { return folder_.take(); }

 private:
  [[nodiscard]] std::size_t part_of(TaskId task) const;

  const TaskTree& tree_;
  const Subtrees& subtrees_;
  ChartFolder folder_;
};

/// What each task holds at the moment when `peak_task` has started: a task that runs its
/// m + f + r, one that has ended its r and, until its parent has ended, its f. The sum
/// is the memory at that moment.
class HoldingBuilder : public RunObserver {
 public:
  HoldingBuilder(const TaskTree& tree, TaskId peak_task)
      : tree_(tree), peak_task_(peak_task), held_(tree.size(), 0) {}
  void started(TaskId task, Seconds time) override;
  void ended(TaskId task, Seconds time) override;
  /// Indexed by task. Once, after the sweep.
  [[nodiscard]] std::vector<Bytes> take() { return std::move(held_); }

 private:
  const TaskTree& tree_;
  TaskId peak_task_;
  std::vector<Bytes> held_;
  bool done_ = false;
};

}  // namespace espalier::report
