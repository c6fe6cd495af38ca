#include "cli/solve_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include "espalier/io/run_record_io.h"
#include "espalier/machine/code_pages.h"
#include "espalier/model/run_medians.h"
#include "solver/api/explain_solver.h"
#include "solver/io/vector_io.h"
#include "solver/memory/process_memory.h"

namespace espalier::cli {

using solver::Operation;
using solver::Solver;

std::int64_t entries_of(const solver::InputMatrix& matrix) {
  return std::visit([](const auto& each) { return std::ssize(each.row); }, matrix);
}

Vectors right_hand_sides(const SolveOptions& options, std::int32_t size) {
  if (options.rhs.empty()) return {std::vector<double>(size), 1, {}};
  solver::DenseVectors read = refusing(
      drop_option("--rhs"), [&] { return solver::read_vectors(options.rhs, size); });
  Vectors vectors{std::move(read.values), static_cast<std::int32_t>(read.columns), {}};
  if (std::ssize(read.rows_with_entries) < size)
    vectors.rows.assign(read.rows_with_entries.begin(), read.rows_with_entries.end());
  return vectors;
}

// A quarter more than any analysis was seen to take.
AnalysisHeap::AnalysisHeap(const SolveOptions& options, std::int64_t order,
                           std::int64_t entries) {
  const Bytes analysis = solver::analysis_bytes(order, entries), kept = analysis / 4;
  if (options.memory.kind != MemoryRequest::Kind::kSize ||
      options.memory.size >= checked_add(solver::resident_bytes(), analysis + kept))
    solver::keep_freed(kept);
}

AnalysisHeap::~AnalysisHeap() {
  solver::keep_heap_small();
  solver::trim_heap();
}

std::optional<Bytes> bound_of(const SolveOptions& options, Solver& solver) {
  if (!options.bounded()) return std::nullopt;
  if (options.memory.kind == MemoryRequest::Kind::kSize)
    solver.settle_order(options.memory.resolve(0, 0));
  else
    solver.settle_order();
  const Bytes least = solver.least();
  if (options.memory.kind == MemoryRequest::Kind::kLeast &&
      !options.solver.out_of_core.empty())
    return std::min(least, solver.least_out_of_core());
  return options.memory.resolve(least, 0);
}

void explain_least(const SolveOptions& options, const Solver& solver, SolveRun& run) {
  if (!options.explains()) return;
  const auto out_of_core =
      solver::explain_least_out_of_core(solver, options.solver.order);
  run.explained = {{"least_bytes",
                    out_of_core ? "least bound in core" : "least bound that suffices",
                    solver::explain_least(solver, options.solver.order)}};
  if (out_of_core)
    run.explained.push_back(
        {"out_of_core_least_bytes", "least bound out of core", *out_of_core});
  solver::trim_heap();
}

void explain_peak(const SolveOptions& options, const Solver& solver, SolveRun& run) {
  if (!options.explains()) return;
  solver::MemoryExplanation peak = solver::explain_peak(solver, run.factor);
  run.peak = peak.total;
  run.explained.push_back({"peak_rss_bytes", "peak of the process", std::move(peak)});
}

void leave_analysis(const SolveRun& run) {
  if (run.bound) release_code();
}

namespace {

void write_trace(const SolveOptions& options, const Solver& solver, SolveRun& run) {
  if (!run.factor.run) return;
  RunRecord& record = *run.factor.run;
  record.input = options.input_name();
  record.operation = name(solver.kind());
  record.order = name(options.solver.order);
  record.mapping = name(options.solver.mapping);
  if (run.bound) record.bound = solver.memory().tree_bound(*run.bound);
  write_run_record(options.trace, record);
  run.factor.run.reset();
}

}  // namespace

std::optional<solver::NotPositiveDefinite> factorise(const SolveOptions& options,
                                                     Solver& solver, SolveRun& run,
                                                     Progress& progress) {
  const solver::FactorKind tried = solver.kind();
  RunMedians medians;  // of one factorisation its times are: nothing is kept then
  for (std::int32_t time = 0; time < options.repeat; ++time) {
    progress.step("factorising");
    run.factor.run.reset();  // room for the next one's
    auto factored = solver.factorise([&](double part) { progress.update(part); });
    if (!factored) return factored.error();
    run.factor = std::move(*factored);
    if (time == 0) run.first_factor_seconds = run.factor.seconds;
    if (!run.factor.run) continue;
    run.factor.run->seconds = run.factor.seconds;
    if (options.repeat > 1) medians.add(*run.factor.run);
  }
  if (run.factor.run && options.repeat > 1) medians.put_into(*run.factor.run);
  run.cholesky_failed = solver.kind() != tried;
  write_trace(options, solver, run);
  return std::nullopt;
}

void check_ones(const SolveOptions& options, std::span<const double> b) {
  const auto beyond =
      std::ranges::find_if_not(b, [](double x) { return std::isfinite(x); });
  if (beyond == b.end()) return;
  throw FileError(options.input_name(), 0,
                  fmt::format("row {} of A times ones is beyond the largest number: give "
                              "--rhs",
                              beyond - b.begin() + 1));
}

void solve(const SolveOptions& options, Solver& solver, Vectors& vectors, SolveRun& run) {
  const Operation operation = options.transposed != solver.of_transposed()
                                  ? Operation::kTransposed
                                  : Operation::kPlain;
  const bool known = options.rhs.empty();
  if (known) {
    std::ranges::copy(solver.apply_to_ones(operation), vectors.values.begin());
    check_ones(options, vectors.values);
  }
  run.right_hand_sides = vectors.nrhs;
  run.solution = solver.solve(vectors.values, vectors.nrhs, operation, vectors.rows);
  if (!known) return;
  double worst = 0;
  for (const double x : vectors.values)
    worst = std::isnan(x) ? HUGE_VAL : std::max(worst, std::abs(x - 1));
  run.forward_error = worst;
}

}  // namespace espalier::cli
