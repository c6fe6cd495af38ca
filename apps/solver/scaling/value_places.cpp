#include "solver/scaling/value_places.h"

#include <cmath>

#include "espalier/model/error.h"
#include "solver/matrix/largest_modulus.h"
#include "solver/matrix/permute.h"
#include "solver/scaling/places.h"

namespace espalier::solver {

ValuePlaces::ValuePlaces(const SymmetricMatrix& given,
                         std::span<const std::int32_t> order,
                         const SymmetricMatrix& target)
    : column_start_(given.column_start), row_(given.row) {
  const std::vector<std::int32_t> position = inverse_permutation(order);
  place_.reserve(row_.size());
  for (std::int32_t j = 0; j < given.size; ++j)
    for (auto k = column_start_[j]; k < column_start_[j + 1]; ++k) {
      const std::int64_t at = find_entry(target, position[row_[k]], position[j]);
      ESPALIER_ASSERT(at >= 0, "what refill() has put is in the pattern");
      place_.push_back(static_cast<std::int32_t>(at));
    }
}

bool ValuePlaces::are_of(const SymmetricMatrix& given) const {
  return given.value.size() == row_.size() && given.column_start == column_start_ &&
         given.row == row_;
}

std::optional<double> ValuePlaces::put(std::span<const double> values,
                                       SymmetricMatrix& target) const {
  bool finite = true;  // without a branch for each
  for (const double value : values) finite &= std::isfinite(value);
  if (!finite) return std::nullopt;
  for (std::size_t k = 0; k < values.size(); ++k) target.value[place_[k]] = values[k];
  return largest_modulus(values);
}

}  // namespace espalier::solver
