#pragma once

namespace espalier::policy {

/// Lets the threads of StarPU-MPI, where it is loaded, have its mutexes in turns. Before
/// StarPU-MPI starts.
void share_starpu_mpi_lock();

}  // namespace espalier::policy
