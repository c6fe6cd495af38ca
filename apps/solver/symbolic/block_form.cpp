#include "solver/symbolic/block_form.h"

#include <algorithm>
#include <numeric>
#include <optional>
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

// Blocks that wait for no other, in the order in which they came; the owner of the last
// one goes on as long as it has any.
class ReadyBlocks {
 public:
  void add(std::int32_t block, std::int32_t owner) {
    const auto place = static_cast<std::size_t>(owner - BlockForm::kShared);
    if (place >= queues_.size()) queues_.resize(place + 1);
    queues_[place].blocks.push_back(block);
  }
  std::optional<std::int32_t> take() {
    for (std::size_t tried = 0; tried < queues_.size(); ++tried) {
      Queue& queue = queues_[turn_];
      if (queue.taken < queue.blocks.size()) return queue.blocks[queue.taken++];
      turn_ = (turn_ + 1) % queues_.size();
    }
    return std::nullopt;
  }

 private:
  struct Queue {
    std::vector<std::int32_t> blocks;
    std::size_t taken = 0;
  };
  std::vector<Queue> queues_;  // by owner
  std::size_t turn_ = 0;
};

// Of each column whether it is none of the coupling's unmatched variables.
std::vector<bool> matched_columns(const Coupling& coupling, std::size_t size) {
  std::vector<bool> matched(size, true);
  for (const std::int32_t each : coupling.unmatched) matched[each] = false;
  return matched;
}

// Calls take(row) with the rows of the entries of a column that are between matched
// variables.
template <class Take>
void for_matched_rows(const Coupling& coupling, const std::vector<bool>& matched,
                      std::int32_t column, const Take& take) {
  if (!matched[column]) return;
  for (auto at = coupling.column_start[column]; at < coupling.column_start[column + 1];
       ++at)
    if (matched[coupling.row[at]]) take(coupling.row[at]);
}

// Systems, given that of each column, so that for every entry (i, j) of the coupling,
// unmatched variables left out, that of j comes before that of i; not those in a circle,
// nor what waits for them.
template <class Owner>
std::vector<std::int32_t> in_order(const std::vector<std::int32_t>& system_of,
                                   const Coupling& coupling, const Owner& owner) {
  const auto size = static_cast<std::int32_t>(system_of.size());
  const std::vector<bool> matched = matched_columns(coupling, system_of.size());
  const std::int32_t systems = size == 0 ? 0 : *std::ranges::max_element(system_of) + 1;
  std::vector<std::int32_t> start(static_cast<std::size_t>(systems) + 1, 0);
  for (const std::int32_t system : system_of) ++start[system + 1];
  std::partial_sum(start.begin(), start.end(), start.begin());
  std::vector<std::int32_t> next(start), columns(system_of.size());
  for (std::int32_t j = 0; j < size; ++j) columns[next[system_of[j]]++] = j;
  std::vector<std::int64_t> waits(static_cast<std::size_t>(systems), 0);  // for entries
  for (std::int32_t j = 0; j < size && coupling.size > 0; ++j)
    for_matched_rows(coupling, matched, j,
                     [&](std::int32_t row) { ++waits[system_of[row]]; });
  ReadyBlocks ready;
  for (std::int32_t k = 0; k < systems; ++k)
    if (waits[k] == 0) ready.add(k, owner(k));
  std::vector<std::int32_t> order;
  order.reserve(waits.size());
  while (const auto system = ready.take()) {
    order.push_back(*system);
    for (std::int32_t c = start[*system]; c < start[*system + 1]; ++c)
      for_matched_rows(coupling, matched, columns[c], [&](std::int32_t row) {
        const std::int32_t other = system_of[row];
        if (--waits[other] == 0) ready.add(other, owner(other));
      });
  }
  return order;
}

// Of each column its part, numbered by their first columns.
std::vector<std::int32_t> connected_parts(const SymmetricMatrix& matrix) {
  std::vector<std::int32_t> above(static_cast<std::size_t>(matrix.size));
  std::iota(above.begin(), above.end(), 0);
  const auto first_of = [&](std::int32_t j) {
    while (above[j] != j) j = above[j] = above[above[j]];
    return j;
  };
  for (std::int32_t j = 0; j < matrix.size; ++j)
    for (auto k = matrix.column_start[j]; k < matrix.column_start[j + 1]; ++k) {
      const std::int32_t a = first_of(j), b = first_of(matrix.row[k]);
      above[std::max(a, b)] = std::min(a, b);
    }
  std::int32_t parts = 0;
  std::vector<std::int32_t> part(above.size());
  for (std::int32_t j = 0; j < matrix.size; ++j)
    part[j] = above[j] == j ? parts++ : part[first_of(j)];
  return part;
}

CouplingRows rows_of(const Coupling& coupling) {
  CouplingRows rows;
  rows.start.assign(coupling.column_start.size(), 0);
  for (const std::int32_t row : coupling.row) ++rows.start[row + 1];
  std::partial_sum(rows.start.begin(), rows.start.end(), rows.start.begin());
  rows.column.resize(coupling.row.size());
  rows.entry.resize(coupling.row.size());
  std::vector<std::int64_t> next = rows.start;
  for (std::int32_t j = 0; j < coupling.size; ++j)
    for (auto k = coupling.column_start[j]; k < coupling.column_start[j + 1]; ++k) {
      const std::int64_t at = next[coupling.row[k]]++;
      rows.column[at] = j;
      rows.entry[at] = k;
    }
  return rows;
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
  if (!coupling.unmatched.empty()) {
    const std::vector<std::int32_t> place = inverse_permutation(permutation);
    for (const std::int32_t each : coupling.unmatched)
      moved.unmatched.push_back(place[each]);
    std::ranges::sort(moved.unmatched);
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

std::vector<BlockForm::Block> blocks_by_owner(const Symbolic& symbolic,
                                              const Coupling& coupling,
                                              std::span<const std::int32_t> owner) {
  const std::vector<BlockForm::Block> systems = systems_by_fronts(symbolic);
  const std::vector<std::int32_t> system_of = systems_of_columns(symbolic);
  const std::vector<std::int32_t> order =
      in_order(system_of, coupling, [&](std::int32_t system) {
        return owner.empty() ? 0 : owner[systems[system].root];
      });
  if (order.size() != systems.size())
    throw InvalidInput(
        "the blocks of a triangular form depend on each other in a circle");
  std::vector<bool> solved(systems.size(), true);
  for (const std::int32_t each : coupling.unmatched) solved[system_of[each]] = false;
  std::vector<BlockForm::Block> blocks;
  blocks.reserve(systems.size() - coupling.unmatched.size());
  for (const std::int32_t k : order)
    if (solved[k]) blocks.push_back(systems[k]);
  return blocks;
}

std::vector<std::int32_t> substitution_order(const SymmetricMatrix& blocks,
                                             const Coupling& coupling) {
  if (coupling.size == 0) return {};
  std::vector<std::int32_t> system = connected_parts(blocks);
  std::vector<std::int32_t> place(system.size());
  std::int32_t next = 0;
  for (const std::int32_t k : in_order(system, coupling, [](std::int32_t) { return 0; }))
    place[k] = next++;
  for (std::int32_t& each : system) each = place[each];
  return system;
}

BlockForm block_form(const Symbolic& symbolic, Coupling&& coupling) {
  BlockForm form;
  form.blocks = blocks_by_owner(symbolic, coupling, {});
  form.rows = rows_of(coupling);
  form.coupling = std::move(coupling);
  return form;
}

}  // namespace espalier::solver
