// The factorisation by processes of a job: each makes the same random systems and
// distributions of them, factors its part inside the least bound for it, and compares its
// block columns with the factor that one process makes alone; and once more out of core,
// which makes the same bits. mpirun starts it with the number of workers.
// One program and its comparisons: over 300 lines.

#include <espalier.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/job/cluster.h"
#include "espalier/model/replay.h"
#include "solver/distributed/cluster_nodes.h"
#include "solver/distributed/distribute_fronts.h"
#include "solver/distributed/distributed_systems.h"
#include "solver/distributed/front_tiles.h"
#include "solver/distributed/job_program.h"
#include "solver/distributed/own_panels.h"
#include "solver/distributed/process_part.h"
#include "solver/distributed/starpu_mpi_channel.h"
#include "solver/matrix/grid.h"
#include "solver/tree/spill_plan.h"
#include "solver/tree/tree_plan.h"

namespace espalier::solver {

using namespace cli;
namespace {

struct Job {
  Cluster& cluster;
  Runtime& runtime;
  StarpuMpiChannel& channel;
  std::int32_t workers;
};

void require(Cluster& cluster, bool holds, const std::string& what) {
  if (!holds) cluster.fail(3, what);
}

// Calls part(place in the factor that was made alone, place here, rows) for every column
// of every own tile of a front's panel, from the diagonal on.
template <class T, class Part>
void for_each_own_column(const DistributedSystem<T>& system, const FrontTiles& tiles,
                         std::int32_t process, const Part& part) {
  const Trapezoid& panel = tiles.panel();
  for (std::int32_t side = 0; side < system.tree.sides(); ++side)
    for (std::int32_t k = 0; k < tiles.panels(); ++k)
      for (std::int32_t s = 0; s < tiles.strips(); ++s) {
        if (!tiles.has(process, s, k)) continue;
        const TilePlace tile = tiles.place(s, k);
        for (std::int32_t j = 0; j < panel.width(k); ++j) {
          const std::int32_t first =
              std::max(tile.begin, panel.first(k) + (side == 0 ? j : panel.width(k)));
          const std::int64_t before = side * panel.entries();
          if (first < tile.end)
            part(before + panel.offset(k) + std::int64_t{j} * panel.leading(k) +
                     (first - panel.first(k)),
                 before + tile.offset + std::int64_t{j} * tile.rows() +
                     (first - tile.begin),
                 tile.end - first);
        }
      }
}

// Own tiles against those of the factor that was made alone.
template <class T>
void compare(Cluster& cluster, const DistributedSystem<T>& system,
             const FrontDistribution& distribution, const Factor<T>& factor) {
  const Symbolic& symbolic = system.analysis.symbolic;
  const AssemblyTree& tree = system.tree;
  double largest = 0, worst = 0;
  for (std::int32_t s = 0; s < symbolic.fronts(); ++s) {
    const std::int32_t node = tree.node_of_front[s];
    if (!distribution.takes_part(node, cluster.rank())) continue;
    const T* const alone =
        system.factor.panel_data(s, system.factor.storage[node].template as<T>());
    const T* const mine = factor.panel_data(s, factor.storage[node].template as<T>());
    for_each_own_column(
        system, {symbolic, tree, distribution, s}, cluster.rank(),
        [&](std::int64_t at, std::int64_t here, std::int32_t rows) {
          for (std::int32_t i = 0; i < rows; ++i) {
            largest = std::max(largest, std::abs(static_cast<double>(alone[at + i])));
            const double difference =
                std::abs(static_cast<double>(alone[at + i] - mine[here + i]));
            worst = std::isnan(difference) ? HUGE_VAL : std::max(worst, difference);
          }
        });
  }
  require(cluster, worst <= (sizeof(T) == 8 ? 1e-11 : 1e-3) * (1 + largest),
          fmt::format("entries differ by {} of {}; {}", worst, largest,
                      describe(distribution)));
}

// What is here of a node's panels: all of a local one's, own block columns of a shared
// one's.
template <class T>
std::vector<T> panels_here(const FactorView<T>& view,
                           const FrontDistribution& distribution, std::int32_t node,
                           std::int32_t process) {
  std::vector<T> entries;
  if (!distribution.takes_part(node, process)) return entries;
  if (!distribution.shared(node)) {
    const NodeStorage<T> storage(view, node);
    const AssemblyTree::Node& fronts = view.tree.nodes[node];
    std::int64_t count = 0;
    for (std::int32_t s = fronts.first_front; s <= fronts.last_front; ++s)
      count += view.tree.sides() * view.tree.panel(view.symbolic, s).entries();
    entries.assign(storage.data(), storage.data() + count);
    return entries;
  }
  const OwnPanels<T> panels(view, distribution, node, process);
  for (const auto& [begin, end] :
       own_panel_bytes(view.symbolic, view.tree, distribution, node, process))
    entries.insert(entries.end(), panels.data() + begin / Bytes{sizeof(T)},
                   panels.data() + end / Bytes{sizeof(T)});
  return entries;
}

template <class T>
void compare_bits(Cluster& cluster, const FrontDistribution& distribution,
                  const FactorView<T>& in_core, const FactorView<T>& out_of_core,
                  std::int32_t node) {
  const auto here = panels_here(in_core, distribution, node, cluster.rank());
  const auto there = panels_here(out_of_core, distribution, node, cluster.rank());
  require(
      cluster,
      here.size() == there.size() &&
          std::memcmp(here.data(), there.data(), here.size() * sizeof(T)) == 0,
      fmt::format("other bits out of core in node {}; {}", node, describe(distribution)));
}

template <class T>
void compare_bits(Cluster& cluster, const FrontDistribution& distribution,
                  const FactorView<T>& in_core, const FactorView<T>& out_of_core) {
  for (std::int32_t node = 0; node < std::ssize(in_core.tree.nodes); ++node)
    compare_bits(cluster, distribution, in_core, out_of_core, node);
}

// Factors the part inside the least bound for it.
template <class T>
auto factor_part(Job& job, const DistributedSystem<T>& system,
                 const FrontDistribution& distribution, const AssemblyTree& part,
                 std::shared_ptr<SpillFile> file, FactorReport& report) {
  const auto order = system.tree.tasks.postorder();
  const Bytes least = replay(part.tasks, order).peak;
  const TreePlan plan = make_tree_plan(part.tasks, part.max_workers,
                                       {.workers = job.workers}, least, order);
  require(job.cluster, plan != nullptr, "the witness does not fit in its own peak");
  const FactorInput input{system.analysis.symbolic, system.analysis.permuted, part,
                          system.pivoting,          std::move(file),          least};
  ClusterNodes<T> nodes(job.cluster, job.channel, distribution);
  auto factor = factorise<T>(input, job.runtime, plan.get(), report, {}, &nodes);
  job.cluster.barrier();
  // A process whose part ends before it hears of a bad pivot elsewhere has a factor.
  const bool all = job.cluster.smallest(factor ? 1 : 0) == 1;
  require(job.cluster, all == system.factored,
          all ? "factored what is not positive definite" : "a bad pivot");
  require(job.cluster, report.booked_peak <= least && report.allocated_peak <= least,
          fmt::format("booked {}, allocated {} of {}; {}", report.booked_peak,
                      report.allocated_peak, least, describe(distribution)));
  return factor;
}

template <class T>
auto factor_out_of_core(Job& job, const DistributedSystem<T>& system,
                        const FrontDistribution& distribution, const AssemblyTree& part) {
  AssemblyTree in_file = part;
  (void)spill_everything(system.analysis.symbolic, in_file,
                         NodeOrder(system.tree.tasks.postorder()));
  Bytes bytes = 0;
  for (const AssemblyTree::Node& node : in_file.nodes)
    bytes += (node.factor_at >= 0 ? node.factor_bytes : 0) +
             (node.contribution_at >= 0 ? node.contribution_bytes : 0);
  const std::string directory = std::filesystem::temp_directory_path().string();
  FactorReport report;
  auto factor = factor_part(job, system, distribution, in_file,
                            std::make_shared<SpillFile>(directory, bytes), report);
  return std::pair(std::move(in_file), std::move(factor));
}

template <class T>
void check_system(Job& job, std::mt19937& random, SquareMatrix&& matrix,
                  FactorKind kind) {
  DistributedSystem<T> system(std::move(matrix), kind, random);
  const Symbolic& symbolic = system.analysis.symbolic;
  std::vector<bool> may_share;
  for (const AssemblyTree::Node& node : system.tree.nodes)
    may_share.push_back(node.first_front == node.last_front);
  FrontDistribution distribution = random_distribution(
      random, symbolic, system.tree, job.cluster.size(),
      draw(random, 0, 3) == 0 ? Sharing::kAll : Sharing::kRandom, may_share);
  if (draw(random, 0, 1) == 1)
    distribution =
        distribute_fronts(symbolic, system.tree, job.cluster.size(), distribution.group);
  const AssemblyTree part =
      part_of(symbolic, system.tree, distribution, job.cluster.rank());
  FactorReport report;
  const auto factor = factor_part(job, system, distribution, part, nullptr, report);
  if (system.factored) compare(job.cluster, system, distribution, *factor);
  const auto [in_file, again] = factor_out_of_core(job, system, distribution, part);
  if (system.factored)
    compare_bits<T>(job.cluster, distribution, {symbolic, part, *factor},
                    {symbolic, in_file, *again});
}

void clear_diagonal(SquareMatrix& a, std::int32_t j) {
  for (auto k = a.lower.column_start[j]; k < a.lower.column_start[j + 1]; ++k) {
    if (a.lower.row[k] != j) continue;
    a.lower.value[k] = 0;
    if (!a.upper.empty()) a.upper[k] = 0;
  }
}

// Fronts in tiles that are dealt out over grids of processes have the bits of one
// process.
void check_grids(Job& job, std::mt19937& random) {
  const std::int32_t n = draw(random, 30, 220);
  SquareMatrix matrix = of_kind(random_dominant(random, n), FactorKind::kCholesky);
  if (draw(random, 0, 4) == 0) clear_diagonal(matrix, draw(random, 0, n - 1));
  const DistributedSystem<double> system(std::move(matrix), FactorKind::kCholesky, random,
                                         0, true, draw(random, 1, 9));
  const Symbolic& symbolic = system.analysis.symbolic;
  const FrontDistribution distribution =
      random_distribution(random, symbolic, system.tree, job.cluster.size(),
                          draw(random, 0, 1) == 0 ? Sharing::kAll : Sharing::kRandom,
                          system.may_share(true), true);
  const AssemblyTree part =
      part_of(symbolic, system.tree, distribution, job.cluster.rank());
  FactorReport report;
  const auto factor = factor_part(job, system, distribution, part, nullptr, report);
  const auto [in_file, again] = factor_out_of_core(job, system, distribution, part);
  if (!system.factored) return;
  compare_bits<double>(job.cluster, distribution, {symbolic, part, *factor},
                       {symbolic, in_file, *again});
  for (std::int32_t s = 0; s < symbolic.fronts(); ++s) {
    const std::int32_t node = system.tree.node_of_front[s];
    if (!distribution.takes_part(node, job.cluster.rank())) continue;
    const double* const alone =
        system.factor.panel_data(s, system.factor.storage[node].as<double>());
    const double* const mine = factor->panel_data(s, factor->storage[node].as<double>());
    for_each_own_column(
        system, {symbolic, system.tree, distribution, s}, job.cluster.rank(),
        [&](std::int64_t at, std::int64_t here, std::int32_t rows) {
          require(job.cluster,
                  std::memcmp(alone + at, mine + here, rows * sizeof(double)) == 0,
                  fmt::format("other bits in front {}; {}", s, describe(distribution)));
        });
  }
}

// The same front, as far as it is here, bit by bit.
template <class T>
void compare_front(Cluster& cluster, const DistributedSystem<T>& system,
                   const FrontDistribution& distribution, const Factor<T>& factor,
                   std::int32_t s) {
  const Symbolic& symbolic = system.analysis.symbolic;
  const AssemblyTree& tree = system.tree;
  const std::int32_t node = tree.node_of_front[s], me = cluster.rank();
  const std::int32_t planned = tree.panel(symbolic, s).blocks();
  const Trapezoid panel = system.factor.panel(symbolic, tree, s);
  const std::string where = fmt::format("front {}; {}", s, describe(distribution));
  require(cluster, factor.delayed_in(s) == system.factor.delayed_in(s),
          "other columns come to " + where);
  const T* const alone =
      system.factor.panel_data(s, system.factor.storage[node].template as<T>());
  const T* const mine = factor.panel_data(s, factor.storage[node].template as<T>());
  const auto& expected = system.factor.delays_of(s);
  const auto& found = factor.delays_of(s);
  bool has_last = false;
  for (std::int32_t k = 0; k < panel.blocks(); ++k) {
    const std::int32_t owner =
        distribution.shared(node)
            ? distribution.owner_of(node, k, planned, panel.blocks())
            : distribution.group[node].first;
    if (owner != me) continue;
    has_last = k + 1 == panel.blocks();
    const std::int32_t e = found ? found->eliminated[k] : panel.width(k);
    require(cluster, e == (expected ? expected->eliminated[k] : panel.width(k)),
            fmt::format("other pivots in block {} of {}", k, where));
  }
  for_each_own_column(
      system, {symbolic, tree, distribution, s, factor.delayed_in(s)}, me,
      [&](std::int64_t at, std::int64_t here, std::int32_t rows) {
        require(cluster, std::memcmp(alone + at, mine + here, rows * sizeof(T)) == 0,
                fmt::format("other bits at {} of {}", at, where));
      });
  if (!has_last || !expected) return;
  require(cluster,
          found && found->slot_row == expected->slot_row &&
              found->slot_column == expected->slot_column &&
              found->tail_eliminated == expected->tail_eliminated &&
              found->tail == expected->tail && found->passed == expected->passed,
          "another tail of " + where);
}

// With a reserve that is too small for some: what is not put off is perturbed, the bound
// holds, and nobody waits for what others do not send.
template <class T>
void check_reserve(Job& job, std::mt19937& random, FactorKind kind, bool grids) {
  const std::int32_t n = draw(random, 30, 200);
  SquareMatrix matrix = of_kind(random_square(random, n), kind);
  for (std::int32_t j = 0; j < n; j += draw(random, 1, 3)) clear_diagonal(matrix, j);
  DistributedSystem<T> system(std::move(matrix), kind, random,
                              std::numeric_limits<Bytes>::max(), true);
  system.pivoting.delay_reserve = draw(random, 1, 400) * Bytes{1024};
  const FrontDistribution distribution = random_distribution(
      random, system.analysis.symbolic, system.tree, job.cluster.size(), Sharing::kAll,
      system.may_share(true), grids);
  const AssemblyTree part =
      part_of(system.analysis.symbolic, system.tree, distribution, job.cluster.rank());
  FactorReport report;
  (void)factor_part(job, system, distribution, part, nullptr, report);
  (void)factor_out_of_core(job, system, distribution, part);
}

// Fronts that processes share take columns that their children delay, and delay some: the
// same ones, and the same bits, as one process.
template <class T>
std::int64_t check_delays(Job& job, std::mt19937& random, FactorKind kind, bool grids,
                          Bytes reserve = std::numeric_limits<Bytes>::max()) {
  const std::int32_t n = draw(random, 30, 200);
  SquareMatrix matrix = of_kind(random_square(random, n), kind);
  for (std::int32_t j = 0; j < n; j += draw(random, 1, 3)) clear_diagonal(matrix, j);
  const DistributedSystem<T> system(std::move(matrix), kind, random, reserve, true);
  const Symbolic& symbolic = system.analysis.symbolic;
  const FrontDistribution distribution =
      random_distribution(random, symbolic, system.tree, job.cluster.size(),
                          draw(random, 0, 1) == 0 ? Sharing::kAll : Sharing::kRandom,
                          system.may_share(true), grids);
  const AssemblyTree part =
      part_of(symbolic, system.tree, distribution, job.cluster.rank());
  FactorReport report;
  const auto factor = factor_part(job, system, distribution, part, nullptr, report);
  const auto [in_file, again] = factor_out_of_core(job, system, distribution, part);
  std::int64_t into_shared = 0;
  for (std::int32_t s = 0; s < symbolic.fronts(); ++s) {
    const std::int32_t node = system.tree.node_of_front[s];
    if (distribution.shared(node)) into_shared += system.factor.delayed_in(s);
    if (!distribution.takes_part(node, job.cluster.rank())) continue;
    compare_front(job.cluster, system, distribution, *factor, s);
    if (!distribution.shared(node)) continue;
    if (again->delayed_in(s) > 0)
      compare_front(job.cluster, system, distribution, *again, s);
    else
      compare_bits<T>(job.cluster, distribution, {symbolic, part, *factor},
                      {symbolic, in_file, *again}, node);
  }
  const PivotStatistics& alone = system.report.pivots;
  for (const auto& [mine, all] : {std::pair(report.pivots.delayed, alone.delayed),
                                  {report.pivots.negative, alone.negative},
                                  {report.pivots.two_by_two, alone.two_by_two},
                                  {report.pivots.null_space, alone.null_space}})
    require(job.cluster, job.cluster.sum(mine) == all,
            fmt::format("other pivots: {}", describe(distribution)));
  return into_shared;
}

void run(Cluster& cluster, std::int32_t workers) {
  Runtime runtime({workers, "espalier"});
  runtime.wake();
  std::optional<StarpuMpiChannel> channel(std::in_place, cluster.data_communicator());
  Job job{cluster, runtime, *channel, workers};
  std::mt19937 random(31);
  for (int instance = 0; instance < 4; ++instance)
    for (const FactorKind kind :
         {FactorKind::kCholesky, FactorKind::kLdlt, FactorKind::kLu}) {
      const std::int32_t n = instance == 0 ? 0 : draw(random, 1, 220);
      check_system<double>(job, random, of_kind(random_dominant(random, n), kind), kind);
      check_system<float>(job, random, of_kind(random_dominant(random, n), kind), kind);
    }
  std::int64_t into_shared = 0;
  for (int instance = 0; instance < 4; ++instance)
    for (const FactorKind kind : {FactorKind::kLdlt, FactorKind::kLu})
      for (const bool grids : {false, true}) {
        into_shared += check_delays<double>(job, random, kind, grids);
        into_shared += check_delays<float>(job, random, kind, grids);
        check_reserve<double>(job, random, kind, grids);
        if (grids) check_delays<double>(job, random, kind, true, 0);
      }
  require(cluster, cluster.size() == 1 || into_shared > 120,
          fmt::format("{} columns came to shared fronts", into_shared));
  SquareMatrix grid;
  grid.lower = make_grid({9, 9, 9});
  check_system<double>(job, random, std::move(grid), FactorKind::kCholesky);
  for (int instance = 0; instance < 10; ++instance) check_grids(job, random);
  runtime.wake();
  channel.reset();
  runtime.sleep();
}

}  // namespace
}  // namespace espalier::solver

int main(int argc, char** argv) {
  return espalier::solver::run_job_program(
      argc, argv, "test=distributed factorisation\n",
      [&](auto& cluster) {
        espalier::solver::run(cluster, argc > 1 ? std::atoi(argv[1]) : 1);
      },
      "factored");
}
