#include "solver/distributed/mpi_communicator.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "espalier/model/error.h"

namespace espalier::solver {
namespace {

// Before the first communicator is made.
MPI_Comm checked(MPI_Comm parent) {
  int level = 0;
  check_mpi(MPI_Query_thread(&level), "asking MPI for its threads");
  if (level < MPI_THREAD_MULTIPLE)
    throw Error(
        "this MPI does not let several threads communicate (MPI_THREAD_MULTIPLE)");
  return parent;
}

}  // namespace

MpiCommunicator::MpiCommunicator(MPI_Comm parent)
    : transfer_(checked(parent)), data_(parent) {}

void MpiCommunicator::fail(int status, std::string_view message) {
  const std::string text = fmt::format("espalier: rank {}: {}\n", rank(), message);
  std::fputs(text.c_str(), stderr);
  MPI_Abort(transfer_.communicator(), status);
  std::abort();
}

}  // namespace espalier::solver
