#include "solver/api/numeric.h"

#include "solver/api/typed_numeric.h"

namespace espalier::solver {
namespace {

template <class Real>
std::unique_ptr<Numeric> make(std::optional<ComplexSymmetry> complex) {
  if (!complex) return std::make_unique<TypedNumeric<Real>>();
  if (*complex == ComplexSymmetry::kHermitian)
    return std::make_unique<TypedNumeric<HermitianEntry<Real>>>();
  return std::make_unique<TypedNumeric<std::complex<Real>>>();
}

}  // namespace

std::unique_ptr<Numeric> Numeric::create(Precision precision,
                                         std::optional<ComplexSymmetry> complex) {
  return precision == Precision::kSingle ? make<float>(complex) : make<double>(complex);
}

}  // namespace espalier::solver
