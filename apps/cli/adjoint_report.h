#pragma once

#include <optional>
#include <vector>

#include "cli/adjoint_options.h"
#include "cli/command.h"
#include "cli/output.h"

namespace espalier::cli {

/// What is known of a run of `espalier adjoint` when it has ended well.
struct AdjointRun {
  std::optional<Bytes> bound;
  Seconds prepare_seconds = 0, plan_seconds = 0;
  std::int64_t sounding_steps = 0;  ///< forward steps that told what each costs
  training::AdjointResult result;
  std::vector<Bytes> process_peaks;  ///< VmHWM by rank; empty: there is one process
};

/// Everything; the exit status tells whether the bound was kept.
[[nodiscard]] ExitStatus report_run(const AdjointOptions& options,
                                    const training::AdjointJob& job,
                                    const AdjointRun& run);

/// The answer "it does not fit", with the least bound that does and what a disk does
/// where the process is `alone` and could have one.
[[nodiscard]] Ending report_infeasible(const AdjointOptions& options,
                                       const training::AdjointJob& job,
                                       const Infeasible& answer, bool alone);

}  // namespace espalier::cli
