#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "espalier/model/run_record.h"

namespace espalier {

/// Times of several runs of the same tasks, for a record with the median of each: a task
/// that the machine disturbed in one run does not stand in it.
///
/// A task is known by its node, kind, column, row and source. Of the times of each the
/// latest kMostRuns are kept: some 250 bytes a task, whatever the number of runs.
class RunMedians {
 public:
  static constexpr std::size_t kMostRuns = 9;

  void add(const RunRecord& run);
  /// The seconds of a run that was added, of its tasks and as a whole, become medians; of
  /// an even number of times the lower one in the middle. Starts, workers and overhead
  /// stay.
  void put_into(RunRecord& run) const;

 private:
  /// The latest times of something.
  class Times {
   public:
    void add(Seconds value);
    [[nodiscard]] Seconds median() const;

   private:
    std::array<Seconds, kMostRuns> values_{};
    std::uint32_t added_ = 0;
  };
  struct TaskTimes {
    Times seconds, processor;
  };
  using Key = std::array<std::int32_t, 5>;
  [[nodiscard]] static Key key_of(const RunRecord::Task& task);

  std::map<Key, TaskTimes> tasks_;
  Times run_;
};

}  // namespace espalier
