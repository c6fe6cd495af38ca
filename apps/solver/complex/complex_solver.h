#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "solver/api/solver.h"
#include "solver/complex/complex_error.h"
#include "solver/matrix/complex_matrix.h"
#include "solver/matrix/real_form.h"

namespace espalier::solver {

/// A determinant of a complex matrix.
struct ComplexDeterminant {
  Determinant modulus;  ///< not negative
  /// In (-pi, pi]; none: not known. Of Hermitian matrices it is, 0 or pi; of others the
  /// real form has the square of the modulus alone.
  std::optional<double> argument;
};

/// A sparse complex system, factored as a real one of twice the order (real_form.h): a
/// Solver, with the same phases, bound and options, seen from the complex side. Orders,
/// columns, variables, inertia and null spaces are the complex matrix's; vectors are
/// arrays of complex numbers, which the real system reads and writes where they are.
///
/// Cost, beside arithmetic in complex numbers: twice the memory and twice the operations,
/// as a factor of order 2 n has four real entries for each of order n, and eight times
/// the products, where a complex entry is two numbers and a complex product four.
///
/// Held beside the real system, and counted in the bound as what is resident before the
/// factorisation: the complex matrix, 20 bytes an entry, for backward errors, and 48
/// bytes a row. Inside a bound right-hand sides are solved one by one.
class ComplexSolver {
 public:
  /// As Solver's constructors. The symmetry of a matrix with both triangles is found out
  /// unless `options.kind` asks for LU.
  /// @throws as Solver; InvalidInput as check(ComplexMatrix) and real_form_for()
  ComplexSolver(ComplexMatrix&& matrix, const SolverOptions& options,
                const std::function<void(std::string_view)>& step = {});
  ComplexSolver(Runtime& runtime, ComplexMatrix&& matrix, const SolverOptions& options,
                const std::function<void(std::string_view)>& step = {});
  /// Of a solver that was loaded, whose real_form() is not kNone.
  explicit ComplexSolver(std::unique_ptr<Solver> loaded);
  ComplexSolver(const ComplexSolver&) = delete;
  ComplexSolver& operator=(const ComplexSolver&) = delete;

  /// The real system: its kind, memory, analysis and times, and save(). What is written
  /// says that it is complex; loading it costs a copy of the matrix.
  [[nodiscard]] const Solver& real() const { return *solver_; }
  [[nodiscard]] Solver& real() { return *solver_; }

  [[nodiscard]] RealForm form() const { return solver_->real_form(); }
  [[nodiscard]] std::int32_t order() const { return matrix_.size; }
  [[nodiscard]] const ComplexMatrix& matrix() const { return matrix_; }
  /// Of both analyses.
  [[nodiscard]] Seconds analyse_seconds() const {
    return own_seconds_ + solver_->analyse_seconds();
  }
  /// Of the analysis that ordered the matrix: the real form's only places what it gave.
  [[nodiscard]] const AnalyseTimes& seconds() const { return seconds_; }

  /// As Solver's. Of a loaded solver the bound has to hold what loading added, too.
  [[nodiscard]] Bytes least() const;
  [[nodiscard]] Bytes least_for_plan() const;
  [[nodiscard]] tl::expected<void, Infeasible> plan(std::optional<Bytes> bound);

  /// As Solver's: null space and negative eigenvalues, which are known of Hermitian
  /// matrices, are the complex matrix's; delayed, perturbed and 2 x 2 pivots are the real
  /// form's.
  [[nodiscard]] tl::expected<FactorReport, NotPositiveDefinite> factorise(
      const std::function<void(double)>& progress = {});
  /// @throws InvalidInput also for a matrix that has lost the symmetry of the first one
  void replace_values(ComplexMatrix&& matrix);

  /// b := op(A)^-1 b, as Solver::solve(). The backward error is componentwise in complex
  /// arithmetic, of the system as it was given (ComplexErrorMeasure); condition and
  /// forward error are estimated of the real form: within a factor of 2, and sqrt(2).
  [[nodiscard]] Solution solve(std::span<Complex> b, std::int32_t columns = 1,
                               ComplexOperation operation = ComplexOperation::kPlain,
                               std::span<const std::int64_t> rows = {});
  /// op(A) times the vector of ones.
  [[nodiscard]] std::vector<Complex> apply_to_ones(
      ComplexOperation operation = ComplexOperation::kPlain) const;

  /// As Solver's.
  [[nodiscard]] ComplexDeterminant determinant() const;
  void schur(std::span<Complex> block) const;
  [[nodiscard]] std::vector<Complex> null_space_basis(
      ComplexOperation operation = ComplexOperation::kPlain);
  /// Dimension of the complex null space.
  [[nodiscard]] std::int64_t null_space() const;
  [[nodiscard]] std::int32_t structural_rank() const {
    return solver_->prepared().structural_rank / 2;
  }
  /// Variables that are kept, of options.schur.
  [[nodiscard]] std::int32_t kept() const {
    return solver_->analysis().symbolic.kept() / 2;
  }

 private:
  ComplexSolver(Runtime* runtime, ComplexMatrix&& matrix, const SolverOptions& options,
                const std::function<void(std::string_view)>& step);
  void solve_block(std::span<Complex> b, ComplexOperation operation,
                   std::span<const std::int64_t> parts, Solution& solution);

  static constexpr std::int32_t kBlock = 16;  // right-hand sides at once, without bound

  ComplexMatrix matrix_;
  bool refine_ = true, no_residual_ = false;
  Seconds own_seconds_ = 0;
  AnalyseTimes seconds_;
  // Resident before the real solver finds out what is.
  ComplexErrorMeasure measure_;
  std::vector<Complex> given_;  // right-hand sides while they are solved
  Bytes beside_ = 0;            // not in the real solver's account
  bool bounded_ = false;
  std::optional<std::int64_t> negative_;  // eigenvalues, of the last factorise()
  std::unique_ptr<Solver> solver_;
};

}  // namespace espalier::solver
