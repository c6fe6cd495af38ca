#include "solver/api/numeric.h"

#include "solver/api/typed_numeric.h"

namespace espalier::solver {

std::unique_ptr<Numeric> Numeric::create(Precision precision) {
  if (precision == Precision::kSingle) return std::make_unique<TypedNumeric<float>>();
  return std::make_unique<TypedNumeric<double>>();
}

}  // namespace espalier::solver
