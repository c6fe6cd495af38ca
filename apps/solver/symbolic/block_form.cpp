#include "solver/symbolic/block_form.h"

#include <algorithm>
#include <utility>

#include "espalier/model/error.h"
#include "solver/matrix/permute.h"

namespace espalier::solver {
namespace {

// Systems by fronts: subtrees are contiguous, and a front without rows ends one.
std::vector<BlockForm::Block> systems_by_fronts(const Symbolic& symbolic) {
  std::vector<BlockForm::Block> systems;
  std::int32_t first = 0;
  for (std::int32_t s = 0; s < symbolic.fronts(); ++s) {
    if (!symbolic.rows_of(s).empty()) continue;
    systems.push_back({first, s});
    first = s + 1;
  }
  return systems;
}

}  // namespace

GeneralMatrix permuted(GeneralMatrix&& matrix,
                       std::span<const std::int32_t> permutation) {
  if (std::ranges::is_sorted(permutation)) {
    sort_columns(matrix);
    return std::move(matrix);
  }
  const std::vector<std::int32_t> inverse = inverse_permutation(permutation);
  GeneralMatrix moved;
  moved.size = matrix.size;
  moved.column_start.assign(1, 0);
  moved.column_start.reserve(matrix.column_start.size());
  moved.row.reserve(matrix.row.size());
  moved.value.reserve(matrix.value.size());
  for (const std::int32_t column : permutation) {
    for (auto at = matrix.column_start[column]; at < matrix.column_start[column + 1];
         ++at) {
      moved.row.push_back(inverse[matrix.row[at]]);
      moved.value.push_back(matrix.value[at]);
    }
    moved.column_start.push_back(std::ssize(moved.row));
  }
  sort_columns(moved);
  return moved;
}

Coupling permuted(Coupling&& coupling, std::span<const std::int32_t> permutation) {
  Coupling moved;
  if (!coupling.imaginary.empty()) {  // goes where the real parts go
    GeneralMatrix imaginary = coupling;
    imaginary.value = std::move(coupling.imaginary);
    moved.imaginary = std::move(permuted(std::move(imaginary), permutation).value);
  }
  static_cast<GeneralMatrix&>(moved) =
      permuted(static_cast<GeneralMatrix&&>(coupling), permutation);
  return moved;
}

std::vector<std::int32_t> systems_of_columns(const Symbolic& symbolic) {
  std::vector<std::int32_t> system(static_cast<std::size_t>(symbolic.size));
  std::int32_t count = 0;
  for (std::int32_t s = 0; s < symbolic.fronts(); ++s) {
    std::fill(system.begin() + symbolic.first_column[s],
              system.begin() + symbolic.first_column[s + 1], count);
    if (symbolic.rows_of(s).empty()) ++count;
  }
  return system;
}

BlockForm block_form(const Symbolic& symbolic, Coupling&& coupling) {
  const std::vector<BlockForm::Block> systems = systems_by_fronts(symbolic);
  const std::vector<std::int32_t> system_of = systems_of_columns(symbolic);
  std::vector<std::int64_t> waits(systems.size(), 0);  // for so many entries
  for (const std::int32_t row : coupling.row) ++waits[system_of[row]];
  std::vector<std::int32_t> order;
  order.reserve(systems.size());
  for (std::size_t k = 0; k < systems.size(); ++k)
    if (waits[k] == 0) order.push_back(static_cast<std::int32_t>(k));
  BlockForm form;
  form.blocks.reserve(systems.size());
  for (std::size_t k = 0; k < order.size(); ++k) {  // grows on the way
    const BlockForm::Block& block = systems[order[k]];
    form.blocks.push_back(block);
    const auto begin = coupling.column_start[symbolic.first_column[block.first_front]];
    const auto end = coupling.column_start[symbolic.first_column[block.root + 1]];
    for (auto at = begin; at < end; ++at) {
      const std::int32_t other = system_of[coupling.row[at]];
      if (--waits[other] == 0) order.push_back(other);
    }
  }
  if (order.size() != systems.size())
    throw InvalidInput(
        "the blocks of a triangular form depend on each other in a circle");
  form.coupling = std::move(coupling);
  return form;
}

}  // namespace espalier::solver
