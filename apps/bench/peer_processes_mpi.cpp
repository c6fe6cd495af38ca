#include <mpi.h>

#include "peer_processes.h"

namespace espalier::bench {
namespace {

std::int64_t reduce(std::int64_t value, MPI_Op operation) {
  std::int64_t result = 0;
  MPI_Allreduce(&value, &result, 1, MPI_INT64_T, operation, MPI_COMM_WORLD);
  return result;
}

}  // namespace

Processes::Processes(int& argc, char**& argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
}
Processes::~Processes() { MPI_Finalize(); }
void Processes::wait_for_all() const { MPI_Barrier(MPI_COMM_WORLD); }
void Processes::give_up(int status) const { MPI_Abort(MPI_COMM_WORLD, status); }
std::int64_t Processes::largest(std::int64_t value) const {
  return reduce(value, MPI_MAX);
}
std::int64_t Processes::sum(std::int64_t value) const { return reduce(value, MPI_SUM); }

}  // namespace espalier::bench
