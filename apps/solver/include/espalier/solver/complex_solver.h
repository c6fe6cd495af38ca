#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "espalier/solver/export.h"
#include "espalier/solver/solver.h"

namespace espalier::solver {

/// op(A) of a complex matrix.
enum class ComplexOperation : std::int8_t { kPlain, kTransposed, kConjugateTransposed };

/// A determinant of a complex matrix.
struct ComplexDeterminant {
  Determinant modulus;  ///< not negative
  double argument = 0;  ///< in (-pi, pi]; of Hermitian matrices 0 or pi
};

/// A sparse complex system: a Solver of a complex matrix, with the same phases, bound and
/// options, in terms of complex numbers. The symmetry of a matrix is found out, its three
/// operations and the null space are put in terms of the real ones.
class ESPALIER_SOLVER_EXPORT ComplexSolver {
 public:
  /// As Solver's constructors. The symmetry of a matrix with both triangles is found out
  /// unless `options.kind` asks for LU.
  /// @throws as Solver; InvalidInput as check(ComplexMatrix) and symmetry_for()
  ComplexSolver(ComplexMatrix&& matrix, const SolverOptions& options,
                const std::function<void(std::string_view)>& step = {});
  ComplexSolver(Runtime& runtime, ComplexMatrix&& matrix, const SolverOptions& options,
                const std::function<void(std::string_view)>& step = {});
  /// On the processes of a communicator, as Solver.
  ComplexSolver(Communicator& communicator, std::optional<ComplexMatrix>&& matrix,
                const SolverOptions& options,
                const std::function<void(std::string_view)>& step = {});
  /// Of a solver that was loaded, whose matrix is complex.
  explicit ComplexSolver(std::unique_ptr<Solver> loaded);
  ComplexSolver(const ComplexSolver&) = delete;
  ComplexSolver& operator=(const ComplexSolver&) = delete;

  /// What plans, factors and saves; its kind, memory, analysis and times.
  [[nodiscard]] const Solver& solver() const { return *solver_; }
  [[nodiscard]] Solver& solver() { return *solver_; }

  [[nodiscard]] ComplexSymmetry symmetry() const { return *solver_->complex(); }
  [[nodiscard]] std::int32_t order() const;

  /// @throws InvalidInput also for a matrix that has lost the symmetry of the first one
  void replace_values(ComplexMatrix&& matrix);

  /// b := op(A)^-1 b, as Solver::solve(). The backward error is componentwise, with
  /// moduli of complex numbers, of the system as it was given; condition and forward
  /// error are estimated of the real matrix that maps real and imaginary parts: within a
  /// factor of 2, and sqrt(2).
  [[nodiscard]] Solution solve(std::span<Complex> b, std::int32_t nrhs = 1,
                               ComplexOperation operation = ComplexOperation::kPlain,
                               std::span<const std::int64_t> rows = {},
                               const std::function<void(double)>& progress = {});
  /// As Solver::solve_part(). Of Hermitian matrices it is L D L^H, so that kL, kD and kL
  /// conjugate transposed are A^-1; of others L D L^T and L U.
  void solve_part(FactorPart part, std::span<Complex> b, std::int32_t nrhs = 1,
                  ComplexOperation operation = ComplexOperation::kPlain,
                  const std::function<void(double)>& progress = {});
  /// As Solver::inverse_entries().
  void inverse_entries(std::span<const std::int32_t> rows,
                       std::span<const std::int32_t> columns, std::span<Complex> values,
                       const std::function<void(double)>& progress = {}) {
    solver_->inverse_entries(
        rows, columns, {reinterpret_cast<double*>(values.data()), 2 * values.size()},
        progress);
  }
  /// op(A) times the vector of ones.
  [[nodiscard]] std::vector<Complex> apply_to_ones(
      ComplexOperation operation = ComplexOperation::kPlain) const;

  /// As Solver's.
  [[nodiscard]] ComplexDeterminant determinant() const;
  void schur(std::span<Complex> block) const;
  [[nodiscard]] std::vector<Complex> null_space_basis(
      ComplexOperation operation = ComplexOperation::kPlain);

 private:
  std::unique_ptr<Solver> solver_;
};

}  // namespace espalier::solver
