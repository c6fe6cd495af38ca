#include "solver/front/pivoting.h"

namespace espalier::solver {

void PivotLog::fail(std::int32_t column) noexcept {
  std::int32_t seen = column_.load();
  while (column < seen && !column_.compare_exchange_weak(seen, column)) {
  }
}

std::optional<NotPositiveDefinite> PivotLog::failure() const {
  const std::int32_t column = column_.load();
  if (column == kNone) return std::nullopt;
  return NotPositiveDefinite{column};
}

void PivotLog::add(const PivotStatistics& counts) noexcept {
  const auto add_to = [](std::atomic<std::int64_t>& sum, std::int64_t count) {
    if (count != 0) sum += count;  // mostly none, and a locked operation each
  };
  add_to(delayed_, counts.delayed);
  add_to(perturbed_, counts.perturbed);
  add_to(null_space_, counts.null_space);
  add_to(negative_, counts.negative);
  add_to(two_by_two_, counts.two_by_two);
  add_to(not_delayed_, counts.not_delayed);
  double seen = smallest_.load();
  while (counts.smallest < seen &&
         !smallest_.compare_exchange_weak(seen, counts.smallest)) {
  }
}

PivotStatistics PivotLog::statistics() const {
  return {.delayed = delayed_.load(),
          .perturbed = perturbed_.load(),
          .null_space = null_space_.load(),
          .negative = negative_.load(),
          .two_by_two = two_by_two_.load(),
          .not_delayed = not_delayed_.load(),
          .smallest = smallest_.load()};
}

}  // namespace espalier::solver
