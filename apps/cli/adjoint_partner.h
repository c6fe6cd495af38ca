#pragma once

#include <optional>
#include <vector>

#include "cli/adjoint_options.h"
#include "cli/adjoint_report.h"
#include "cli/command.h"

namespace espalier::cli {

using MakeModel = training::AdjointModel (*)(const AdjointOptions&);

/// The process that lends slots, as the one that computes sees it. Calls come once each,
/// in this order.
class AdjointPartner {
 public:
  AdjointPartner() = default;
  virtual ~AdjointPartner() = default;
  AdjointPartner(const AdjointPartner&) = delete;
  AdjointPartner& operator=(const AdjointPartner&) = delete;

  /// Begins to exchange messages; the job measures again what is resident.
  virtual void start(training::AdjointJob& job) = 0;
  /// The least bound that does for both processes.
  [[nodiscard]] virtual Bytes least(Bytes own) = 0;
  /// Takes slots inside the bound and lends them to the job.
  virtual void lend(training::AdjointJob& job, std::optional<Bytes> bound) = 0;
  /// Ends the exchange. @return VmHWM of each process
  [[nodiscard]] virtual std::vector<Bytes> finish(training::AdjointJob& job) = 0;
};

/// @param place    where the job is to be: it ends later than an error in it
/// @param partner  null: there is none
[[nodiscard]] Ending run_adjoint(const AdjointOptions& options, MakeModel make,
                                 std::optional<training::AdjointJob>& place,
                                 AdjointPartner* partner);

/// The same on the two processes of a job of MPI: rank 0 computes, rank 1 lends.
[[nodiscard]] Ending adjoint_on_cluster(AdjointOptions& options, MakeModel make,
                                        const Suggest& suggest);

}  // namespace espalier::cli
