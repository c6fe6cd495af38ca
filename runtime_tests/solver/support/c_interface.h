#pragma once

// The C interface's solvers and errors, as its tests hold and expect them.

#include <espalier_solver.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace espalier::solver {

struct Destroy {
  void operator()(espalier_solver* solver) const { espalier_solver_destroy(solver); }
};
using Handle = std::unique_ptr<espalier_solver, Destroy>;

/// A code, and a word of its explanation.
inline void expect_error(int status, int code, const char* word) {
  EXPECT_EQ(status, -code) << espalier_solver_last_error();
  EXPECT_NE(std::string(espalier_solver_last_error()).find(word), std::string::npos)
      << espalier_solver_last_error();
}

}  // namespace espalier::solver
