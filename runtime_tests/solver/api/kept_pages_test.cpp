// Pages of one factorisation in the next ones.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <optional>
#include <vector>

#include "solver/api/solver.h"
#include "solver/matrix/general_matrix.h"
#include "solver/matrix/grid.h"
#include "solver/memory/process_memory.h"

namespace espalier::solver {
namespace TEST_SOURCE {

constexpr Bytes kMiB = Bytes{1} << 20;

// Not symmetric, by the fronts of tiles and by those of one task.
Solver drifting_grid() {
  keep_heap_small();
  GeneralMatrix matrix = expanded(make_grid(parse_grid("24x24x24")));
  for (std::size_t k = 0; k < matrix.value.size(); ++k)
    matrix.value[k] += 0.01 * static_cast<double>(k % 7);
  SolverOptions options;
  options.kind = FactorKind::kLu;
  options.workers = 1;
  options.runtime_flops = 0;
  return Solver(std::move(matrix), options);
}

struct Step {
  std::int64_t new_pages;  // by the system's count: also what is taken beside fronts
  std::vector<double> x;
};

Step factor_and_solve(Solver& solver) {
  const auto faults = [] {
    rusage usage{};
    EXPECT_EQ(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_minflt;
  };
  const std::int64_t before = faults();
  EXPECT_TRUE(solver.factorise());
  Step step{faults() - before, solver.apply_to_ones()};
  EXPECT_LE(solver.solve(step.x).refinement.backward_error, 1e-15);
  return step;
}

// Where fresh pages were huge there are fewer new ones than that.
std::int64_t small_pages(Bytes bytes) { return bytes / PageBuffer::footprint(1); }

TEST(KeptPages, ServeTheNextFactorisations) {
  Solver solver = drifting_grid();
  ASSERT_TRUE(solver.plan(std::nullopt));
  const Bytes before = resident_bytes();
  const Step first = factor_and_solve(solver);
  const Bytes least = solver.memory().tree_least;
  // Panels are there from the first front on, beside the most that contribution blocks
  // have, which is half of the least here; solving takes its vectors from what was kept.
  const Bytes most = solver.memory().solve + least * 3 / 5;
  for (int round = 0; round < 3; ++round) {
    const Step next = factor_and_solve(solver);
    // What the second takes beside panels, which may be huge pages in the first, waits.
    EXPECT_TRUE(round == 0 || next.new_pages < small_pages(least) / 3) << next.new_pages;
    EXPECT_EQ(next.x, first.x);
    EXPECT_LE(resident_bytes() - before, most);
  }
  EXPECT_GT(resident_bytes() - before, least / 2);
  solver.release_factor();
  EXPECT_LT(resident_bytes() - before, 4 * kMiB);
  EXPECT_EQ(factor_and_solve(solver).x, first.x);
}

// What is kept beside the factor would be beyond what was asked for.
TEST(KeptPages, AreTheFactorsAloneWithinABound) {
  Solver solver = drifting_grid();
  const Bytes bound = solver.least();
  ASSERT_TRUE(solver.plan(bound));
  const Step first = factor_and_solve(solver);
  const Bytes resident = resident_bytes();
  for (int round = 0; round < 3; ++round) {
    const Step next = factor_and_solve(solver);
    EXPECT_LT(next.new_pages, small_pages(solver.memory().tree_least) / 3);
    EXPECT_EQ(next.x, first.x);
    EXPECT_LE(resident_bytes(), resident + kMiB);
    EXPECT_LE(solver.peak_resident(), bound);
  }
}

// What ends a factorisation in its middle takes all pages with it, and the next one is as
// if nothing had been.
TEST(KeptPages, GoWithAFactorisationThatIsEnded) {
  Solver solver = drifting_grid();
  ASSERT_TRUE(solver.plan(std::nullopt));
  const Bytes before = resident_bytes();
  const Step first = factor_and_solve(solver);
  for (int round = 0; round < 2; ++round) {
    factor_and_solve(solver);
    const auto end = [](double) { throw InvalidInput("ended"); };
    bool ended = false;  // unless this thread slept through all of it
    for (int tries = 0; tries < 20 && !ended; ++tries) try {
        (void)solver.factorise(end);
      } catch (const InvalidInput&) {
        ended = true;
      }
    ASSERT_TRUE(ended);
    EXPECT_LT(resident_bytes() - before, 8 * kMiB);
    EXPECT_EQ(factor_and_solve(solver).x, first.x);
  }
}

TEST(KeptPages, GoWithTheSolver) {
  keep_heap_small();
  Bytes before = 0;
  {
    Solver solver = drifting_grid();
    ASSERT_TRUE(solver.plan(std::nullopt));
    before = resident_bytes();
    for (int round = 0; round < 3; ++round) factor_and_solve(solver);
  }
  trim_heap();
  EXPECT_LT(resident_bytes(), before);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
