#include "solver/io/complex_entries.h"

#include <algorithm>
#include <utility>

#include "solver/matrix/general_matrix.h"

namespace espalier::solver {

void ComplexEntries::append(FileSymmetry symmetry, std::int32_t row, std::int32_t column,
                            Complex value) {
  const bool above = row < column;
  if (above && symmetry == FileSymmetry::kSkew) value = -value;
  if (above && symmetry == FileSymmetry::kHermitian) value = std::conj(value);
  const auto [low, high] = std::minmax(row, column);
  Parts& parts = above && symmetry == FileSymmetry::kGeneral ? upper_ : lower_;
  parts.real.append(high, low, value.real());
  parts.imaginary.append(high, low, value.imag());
}

ComplexMatrix ComplexEntries::assembled(FileSymmetry symmetry, std::int32_t size) && {
  const auto whole = [&](Triplets&& below, Triplets&& above) {
    SymmetricMatrix lower = assemble(size, std::move(below));
    if (symmetry == FileSymmetry::kSkew) return skew_symmetric(std::move(lower));
    return joined(std::move(lower), assemble(size, std::move(above)));
  };
  if (symmetry == FileSymmetry::kGeneral || symmetry == FileSymmetry::kSkew) {
    GeneralMatrix real = whole(std::move(lower_.real), std::move(upper_.real));
    const GeneralMatrix imaginary =
        whole(std::move(lower_.imaginary), std::move(upper_.imaginary));
    return with_symmetry_found(
        zipped(ComplexSymmetry::kGeneral, std::move(real), imaginary.value));
  }
  SymmetricMatrix real = assemble(size, std::move(lower_.real));
  const SymmetricMatrix imaginary = assemble(size, std::move(lower_.imaginary));
  return zipped(symmetry == FileSymmetry::kHermitian ? ComplexSymmetry::kHermitian
                                                     : ComplexSymmetry::kSymmetric,
                std::move(real), imaginary.value);
}

}  // namespace espalier::solver
