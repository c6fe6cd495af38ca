#include "processes.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

namespace espalier::adapters {
namespace {

std::int32_t& workers() {
  static std::int32_t of_each = 0;
  return of_each;
}

int cores_here() {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  return sched_getaffinity(0, sizeof mine, &mine) == 0 ? CPU_COUNT(&mine) : 1;
}

// Asleep: whoever solves may want the core.
PetscErrorCode wait(MPI_Request& request) {
  PetscFunctionBegin;
  auto pause = std::chrono::microseconds(1);
  for (int done = 0; done == 0;) {
    PetscCallMPI(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
    if (done == 0) std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::microseconds(1000));
  }
  PetscFunctionReturn(0);
}

PetscErrorCode count_of_host(MPI_Comm all, int* count) {
  PetscFunctionBegin;
  MPI_Comm host = MPI_COMM_NULL;
  PetscCallMPI(MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host));
  PetscCallMPI(MPI_Comm_size(host, count));
  PetscCallMPI(MPI_Comm_free(&host));
  PetscFunctionReturn(0);
}

}  // namespace

std::int32_t shared_workers() { return workers(); }

PetscErrorCode share_cores() {
  PetscFunctionBegin;
  int all = 1, of_host = 1;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &all));
  if (all == 1) PetscFunctionReturn(0);
  PetscCall(count_of_host(PETSC_COMM_WORLD, &of_host));
  const auto cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  int least = std::max(1, std::min(cores_here(), cores / of_host));
  PetscCallMPI(
      MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_INT, MPI_MIN, PETSC_COMM_WORLD));
  workers() = least;
  // StarPU would bind the workers of all processes to the first cores.
  setenv("STARPU_WORKERS_NOBIND", "1", 0);
  setenv("STARPU_MPI_NOBIND", "1", 0);
  PetscFunctionReturn(0);
}

Processes::~Processes() {
  communicator_.reset();
  if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
}

PetscErrorCode Processes::open(Mat matrix, PetscBool together) {
  PetscFunctionBegin;
  const MPI_Comm parent = PetscObjectComm(reinterpret_cast<PetscObject>(matrix));
  PetscCallMPI(MPI_Comm_size(parent, &size_));
  PetscCallMPI(MPI_Comm_rank(parent, &rank_));
  if (size_ == 1) PetscFunctionReturn(0);
  PetscCallMPI(MPI_Comm_dup(parent, &comm_));
  const PetscInt* ranges = nullptr;
  PetscCall(MatGetOwnershipRanges(matrix, &ranges));
  starts_.assign(ranges, ranges + size_);
  for (int k = 0; k < size_; ++k) counts_.push_back(ranges[k + 1] - ranges[k]);
  int level = 0;
  PetscCallMPI(MPI_Query_thread(&level));
  if (together == PETSC_FALSE ||
      (together != PETSC_TRUE && level < MPI_THREAD_MULTIPLE)) {
    PetscCall(PetscInfo(matrix, "Espalier: process 0 solves alone\n"));
    PetscFunctionReturn(0);
  }
  espalier_solver_communicator* made = nullptr;
  PetscCheck(espalier_solver_communicator_create(&made, &comm_) == 0, PETSC_COMM_SELF,
             PETSC_ERR_LIB, "Espalier: %s", espalier_solver_last_error());
  communicator_.reset(made);
  PetscFunctionReturn(0);
}

PetscErrorCode Processes::share(std::int64_t* of_host) const {
  PetscFunctionBegin;
  int here = 1;
  PetscCall(count_of_host(comm_, &here));
  *of_host /= here;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, of_host, 1, MPI_INT64_T, MPI_MIN, comm_));
  PetscFunctionReturn(0);
}

PetscErrorCode Processes::everywhere(bool* so) const {
  PetscFunctionBegin;
  if (!several()) PetscFunctionReturn(0);
  int all = *so ? 1 : 0;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, comm_));
  *so = all == 1;
  PetscFunctionReturn(0);
}

PetscErrorCode Processes::tell(void* bytes, int count) {
  PetscFunctionBegin;
  if (!several()) PetscFunctionReturn(0);
  MPI_Request request = MPI_REQUEST_NULL;
  PetscCallMPI(MPI_Ibcast(bytes, count, MPI_BYTE, 0, comm_, &request));
  PetscCall(wait(request));
  PetscFunctionReturn(0);
}

template <class T>
PetscErrorCode Processes::gather(const std::vector<T>& own, std::vector<T>& whole,
                                 MPI_Datatype type) {
  PetscFunctionBegin;
  auto length = static_cast<long long>(own.size()), all = length;
  PetscCallMPI(MPI_Allreduce(&length, &all, 1, MPI_LONG_LONG, MPI_SUM, comm_));
  PetscCheck(all <= PETSC_MAX_INT, comm_, PETSC_ERR_ARG_OUTOFRANGE,
             "Espalier: %lld entries at process 0, which counts to 2^31 - 1", all);
  const int here = static_cast<int>(own.size());
  std::vector<int> counts(size_), starts(size_, 0);
  PetscCallMPI(MPI_Gather(&here, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, comm_));
  for (int k = 1; first() && k < size_; ++k) starts[k] = starts[k - 1] + counts[k - 1];
  if (first()) whole.resize(static_cast<std::size_t>(all));
  PetscCallMPI(MPI_Gatherv(own.data(), here, type, whole.data(), counts.data(),
                           starts.data(), type, 0, comm_));
  PetscFunctionReturn(0);
}

PetscErrorCode Processes::gather(const std::vector<PetscInt>& own,
                                 std::vector<PetscInt>& whole) {
  return gather(own, whole, MPIU_INT);
}

PetscErrorCode Processes::gather(const std::vector<double>& own,
                                 std::vector<double>& whole) {
  return gather(own, whole, MPI_DOUBLE);
}

PetscErrorCode Processes::gather_vector(const PetscScalar* own, PetscScalar* whole) {
  PetscFunctionBegin;
  if (communicator_)
    PetscCallMPI(MPI_Allgatherv(own, counts_[rank_], MPIU_SCALAR, whole, counts_.data(),
                                starts_.data(), MPIU_SCALAR, comm_));
  else
    PetscCallMPI(MPI_Gatherv(own, counts_[rank_], MPIU_SCALAR, whole, counts_.data(),
                             starts_.data(), MPIU_SCALAR, 0, comm_));
  PetscFunctionReturn(0);
}

PetscErrorCode Processes::scatter_vector(const PetscScalar* whole, PetscScalar* own) {
  PetscFunctionBegin;
  if (communicator_) {
    std::copy_n(whole + starts_[rank_], counts_[rank_], own);
    PetscFunctionReturn(0);
  }
  MPI_Request request = MPI_REQUEST_NULL;
  PetscCallMPI(MPI_Iscatterv(whole, counts_.data(), starts_.data(), MPIU_SCALAR, own,
                             counts_[rank_], MPIU_SCALAR, 0, comm_, &request));
  PetscCall(wait(request));
  PetscFunctionReturn(0);
}

}  // namespace espalier::adapters
