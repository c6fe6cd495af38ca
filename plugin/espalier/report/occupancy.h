#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "espalier/report/memory_chart.h"
#include "espalier/report/run_sweep.h"

namespace espalier::report {

/// What workers do, in workers: the three add up to the workers of the run.
struct WorkerUse {
  double busy = 0;
  double held = 0;  ///< idle, though tasks were ready that could have used them: the
                    ///< bound held these back
  double short_of_work = 0;  ///< idle, and too few tasks were ready
};

/// Means over columns of equal width, and over the whole window.
struct Occupancy {
  Window window;
  std::vector<WorkerUse> column;
  WorkerUse mean;
};

/// Makes it while a run is swept.
/// @par Test  Occupancy.AddsUpToTheWorkers
class OccupancyBuilder : public RunObserver {
 public:
  OccupancyBuilder(std::int32_t workers, Window window, std::size_t columns);
  void passed(Seconds from, Seconds to, std::int32_t busy, std::int64_t wanted) override;
  /// Once, after the sweep. Time in which nothing passed counts as short of work.
  [[nodiscard]] Occupancy take();

 private:
  std::int32_t workers_;
  Occupancy result_;  // worker-seconds until take()
};

}  // namespace espalier::report
