#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "solver/matrix/complex_matrix.h"
#include "solver/matrix/coupling.h"
#include "solver/scaling/prepare.h"

namespace espalier::solver {

/// |a_ij|, by which a complex matrix is scaled, matched and ordered; on the diagonal of a
/// Hermitian one a_ii itself, whose sign tells its kind.
[[nodiscard]] InputMatrix moduli(const ComplexMatrix& matrix);

/// refill() with complex values: `target`, of the pattern of moduli(), becomes complex.
///
/// @param order  Symbolic::permutation of the analysis; not empty but for order 0
/// @param coupling  of the target, in its order; null: there is none
/// @throws InvalidInput when the matrix has an entry outside the pattern or another
///         order; `target` is then unusable
/// @par Cost  O(nonzeros log(nonzeros of a column))
void refill(SquareMatrix& target, const PreparedMatrix& prepared,
            std::span<const std::int32_t> order, const ComplexMatrix& matrix,
            Coupling* coupling = nullptr);

// The steps of refill(), for a target that is not here, as those of real matrices.

/// @throws InvalidInput when the matrix is of another order than the pattern
void check_refill(const PreparedMatrix& prepared, std::int32_t size,
                  const ComplexMatrix& matrix);
void place_entries(const PreparedMatrix& prepared, std::span<const std::int32_t> order,
                   const ComplexMatrix& matrix,
                   const std::function<void(const Placed<Complex>&)>& visit);
[[nodiscard]] bool put_entry(SquareMatrix& target, const Placed<Complex>& entry);
[[nodiscard]] bool put_entry(Coupling& coupling, const Placed<Complex>& entry);
/// Zeros, in both parts where entries are complex.
void clear_values(Coupling& coupling, bool complex);

}  // namespace espalier::solver
