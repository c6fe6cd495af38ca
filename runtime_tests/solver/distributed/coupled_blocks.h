#pragma once

// Systems in block triangular form: large blocks, some of a few hundred unknowns, and
// long chains of tiny ones, coupled.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "solver/distributed/whole_systems.h"

namespace espalier::solver {

using Columns = std::vector<std::vector<std::pair<std::int32_t, double>>>;

/// Adds a grid, whose entries are not symmetric, as a block of its own.
inline void add_grid_block(Columns& columns, int side) {
  const GeneralMatrix grid = std::get<GeneralMatrix>(system_of(FactorKind::kLu, side));
  const auto first = static_cast<std::int32_t>(columns.size());
  for (std::int32_t j = 0; j < grid.size; ++j) {
    auto& column = columns.emplace_back();
    for (auto k = grid.column_start[j]; k < grid.column_start[j + 1]; ++k)
      column.emplace_back(first + grid.row[k], grid.value[k]);
  }
}

/// Adds a ring of so many unknowns, which is irreducible.
/// @param singular  of two unknowns, of rank 1
inline void add_ring(Columns& columns, std::int32_t size, bool singular = false) {
  const auto first = static_cast<std::int32_t>(columns.size());
  for (std::int32_t j = 0; j < size; ++j) {
    auto& column = columns.emplace_back();
    column.emplace_back(first + j, singular ? 1.0 : 3 + 0.1 * j);
    if (size > 1) column.emplace_back(first + (j + 1) % size, singular ? 1.0 : 1.25);
  }
}

/// P A Q, for some P and Q.
inline GeneralMatrix shuffled(const Columns& columns, std::mt19937& random) {
  std::vector<std::int32_t> row(columns.size()), column(columns.size());
  for (auto* order : {&row, &column}) {
    std::iota(order->begin(), order->end(), 0);
    std::shuffle(order->begin(), order->end(), random);
  }
  Columns moved(columns.size());
  for (std::size_t j = 0; j < columns.size(); ++j)
    for (const auto& [i, value] : columns[j])
      moved[column[j]].emplace_back(row[i], value);
  return general_of(moved);
}

/// For L U: grids of these sides with a chain of rings after each, and entries that
/// couple every block with some before it.
/// @param singular  one of the rings is, in the middle
inline GeneralMatrix coupled_blocks(const std::vector<int>& sides, int rings,
                                    bool singular = false) {
  std::mt19937 random(31);
  Columns columns;
  std::vector<std::int32_t> start;  // of blocks
  for (const int side : sides) {
    start.push_back(static_cast<std::int32_t>(columns.size()));
    add_grid_block(columns, side);
    for (int k = 0; k < rings; ++k) {
      start.push_back(static_cast<std::int32_t>(columns.size()));
      const bool bad = singular && side == sides.front() && k == rings / 2;
      add_ring(columns, bad ? 2 : 1 + k % 4, bad);
    }
  }
  start.push_back(static_cast<std::int32_t>(columns.size()));
  for (std::size_t b = 1; b + 1 < start.size(); ++b) {
    const auto before = [&] {
      return std::uniform_int_distribution(0, start[b] - 1)(random);
    };
    columns[start[b]].emplace_back(start[b] - 1, 0.75);  // the chain
    for (std::int32_t j = start[b] + 1; j < start[b + 1]; ++j)
      if (j % 2 == 0) columns[j].emplace_back(before(), 0.5);
  }
  return shuffled(columns, random);
}

/// For L D L^T: an indefinite grid, and pairs of unknowns that are found one after the
/// other: of each the first has an entry with its second one and with the one before.
inline SymmetricMatrix coupled_pairs(int side) {
  const SymmetricMatrix grid =
      std::get<SymmetricMatrix>(system_of(FactorKind::kLdlt, side));
  const std::int32_t pairs = grid.size / 3, size = grid.size + 2 * pairs;
  std::vector<std::int32_t> place(size);
  std::iota(place.begin(), place.end(), 0);
  std::mt19937 random(37);
  std::shuffle(place.begin(), place.end(), random);
  Columns columns(size);
  const auto put = [&](std::int32_t i, std::int32_t j, double value) {
    columns[std::min(place[i], place[j])].emplace_back(std::max(place[i], place[j]),
                                                       value);
  };
  for (std::int32_t j = 0; j < grid.size; ++j)
    for (auto k = grid.column_start[j]; k < grid.column_start[j + 1]; ++k)
      put(grid.row[k], j, grid.value[k]);
  for (std::int32_t k = 0; k < pairs; ++k) {
    const std::int32_t first = grid.size + k, second = first + pairs;
    put(first, second, 2 + 0.01 * (k % 9));
    if (k % 20 > 0) put(first, second - 1, 0.75);
    put(second, second, k % 2 == 0 ? 1.5 : -1.5);
    put(second, (7 * k) % grid.size, 0.5);
  }
  const GeneralMatrix lower = general_of(columns);
  return {lower.size, lower.column_start, lower.row, lower.value};
}

}  // namespace espalier::solver
