// The parallel ordering and analysis of grids: recorded on one worker in processor time,
// replayed on many.
//
//   ordering_bench [--workers 1,2,4,…] [--unknowns N] [--json] GRID…
//
// GRID: 1000x1000, 60x60x60; --unknowns N: so many at each point, each of which has an
// entry with all of its neighbours.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "espalier/model/error.h"
#include "espalier/model/processor_time.h"
#include "espalier/model/units.h"
#include "solver/matrix/grid.h"
#include "solver/memory/process_memory.h"
#include "solver/ordering/replay_tasks.h"
#include "solver/symbolic/analyse.h"
#include "solver/threads/task_pool.h"

namespace {

using namespace espalier;
using namespace espalier::solver;
using Json = nlohmann::ordered_json;

// Processor time of this thread.
Seconds time_of(const auto& work) {
  const Seconds start = thread_seconds();
  work();
  return thread_seconds() - start;
}

Seconds replayed(const RecordedPhases& phases, std::int32_t workers) {
  Seconds sum = 0;
  for (const auto& phase : phases) sum += replay_tasks(phase.tasks, workers);
  return sum;
}

// The phase with the most tasks.
const std::vector<RecordedTask>& dissection(const RecordedPhases& phases) {
  const auto tasks = [](const RecordedPhase& phase) { return phase.tasks.size(); };
  return std::ranges::max_element(phases, {}, tasks)->tasks;
}

// The pattern with each column in the place of so many.
SymmetricMatrix repeated(const SymmetricMatrix& points, std::int32_t unknowns) {
  const std::int64_t size = std::int64_t{points.size} * unknowns;
  if (size > std::numeric_limits<std::int32_t>::max())
    throw InvalidInput(fmt::format("{} unknowns at {} points: more than 2^31 - 1",
                                   unknowns, points.size));
  SymmetricMatrix result{static_cast<std::int32_t>(size), {0}, {}, {}};
  result.row.reserve(points.row.size() * unknowns * unknowns);
  for (std::int32_t j = 0; j < result.size; ++j) {
    const std::int32_t point = j / unknowns;
    for (auto at = points.column_start[point]; at < points.column_start[point + 1]; ++at)
      for (std::int32_t k = 0; k < unknowns; ++k)
        if (const std::int32_t i = points.row[at] * unknowns + k; i >= j)
          result.row.push_back(i);
    result.column_start.push_back(std::ssize(result.row));
  }
  return result;
}

Json measure(const std::string& name, std::int32_t unknowns,
             const std::vector<std::int32_t>& workers) {
  const SymmetricMatrix grid = unknowns == 1
                                   ? make_grid(parse_grid(name))
                                   : repeated(make_grid(parse_grid(name)), unknowns);
  trim_heap();  // of the grid before
  AnalyseOptions options;
  options.ordering = OrderingKind::kNested;
  RecordedPhases phases;
  Seconds rest =
      time_of([&] { (void)analyse_pattern(grid, options, nullptr, {}, &phases); });
  for (const RecordedPhase& phase : phases) rest -= phase.seconds;  // one thread's
  const auto& nested = dissection(phases);
  const Seconds all = replayed(phases, 1) + rest;
  Json rows = Json::array();
  for (const std::int32_t w : workers) {
    const Seconds ordering = replay_tasks(nested, w), whole = replayed(phases, w) + rest;
    rows.push_back({{"workers", w},
                    {"ordering_seconds", ordering},
                    {"ordering_speedup", replay_tasks(nested, 1) / ordering},
                    {"analysis_seconds", whole},
                    {"analysis_speedup", all / whole}});
  }
  return {{"grid", name},
          {"unknowns", unknowns},
          {"size", grid.size},
          {"edge_ends", 2 * (std::ssize(grid.row) - grid.size)},
          {"peak_bytes", peak_resident_bytes()},
          {"tasks", nested.size()},
          {"analysis_seconds", all},
          {"outside_of_phases_seconds", rest},
          {"replays", rows}};
}

void print(const Json& grid) {
  fmt::print(
      "{}: {} columns, {} edge ends, {} tasks of the dissection, ordering and analysis "
      "{:.3f} s on one worker, at most {} resident\n",
      grid["grid"].get<std::string>(), grid["size"].get<int>(),
      grid["edge_ends"].get<std::int64_t>(), grid["tasks"].get<int>(),
      grid["analysis_seconds"].get<double>(),
      format_size(grid["peak_bytes"].get<Bytes>()));
  for (const Json& row : grid["replays"])
    fmt::print(
        "  {:>3} workers: dissection {:>7.3f} s, speed-up {:>5.2f}; with the analysis "
        "{:>7.3f} s, {:>5.2f}\n",
        row["workers"].get<int>(), row["ordering_seconds"].get<double>(),
        row["ordering_speedup"].get<double>(), row["analysis_seconds"].get<double>(),
        row["analysis_speedup"].get<double>());
}

}  // namespace

int main(int argc, char** argv) try {
  std::vector<std::string> grids = {"1000x1000", "60x60x60", "80x80x80"};
  std::vector<std::int32_t> workers = {1, 2, 4, 8, 16, 32, 64};
  std::int32_t unknowns = 1;
  bool json = false;
  CLI::App app("The ordering of grids, replayed on many workers");
  app.add_option("grids", grids);
  app.add_option("--workers", workers)->delimiter(',')->check(CLI::PositiveNumber);
  app.add_option("--unknowns", unknowns, "at each point")->check(CLI::PositiveNumber);
  app.add_flag("--json", json);
  CLI11_PARSE(app, argc, argv);
  keep_freed(Bytes{32} << 20);  // about what an analysis of the program's keeps
  Json all = Json::array();
  for (const std::string& name : grids) {
    all.push_back(measure(name, unknowns, workers));
    if (!json) print(all.back());
  }
  if (json) fmt::print("{}\n", all.dump(2));
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "ordering_bench: {}\n", error.what());
  return 1;
}
