// Solver to a file and back.

#include <fmt/format.h>

#include <algorithm>

#include "solver/api/solver_processes.h"
#include "solver/memory/process_memory.h"
#include "solver/save/save_system.h"

namespace espalier::solver {
namespace {

// About what a file will have: the matrix and the panels.
Bytes bytes_to_save(const SquareMatrix& matrix, const AssemblyTree& tree) {
  Bytes all = matrix.bytes();
  for (const AssemblyTree::Node& node : tree.nodes) all += node.factor_bytes;
  return std::max<Bytes>(1, all);
}

}  // namespace

void Solver::Impl::save(const std::string& path,
                        const std::function<void(double)>& progress) const {
  if (!factored_) throw InvalidInput("save: factorise first");
  if (analysis_.symbolic.kept() > 0)
    throw InvalidInput("save: variables are kept (options.schur); that is not saved");
  if (options_.low_rank > 0)
    throw InvalidInput(
        fmt::format("save: options.low_rank is {}; what is compressed is not saved",
                    options_.low_rank));
  std::function<void(std::int64_t)> written;
  if (progress)
    written = [&, all = static_cast<double>(bytes_to_save(analysis_.permuted, tree_))](
                  std::int64_t bytes) {
      progress(std::min(1.0, static_cast<double>(bytes) / all));
    };
  if (processes_) return save_together(path, written);
  if (written) written(0);
  SectionWriter file(path, written);
  save_system(system_facts(), prepared_, analysis_, tree_, file);
  numeric_->save(analysis_.symbolic, tree_, file);
  file.commit();
}

SystemFacts Solver::Impl::system_facts() const {
  return {.asked_kind = options_.kind,
          .kind = tree_.kind,
          .precision = options_.precision,
          .workers = tree_workers_,
          .of_transposed = options_.of_transposed,
          .front_grids = options_.front_grids,
          .pivot_threshold = options_.pivot_threshold,
          .largest_entry = largest_entry_,
          .pivots = pivots_,
          .doubtful = doubtful_,
          .null_vector = null_vector_,
          .zeros_of_blocks = zeros_of_blocks_};
}

Solver::Impl::Impl(Runtime* runtime, SavedSystem&& saved, const SolverOptions& options)
    : Impl(runtime, options) {
  prepared_ = std::move(saved.prepared);
  analysis_ = std::move(saved.analysis);
  largest_entry_ = saved.facts.largest_entry;
  tree_workers_ = saved.facts.workers;
  options_.kind = saved.facts.asked_kind;
  options_.precision = saved.facts.precision;
  options_.of_transposed = saved.facts.of_transposed;
  options_.front_grids = saved.facts.front_grids;
  options_.pivot_threshold = saved.facts.pivot_threshold;
  pivots_ = saved.facts.pivots;
  doubtful_ = saved.facts.doubtful;
  null_vector_ = saved.facts.null_vector;
  zeros_of_blocks_ = saved.facts.zeros_of_blocks;
}

std::unique_ptr<Solver::Impl> Solver::Impl::load(
    Runtime* runtime, const std::string& path, const SolverOptions& options,
    const std::function<void(double)>& progress) {
  check(options);
  SectionReader file(path, progress);
  SavedSystem saved = load_system(file);
  if (saved.facts.processes > 1)
    file.fail(fmt::format("was saved by {} processes, and is loaded by 1",
                          saved.facts.processes));
  const std::vector<std::int32_t> block_width = saved.block_width;
  const FactorKind kind = saved.facts.kind;
  std::unique_ptr<Impl> solver(new Impl(runtime, std::move(saved), options));
  solver->check_directory();
  solver->numeric_ = Numeric::create(solver->options_.precision, solver->complex());
  solver->whole_ = solver->is_small(solver->analysis_.symbolic, kind);
  solver->build(kind);
  if (solver->tree_.block_width != block_width)
    file.fail("cuts its fronts in another way than this version");
  solver->prepare_runtime();
  solver->numeric_->load(solver->analysis_.symbolic, solver->tree_, file);
  file.finish();
  solver->find_coupled_pivots({});
  solver->factored_ = true;
  return solver;
}

}  // namespace espalier::solver
