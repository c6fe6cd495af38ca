// The parallel ordering of grids: recorded on one worker, replayed on many, and what the
// rest of the analysis, which is sequential, leaves of that.
//
//   ordering_bench [--workers 1,2,4,…] [--json] GRID…      GRID: 1000x1000, 60x60x60
//
// The replay for two workers stands beside a real run on two.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "espalier/model/clock.h"
#include "solver/matrix/grid.h"
#include "solver/ordering/graph.h"
#include "solver/ordering/nested_dissection.h"
#include "solver/ordering/replay_tasks.h"
#include "solver/symbolic/analyse.h"

namespace {

using namespace espalier;
using namespace espalier::solver;
using Json = nlohmann::ordered_json;

Seconds clock_of(const auto& work) {
  const auto start = Clock::now();
  work();
  return since(start);
}

Json measure(const std::string& name, const std::vector<std::int32_t>& workers) {
  const SymmetricMatrix grid = make_grid(parse_grid(name));
  const Graph graph = adjacency(grid);
  std::vector<RecordedTask> record;
  Graph copy = graph;
  const Seconds one =
      clock_of([&] { (void)nested_dissection(std::move(copy), 1, &record); });
  copy = graph;
  const Seconds two = clock_of([&] { (void)nested_dissection(std::move(copy), 2); });
  AnalyseTimes times;
  AnalyseOptions options;
  options.ordering = OrderingKind::kNested;
  (void)analyse_pattern(grid, options, &times);
  const Seconds rest = times.total() - times.ordering;
  const Seconds alone = replay_tasks(record, 1);
  Json rows = Json::array();
  for (const std::int32_t w : workers) {
    const Seconds makespan = replay_tasks(record, w);
    rows.push_back({{"workers", w},
                    {"makespan_seconds", makespan},
                    {"speedup", alone / makespan},
                    {"analysis_speedup", (alone + rest) / (makespan + rest)}});
  }
  return {{"grid", name},
          {"tasks", record.size()},
          {"one_worker_seconds", one},
          {"two_workers_seconds", two},
          {"rest_seconds", rest},
          {"replays", rows}};
}

void print(const Json& grid) {
  fmt::print(
      "{}: {} tasks, {:.3f} s on one worker, {:.3f} s on two; the rest of the "
      "analysis {:.3f} s\n",
      grid["grid"].get<std::string>(), grid["tasks"].get<int>(),
      grid["one_worker_seconds"].get<double>(), grid["two_workers_seconds"].get<double>(),
      grid["rest_seconds"].get<double>());
  for (const Json& row : grid["replays"])
    fmt::print("  {:>3} workers {:>8.3f} s, speed-up {:>5.2f}, with the rest {:>5.2f}\n",
               row["workers"].get<int>(), row["makespan_seconds"].get<double>(),
               row["speedup"].get<double>(), row["analysis_speedup"].get<double>());
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
