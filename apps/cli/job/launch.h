#pragma once

#include <cstdint>

namespace espalier::cli {

/// What the launcher of MPI jobs says of a job in the environment of each process, with
/// the variables of Open MPI, MPICH and Slurm.
struct Launch {
  std::int32_t processes = 0;   ///< 0: no launcher started this process
  std::int32_t rank = 0;        ///< of all
  std::int32_t local_rank = 0;  ///< on this host
};
[[nodiscard]] Launch launch();

/// Sets what the user did not, before MPI starts: its waits, those of StarPU-MPI too,
/// give up their core to whoever wants it.
void set_launch_defaults();

/// Seconds without a word from another process after which the job ends:
/// ESPALIER_CLUSTER_TIMEOUT, or 10.
/// @throws InvalidInput unless it is a number from 1 to 86400
[[nodiscard]] double cluster_timeout();

}  // namespace espalier::cli
