#include "solver/distributed/mpi_module.h"

#include "solver/distributed/mpi_communicator.h"

namespace {

using espalier::solver::Communicator;
using espalier::solver::MpiCommunicator;

Communicator* open_communicator(const void* mpi_comm) {
  return new MpiCommunicator(*static_cast<const MPI_Comm*>(mpi_comm));
}

}  // namespace

extern "C" __attribute__((visibility("default")))
const espalier::solver::MpiModule espalier_solver_mpi_module = {ESPALIER_VERSION,
                                                                open_communicator};
