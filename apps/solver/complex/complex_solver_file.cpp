// A complex solver from a real one that was loaded.

#include <algorithm>
#include <utility>
#include <vector>

#include "solver/complex/complex_solver.h"
#include "solver/matrix/triplets.h"
#include "solver/scaling/prepare.h"
#include "solver/symbolic/analyse.h"

namespace espalier::solver {
namespace {

// The matrix as it was given: that which is factored, without its order and scaling.
class GivenPlaces {
 public:
  GivenPlaces(const PreparedMatrix& prepared, const Symbolic& symbolic)
      : prepared_(prepared), permutation_(symbolic.permutation) {}

  // An entry of the matrix that is factored.
  void take(std::int32_t row, std::int32_t column, double value) {
    std::int32_t i = permutation_[row];
    const std::int32_t j = permutation_[column];
    if (!prepared_.row_of.empty()) i = prepared_.row_of[i];
    // Powers of two: exactly.
    if (!prepared_.row_scale.empty())
      value = value / prepared_.row_scale[i] / prepared_.column_scale[j];
    const auto [low, high] = std::minmax(i, j);
    (i >= j ? lower_ : upper_).append(high, low, value);
  }

  [[nodiscard]] InputMatrix matrix(bool symmetric) && {
    const auto size = static_cast<std::int32_t>(permutation_.size());
    if (!symmetric)
      return joined(assemble(size, std::move(lower_)), assemble(size, std::move(upper_)));
    for (std::size_t k = 0; k < upper_.row.size(); ++k)
      lower_.append(upper_.row[k], upper_.column[k], upper_.value[k]);
    return assemble(size, std::move(lower_));
  }

 private:
  const PreparedMatrix& prepared_;
  const std::vector<std::int32_t>& permutation_;
  Triplets lower_, upper_;
};

InputMatrix given_matrix(const Solver& solver) {
  const Analysis& analysis = solver.analysis();
  GivenPlaces places(solver.prepared(), analysis.symbolic);
  const SquareMatrix& square = analysis.permuted;
  const SymmetricMatrix& a = square.lower;
  for (std::int32_t j = 0; j < a.size; ++j)
    for (auto k = a.column_start[j]; k < a.column_start[j + 1]; ++k) {
      places.take(a.row[k], j, a.value[k]);
      if (!square.symmetric() && a.row[k] != j) places.take(j, a.row[k], square.upper[k]);
    }
  const GeneralMatrix& c = analysis.form.coupling;
  for (std::int32_t j = 0; j < c.size; ++j)
    for (auto k = c.column_start[j]; k < c.column_start[j + 1]; ++k)
      places.take(c.row[k], j, c.value[k]);
  return std::move(places).matrix(square.symmetric());
}

const Solver& checked(const std::unique_ptr<Solver>& loaded) {
  if (loaded->real_form() == RealForm::kNone)
    throw InvalidInput("the saved factorisation is of a real matrix, not a complex one");
  return *loaded;
}

}  // namespace

ComplexSolver::ComplexSolver(std::unique_ptr<Solver> loaded)
    : matrix_(from_real_form(given_matrix(checked(loaded)), loaded->real_form())),
      measure_(matrix_),
      given_(static_cast<std::size_t>(matrix_.size)),
      solver_(std::move(loaded)) {
  constexpr Bytes kRow = 48 + sizeof(std::int64_t);
  constexpr Bytes kEntry = sizeof(Complex) + sizeof(std::int32_t);
  beside_ = checked_add(checked_mul(kRow, matrix_.size),
                        checked_mul(kEntry, std::ssize(matrix_.row)));
}

}  // namespace espalier::solver
