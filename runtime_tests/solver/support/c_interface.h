#pragma once

// The C interface's solvers and errors, as its tests hold and expect them.

#include <espalier_solver.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace espalier::solver {

struct Destroy {
  void operator()(espalier_solver* solver) const { espalier_solver_destroy(solver); }
};
using Handle = std::unique_ptr<espalier_solver, Destroy>;

inline Handle analyse(const espalier_solver_input& input,
                      const espalier_solver_options* options = nullptr) {
  espalier_solver* solver = nullptr;
  EXPECT_EQ(espalier_solver_analyse(&solver, &input, options), 0)
      << espalier_solver_last_error();
  return Handle(solver);
}

inline espalier_solver_statistics statistics_of(const Handle& solver) {
  espalier_solver_statistics facts{};
  facts.size = sizeof facts;
  EXPECT_EQ(espalier_solver_read_statistics(solver.get(), &facts), 0);
  return facts;
}

/// A matrix by triplets from 0 on, which outlive it.
inline espalier_solver_input triplets(std::int32_t order, std::int32_t symmetry,
                                      const std::vector<std::int32_t>& rows,
                                      const std::vector<std::int32_t>& columns,
                                      const std::vector<double>& values) {
  espalier_solver_input input = ESPALIER_SOLVER_INPUT_INIT;
  input.order = order;
  input.entries = std::ssize(rows);
  input.format = ESPALIER_SOLVER_TRIPLETS;
  input.symmetry = symmetry;
  input.rows = rows.data();
  input.columns = columns.data();
  input.values = values.data();
  return input;
}

/// Analysed, planned without a bound and factored.
inline Handle factored(const espalier_solver_input& input,
                       const espalier_solver_options* options = nullptr) {
  Handle solver = analyse(input, options);
  EXPECT_EQ(espalier_solver_plan(solver.get(), INT64_MAX), 0);
  EXPECT_EQ(espalier_solver_factorise(solver.get()), 0) << espalier_solver_last_error();
  return solver;
}

/// A code, and a word of its explanation.
inline void expect_error(int status, int code, const char* word) {
  EXPECT_EQ(status, -code) << espalier_solver_last_error();
  EXPECT_NE(std::string(espalier_solver_last_error()).find(word), std::string::npos)
      << espalier_solver_last_error();
}

}  // namespace espalier::solver
