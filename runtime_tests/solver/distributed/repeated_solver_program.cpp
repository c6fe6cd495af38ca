// One solver on the processes of a job, which factorises and solves again and again.
//
//   repeated_solver_program GRID min|none WORKERS COUNT
//
// Inside the least bound or without one. Prints how long the longest took at each
// process, and by how much its heap grew after the first quarter, which must be next to
// nothing. What does not hold ends the job with a message.

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
#include "solver/memory/process_memory.h"

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

// Lists of messages under way that grow when more are than ever before: StarPU-MPI's and
// MPI's, by some 52 KiB at once, as often after 5 times as after 60. Tags that were never
// used again took 2 KiB and more for each time.
constexpr Bytes kGrowth = Bytes{128} << 10;

struct Repeated {
  double longest = 0;  // in seconds
  Bytes heap_growth = 0;
};

Repeated repeat(MpiCommunicator& communicator, char** arguments) {
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
  Repeated all;
  Bytes heap = 0;
  const int count = std::atoi(arguments[4]);
  for (int time = 0; time < count; ++time) {
    const auto start = Clock::now();
    factorise_and_solve(solver);
    all.longest = std::max(all.longest,
                           std::chrono::duration<double>(Clock::now() - start).count());
    if (time == count / 4) heap = heap_bytes();
  }
  all.heap_growth = heap_bytes() - heap;
  return all;
}

int run(int argc, char** argv) {
  if (argc != 5) return 2;
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  try {
    MpiCommunicator communicator(MPI_COMM_WORLD);
    const auto [longest, heap_growth] = repeat(communicator, argv);
    fmt::print("rank {}: longest of {} {:.3f} s, heap +{}\n", communicator.rank(),
               argv[4], longest, format_size(heap_growth));
    expect(heap_growth <= kGrowth, fmt::format("a heap that stays: +{} after {} times",
                                               format_size(heap_growth), argv[4]));
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
