#pragma once

#include <optional>
#include <string>

namespace espalier::solver {

/// While one exists StarPU can start: it makes a directory for what it measures, and
/// aborts the process where it cannot (a HOME that is read-only or another user's). Then
/// STARPU_PERF_MODEL_DIR names a temporary directory, which is removed afterwards: none
/// of our codelets has a performance model that would be kept.
class PerformanceDirectory {
 public:
  /// @throws Error with the system's reason when there is no place for that either
  PerformanceDirectory();
  PerformanceDirectory(const PerformanceDirectory&) = delete;
  PerformanceDirectory& operator=(const PerformanceDirectory&) = delete;
  ~PerformanceDirectory();

 private:
  std::string made_;                  // empty: StarPU's own can be written
  std::optional<std::string> given_;  // the variable before
};

}  // namespace espalier::solver
