#include "solver/api/c/given_complex.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include "espalier/model/error.h"

namespace espalier::solver::c_api {
namespace {

// One triangle, or every entry: what the pattern has to know.
espalier_solver_input pattern_of(const espalier_solver_input& given) {
  espalier_solver_input input = given_input(given);
  input.scalar = ESPALIER_SOLVER_REAL;
  if (input.symmetry == ESPALIER_SOLVER_HERMITIAN)
    input.symmetry = ESPALIER_SOLVER_SYMMETRIC;
  else if (input.symmetry == ESPALIER_SOLVER_WHOLE ||
           input.symmetry == ESPALIER_SOLVER_WHOLE_OR_GENERAL)
    input.symmetry = ESPALIER_SOLVER_GENERAL;
  return input;
}

}  // namespace

GivenComplex::GivenComplex(const espalier_solver_input& input)
    : pattern_(pattern_of(input)), symmetry_(given_input(input).symmetry) {
  if (symmetry_ == ESPALIER_SOLVER_HERMITIAN)
    above_ = entries_above_diagonal(pattern_of(input));
}

ComplexMatrix GivenComplex::with_values(const double* values) const {
  std::vector<double> real(static_cast<std::size_t>(entries())), imaginary(real.size());
  for (std::size_t e = 0; e < real.size(); ++e) {
    real[e] = values[2 * e];
    imaginary[e] = !above_.empty() && above_[e] ? -values[2 * e + 1] : values[2 * e + 1];
  }
  InputMatrix first = pattern_.with_values(real.data());
  const InputMatrix second = pattern_.with_values(imaginary.data());
  if (auto* lower = std::get_if<SymmetricMatrix>(&first))
    return zipped(symmetry_ == ESPALIER_SOLVER_HERMITIAN ? ComplexSymmetry::kHermitian
                                                         : ComplexSymmetry::kSymmetric,
                  std::move(*lower), std::get<SymmetricMatrix>(second).value);
  ComplexMatrix whole =
      zipped(ComplexSymmetry::kGeneral, std::move(std::get<GeneralMatrix>(first)),
             std::get<GeneralMatrix>(second).value);
  if (symmetry_ != ESPALIER_SOLVER_WHOLE) return whole;
  whole = with_symmetry_found(std::move(whole));
  if (whole.symmetry == ComplexSymmetry::kGeneral)
    throw InvalidInput(
        "input.symmetry says that the matrix is symmetric: it is neither that nor "
        "Hermitian");
  return whole;
}

}  // namespace espalier::solver::c_api
