// The parallel ordering and analysis of grids: recorded on one worker in processor time,
// replayed on many.
//
//   ordering_bench [--workers 1,2,4,…] [--json] GRID…      GRID: 1000x1000, 60x60x60

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "espalier/model/processor_time.h"
#include "solver/matrix/grid.h"
#include "solver/memory/process_memory.h"
#include "solver/ordering/replay_tasks.h"
#include "solver/ordering/task_pool.h"
#include "solver/symbolic/analyse.h"

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

Json measure(const std::string& name, const std::vector<std::int32_t>& workers) {
  const SymmetricMatrix grid = make_grid(parse_grid(name));
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
          {"tasks", nested.size()},
          {"analysis_seconds", all},
          {"outside_of_phases_seconds", rest},
          {"replays", rows}};
}

void print(const Json& grid) {
  fmt::print(
      "{}: {} tasks of the dissection, ordering and analysis {:.3f} s on one worker\n",
      grid["grid"].get<std::string>(), grid["tasks"].get<int>(),
      grid["analysis_seconds"].get<double>());
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
  bool json = false;
  CLI::App app("The ordering of grids, replayed on many workers");
  app.add_option("grids", grids);
  app.add_option("--workers", workers)->delimiter(',')->check(CLI::PositiveNumber);
  app.add_flag("--json", json);
  CLI11_PARSE(app, argc, argv);
  keep_freed(Bytes{32} << 20);  // about what an analysis of the program's keeps
  Json all = Json::array();
  for (const std::string& name : grids) {
    all.push_back(measure(name, workers));
    if (!json) print(all.back());
  }
  if (json) fmt::print("{}\n", all.dump(2));
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "ordering_bench: {}\n", error.what());
  return 1;
}
