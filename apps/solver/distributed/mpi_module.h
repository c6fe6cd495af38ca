#pragma once

#include "solver/distributed/communicator.h"

namespace espalier::solver {

/// What libespalier_solver_mpi.so exports as `espalier_solver_mpi_module`: the way to MPI
/// of a library that knows nothing of it. Both are of one build: `version` says so.
struct MpiModule {
  const char* version;
  /// An MpiCommunicator of an MPI_Comm at that address; as its constructor.
  Communicator* (*open)(const void* mpi_comm);
};

}  // namespace espalier::solver
