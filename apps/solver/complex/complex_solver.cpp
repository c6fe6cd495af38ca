#include "solver/complex/complex_solver.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "solver/complex/complex_preparation.h"
#include "solver/matrix/check_matrix.h"
#include "solver/memory/clock.h"

namespace espalier::solver {
namespace {

// A matrix as it is going to be kept.
ComplexMatrix taken(ComplexMatrix&& matrix, std::optional<FactorKind> kind) {
  check(matrix);
  if (kind != FactorKind::kLu) matrix = with_symmetry_found(std::move(matrix));
  const RealForm form = real_form_for(matrix, kind);
  return conforming(std::move(matrix), form);
}

void conjugate(std::span<Complex> values) {
  for (Complex& value : values) value = std::conj(value);
}

// Where real and imaginary part of each of these rows stand.
std::vector<std::int64_t> parts_of_rows(std::span<const std::int64_t> rows) {
  std::vector<std::int64_t> result;
  result.reserve(2 * rows.size());
  for (const std::int64_t row : rows) result.insert(result.end(), {2 * row, 2 * row + 1});
  return result;
}

// How op(A) x = b is a system of the real form (real_form.h): A^T is the conjugate of
// A^H, R^T the real form of A^H.
struct RealOperation {
  RealOperation(RealForm form, ComplexOperation operation) {
    const bool transposed = operation == ComplexOperation::kTransposed;
    const bool conjugate = operation == ComplexOperation::kConjugateTransposed;
    const bool symmetric = form == RealForm::kSymmetric;
    if (form == RealForm::kGeneral && operation != ComplexOperation::kPlain)
      real = Operation::kTransposed;
    before = symmetric ? !conjugate : transposed;
    after = symmetric ? conjugate : transposed;
  }
  Operation real = Operation::kPlain;
  bool before, after;  // b is conjugated, x is
};

void join(Solution& all, const Solution& one) {
  all.refinement.backward_error =
      std::max(all.refinement.backward_error, one.refinement.backward_error);
  all.refinement.steps = std::max(all.refinement.steps, one.refinement.steps);
  all.refinement.gmres_steps += one.refinement.gmres_steps;
  all.seconds += one.seconds;
  all.refine_seconds += one.refine_seconds;
  all.doubts.singular |= one.doubts.singular;
  all.doubts.forward_error |= one.doubts.forward_error;
  if (!one.errors) return;
  ErrorEstimate& worst = all.errors ? *all.errors : all.errors.emplace();
  worst.condition_1norm = std::max(worst.condition_1norm, one.errors->condition_1norm);
  worst.forward_error_bound =
      std::max(worst.forward_error_bound, one.errors->forward_error_bound);
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
    : ComplexSolver(nullptr, std::move(matrix), options, step) {}

ComplexSolver::ComplexSolver(Runtime& runtime, ComplexMatrix&& matrix,
                             const SolverOptions& options,
                             const std::function<void(std::string_view)>& step)
    : ComplexSolver(&runtime, std::move(matrix), options, step) {}

ComplexSolver::ComplexSolver(Runtime* runtime, ComplexMatrix&& matrix,
                             const SolverOptions& options,
                             const std::function<void(std::string_view)>& step)
    : matrix_(taken(std::move(matrix), options.kind)),
      refine_(options.refine),
      no_residual_(options.no_residual),
      measure_(matrix_, options.schur),
      given_(static_cast<std::size_t>(matrix_.size)) {
  if (step) step("analysing");
  const auto start = Clock::now();
  const RealForm form = real_form_for(matrix_, options.kind);
  RealSystem system = prepare_complex(matrix_, form, options);
  seconds_ = system.seconds;
  // What the real solver keeps of its options is not the vectors of `given`.
  if (options.schur.empty()) system.options.prepare.given = &system.given;
  InputMatrix real = real_form(matrix_, form);
  own_seconds_ = since(start);
  solver_ =
      runtime != nullptr
          ? std::make_unique<Solver>(*runtime, std::move(real), system.options, step)
          : std::make_unique<Solver>(std::move(real), system.options, step);
}

Bytes ComplexSolver::least() const { return checked_add(solver_->least(), beside_); }

Bytes ComplexSolver::least_for_plan() const {
  return checked_add(solver_->least_for_plan(), beside_);
}

tl::expected<void, Infeasible> ComplexSolver::plan(std::optional<Bytes> bound) {
  bounded_ = bound.has_value();
  if (bound) bound = std::max<Bytes>(0, *bound - beside_);
  auto planned = solver_->plan(bound);
  if (planned || beside_ == 0) return planned;
  Infeasible answer = planned.error();
  answer.bound_bytes = checked_add(answer.bound_bytes, beside_);
  answer.least_bytes = checked_add(answer.least_bytes, beside_);
  answer.lower_bound_bytes = checked_add(answer.lower_bound_bytes, beside_);
  return tl::make_unexpected(answer);
}

tl::expected<FactorReport, NotPositiveDefinite> ComplexSolver::factorise(
    const std::function<void(double)>& progress) {
  negative_.reset();
  auto run = solver_->factorise(progress);
  if (!run) return tl::make_unexpected(NotPositiveDefinite{run.error().column / 2});
  run->pivots.null_space = (run->pivots.null_space + 1) / 2;
  const bool known = form() == RealForm::kHermitian;
  run->pivots.negative = known ? run->pivots.negative / 2 : 0;
  if (known) negative_ = run->pivots.negative;
  return run;
}

void ComplexSolver::replace_values(ComplexMatrix&& matrix) {
  check(matrix);
  if (matrix.size != matrix_.size)
    throw InvalidInput(fmt::format("a matrix of order {} for a pattern of order {}",
                                   matrix.size, matrix_.size));
  ComplexMatrix next = conforming(std::move(matrix), form());
  solver_->replace_values(real_form(next, form()));
  matrix_ = std::move(next);
}

Solution ComplexSolver::solve(std::span<Complex> b, std::int32_t columns,
                              ComplexOperation operation,
                              std::span<const std::int64_t> rows) {
  if (columns < 0) throw InvalidInput(fmt::format("{} right-hand sides", columns));
  if (std::ssize(b) != checked_mul(matrix_.size, columns))
    throw InvalidInput(fmt::format("{} entries for {} right-hand sides of order {}",
                                   b.size(), columns, matrix_.size));
  check_rows(matrix_.size, rows);
  const std::vector<std::int64_t> parts = parts_of_rows(rows);
  const auto n = static_cast<std::size_t>(matrix_.size);
  const auto block = static_cast<std::size_t>(bounded_ ? 1 : kBlock);
  Solution solution;
  const auto all = static_cast<std::size_t>(columns);
  for (std::size_t k = 0; k < all; k += block)
    solve_block(b.subspan(k * n, std::min(block, all - k) * n), operation, parts,
                solution);
  const bool rough = solver_->precision() == Precision::kSingle && !refine_;
  solution.doubts.backward_error =
      !(solution.refinement.backward_error <= good_backward_error(rough));
  return solution;
}

void ComplexSolver::solve_block(std::span<Complex> b, ComplexOperation operation,
                                std::span<const std::int64_t> parts, Solution& solution) {
  const auto n = static_cast<std::size_t>(matrix_.size);
  const auto columns = static_cast<std::int32_t>(b.size() / std::max<std::size_t>(n, 1));
  if (b.size() > given_.size()) given_.resize(b.size());
  if (!no_residual_) std::ranges::copy(b, given_.begin());
  const RealOperation real(form(), operation);
  if (real.before) conjugate(b);
  Solution one = solver_->solve(parts_of(b), columns, real.real, parts);
  if (real.after) conjugate(b);
  const auto start = Clock::now();
  one.refinement.backward_error = 0;
  for (std::size_t k = 0; !no_residual_ && k < b.size(); k += n)
    one.refinement.backward_error =
        std::max(one.refinement.backward_error,
                 measure_(operation, b.subspan(k, n), std::span(given_).subspan(k, n)));
  one.refine_seconds += since(start);
  join(solution, one);
}

std::vector<Complex> ComplexSolver::apply_to_ones(ComplexOperation operation) const {
  const std::vector<Complex> ones(static_cast<std::size_t>(matrix_.size), 1.0);
  std::vector<Complex> sums(ones.size());
  measure_.multiply(operation, ones, sums);
  return sums;
}

std::int64_t ComplexSolver::null_space() const { return (solver_->null_space() + 1) / 2; }

ComplexDeterminant ComplexSolver::determinant() const {
  const Determinant square = solver_->determinant();
  ComplexDeterminant result;
  Determinant& modulus = result.modulus;
  const bool odd = square.exponent % 2 != 0;
  modulus.mantissa = std::sqrt(std::abs(square.mantissa) / (odd ? 2 : 1));
  modulus.exponent = (square.exponent + (odd ? 1 : 0)) / 2;
  if (solver_->kind() == FactorKind::kCholesky || modulus.mantissa == 0)
    result.argument = 0;
  else if (negative_)
    result.argument = *negative_ % 2 == 0 ? 0 : std::numbers::pi;
  return result;
}

void ComplexSolver::schur(std::span<Complex> block) const {
  const auto count = static_cast<std::size_t>(kept());
  if (block.size() != count * count)
    throw InvalidInput(
        fmt::format("schur: {} entries for {} x {}", block.size(), count, count));
  std::vector<double> real(4 * block.size());
  solver_->schur(real);
  const double sign = form() == RealForm::kSymmetric ? -1 : 1;
  for (std::size_t j = 0; j < count; ++j)
    for (std::size_t i = 0; i < count; ++i) {
      const double* const first = &real[2 * i + 2 * j * 2 * count];
      block[i + j * count] = {first[0], sign * first[1]};
    }
}

// A null vector of the real form is one of A, part by part, and so is i times it: every
// complex direction is there twice.
std::vector<Complex> ComplexSolver::null_space_basis(ComplexOperation operation) {
  const RealOperation real(form(), operation);
  const std::vector<double> parts = solver_->null_space_basis(real.real);
  std::vector<Complex> vectors(parts.size() / 2);
  std::ranges::copy(parts, parts_of(vectors).begin());
  if (real.after) conjugate(vectors);
  keep_independent(vectors, static_cast<std::size_t>(matrix_.size), null_space());
  return vectors;
}

}  // namespace espalier::solver
