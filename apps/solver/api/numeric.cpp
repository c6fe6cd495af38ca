#include "solver/api/numeric.h"

#include "solver/api/typed_numeric.h"

namespace espalier::solver {
std::unique_ptr<Numeric> Numeric::create(Precision precision,
                                         std::optional<ComplexSymmetry> complex) {
  return make_numeric<TypedNumeric>(precision, complex);
}

}  // namespace espalier::solver
