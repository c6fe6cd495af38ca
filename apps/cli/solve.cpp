// espalier solve: one sparse system inside a memory bound.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/solve_options.h"
#include "cli/solve_report.h"
#include "solver/clock.h"
#include "solver/process_memory.h"
#include "solver/vector_io.h"

namespace espalier::cli {
namespace {

using solver::Clock;
using solver::Operation;
using solver::since;
using solver::Solver;

std::int64_t entries_of(const solver::InputMatrix& matrix) {
  return std::visit([](const auto& each) { return std::ssize(each.row); }, matrix);
}

// The right-hand sides and, after the solve, the solutions.
struct Vectors {
  std::vector<double> values;
  std::int32_t columns = 1;
  std::vector<std::int64_t> rows;  // where right-hand sides have entries; empty: anywhere
};

// Without a file there is one vector, whose memory is counted with what is resident
// before the factorisation.
Vectors right_hand_sides(const SolveOptions& options, std::int32_t size) {
  if (options.rhs.empty()) return {std::vector<double>(size), 1, {}};
  solver::DenseVectors read = solver::read_vectors(options.rhs, size);
  Vectors vectors{std::move(read.values), static_cast<std::int32_t>(read.columns), {}};
  if (std::ssize(read.rows_with_entries) < size)
    vectors.rows.assign(read.rows_with_entries.begin(), read.rows_with_entries.end());
  return vectors;
}

// The whole file or none: it appears under its name when it is complete. What is not a
// plain file, such as /dev/stdout, is written as it is.
void write_solutions(const std::string& path, std::span<const double> values,
                     std::int64_t size) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::exists(path, error) && !fs::is_regular_file(path, error))
    return solver::write_vectors(path, values, size);
  const fs::path target = fs::weakly_canonical(path);
  const fs::path unfinished = target.parent_path() / ("." + std::to_string(getpid()) +
                                                      "-" + target.filename().string());
  try {
    solver::write_vectors(unfinished.string(), values, size);
    fs::rename(unfinished, target);
  } catch (const std::exception& failure) {
    fs::remove(unfinished, error);
    throw FileError(path, 0, failure.what());
  }
}

std::optional<Bytes> bound_of(const SolveOptions& options, const Solver& solver) {
  if (!options.bounded()) return std::nullopt;
  const Bytes least = solver.memory().least();
  if (options.memory.kind == MemoryRequest::Kind::kLeast &&
      !options.solver.out_of_core.empty())
    return std::min(least, solver.memory().least_out_of_core());
  return options.memory.resolve(least, 0);
}

void solve(const SolveOptions& options, Solver& solver, Vectors& vectors, SolveRun& run) {
  const Operation operation =
      options.transposed ? Operation::kTransposed : Operation::kPlain;
  const bool known = options.rhs.empty();
  if (known) std::ranges::copy(solver.row_sums(operation), vectors.values.begin());
  run.right_hand_sides = vectors.columns;
  run.solution = solver.solve(vectors.values, vectors.columns, operation, vectors.rows);
  if (!known) return;
  double worst = 0;
  for (const double x : vectors.values)
    worst = std::isnan(x) ? HUGE_VAL : std::max(worst, std::abs(x - 1));
  run.forward_error = worst;
}

// What remains when there is a factorisation.
ExitStatus finish(const SolveOptions& options, Solver& solver, Vectors&& vectors,
                  SolveRun& run, std::optional<Progress>& progress) {
  progress->step("solving");
  solve(options, solver, vectors, run);
  if (!options.out.empty())
    write_solutions(options.out, vectors.values, solver.analysis().symbolic.size);
  if (!options.save.empty()) {
    progress->step("saving");
    const Clock::time_point start = Clock::now();
    solver.save(options.save);
    run.save_seconds = since(start);
  }
  progress.reset();
  return report_run(options, solver, run);
}

ExitStatus solve_matrix(SolveOptions& options) {
  std::optional<Progress> progress(std::in_place, "reading");
  const Clock::time_point start = Clock::now();
  solver::InputMatrix matrix = read_input(options.source, options.solver.kind);
  SolveRun run;
  run.entries = entries_of(matrix);
  Vectors vectors = right_hand_sides(options, solver::order_of(matrix));
  run.read_seconds = since(start);

  Solver solver(std::move(matrix), options.solver,
                [&](std::string_view step) { progress->step(step); });
  run.bound = bound_of(options, solver);
  if (const auto planned = solver.plan(run.bound); !planned) {
    progress.reset();
    return report_infeasible(options, solver, run.entries, planned.error());
  }
  progress->step("factorising");
  const solver::FactorKind tried = solver.kind();
  auto factored = solver.factorise([&](double part) { progress->update(part); });
  if (!factored) {
    progress.reset();
    return report_not_definite(options, solver, run.entries, factored.error());
  }
  run.factor = *factored;
  run.cholesky_failed = solver.kind() != tried;
  return finish(options, solver, std::move(vectors), run, progress);
}

ExitStatus solve_saved(const SolveOptions& options) {
  std::optional<Progress> progress(std::in_place, "loading");
  const Clock::time_point start = Clock::now();
  SolveRun run;
  const std::unique_ptr<Solver> solver = Solver::load(options.factor, options.solver);
  run.factor.pivots.null_space = solver->null_space();
  Vectors vectors = right_hand_sides(options, solver->analysis().symbolic.size);
  run.read_seconds = since(start);
  return finish(options, *solver, std::move(vectors), run, progress);
}

}  // namespace

Command add_solve(CLI::App& program) {
  auto options = std::make_shared<SolveOptions>();
  CLI::App* app =
      program.add_subcommand("solve", "Solve a sparse system inside a memory bound");
  add_solve_options(*app, *options);
  return {app, [options] {
            check(*options);
            solver::keep_heap_small();
            return options->factor.empty() ? solve_matrix(*options)
                                           : solve_saved(*options);
          }};
}

}  // namespace espalier::cli
