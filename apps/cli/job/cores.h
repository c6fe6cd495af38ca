#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "solver/distributed/mpi_communicator.h"

namespace espalier::cli {

/// Collective, after MPI has started and before StarPU does. Processes that may run on
/// the same cores of a host share them out: consecutive cores each, in the machine's own
/// order, so that neighbours in it (SMT threads, caches, NUMA nodes) stay together.
/// StarPU alone would bind the workers of all of them to the first cores. Within its
/// cores a process's threads go where the system puts them.
///
/// Left as they are: cores that the user chose (mpirun --bind-to …), cores that the
/// launcher shared out (srun --cpus-per-task), and all of them where there are more
/// processes than cores. A choice that Open MPI made by itself (one core a process, of
/// two) is not the user's: the cores to share out are then those of mpirun itself.
///
/// Workers and the thread of StarPU-MPI are not bound to single cores, unless one of
/// STARPU_WORKERS_NOBIND, _GETBIND, _CPUID, _COREID or STARPU_MPI_NOBIND, _THREAD_CPUID,
/// _THREAD_COREID is set.
///
/// @param hosts of every process, by rank
void share_cores(solver::MpiCommunicator& processes, std::span<const std::string> hosts);

/// The part of consecutive cores that is the i-th process's of n that share them: parts
/// differ by one core at most.
struct CorePart {
  std::int32_t first = 0, count = 0;
};
[[nodiscard]] CorePart part_of_cores(std::int32_t cores, std::int32_t i, std::int32_t n);

}  // namespace espalier::cli
