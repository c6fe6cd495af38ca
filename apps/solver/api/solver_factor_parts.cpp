// Solves with parts of the factor.

#include <algorithm>

#include "solver/api/solver_impl.h"
#include "solver/matrix/check_matrix.h"
#include "solver/refine/scaled_permutation.h"

namespace espalier::solver {

void Solver::Impl::check_factor_part(FactorPart part) const {
  if (!factored_) throw InvalidInput("solve_part: factorise first");
  if (processes_) throw InvalidInput("solve_part: not on several processes");
  if (!analysis_.form.empty())
    throw InvalidInput(
        "solve_part: the matrix is in block triangular form; analyse it with "
        "options.factor_parts");
  if (part == FactorPart::kD && kind() != FactorKind::kLdlt)
    throw InvalidInput("solve_part: D is a part of L D L^T alone");
  if (part == FactorPart::kU && kind() != FactorKind::kLu)
    throw InvalidInput("solve_part: U is a part of L U alone");
}

// The scaling goes with the part that it is beside: right of L, left of L^T and of U.
void Solver::Impl::solve_part(FactorPart part, std::span<double> b, std::int32_t nrhs,
                              Operation operation,
                              const std::function<void(double)>& progress) {
  check_factor_part(part);
  check_vectors(vector_size(), nrhs, b);
  const auto n = static_cast<std::size_t>(vector_size());
  const bool transposed = operation == Operation::kTransposed;
  const bool first = (part == FactorPart::kL) != transposed && part != FactorPart::kD;
  const bool last = !first && part != FactorPart::kD;
  const ScaledPermutation map = this->map(operation);
  const std::int32_t at_once = nrhs_at_once(nrhs);
  make_room_to_solve(at_once);
  std::vector<double> inner(n * static_cast<std::size_t>(at_once));
  std::int32_t k = 0;
  std::function<void()> ask;
  if (progress) ask = [&] { progress(static_cast<double>(k) / nrhs); };
  for (; k < nrhs && n > 0; k += at_once) {
    if (ask) ask();
    const std::int32_t now = std::min(at_once, nrhs - k);
    const auto vector = [&](std::int32_t i) {
      return std::span(inner).subspan(i * n, n);
    };
    const auto given = [&](std::int32_t i) { return b.subspan((k + i) * n, n); };
    for (std::int32_t i = 0; i < now; ++i) {
      if (first)
        map.rhs_to_inner(given(i), vector(i));
      else
        map.rows_to_inner(given(i), vector(i));
    }
    numeric_->solve_part(analysis_.symbolic, tree_, part, transposed,
                         std::span(inner).first(now * n), now, ask);
    for (std::int32_t i = 0; i < now; ++i) {
      if (last)
        map.solution_to_outer(vector(i), given(i));
      else
        map.rows_to_outer(vector(i), given(i));
    }
  }
}

}  // namespace espalier::solver
