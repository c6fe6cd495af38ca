// One solver on the processes of a job, which factorises and solves again and again.
//
//   repeated_solver_program GRID min|none WORKERS COUNT
//
// Inside the least bound or without one. Prints how long the longest took at each
// process. What does not hold ends the job with a message.

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "solver/api/solver.h"
#include "solver/distributed/mpi_communicator.h"
#include "solver/matrix/grid.h"

namespace espalier::solver {
namespace {

void expect(bool holds, std::string_view what) {
  if (!holds) throw Error(std::string(what));
}

void factorise_and_solve(Solver& solver) {
  expect(solver.factorise().has_value(), "a factorisation");
  std::vector<double> x = solver.apply_to_ones();
  (void)solver.solve(x);
  for (const double each : x)
    expect(std::abs(each - 1) <= 1e-10, fmt::format("x is {}", each));
}

/// @return the time of the longest, in seconds
double repeat(MpiCommunicator& communicator, char** arguments) {
  using Clock = std::chrono::steady_clock;
  std::optional<InputMatrix> matrix;
  if (communicator.rank() == 0) matrix = make_grid(parse_grid(arguments[1]));
  SolverOptions options;
  options.workers = std::atoi(arguments[3]);
  Solver solver(communicator, std::move(matrix), options);
  const bool least = std::string_view(arguments[2]) == "min";
  const auto planned = solver.plan(least ? std::optional(solver.least()) : std::nullopt);
  expect(planned.has_value(), "a plan");
  // Within the least bound some graphs need none, by a few kilobytes of the baseline.
  expect(least || solver.process_facts().shared_nodes > 0,
         "a front that processes share");
  double longest = 0;
  for (int time = 0; time < std::atoi(arguments[4]); ++time) {
    const auto start = Clock::now();
    factorise_and_solve(solver);
    longest =
        std::max(longest, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return longest;
}

int run(int argc, char** argv) {
  if (argc != 5) return 2;
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  try {
    MpiCommunicator communicator(MPI_COMM_WORLD);
    const double longest = repeat(communicator, argv);
    fmt::print("rank {}: longest of {} {:.3f} s\n", communicator.rank(), argv[4],
               longest);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return 0;
}

}  // namespace
}  // namespace espalier::solver

int main(int argc, char** argv) { return espalier::solver::run(argc, argv); }
