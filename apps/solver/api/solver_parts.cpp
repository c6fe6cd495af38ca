// A solver on several processes to files, one for each of them, and back.

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <utility>

#include "solver/api/part_path.h"
#include "solver/api/solver_processes.h"
#include "solver/distributed/distribute.h"
#include "solver/distributed/distribute_fronts.h"
#include "solver/save/save_system.h"

namespace espalier::solver {

std::string part_path(const std::string& path, std::int32_t process) {
  return process == 0 ? path : fmt::format("{}.{}", path, process);
}

namespace {

// A number that no other save has.
std::int64_t number_of_save(Communicator& communicator) {
  std::int64_t number =
      std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
  broadcast_value(communicator, number);
  return number;
}

// Whether the part is one of as many as there are processes, and this one's.
void check_part(const SectionReader& file, const SystemFacts& facts,
                const Communicator& communicator) {
  if (facts.processes != communicator.size())
    file.fail(fmt::format("was saved by {} process{}, and is loaded by {}",
                          facts.processes, facts.processes == 1 ? "" : "es",
                          communicator.size()));
  if (facts.process != communicator.rank())
    file.fail(fmt::format("is the part of process {}, in the place of that of {}",
                          facts.process, communicator.rank()));
}

// Groups are nested, and several fronts that are one task have one process.
bool fits(const std::vector<WorkerRange>& group, const AssemblyTree& tree) {
  if (group.size() != tree.nodes.size()) return false;
  for (std::size_t i = 0; i < group.size(); ++i) {
    const AssemblyTree::Node& node = tree.nodes[i];
    if (group[i].count > 1 && node.first_front != node.last_front) return false;
    const auto parent = tree.tasks.parent(task_id(i));
    if (!parent) continue;
    const WorkerRange& above = group[index(*parent)];
    if (!above.contains(group[i].first) ||
        !above.contains(group[i].first + group[i].count - 1))
      return false;
  }
  return true;
}

}  // namespace

// Nothing has its name before every part is written; process 0's, by which the others are
// found, comes last.
void Solver::Impl::save_together(const std::string& path,
                                 const std::function<void(std::int64_t)>& written) const {
  Communicator& communicator = processes_->communicator;
  SystemFacts facts = system_facts();
  facts.processes = communicator.size();
  facts.process = communicator.rank();
  facts.save = number_of_save(communicator);
  std::optional<SectionWriter> file;
  together(communicator, [&] {
    if (written) written(0);
    file.emplace(part_path(path, communicator.rank()), written);
    save_system(facts, prepared_, analysis_, processes_->whole, *file,
                processes_->distribution.group);
    numeric_->save(analysis_.symbolic, tree_, *file);
    file->complete();
  });
  for (const bool head : {false, true})  // which is there when all parts are
    together(communicator, [&] {
      if (head == (communicator.rank() == 0)) file->commit();
    });
}

std::unique_ptr<Solver::Impl> Solver::Impl::load(
    Communicator& communicator, const std::string& path, const SolverOptions& options,
    const std::function<void(double)>& progress) {
  if (communicator.alone()) return load(nullptr, path, options, progress);
  std::optional<SectionReader> file;
  SavedSystem saved;
  together(communicator, [&] {
    file.emplace(part_path(path, communicator.rank()), progress);
    saved = load_system(*file);
    check_part(*file, saved.facts, communicator);
  });
  std::int64_t first = saved.facts.save;
  broadcast_value(communicator, first);
  together(communicator, [&] {
    if (saved.facts.save != first)
      file->fail(fmt::format("belongs to another save than {}", path));
  });
  const std::vector<std::int32_t> block_width = saved.block_width;
  std::vector<WorkerRange> group = std::move(saved.group);
  const FactorKind kind = saved.facts.kind;
  std::unique_ptr<Impl> solver(new Impl(nullptr, std::move(saved), options));
  solver->processes_ = std::make_unique<Processes>(communicator);
  solver->check_options_together();
  solver->build_together(kind);
  together(communicator, [&] {
    const AssemblyTree& whole = solver->processes_->whole;
    if (group.empty() && communicator.size() == 1)
      group.assign(whole.nodes.size(), {0, 1});
    if (whole.block_width != block_width || !fits(group, whole))
      file->fail("cuts its fronts in another way than this version");
  });
  solver->load_together(*file, std::move(group));
  return solver;
}

// The mapping is the file's; others are found for the next plan.
void Solver::Impl::load_together(SectionReader& file, std::vector<WorkerRange>&& group) {
  Processes& all = *processes_;
  open_channel();
  list_mappings();
  const auto order = all.whole.tasks.postorder();
  hold_under({.group = std::move(group), .witness = {order.begin(), order.end()}});
  all.columns = column_ranges(analysis_.symbolic, all.whole, all.distribution);
  sum_rows_in_order();
  try {
    together(all.communicator, [&] {
      numeric_->load(analysis_.symbolic, tree_, file);
      file.finish();
    });
  } catch (...) {
    close_channel();  // in all of them, while no exception passes
    throw;
  }
  find_coupled_pivots({});
  factored_ = true;
}

}  // namespace espalier::solver
