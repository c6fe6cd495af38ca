// What a handle of the C interface knows and does after others of its calls.

#include <espalier_solver.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "solver/memory/process_memory.h"
#include "solver/support/c_interface.h"
#include "solver/support/temporary_file.h"

namespace espalier::solver {
namespace TEST_SOURCE {

espalier_solver_statistics statistics_of(const Handle& solver) {
  espalier_solver_statistics facts{};
  facts.size = sizeof facts;
  EXPECT_EQ(espalier_solver_read_statistics(solver.get(), &facts), 0);
  return facts;
}

/// Triplets from 0 on.
struct Triplets {
  std::int32_t order, symmetry;
  std::vector<std::int32_t> rows, columns;
  std::vector<double> values;
  [[nodiscard]] espalier_solver_input input() const {
    espalier_solver_input view = ESPALIER_SOLVER_INPUT_INIT;
    view.order = order;
    view.entries = static_cast<std::int64_t>(rows.size());
    view.format = ESPALIER_SOLVER_TRIPLETS;
    view.symmetry = symmetry;
    view.rows = rows.data();
    view.columns = columns.data();
    view.values = values.data();
    return view;
  }
};

// (1 2 . .; 2 4 . .; . . -3 .; . . . -5)
TEST(HandleState, ALoadedFactorTellsWhatItsPivotsWere) {
  const Triplets matrix{
      4, ESPALIER_SOLVER_SYMMETRIC, {0, 1, 1, 2, 3}, {0, 0, 1, 2, 3}, {1, 2, 4, -3, -5}};
  const TemporaryFile file("", ".factor");
  const Handle made = factored(matrix.input());
  ASSERT_EQ(espalier_solver_save(made.get(), file.path().c_str()), 0);
  espalier_solver* raw = nullptr;
  ASSERT_EQ(espalier_solver_load(&raw, file.path().c_str(), nullptr), 0);
  const Handle loaded(raw);
  const espalier_solver_statistics first = statistics_of(made),
                                   second = statistics_of(loaded);
  EXPECT_EQ(first.null_space, 1);
  EXPECT_EQ(first.negative_pivots, 2);
  EXPECT_EQ(second.null_space, first.null_space);
  EXPECT_EQ(second.negative_pivots, first.negative_pivots);
  EXPECT_EQ(second.two_by_two_pivots, first.two_by_two_pivots);
  EXPECT_EQ(second.delayed_pivots, first.delayed_pivots);
  EXPECT_EQ(second.rank, first.rank);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
