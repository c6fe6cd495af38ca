#pragma once

// What the processes of an MPI job did inside their bounds, on one page.

#include <cstdint>
#include <span>
#include <string>

#include "policy/core/report.h"

namespace espalier::policy {

/// The figures of one process that go into the summary; plain, to be sent as bytes.
struct RankFigures {
  static constexpr std::int64_t kUnknown = -1;
  std::int64_t rank = 0;
  std::int64_t ran = 0;    ///< whether the policy ran there; without, no figures
  std::int64_t kept = 1;   ///< whether its bound was kept, if it had one
  Bytes bound = kUnknown;  ///< kUnknown: none
  Bytes booked_peak = 0;
  Bytes allocated_peak = kUnknown;
  Bytes vm_hwm = kUnknown;
  Bytes received_bytes = 0;
};

[[nodiscard]] RankFigures figures_of(const RunReport& report, int rank);

/// Lines for people: whether all kept their bounds, a line for each of at most 16
/// processes, and which had the most of each. `processes` is the size of the job, of
/// which some may be missing.
[[nodiscard]] std::string summary_text(std::span<const RankFigures> ranks, int processes);

}  // namespace espalier::policy
