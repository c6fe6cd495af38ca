// A program that has started MPI itself, on two halves of its processes: each solves a
// system of its own, an exception at all of them destroys a solver, each solves its
// system once more, and MPI goes on and ends.

#include <fmt/format.h>
#include <mpi.h>

#include <cmath>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "solver/api/solver.h"
#include "solver/distributed/mpi_communicator.h"
#include "solver/matrix/grid.h"

namespace espalier::solver {
namespace {

void expect(bool holds, const std::string& what) {
  if (!holds) throw Error(what);
}

void solve_on(MPI_Comm half, int which) {
  MpiCommunicator communicator(half);
  int processes = 0;
  MPI_Comm_size(half, &processes);
  expect(communicator.size() == processes, "size");
  expect(communicator.sum(std::int64_t{1}) == processes, "sum");
  expect(communicator.largest(double{1} * communicator.rank()) == processes - 1,
         "largest");
  std::optional<InputMatrix> matrix;
  if (communicator.rank() == 0)
    matrix = make_grid(parse_grid(which == 0 ? "12x12x12" : "11x10x9"));
  SolverOptions options;
  options.runtime_flops = 0;
  options.kind = which == 0 ? FactorKind::kCholesky : FactorKind::kLu;
  Solver solver(communicator, std::move(matrix), options);
  expect(solver.plan(solver.least()).has_value(), "a plan in the least bound");
  expect(solver.factorise().has_value(), "a factorisation");
  std::vector<double> x = solver.apply_to_ones();
  const Solution solution = solver.solve(x);
  expect(solution.refinement.backward_error <= 1e-15, "a small backward error");
  for (const double each : x)
    expect(std::abs(each - 1) <= 1e-10, fmt::format("x is {}", each));
}

// Every process leaves its solver by an exception, as where a bound is too small.
void leave_by_exception(MPI_Comm half) {
  MpiCommunicator communicator(half);
  std::optional<InputMatrix> matrix;
  if (communicator.rank() == 0) matrix = make_grid(parse_grid("9x9x9"));
  const SolverOptions options;
  bool left = false;
  try {
    Solver solver(communicator, std::move(matrix), options);
    if (!solver.plan(1)) throw Error("the bound is too small");
  } catch (const Error& error) {
    left = std::string(error.what()) == "the bound is too small";
  }
  expect(left, "the exception that was thrown");
}

int run(int& argc, char**& argv) {
  int level = 0, rank = 0, status = 0, all = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  try {
    solve_on(half, rank % 2);
    leave_by_exception(half);
    solve_on(half, rank % 2);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
    status = 1;
    MPI_Abort(MPI_COMM_WORLD, status);
  }
  MPI_Comm_free(&half);
  MPI_Allreduce(&status, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return all;
}

}  // namespace
}  // namespace espalier::solver

int main(int argc, char** argv) { return espalier::solver::run(argc, argv); }
