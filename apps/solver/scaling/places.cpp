#include "solver/scaling/places.h"

#include <numeric>

#include "solver/matrix/permute.h"

namespace espalier::solver {
namespace {

std::vector<std::int32_t> identity(std::int32_t size) {
  std::vector<std::int32_t> result(size);
  std::iota(result.begin(), result.end(), 0);
  return result;
}

}  // namespace

Places::Places(std::int32_t size, const PreparedMatrix& prepared,
               std::span<const std::int32_t> order)
    : prepared_(prepared),
      place_of_column_(order.empty() ? identity(size) : inverse_permutation(order)),
      place_of_row_(place_of_column_) {
  if (prepared.row_of.empty()) return;
  for (std::int32_t row = 0; row < size; ++row)
    place_of_row_[prepared.row_of[row]] = place_of_column_[row];
}

}  // namespace espalier::solver
