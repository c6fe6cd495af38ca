// Complex values, other ones on the same pattern, and what is known of values.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "solver/api/solver_impl.h"
#include "solver/matrix/check_matrix.h"
#include "solver/matrix/complex_kind.h"
#include "solver/matrix/largest_modulus.h"
#include "solver/scaling/prepare_complex.h"

namespace espalier::solver {

void Solver::Impl::begin(ComplexMatrix&& matrix,
                         const std::function<void(std::string_view)>& step) {
  check(matrix);
  if (options_.low_rank > 0)
    throw InvalidInput(fmt::format("options.low_rank is {}: not of complex matrices",
                                   options_.low_rank));
  take_symmetry(matrix.symmetry);
  begin(moduli(matrix), step, &matrix);
}

// Moduli do not tell that a symmetric matrix is not definite.
void Solver::Impl::take_symmetry(std::optional<ComplexSymmetry> complex) {
  if (complex == ComplexSymmetry::kSymmetric) options_.kind = FactorKind::kLdlt;
}

// In the place of the moduli that were analysed.
void Solver::Impl::take_numbers(const ComplexMatrix* numbers) {
  if (numbers != nullptr)
    refill(analysis_.permuted, prepared_, analysis_.symbolic.permutation, *numbers,
           &analysis_.form.coupling);
  measure_entries();
}

void Solver::Impl::replace_values(const InputMatrix& matrix) {
  if (processes_) return replace_together(matrix, [&] { check(view_of(matrix)); });
  if (put_again(matrix)) return;
  places_.reset();
  check(view_of(matrix));
  factored_ = has_values_ = false;
  refill(analysis_.permuted, prepared_, analysis_.symbolic.permutation, matrix,
         &analysis_.form.coupling);
  measure_entries();
  note_other_values();
  keep_places(matrix);
}

// What is zero among the first values need not be zero among others: where these are
// singular, their pivots tell.
void Solver::Impl::note_other_values() {
  has_values_ = true;
  prepared_.structural_rank = prepared_.pattern_rank;
}

// Values of the pattern that was given the last time. @return false: nothing was changed
bool Solver::Impl::put_again(const InputMatrix& matrix) {
  const auto* const given = std::get_if<SymmetricMatrix>(&matrix);
  if (!places_ || given == nullptr || !places_->are_of(*given)) return false;
  const auto largest = places_->put(given->value, analysis_.permuted.lower);
  if (!largest) return false;
  largest_entry_ = *largest;
  factored_ = false;
  note_other_values();
  return true;
}

// Of systems of their own that are neither scaled nor bounded: nobody has counted them.
void Solver::Impl::keep_places(const InputMatrix& matrix) {
  const auto* const given = std::get_if<SymmetricMatrix>(&matrix);
  const bool few = given != nullptr && std::ssize(given->row) <= ValuePlaces::kMost;
  if (!few || bound_ || options_.budget || !whole_ || prepared_.kind == FactorKind::kLu ||
      analysis_.permuted.complex || !prepared_.row_of.empty() ||
      !prepared_.row_scale.empty() || !analysis_.form.empty() ||
      analysis_.symbolic.kept() > 0)
    return;
  places_.emplace(*given, analysis_.symbolic.permutation, analysis_.permuted.lower);
}

void Solver::Impl::replace_values(ComplexMatrix&& matrix) {
  const auto conform = [&] {
    check(matrix);
    if (!complex())
      throw InvalidInput("replace_values: a complex matrix in the place of a real one");
    matrix = conforming(std::move(matrix), *complex());
  };
  if (processes_) return replace_together(matrix, conform);
  conform();
  factored_ = has_values_ = false;
  refill(analysis_.permuted, prepared_, analysis_.symbolic.permutation, matrix,
         &analysis_.form.coupling);
  measure_entries();
  note_other_values();
}

void Solver::Impl::measure_entries() {
  largest_entry_ = 0;
  const SquareMatrix& matrix = analysis_.permuted;
  const auto entries = static_cast<std::size_t>(
      matrix.lower.column_start.empty()
          ? 0
          : matrix.lower.column_start[analysis_.symbolic.inner()]);
  for (const auto* values : {&matrix.lower.value, &matrix.upper})
    largest_entry_ = std::max(
        largest_entry_,
        largest_modulus(std::span(*values).first(std::min(entries, values->size()))));
  if (!matrix.complex) return;
  for (std::size_t k = 0; k < entries; ++k) {
    const auto at = static_cast<std::int64_t>(k);
    const auto below = matrix.entry<Complex>(at), above = matrix.opposite<Complex>(at);
    largest_entry_ = std::max({largest_entry_, std::abs(below), std::abs(above)});
  }
}

// The largest entry of matrix(), by modulus; 0: not known.
double Solver::Impl::largest_anywhere() const {
  const bool all = analysis_.form.empty() && analysis_.symbolic.kept() == 0;
  return all ? largest_entry_ : 0;
}

}  // namespace espalier::solver
