// Orders of back substitution of a block triangular matrix.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "espalier/model/error.h"
#include "solver/symbolic/analyse.h"
#include "solver/symbolic/block_form.h"

namespace espalier::solver {
namespace TEST_SOURCE {

GeneralMatrix coupling_of(std::int32_t size,
                          std::vector<std::pair<std::int32_t, std::int32_t>> entries) {
  std::ranges::sort(entries, {},
                    [](const auto& e) { return std::pair(e.second, e.first); });
  GeneralMatrix matrix{.size = size, .column_start = {0}, .row = {}, .value = {}};
  auto at = entries.begin();
  for (std::int32_t j = 0; j < size; ++j) {
    for (; at != entries.end() && at->second == j; ++at) {
      matrix.row.push_back(at->first);
      matrix.value.push_back(1);
    }
    matrix.column_start.push_back(std::ssize(matrix.row));
  }
  return matrix;
}

// Blocks of these columns, each a path.
SymmetricMatrix paths(std::int32_t size,
                      const std::vector<std::vector<std::int32_t>>& blocks) {
  std::vector<std::vector<std::int32_t>> below(size);
  for (std::int32_t j = 0; j < size; ++j) below[j].push_back(j);
  for (const auto& block : blocks)
    for (std::size_t k = 0; k + 1 < block.size(); ++k)
      below[std::min(block[k], block[k + 1])].push_back(std::max(block[k], block[k + 1]));
  SymmetricMatrix matrix{.size = size, .column_start = {0}, .row = {}, .value = {}};
  for (auto& rows : below) {
    std::ranges::sort(rows);
    for (const std::int32_t row : rows) {
      matrix.row.push_back(row);
      matrix.value.push_back(row == rows.front() ? 4 : 1);
    }
    matrix.column_start.push_back(std::ssize(matrix.row));
  }
  return matrix;
}

// Block {0, 3} needs that of 1, which needs {2, 4}.
TEST(SubstitutionOrder, OfThreeBlocksByHand) {
  const SymmetricMatrix blocks = paths(5, {{0, 3}, {1}, {2, 4}});
  const Coupling coupling = {coupling_of(5, {{3, 1}, {1, 2}})};
  EXPECT_EQ(substitution_order(blocks, coupling),
            (std::vector<std::int32_t>{2, 1, 0, 2, 0}));
}

struct Instance {
  SymmetricMatrix blocks;
  Coupling coupling;
  std::vector<std::int32_t> block_of;
};

// Columns of a block are anywhere, and so are blocks that need each other.
Instance draw_instance(std::mt19937& random, std::int32_t size) {
  const auto draw = [&](std::int32_t first, std::int32_t last) {
    return std::uniform_int_distribution(first, last)(random);
  };
  std::vector<std::int32_t> column(size);
  std::iota(column.begin(), column.end(), 0);
  std::shuffle(column.begin(), column.end(), random);
  Instance instance;
  instance.block_of.resize(size);
  std::vector<std::vector<std::int32_t>> blocks;
  std::vector<std::pair<std::int32_t, std::int32_t>> entries;
  for (std::int32_t first = 0; first < size;) {
    const std::int32_t end = std::min(size, first + draw(1, 4));
    for (std::int32_t k = first; k < end; ++k) {
      instance.block_of[column[k]] = static_cast<std::int32_t>(blocks.size());
      if (first > 0 && draw(0, 2) > 0)
        entries.emplace_back(column[k], column[draw(0, first - 1)]);
    }
    blocks.emplace_back(column.begin() + first, column.begin() + end);
    first = end;
  }
  std::ranges::sort(entries);
  entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
  instance.blocks = paths(size, blocks);
  instance.coupling = {coupling_of(size, entries)};
  return instance;
}

Analysis analysis_of(const Instance& instance) {
  PreparedMatrix prepared;
  prepared.kind = FactorKind::kLdlt;
  prepared.matrix.lower = instance.blocks;
  prepared.coupling = instance.coupling;
  return analyse(std::move(prepared));
}

TEST(SubstitutionOrder, HasEveryBlockAfterThoseThatItNeeds) {
  std::mt19937 random(11);
  for (int turn = 0; turn < 200; ++turn) {
    const Instance instance = draw_instance(random, 1 + turn / 4);
    const std::vector<std::int32_t> place =
        substitution_order(instance.blocks, instance.coupling);
    const auto size = static_cast<std::int32_t>(place.size());
    for (std::int32_t i = 0; i < size; ++i)
      for (std::int32_t j = 0; j < size; ++j)
        ASSERT_EQ(place[i] == place[j], instance.block_of[i] == instance.block_of[j]);
    for (std::int32_t j = 0; j < size; ++j)
      for (auto k = instance.coupling.column_start[j];
           k < instance.coupling.column_start[j + 1]; ++k)
        ASSERT_GT(place[instance.coupling.row[k]], place[j]);
  }
}

// So the fronts of an analysis stand: no block needs one after it.
TEST(SubstitutionOrder, IsThatOfFronts) {
  std::mt19937 random(12);
  for (int turn = 0; turn < 100; ++turn) {
    const Instance instance = draw_instance(random, 2 + turn / 2);
    if (instance.coupling.row.empty()) continue;
    const Analysis analysis = analysis_of(instance);
    const Coupling& coupling = analysis.form.coupling;
    const std::vector<std::int32_t> system = systems_of_columns(analysis.symbolic);
    ASSERT_EQ(coupling.row.size(), instance.coupling.row.size());
    for (std::int32_t j = 0; j < coupling.size; ++j)
      for (auto k = coupling.column_start[j]; k < coupling.column_start[j + 1]; ++k)
        ASSERT_GT(system[coupling.row[k]], system[j]);
    // Rows have the same entries as columns.
    const CouplingRows& rows = analysis.form.rows;
    std::int64_t seen = 0;
    for (std::int32_t i = 0; i < coupling.size; ++i)
      for (auto k = rows.start[i]; k < rows.start[i + 1]; ++k, ++seen) {
        const std::int64_t entry = rows.entry[k];
        ASSERT_EQ(coupling.row[entry], i);
        ASSERT_GE(entry, coupling.column_start[rows.column[k]]);
        ASSERT_LT(entry, coupling.column_start[rows.column[k] + 1]);
        if (k > rows.start[i]) {
          ASSERT_LT(rows.column[k - 1], rows.column[k]);
        }
      }
    ASSERT_EQ(seen, std::ssize(coupling.row));
  }
}

std::int64_t turns(const std::vector<BlockForm::Block>& blocks,
                   const std::vector<std::int32_t>& owner) {
  std::int64_t count = 0;
  for (std::size_t k = 0; k < blocks.size(); ++k)
    count += k == 0 || owner[blocks[k].root] != owner[blocks[k - 1].root] ? 1 : 0;
  return count;
}

// The fewest turns of two owners by search over all orders.
std::int64_t fewest_turns(const std::vector<std::uint32_t>& needs,
                          const std::vector<std::int32_t>& owner) {
  const auto all = (std::uint32_t{1} << needs.size()) - 1;
  constexpr std::int64_t kNever = 1 << 20;
  // Of sets of blocks that are done, by the owner of the last.
  std::vector<std::array<std::int64_t, 2>> least(all + 1, {kNever, kNever});
  least[0] = {0, 0};
  for (std::uint32_t done = 0; done <= all; ++done)
    for (int last = 0; last < 2; ++last)
      for (std::size_t k = 0; k < needs.size(); ++k) {
        if ((done >> k & 1) != 0 || (needs[k] & ~done) != 0) continue;
        std::int64_t& next = least[done | 1U << k][owner[k]];
        next =
            std::min(next, least[done][last] + (done == 0 || owner[k] != last ? 1 : 0));
      }
  return std::min(least[all][0], least[all][1]);
}

TEST(BlocksByOwner, TakeAsFewTurnsAsAnyOrderOrOneMore) {
  std::mt19937 random(13);
  for (int turn = 0; turn < 60; ++turn) {
    const Instance instance = draw_instance(random, 4 + turn / 5);
    if (instance.coupling.row.empty()) continue;
    const Analysis analysis = analysis_of(instance);
    const Symbolic& symbolic = analysis.symbolic;
    std::vector<std::int32_t> owner(symbolic.parent.size());  // of fronts
    for (std::int32_t& each : owner) each = static_cast<std::int32_t>(random() % 2);
    const auto blocks = blocks_by_owner(symbolic, analysis.form.coupling, owner);
    ASSERT_EQ(blocks.size(), analysis.form.blocks.size());
    if (blocks.size() > 12) continue;
    std::vector<std::uint32_t> needs(blocks.size(), 0);
    std::vector<std::int32_t> of_block;
    for (const auto& block : analysis.form.blocks) of_block.push_back(owner[block.root]);
    const std::vector<std::int32_t> system = systems_of_columns(symbolic);
    std::vector<std::int32_t> number(blocks.size());  // of a system among the blocks
    for (std::size_t k = 0; k < blocks.size(); ++k)
      number[system[symbolic.first_column[analysis.form.blocks[k].root]]] =
          static_cast<std::int32_t>(k);
    const Coupling& coupling = analysis.form.coupling;
    for (std::int32_t j = 0; j < coupling.size; ++j)
      for (auto k = coupling.column_start[j]; k < coupling.column_start[j + 1]; ++k)
        needs[number[system[coupling.row[k]]]] |= 1U << number[system[j]];
    EXPECT_LE(turns(blocks, owner), fewest_turns(needs, of_block) + 1);
  }
}

TEST(BlocksByOwner, AreRefusedInACircle) {
  const SymmetricMatrix blocks = paths(2, {});
  const Symbolic symbolic = analyse_pattern(blocks);
  EXPECT_THROW((void)block_form(symbolic, {coupling_of(2, {{0, 1}, {1, 0}})}),
               InvalidInput);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
