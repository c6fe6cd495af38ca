// The C interface in what fork() makes of a process where a solver runs StarPU.

#include <espalier_solver.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <vector>

#include "solver/support/c_interface.h"

namespace espalier::solver {
namespace TEST_SOURCE {

/// 2 on the diagonal, -1 beside it, by columns of the lower triangle.
struct Line {
  Line() {
    for (std::int32_t i = 0; i < kOrder; ++i) {
      rows.push_back(i);
      values.push_back(2);
      if (i + 1 < kOrder) {
        rows.push_back(i + 1);
        values.push_back(-1);
      }
      starts.push_back(static_cast<std::int32_t>(rows.size()));
    }
  }
  [[nodiscard]] espalier_solver_input input() const {
    espalier_solver_input view = ESPALIER_SOLVER_INPUT_INIT;
    view.order = kOrder;
    view.symmetry = ESPALIER_SOLVER_SYMMETRIC;
    view.starts = starts.data();
    view.rows = rows.data();
    view.values = values.data();
    return view;
  }
  static constexpr std::int32_t kOrder = 200;
  std::vector<std::int32_t> starts = {0}, rows;
  std::vector<double> values;
};

espalier_solver_options on_runtime(std::int32_t runtime) {
  espalier_solver_options options = ESPALIER_SOLVER_OPTIONS_INIT;
  options.runtime = runtime;
  options.workers = 2;
  return options;
}

// What `call` returns in a copy of this process; -1000: it has not returned in time.
int in_a_copy(const std::function<int()>& call) {
  const pid_t copy = fork();
  if (copy == 0) {
    alarm(20);
    _exit(-call());
  }
  int status = 0;
  waitpid(copy, &status, 0);
  return WIFEXITED(status) ? -WEXITSTATUS(status) : -1000;
}

TEST(AfterFork, SolversOnStarpuAreBusyAndOthersGoOn) {
  const Line line;
  const espalier_solver_input input = line.input();
  const auto starpu = on_runtime(ESPALIER_SOLVER_RUNTIME_STARPU);
  const auto none = on_runtime(ESPALIER_SOLVER_RUNTIME_NONE);
  Handle there = factored(input, &starpu);
  const Handle alone = factored(input, &none);
  std::vector<double> b(Line::kOrder, 1.0);
  const auto solve = [&](const Handle& solver) {
    return espalier_solver_solve(solver.get(), 0, 1, b.data());
  };
  const auto again = [&](const Handle& solver) {
    return espalier_solver_factorise_values(solver.get(), line.values.data(),
                                            std::ssize(line.values));
  };
  EXPECT_EQ(in_a_copy([&] { return solve(there); }), -EBUSY);
  EXPECT_EQ(in_a_copy([&] { return again(there); }), -EBUSY);
  EXPECT_EQ(in_a_copy([&] { return solve(alone); }), 0);
  EXPECT_EQ(in_a_copy([&] { return again(alone); }), 0);
  const auto another = [&] {
    espalier_solver* solver = nullptr;
    return espalier_solver_analyse(&solver, &input, &starpu);
  };
  EXPECT_EQ(in_a_copy(another), -EBUSY);
  EXPECT_EQ(in_a_copy([&] {
              there.reset();
              return another();
            }),
            -EBUSY);
  EXPECT_EQ(solve(there), 0) << espalier_solver_last_error();
  EXPECT_EQ(again(there), 0) << espalier_solver_last_error();
  there.reset();
  EXPECT_EQ(in_a_copy(another), 0);  // StarPU had ended before
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
