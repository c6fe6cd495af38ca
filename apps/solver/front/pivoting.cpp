#include "solver/front/pivoting.h"

namespace espalier::solver {

void PivotLog::fail(std::int32_t column) noexcept {
  std::int32_t seen = column_.load();
  while (column < seen && !column_.compare_exchange_weak(seen, column)) {
  }
}

std::optional<BadPivot> PivotLog::failure() const {
  const std::int32_t column = column_.load();
  if (column == kNone) return std::nullopt;
  return BadPivot{column};
}

void PivotLog::add(const PivotStatistics& counts) noexcept {
  delayed_ += counts.delayed;
  perturbed_ += counts.perturbed;
  null_space_ += counts.null_space;
  negative_ += counts.negative;
  two_by_two_ += counts.two_by_two;
  double seen = smallest_.load();
  while (counts.smallest < seen &&
         !smallest_.compare_exchange_weak(seen, counts.smallest)) {
  }
}

PivotStatistics PivotLog::statistics() const {
  return {delayed_.load(),  perturbed_.load(),  null_space_.load(),
          negative_.load(), two_by_two_.load(), smallest_.load()};
}

}  // namespace espalier::solver
