// Threads that share a node: which column is bad, what ends them, what they tell.

#include "solver/runtime/node_team.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <stdexcept>
#include <thread>

#include "solver/kernels/dense.h"
#include "solver/matrix/grid.h"
#include "solver/runtime/factorise.h"
#include "solver/runtime/team_solve.h"
#include "solver/support/systems.h"

namespace espalier::solver {
namespace TEST_SOURCE {

// A grid as one node, cut for threads.
struct Shared {
  Shared(SymmetricMatrix matrix, FactorKind kind, std::int32_t threads)
      : analysis(analyse(std::move(matrix), AnalyseOptions{})) {
    AssemblyOptions options;
    options.kind = kind;
    options.whole = true;
    tree = build_assembly_tree(analysis.symbolic, options);
    cut = cut_into_pieces(analysis.symbolic, tree, threads);
    kernels::use_one_blas_thread();
  }
  [[nodiscard]] tl::expected<Factor<double>, NotPositiveDefinite> run(
      const std::function<void(double)>& progress = {}, bool by_threads = true) {
    FactorInput input{analysis.symbolic, analysis.permuted, tree, {}};
    if (by_threads) input.pieces = &cut, input.pool_limit = cut.bytes(tree);
    return factorise_sequentially<double>(input, tree.tasks.postorder(), report,
                                          progress);
  }

  Analysis analysis;
  AssemblyTree tree;
  NodePieces cut;
  FactorReport report;
};

SymmetricMatrix grid(std::int32_t side) { return make_grid({side, side, side}); }

// Many bad columns, of which one thread meets the first one first.
TEST(NodeTeam, SaysTheFirstBadColumn) {
  std::mt19937 random(11);
  for (int round = 0; round < 12; ++round) {
    SymmetricMatrix a = grid(12);
    for (int bad = draw(random, 1, 9); bad > 0; --bad)
      a.value[a.column_start[draw(random, 0, a.size - 1)]] = -1;
    Shared shared(std::move(a), FactorKind::kCholesky, 2 + round % 3);
    const auto alone = shared.run({}, false);
    ASSERT_FALSE(alone);
    for (int again = 0; again < 3; ++again) {
      const auto factor = shared.run();
      ASSERT_FALSE(factor);
      ASSERT_EQ(factor.error().column, alone.error().column) << "round " << round;
    }
  }
}

TEST(NodeTeam, TellsItsProgressWhereItWasCalled) {
  Shared shared(grid(14), FactorKind::kLdlt, 3);
  const std::thread::id here = std::this_thread::get_id();
  double last = 0;
  bool grows = true, elsewhere = false;
  ASSERT_TRUE(shared.run([&](double done) {
    grows = grows && done >= last && done <= 1;
    last = done;
    elsewhere = elsewhere || std::this_thread::get_id() != here;
  }));
  EXPECT_TRUE(grows);
  EXPECT_FALSE(elsewhere);
  EXPECT_EQ(last, 1);
  EXPECT_GE(shared.report.tasks, std::ssize(shared.cut.pieces));
  EXPECT_GT(shared.report.busy_seconds, 0);
  EXPECT_LE(shared.report.busy_seconds, 3 * shared.report.seconds);
  EXPECT_LE(shared.report.allocated_peak, shared.report.booked_peak);
}

// Whether what is asked throws, at one of many calls: on a busy machine the others may be
// done before the calling thread begins.
bool ends_at_last(const std::function<void()>& call) {
  for (int tries = 0; tries < 100; ++tries) {
    try {
      call();
    } catch (const std::runtime_error&) {
      return true;
    }
  }
  return false;
}

// What is asked throws: no thread is left at work, and all can be done again.
TEST(NodeTeam, EndsWhereItsInterruptThrows) {
  Shared shared(grid(14), FactorKind::kLdlt, 2);
  Factor<double> factor(shared.analysis.symbolic, shared.tree);
  std::vector<PageBuffer> contributions(1);
  const PivotOptions pivoting;
  PivotLog log;
  DelayReserve reserve(pivoting.delay_reserve);
  const WorkerScratch scratch(2, Bytes{1} << 20, TaskPool::rank);
  const FrontContext<double> context{.symbolic = shared.analysis.symbolic,
                                     .permuted = shared.analysis.permuted,
                                     .tree = shared.tree,
                                     .pivoting = pivoting,
                                     .factor = factor,
                                     .contributions = contributions,
                                     .log = log,
                                     .reserve = reserve,
                                     .scratch = scratch,
                                     .file = nullptr,
                                     .meter = nullptr,
                                     .pool = nullptr,
                                     .former = {}};
  const Interrupt ask = [] { throw std::runtime_error("enough"); };
  std::atomic<Flops> done = 0;
  FactorReport report;
  EXPECT_TRUE(ends_at_last([&] {
    done = 0;
    run_in_threads(context, shared.cut, ask, done, report);
  }));
  EXPECT_LT(done, shared.tree.tasks.work(task_id(0)));
  EXPECT_TRUE(shared.run());
}

TEST(TeamSolve, EndsWhereItsInterruptThrows) {
  Shared shared(grid(14), FactorKind::kCholesky, 3);
  const auto factor = shared.run();
  ASSERT_TRUE(factor);
  const std::int64_t n = shared.analysis.symbolic.size;
  std::vector<double> b(static_cast<std::size_t>(n), 1);
  const Vectors<double> x{b.data(), n, 1};
  const FactorView<double> view{shared.analysis.symbolic, shared.tree, *factor};
  const std::function<void()> ask = [] { throw std::runtime_error("enough"); };
  EXPECT_TRUE(
      ends_at_last([&] { solve_in_threads(view, shared.cut, false, x, x, ask); }));
  std::ranges::fill(b, 1);
  std::vector<double> again = b;
  solve_in_threads(view, shared.cut, false, x, x, {});
  const Vectors<double> y{again.data(), n, 1};
  solve_sequentially<double>(view, false, y, y, std::function<void()>());
  EXPECT_EQ(b, again);
}

TEST(TeamSolve, IsWorthItsThreadsFromSomeWorkOn) {
  const Shared one(grid(6), FactorKind::kCholesky, 1),
      some(grid(14), FactorKind::kCholesky, 2);
  EXPECT_FALSE(worth_a_team(one.cut, 1000));
  EXPECT_FALSE(worth_a_team(some.cut, 1));
  EXPECT_TRUE(worth_a_team(some.cut, 100));
  EXPECT_FALSE(worth_a_team(NodePieces{}, 1));
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
