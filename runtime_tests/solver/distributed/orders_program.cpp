// Orders of elimination that are weighed against each other by the processes of a job,
// for the sake of a bound. mpirun starts it; what does not hold ends the job with a
// message.
//
//   orders_program bound|least|first

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/job/cluster.h"
#include "solver/api/solver.h"
#include "solver/distributed/job_program.h"
#include "solver/matrix/grid.h"
#include "solver/memory/memory_account.h"
#include "solver/memory/process_memory.h"
#include "solver/ordering/ordering.h"
#include "solver/ordering/other_ordering.h"
#include "solver/symbolic/analyse.h"

namespace espalier::solver {

using namespace cli;
namespace {

constexpr std::int32_t kSide = 28;

// Of which a dissection's factor is a good deal smaller than AMD's.
SymmetricMatrix cube() { return make_grid({kSide, kSide, kSide}); }

// A path: AMD's factor has no fill, and no dissection's has less. Long enough that there
// might be something to be saved.
SymmetricMatrix path() {
  SymmetricMatrix a = make_grid({200'000, 1, 1});
  for (std::int32_t j = 0; j < a.size; ++j) a.value[a.column_start[j]] += 1;
  return a;
}

class Orders {
 public:
  explicit Orders(Cluster& cluster) : cluster_(cluster) {}

  // MPI's buffers and what the allocator keeps come with the first system.
  void warm_up() {
    const std::unique_ptr<Solver> solver = made(cube(), OrderingKind::kAmd);
    expect_solves(*solver, std::nullopt);
  }

  void take_a_bound_that_only_the_other_fits() {
    const Bytes more = least_of(OrderingKind::kAmd), less = least_of(other());
    const std::unique_ptr<Solver> solver = made(cube(), OrderingKind::kAuto);
    expect(taken(*solver) == OrderingKind::kAmd, "AMD is the first order");
    // The printed least is kRunToRun more than what is needed.
    const Bytes needed = solver->least() - ProcessAccount::kRunToRun;
    const Bytes bound = std::min(less + (more - less) / 2, needed - 1);
    expect(bound >= less, fmt::format("room between {} and {}", less, needed));
    expect_solves(*solver, bound);
    expect_tried(*solver, true);
    expect(solver->orderings_tried()[0].least > bound, "the first does not fit");
    expect_bits_of_the_other(*solver);
    // The second is at hand now, whatever bound comes next.
    expect(solver->plan(std::nullopt).has_value(), "a plan without a bound");
    expect_tried(*solver, true);
  }

  void take_the_least_that_was_asked_for() {
    const std::unique_ptr<Solver> solver = made(cube(), OrderingKind::kAuto);
    const Bytes first = solver->least();
    solver->settle_order();
    expect_tried(*solver, true);
    expect(solver->least() < first, "less than the first needs");
    expect_solves(*solver, solver->least());
  }

  // Before the matrix is distributed nobody can multiply by it.
  void refuse_products_before_the_first_plan() {
    const std::unique_ptr<Solver> solver = made(cube(), OrderingKind::kAmd);
    bool refused = false;
    try {
      (void)solver->apply_to_ones();
    } catch (const InvalidInput&) {
      refused = true;
    }
    expect(refused, "a product before the first plan is refused");
  }

  void refuse_with_the_least_of_both() {
    const std::unique_ptr<Solver> solver = made(cube(), OrderingKind::kAuto);
    const Bytes first = solver->least();
    const auto planned = solver->plan(first / 4);
    expect(!planned.has_value(), "a quarter is refused");
    expect_tried(*solver, true);
    expect(planned.error().least_bytes == solver->least(), "the least of the second");
    expect(solver->least() < first, "which is less");
    expect_solves(*solver, solver->least());
  }

  void leave_alone_what_fits_and_what_was_asked_for() {
    const std::unique_ptr<Solver> fits = made(cube(), OrderingKind::kAuto);
    expect_solves(*fits, fits->least());
    expect(fits->orderings_tried().empty(), "one order does");
    const std::unique_ptr<Solver> asked = made(cube(), OrderingKind::kAmd);
    expect(!asked->plan(asked->least() / 4).has_value(), "too little for AMD");
    expect(asked->orderings_tried().empty() && taken(*asked) == OrderingKind::kAmd,
           "AMD was asked for");
  }

  void go_back_where_the_other_is_no_better() {
    const std::unique_ptr<Solver> solver = made(path(), OrderingKind::kAuto);
    const std::vector<std::int32_t> order = solver->analysis().symbolic.permutation;
    const Bytes first = solver->process_facts().sequential_least;
    solver->settle_order(solver->least() / 4);  // for which there is no order
    expect_tried(*solver, false);
    expect(solver->analysis().symbolic.permutation == order, "the first order");
    expect(solver->process_facts().sequential_least == first, "and its tree");
    expect_solves(*solver, solver->least());
    expect(!solver->plan(solver->least() / 4).has_value(), "too little for both");
    expect(solver->orderings_tried().size() == 2, "it is tried once");
  }

 private:
  void expect(bool holds, std::string_view what) {
    if (cluster_.smallest(holds ? 1 : 0) == 0 && !holds)
      cluster_.fail(3, fmt::format("does not hold: {}", what));
  }

  void expect_here(bool holds, std::string_view what) {
    if (!holds) cluster_.fail(3, fmt::format("does not hold: {}", what));
  }

  static OrderingKind other(std::int32_t size) {
    return *other_ordering(OrderingKind::kAmd, size);
  }
  static OrderingKind other() { return other(kSide * kSide * kSide); }
  static std::optional<OrderingKind> taken(const Solver& solver) {
    return solver.analysis().seconds.ordering_taken;
  }

  [[nodiscard]] std::unique_ptr<Solver> made(SymmetricMatrix&& system,
                                             OrderingKind ordering) {
    SolverOptions options;
    options.kind = FactorKind::kCholesky;
    options.workers = 1;
    options.analysis.ordering = ordering;
    options.prepare.scaling = PrepareOptions::Scaling::kNone;
    std::optional<InputMatrix> matrix;
    if (cluster_.rank() == 0) matrix = std::move(system);
    trim_heap();
    reset_peak_resident();
    before_ = resident_bytes();
    return std::make_unique<Solver>(cluster_, std::move(matrix), options);
  }
  [[nodiscard]] Bytes least_of(OrderingKind ordering) {
    return made(cube(), ordering)->least();
  }

  // One is taken, at all processes, and the one of lesser need.
  void expect_tried(const Solver& solver, bool second) {
    const auto& tried = solver.orderings_tried();
    expect(tried.size() == 2, "two orders");
    expect(tried[0].kind == OrderingKind::kAmd &&
               tried[1].kind == other(solver.analysis().symbolic.size),
           "which two");
    expect(tried[0].taken != second && tried[1].taken == second, "the one that is taken");
    expect(second ? tried[1].least < tried[0].least : tried[1].least >= tried[0].least,
           fmt::format("of lesser need: {} and {}", tried[0].least, tried[1].least));
    expect(taken(solver) == tried[second ? 1 : 0].kind, "the analysis is of it");
    for (const TriedOrdering& each : tried) {
      const auto leasts = cluster_.gather_all(each.least);
      expect(std::ranges::count(leasts, each.least) == std::ssize(leasts),
             "the same at all processes");
    }
  }

  void expect_factor(Solver& solver, std::optional<Bytes> bound) {
    const auto planned = solver.plan(bound);
    expect(planned.has_value(), planned ? "" : planned.error().message());
    expect(solver.factorise().has_value(), "a factorisation");
  }

  void expect_solves(Solver& solver, std::optional<Bytes> bound) {
    expect_factor(solver, bound);
    std::vector<double> ones = solver.apply_to_ones();
    const Solution solution = solver.solve(ones);
    expect(!solution.doubts.any(), "a solution that is trusted");
    expect(std::ranges::all_of(ones, [](double x) { return std::abs(x - 1) < 1e-8; }),
           "the solution is right");
    if (bound)
      expect(solver.peak_resident() <= *bound,
             fmt::format(
                 "the peak is inside the bound: {} and {}; {} resident before the "
                 "analysis, {} at its peak, {} after it, {} grown",
                 solver.peak_resident(), *bound, before_, solver.memory().analysis_peak,
                 solver.memory().baseline, solver.factor_growth()));
  }

  // What is ordered again is the matrix in the first order: in that numbering, and by its
  // name, the other order makes the same operations. Without a bound, as kilobytes of the
  // baseline may decide which way to map the tree still fits.
  void expect_bits_of_the_other(Solver& solver) {
    std::vector<std::int32_t> first;
    SymmetricMatrix renumbered;
    {
      const std::unique_ptr<Solver> amd = made(cube(), OrderingKind::kAmd);
      first = amd->analysis().symbolic.permutation;
      renumbered = amd->analysis().permuted.lower;
    }
    std::vector<double> found(first.size()), named_found(first.size());
    for (std::size_t k = 0; k < first.size(); ++k) {
      named_found[k] = 1 + 0.1 * static_cast<double>(k % 7);
      found[first[k]] = named_found[k];
    }
    expect_factor(solver, std::nullopt);
    (void)solver.solve(found);
    const std::unique_ptr<Solver> named = made(std::move(renumbered), other());
    expect_factor(*named, std::nullopt);
    (void)named->solve(named_found);
    for (std::size_t k = 0; k < first.size(); ++k)
      expect_here(found[first[k]] == named_found[k], "the bits of the other by its name");
    cluster_.barrier();
  }

  Cluster& cluster_;
  Bytes before_ = 0;  // resident when the last solver was made
};

void run(Cluster& cluster, std::string_view name) {
  Orders orders(cluster);
  if (name == "bound") {
    orders.warm_up();
    orders.take_a_bound_that_only_the_other_fits();
  } else if (name == "least") {
    orders.take_the_least_that_was_asked_for();
    orders.refuse_with_the_least_of_both();
  } else {
    orders.refuse_products_before_the_first_plan();
    orders.leave_alone_what_fits_and_what_was_asked_for();
    orders.go_back_where_the_other_is_no_better();
  }
}

}  // namespace
}  // namespace espalier::solver

int main(int argc, char** argv) {
  return espalier::solver::run_job_program(
      argc, argv, "test=orders\n",
      [&](auto& cluster) {
        espalier::solver::run(cluster, argc > 1 ? argv[1] : "bound");
      },
      "solved");
}
