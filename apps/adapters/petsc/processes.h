#pragma once

// The processes of a matrix of PETSc's, and who of them solves.

#include <espalier_solver.h>
#include <petscmat.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace espalier::adapters {

/// Shares the host's cores out to the processes of PETSC_COMM_WORLD that run on it, where
/// their launcher has not: how many workers a solver of any of them has. Collective,
/// once.
[[nodiscard]] PetscErrorCode share_cores();
/// 0, before share_cores() and in a program of one process: all cores.
[[nodiscard]] std::int32_t shared_workers();

/// What is whole is at process 0 or, where all of them solve together, at each; what is
/// own is spread as the rows of the matrix are. All functions but the const ones are
/// collective.
///
/// All of them solve where MPI lets several threads communicate (MPI_THREAD_MULTIPLE),
/// and process 0 alone otherwise, while the others sleep.
class Processes {
 public:
  Processes() = default;
  ~Processes();
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  /// @param together  PETSC_DECIDE: as MPI lets them
  PetscErrorCode open(Mat matrix, PetscBool together);

  [[nodiscard]] bool several() const { return size_ > 1; }
  [[nodiscard]] bool first() const { return rank_ == 0; }
  /// Whether this one solves.
  [[nodiscard]] bool solves() const { return first() || communicator_ != nullptr; }
  [[nodiscard]] std::int32_t solving() const { return communicator_ ? size_ : 1; }
  /// Null: process 0 alone.
  [[nodiscard]] espalier_solver_communicator* communicator() const {
    return communicator_.get();
  }

  /// The least part, over the processes, of what those of a host divide evenly.
  PetscErrorCode share(std::int64_t* of_host) const;
  /// Whether it is so at every process, at each.
  PetscErrorCode everywhere(bool* so) const;
  /// Process 0's numbers, everywhere.
  PetscErrorCode tell(void* bytes, int count);
  /// Numbers of every process one after the other, at process 0.
  /// @throws nothing; PETSC_ERR_ARG_OUTOFRANGE for 2^31 of them or more
  PetscErrorCode gather(const std::vector<PetscInt>& own, std::vector<PetscInt>& whole);
  PetscErrorCode gather(const std::vector<double>& own, std::vector<double>& whole);
  /// A vector, where this one solves.
  PetscErrorCode gather_vector(const PetscScalar* own, PetscScalar* whole);
  PetscErrorCode scatter_vector(const PetscScalar* whole, PetscScalar* own);

 private:
  struct Destroy {
    void operator()(espalier_solver_communicator* communicator) const {
      espalier_solver_communicator_destroy(communicator);
    }
  };
  template <class T>
  PetscErrorCode gather(const std::vector<T>& own, std::vector<T>& whole,
                        MPI_Datatype type);

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  std::unique_ptr<espalier_solver_communicator, Destroy> communicator_;
  std::vector<int> counts_, starts_;  // of rows, by process
};

}  // namespace espalier::adapters
