#include "solver/api/numeric.h"

#include "solver/api/numeric_of.h"

namespace espalier::solver {

std::unique_ptr<Numeric> Numeric::create(Precision precision) {
  if (precision == Precision::kSingle) return std::make_unique<NumericOf<float>>();
  return std::make_unique<NumericOf<double>>();
}

}  // namespace espalier::solver
