#include "solver/api/c/columns.h"

#include <fmt/format.h>

#include "espalier/model/units.h"
#include "solver/matrix/check_matrix.h"

namespace espalier::solver::c_api {
namespace {

// Meets the vectors of both blocks in the order in which they stand in memory.
void check_columns_apart(const Columns& given, std::uintptr_t vector_bytes,
                         std::uintptr_t number_bytes) {
  const auto begin_of = [&](const double* block, std::int64_t leading, std::int32_t k) {
    return reinterpret_cast<std::uintptr_t>(block) +
           static_cast<std::uintptr_t>(leading) * static_cast<std::uintptr_t>(k) *
               number_bytes;
  };
  for (std::int32_t i = 0, j = 0; i < given.count && j < given.count;) {
    const std::uintptr_t b = begin_of(given.b, given.ldb, i),
                         x = begin_of(given.x, given.ldx, j);
    if (b < x + vector_bytes && x < b + vector_bytes)
      throw InvalidInput(fmt::format(
          "x overlaps with b: vector {} of x, from 0, with vector {} of b", j, i));
    if (b < x)
      ++i;
    else
      ++j;
  }
}

}  // namespace

bool check_columns(const espalier_solver& handle, const Columns& given) {
  check_count(given.count);
  const std::int32_t order = handle.order();
  if (given.count == 0 || order == 0) return false;
  need(given.b, "b");
  need(given.x, "x");
  const std::int64_t number_bytes = handle.number_bytes();
  check_leading("ldb", given.ldb, order, given.count, number_bytes);
  check_leading("ldx", given.ldx, order, given.count, number_bytes);
  if (given.b != given.x) {
    check_columns_apart(given, static_cast<std::uintptr_t>(order * number_bytes),
                        static_cast<std::uintptr_t>(number_bytes));
  } else if (given.ldb != given.ldx) {
    throw InvalidInput(
        fmt::format("ldb is {} and ldx {} in place", given.ldb, given.ldx));
  }
  return true;
}

}  // namespace espalier::solver::c_api
