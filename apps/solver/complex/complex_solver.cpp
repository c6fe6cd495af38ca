#include "solver/complex/complex_solver.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "solver/distributed/communicator.h"
#include "solver/matrix/check_matrix.h"
#include "solver/matrix/complex_kind.h"

namespace espalier::solver {
namespace {

// A matrix as it is factored.
ComplexMatrix taken(ComplexMatrix&& matrix, std::optional<FactorKind> kind) {
  check(matrix);
  if (kind != FactorKind::kLu) matrix = with_symmetry_found(std::move(matrix));
  const ComplexSymmetry symmetry = symmetry_for(matrix, kind);
  return conforming(std::move(matrix), symmetry);
}

// A^T is the conjugate of A^H, which is the Solver's transposed matrix.
Operation without_conjugation(ComplexOperation operation) {
  return operation == ComplexOperation::kPlain ? Operation::kPlain
                                               : Operation::kTransposed;
}

Complex dot(std::span<const Complex> a, std::span<const Complex> b) {
  Complex sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += std::conj(a[k]) * b[k];
  return sum;
}

double norm(std::span<const Complex> a) { return std::sqrt(dot(a, a).real()); }

// `count` orthonormal vectors that span what all of them do, in front: Gram and Schmidt,
// the longest remainder first, each twice.
void keep_independent(std::vector<Complex>& vectors, std::size_t n, std::int64_t count) {
  const auto vector = [&](std::size_t k) { return std::span(vectors).subspan(k * n, n); };
  const std::size_t all = n == 0 ? 0 : vectors.size() / n;
  for (std::size_t k = 0; k < static_cast<std::size_t>(count); ++k) {
    std::size_t longest = k;
    for (std::size_t each = k; each < all; ++each)
      if (norm(vector(each)) > norm(vector(longest))) longest = each;
    if (longest != k) std::ranges::swap_ranges(vector(k), vector(longest));
    const double length = norm(vector(k));
    for (Complex& value : vector(k)) value /= length;
    for (std::size_t each = k + 1; each < all; ++each)
      for (int pass = 0; pass < 2; ++pass) {
        const Complex part = dot(vector(k), vector(each));
        for (std::size_t i = 0; i < n; ++i) vector(each)[i] -= part * vector(k)[i];
      }
  }
  vectors.resize(static_cast<std::size_t>(count) * n);
}

}  // namespace

ComplexSolver::ComplexSolver(ComplexMatrix&& matrix, const SolverOptions& options,
                             const std::function<void(std::string_view)>& step)
    : solver_(std::make_unique<Solver>(taken(std::move(matrix), options.kind), options,
                                       step)) {}

ComplexSolver::ComplexSolver(Runtime& runtime, ComplexMatrix&& matrix,
                             const SolverOptions& options,
                             const std::function<void(std::string_view)>& step)
    : solver_(std::make_unique<Solver>(runtime, taken(std::move(matrix), options.kind),
                                       options, step)) {}

ComplexSolver::ComplexSolver(std::unique_ptr<Solver> loaded)
    : solver_(std::move(loaded)) {
  if (!solver_->complex())
    throw InvalidInput("the saved factorisation is of a real matrix, not a complex one");
}

ComplexSolver::ComplexSolver(Communicator& communicator,
                             std::optional<ComplexMatrix>&& matrix,
                             const SolverOptions& options,
                             const std::function<void(std::string_view)>& step) {
  together(communicator, [&] {
    if (matrix) *matrix = taken(std::move(*matrix), options.kind);
  });
  solver_ = std::make_unique<Solver>(communicator, std::move(matrix), options, step);
}

void ComplexSolver::replace_values(ComplexMatrix&& matrix) {
  solver_->replace_values(std::move(matrix));
}

Solution ComplexSolver::solve(std::span<Complex> b, std::int32_t nrhs,
                              ComplexOperation operation,
                              std::span<const std::int64_t> rows,
                              const std::function<void(double)>& progress) {
  check_count(order(), nrhs, b.size());
  const bool around = operation == ComplexOperation::kTransposed;
  if (around) conjugate(b);
  Solution solution =
      solver_->solve(parts_of(b), nrhs, without_conjugation(operation), rows, progress);
  if (around) conjugate(b);
  return solution;
}

void ComplexSolver::solve_part(FactorPart part, std::span<Complex> b, std::int32_t nrhs,
                               ComplexOperation operation,
                               const std::function<void(double)>& progress) {
  const bool around = operation == ComplexOperation::kTransposed;
  if (around) conjugate(b);
  solver_->solve_part(part, parts_of(b), nrhs, without_conjugation(operation), progress);
  if (around) conjugate(b);
}

std::vector<Complex> ComplexSolver::apply_to_ones(ComplexOperation operation) const {
  const std::vector<double> parts =
      solver_->apply_to_ones(without_conjugation(operation));
  std::vector<Complex> sums(parts.size() / 2);
  std::ranges::copy(parts, parts_of(sums).begin());
  if (operation == ComplexOperation::kTransposed) conjugate(sums);
  return sums;
}

ComplexDeterminant ComplexSolver::determinant() const {
  ComplexDeterminant result{.modulus = solver_->determinant()};
  Determinant& modulus = result.modulus;
  const bool turned = modulus.mantissa < 0;
  modulus.mantissa = std::abs(modulus.mantissa);
  const Complex phase = turned ? -modulus.phase : modulus.phase;
  modulus.phase = 1;
  if (modulus.mantissa != 0)
    result.argument =
        phase.imag() == 0 ? (phase.real() < 0 ? std::numbers::pi : 0) : std::arg(phase);
  return result;
}

void ComplexSolver::schur(std::span<Complex> block) const {
  const auto count = static_cast<std::size_t>(solver_->analysis().symbolic.kept());
  if (block.size() != count * count)
    throw InvalidInput(
        fmt::format("schur: {} entries for {} x {}", block.size(), count, count));
  solver_->schur(parts_of(block));
}

// A null vector, part by part, is one of the real matrix that maps parts, and so is i
// times it: every complex direction is there twice.
std::vector<Complex> ComplexSolver::null_space_basis(ComplexOperation operation) {
  const std::vector<double> parts =
      solver_->null_space_basis(without_conjugation(operation));
  std::vector<Complex> vectors(parts.size() / 2);
  std::ranges::copy(parts, parts_of(vectors).begin());
  if (operation == ComplexOperation::kTransposed) conjugate(vectors);
  keep_independent(vectors, static_cast<std::size_t>(order()), solver_->null_space());
  return vectors;
}

std::int32_t ComplexSolver::order() const { return solver_->analysis().symbolic.size; }

}  // namespace espalier::solver
