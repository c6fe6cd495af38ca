// espalier solve on the processes of a job that mpirun or srun started, step by step:
// over 300 lines.

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "cli/end_the_job.h"
#include "cli/job/cluster.h"
#include "cli/output.h"
#include "cli/settle_memory.h"
#include "cli/solve_numbers.h"
#include "cli/solve_report.h"
#include "cli/solve_results.h"
#include "cli/solve_steps.h"
#include "espalier/model/clock.h"
#include "solver/memory/process_memory.h"

namespace espalier::cli {
namespace {

using solver::Solver;

// What must be the same at every process.
std::string identity(const SolveOptions& options) {
  const solver::SolverOptions& solver = options.solver;
  return fmt::format(
      "version={}\nmatrix={}\nfactor={}\nshift={} {}\nmemory={} {} "
      "{}\nworkers={}\nkind={}\nprecision={}\n"
      "scaling={}\nordering={}\npivot threshold={}\ndelay reserve={}\ntransposed={} {}\n"
      "refine={}\nestimate errors={}\nright-hand sides={}\nexplain={}\nout of core={}\n"
      "save={}\nnull space={}\ndeterminant={}\nfront grids={}\n"
      "order={}\nmapping={}",
      ESPALIER_VERSION, options.source.name(), options.factor,
      options.source.shift ? options.source.shift->real() : 0,
      options.source.shift ? options.source.shift->imag() : 0,
      static_cast<int>(options.memory.kind), options.memory.common_size(),
      options.memory.factor, options.workers_given ? solver.workers : 0,
      solver.kind ? static_cast<int>(*solver.kind) : -1, name(solver.precision),
      static_cast<int>(solver.prepare.scaling),
      static_cast<int>(solver.analysis.ordering), solver.pivot_threshold,
      solver.delay_reserve.value_or(-1), options.transposed, options.conjugate_transposed,
      solver.refine, solver.estimate_errors, options.rhs, options.explains(),
      solver.out_of_core, options.save, options.null_space, options.determinant,
      static_cast<int>(solver.front_grids), name(solver.order), name(solver.mapping));
}

// Process 0 has read them.
void share(Cluster& cluster, auto& vectors) {
  std::int64_t sizes[] = {vectors.nrhs, std::ssize(vectors.values)};
  cluster.broadcast(std::as_writable_bytes(std::span(sizes)));
  vectors.nrhs = static_cast<std::int32_t>(sizes[0]);
  vectors.values.resize(static_cast<std::size_t>(sizes[1]));
  cluster.broadcast(std::as_writable_bytes(std::span(vectors.values)));
  vectors.rows.clear();
}

ProcessFigures figures_of(Cluster& cluster, const Solver& solver, const SolveRun& run) {
  const solver::ProcessFacts facts = solver.process_facts();
  const solver::SpillFile::Counters io = solver.spilled();
  ProcessFigures figures;
  figures.peak = cluster.gather_all(solver.peak_resident());
  figures.baseline = cluster.gather_all(solver.memory().baseline);
  figures.growth = cluster.gather_all(solver.factor_growth());
  figures.predicted = cluster.gather_all(facts.predicted_peak);
  figures.booked = cluster.gather_all(run.factor.booked_peak);
  figures.sent = cluster.gather_all(facts.sent.bytes);
  figures.messages = cluster.sum(facts.sent.messages);
  figures.sequential_least = facts.sequential_least;
  figures.shared_nodes = facts.shared_nodes;
  figures.grid_nodes = facts.grid_nodes;
  figures.spill_file = cluster.gather_all(solver.bytes_to_spill());
  figures.written = cluster.gather_all(io.bytes_written);
  figures.read = cluster.gather_all(io.bytes_read);
  return figures;
}

std::size_t largest_of(const std::vector<Bytes>& bytes) {
  return static_cast<std::size_t>(std::ranges::max_element(bytes) - bytes.begin());
}

// Before the plan: by the process that needs most under the mapping of least bound.
void explain_least(Cluster& cluster, const SolveOptions& options, const Solver& solver,
                   SolveRun& run) {
  if (!options.explains()) return;
  solver::MemoryAccount own = solver.memory();
  own.elsewhere = 0;
  const std::size_t rank = largest_of(cluster.gather_all(own.needed()));
  const auto there = [&](Bytes here) { return cluster.gather_all(here)[rank]; };
  const solver::MemoryAccount account{.analysis_peak = there(own.analysis_peak),
                                      .baseline = there(own.baseline),
                                      .reserve = there(own.reserve)};
  const Bytes fronts = there(own.tree_least), solve = there(own.solve);
  run.explained = {{"least_bytes", "least bound that suffices",
                    solver::explain_least(account, {.fronts = fronts, .solve = solve}),
                    static_cast<std::int32_t>(rank)}};
}

// When all has ended: by the process that had most.
void explain_peak(Cluster& cluster, const SolveOptions& options, const Solver& solver,
                  SolveRun& run) {
  if (!options.explains()) return;
  const std::size_t rank = largest_of(run.processes->peak);
  const auto there = [&](Bytes here) { return cluster.gather_all(here)[rank]; };
  const solver::FactorInMemory factor = solver::factor_in_memory(solver.tree());
  const solver::MemoryAccount account{
      .analysis_peak = there(solver.memory().analysis_peak),
      .baseline = run.processes->baseline[rank]};
  const solver::MeasuredMemory measured{
      .peak = run.processes->peak[rank],
      .growth = run.processes->growth[rank],
      .allocated_peak = there(run.factor.allocated_peak)};
  const Bytes resident = there(factor.resident), read = there(factor.read);
  run.explained.push_back(
      {"peak_rss_bytes", "largest peak",
       solver::explain_peak(account, measured, solver::FactorInMemory{resident, read}),
       static_cast<std::int32_t>(rank)});
}

// What process 0 says is the answer of all.
Ending agreed(Cluster& cluster, Ending ending) {
  ending.status = static_cast<ExitStatus>(cluster.largest(std::int64_t{ending.status}));
  return ending;
}

// Process 0 has one; what it says of the work is empty elsewhere.
class Steps {
 public:
  explicit Steps(const Cluster& cluster, std::string_view first) {
    if (cluster.rank() == 0) progress_.emplace(first);
  }
  void step(std::string_view text) {
    if (progress_) progress_->step(text);
  }
  void update(double part) {
    if (progress_) progress_->update(part);
  }
  void end() { progress_.reset(); }

 private:
  std::optional<Progress> progress_;
};

// All find it, process 0 writes it. Where it is not found all know.
template <class Numbers>
void give_null_space(const Cluster& cluster, const SolveOptions& options,
                     typename Numbers::Solver& system) {
  const Solver& solver = Numbers::factoring(system);
  if (options.null_space.empty()) return;
  const auto write = [&] {
    const auto basis = Numbers::null_space(system);
    if (cluster.rank() == 0)
      Numbers::write(options.null_space, basis, solver.analysis().symbolic.size);
  };
  if (cluster.rank() == 0) return write_null_space(options, solver.null_space(), write);
  if (solver.null_space() == 0) return;
  try {
    write();
  } catch (const InvalidInput&) {
    throw;
  } catch (const Error&) {  // process 0 says it
  }
}

// What remains when there is a factorisation.
template <class Numbers>
Ending finish(Cluster& cluster, const SolveOptions& options,
              typename Numbers::Solver& system, typename Numbers::Vectors& vectors,
              SolveRun& run, Steps& steps) {
  const bool first = cluster.rank() == 0;
  Solver& solver = Numbers::factoring(system);
  steps.step("solving");
  solve(options, system, vectors, run);
  if (first && !options.out.empty())
    Numbers::write(options.out, vectors.values, solver.analysis().symbolic.size);
  if (options.determinant) Numbers::tell_determinant(system, run);
  give_null_space<Numbers>(cluster, options, system);
  if (!options.save.empty()) {
    steps.step("saving");
    const Clock::time_point start = Clock::now();
    solver.save(options.save);
    run.save_seconds = since(start);
  }
  steps.end();
  run.processes = figures_of(cluster, solver, run);
  explain_peak(cluster, options, solver, run);
  return agreed(cluster, first ? report_run(options, solver, run) : Ending(kDone));
}

// The solver is the caller's: its end is collective, and must not come when an error has
// ended the work of one process alone.
// @param matrix  at process 0
template <class Numbers>
Ending solve_matrix(Cluster& cluster, const SolveOptions& options,
                    std::optional<typename Numbers::Matrix>&& matrix, SolveRun& run,
                    Steps& steps, std::unique_ptr<typename Numbers::Solver>& place) {
  const bool first = cluster.rank() == 0;
  typename Numbers::Vectors vectors;
  if (matrix) {
    const Clock::time_point start = Clock::now();
    run.entries = Numbers::entries(*matrix);
    vectors = Numbers::right_hand_sides(options, Numbers::order(*matrix));
    run.read_seconds += since(start);
  }
  share(cluster, vectors);
  place = std::make_unique<typename Numbers::Solver>(
      cluster, std::move(matrix), options.solver,
      [&](std::string_view text) { steps.step(text); });
  Solver& solver = Numbers::factoring(*place);
  run.bound = bound_of(options, solver);
  explain_least(cluster, options, solver, run);
  if (const auto planned = solver.plan(run.bound); !planned) {
    steps.end();
    return agreed(cluster, first
                               ? report_infeasible(options, solver, run, planned.error(),
                                                   "with --out-of-core DIR or on more "
                                                   "processes less may do for each")
                               : Ending(kDone));
  }
  leave_analysis(run);
  steps.step("factorising");
  const solver::FactorKind tried = solver.kind();
  auto factored = solver.factorise([&](double part) { steps.update(part); });
  if (!factored) {
    steps.end();
    return agreed(cluster, first ? report_not_definite(options, solver, run.entries,
                                                       factored.error())
                                 : Ending(kDone));
  }
  run.factor = *factored;
  run.cholesky_failed = solver.kind() != tried;
  return finish<Numbers>(cluster, options, *place, vectors, run, steps);
}

// One of the two, when it is known of what numbers the matrix is.
struct Place {
  std::unique_ptr<Solver> real;
  std::unique_ptr<solver::ComplexSolver> complex;
};

// Process 0 reads.
Ending solve_file(Cluster& cluster, const SolveOptions& options, Place& place) {
  Steps steps(cluster, "reading");
  SolveRun run;
  std::optional<solver::InputMatrix> real;
  std::optional<solver::ComplexMatrix> complex;
  if (cluster.rank() == 0) {
    const Clock::time_point start = Clock::now();
    solver::AnyMatrix any = read_any_input(options.source, options.solver.kind);
    if (auto* numbers = std::get_if<solver::ComplexMatrix>(&any))
      complex = std::move(*numbers);
    else
      real = std::get<solver::InputMatrix>(std::move(any));
    run.read_seconds = since(start);
  }
  if (cluster.largest(std::int64_t{complex.has_value()}) != 0)
    return solve_matrix<ComplexNumbers>(cluster, options, std::move(complex), run, steps,
                                        place.complex);
  return solve_matrix<RealNumbers>(cluster, options, std::move(real), run, steps,
                                   place.real);
}

template <class Numbers>
Ending solve_loaded(Cluster& cluster, const SolveOptions& options,
                    typename Numbers::Solver& system, Clock::time_point start,
                    Steps& steps) {
  const Solver& solver = Numbers::factoring(system);
  SolveRun run;
  run.factor.pivots = solver.pivots();
  typename Numbers::Vectors vectors;
  if (cluster.rank() == 0)
    vectors = Numbers::right_hand_sides(options, solver.analysis().symbolic.size);
  share(cluster, vectors);
  run.read_seconds = since(start);
  return finish<Numbers>(cluster, options, system, vectors, run, steps);
}

Ending solve_saved(Cluster& cluster, const SolveOptions& options, Place& place) {
  Steps steps(cluster, "loading");
  const Clock::time_point start = Clock::now();
  place.real = Solver::load(cluster, options.factor, options.solver);
  if (!place.real->complex())
    return solve_loaded<RealNumbers>(cluster, options, *place.real, start, steps);
  place.complex = std::make_unique<solver::ComplexSolver>(std::move(place.real));
  return solve_loaded<ComplexNumbers>(cluster, options, *place.complex, start, steps);
}

Ending run_on(Cluster& cluster, SolveOptions& options, Place& place) {
  if (!options.workers_given)  // cores are shared out by now
    options.solver.workers =
        static_cast<std::int32_t>(cluster.smallest(solver::default_workers()));
  settle_memory(cluster, options.memory);
  options.processes = cluster.size();
  check(options);
  return options.factor.empty() ? solve_file(cluster, options, place)
                                : solve_saved(cluster, options, place);
}

}  // namespace

void check_for_cluster(const SolveOptions& options) {
  for (const auto& [option, given] :
       {std::pair{"--trace", !options.trace.empty()},
        std::pair{"--schur", !options.schur.empty()},
        std::pair{"--repeat", options.repeat > 1},
        std::pair{"--low-rank", options.solver.low_rank > 0},
        std::pair{"--scheduler", options.solver.scheduler != "espalier"}})
    if (given)
      throw Refused(fmt::format("{}: not on several processes", option),
                    drop_option(option));
}

Ending solve_on_cluster(SolveOptions& options, const Suggest& suggest) {
  int argc = 0;
  char** argv = nullptr;
  Cluster cluster(argc, argv, identity(options));
  Place place;
  try {
    return run_on(cluster, options, place);
  } catch (...) {
    end_the_job(cluster, suggest);
  }
}

}  // namespace espalier::cli
