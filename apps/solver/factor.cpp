#include "solver/factor.h"

namespace espalier::solver {

void PivotCheck::report(std::int32_t column) noexcept {
  std::int32_t seen = column_.load();
  while (column < seen && !column_.compare_exchange_weak(seen, column)) {
  }
}

std::optional<BadPivot> PivotCheck::result() const {
  const std::int32_t column = column_.load();
  if (column == kNone) return std::nullopt;
  return BadPivot{column};
}

}  // namespace espalier::solver
