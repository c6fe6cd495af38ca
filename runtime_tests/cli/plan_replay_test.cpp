// espalier solve --trace, and espalier plan --replay of what it wrote.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "cli/program.h"
#include "cli/solving.h"

namespace espalier::cli_test {
namespace TEST_SOURCE {

using nlohmann::json;

json file_json(const std::string& path) {
  std::ifstream in(path);
  return json::parse(in);
}

double work_of(const json& record) {
  double work = 0;
  for (const json& task : record["tasks"]) work += task["seconds"].get<double>();
  return work;
}

Outcome solve_alone(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "solve");
  arguments.insert(arguments.end(), {"--workers", "1", "--json"});
  return run(arguments);
}

void expect_plan_refused(const std::vector<std::string>& arguments,
                         const std::vector<std::string>& words) {
  const Outcome outcome = run(arguments);
  EXPECT_EQ(outcome.status, 2) << outcome.err;
  for (const std::string& word : words) expect_says(outcome, word);
}

TEST(SolveTrace, HasEveryTaskOnceAfterWhatItWaitsFor) {
  const TemporaryDirectory directory;
  const std::string trace = directory.path() + "/run.json";
  for (const char* kind : {"spd", "symmetric", "general"}) {
    const Outcome outcome =
        solve_alone({"--grid", "16x16x16", "--kind", kind, "--trace", trace});
    expect_solved(outcome);
    const json record = file_json(trace);
    EXPECT_EQ(record["tasks"].size(), object(outcome)["tasks"]);
    EXPECT_EQ(record["nodes"].size(), object(outcome)["nodes"]);
    std::set<std::string> seen;
    double end = 0;
    std::int64_t memory = 0, peak = 0;
    for (std::size_t i = 0; i < record["tasks"].size(); ++i) {
      const json& task = record["tasks"][i];
      std::string key;
      for (const char* part : {"node", "kind", "column", "row", "source"})
        key += task.value(part, json()).dump() + " ";
      EXPECT_TRUE(seen.insert(key).second) << key;
      EXPECT_GE(task["start"], end) << "one worker runs one task after the other";
      end = task["start"].get<double>() + task["seconds"].get<double>();
      for (const json& before : task["after"]) EXPECT_LT(before, i);
      peak = std::max(peak, memory + task["taken_bytes"].get<std::int64_t>());
      memory += task["kept_bytes"].get<std::int64_t>();
    }
    EXPECT_EQ(peak, object(outcome)["peak_bytes"]) << kind;
  }
}

// The tasks of one factorisation, with times of several.
TEST(SolveTrace, OfRepeatedFactorisationsHasEveryTaskOnce) {
  const TemporaryDirectory directory;
  const std::string trace = directory.path() + "/run.json";
  const Outcome outcome =
      solve_alone({"--grid", "16x16x16", "--repeat", "4", "--trace", trace});
  expect_solved(outcome);
  const json record = file_json(trace);
  EXPECT_EQ(record["tasks"].size(), object(outcome)["tasks"]);
  const double work = work_of(record);
  const Outcome replayed = run({"plan", "--replay", trace, "--workers", "1", "--json"});
  ASSERT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_GE(object(replayed)["replays"][0]["makespan_seconds"], work * (1 - 1e-9));
}

TEST(PlanReplay, RunsARecordOnOtherNumbersOfWorkers) {
  const TemporaryDirectory directory;
  const std::string trace = directory.path() + "/run.json";
  const Outcome solved =
      solve_alone({"--grid", "20x20x20", "--memory", "min", "--trace", trace});
  expect_solved(solved);
  const Outcome outcome =
      run({"plan", "--replay", trace, "--workers", "1,2,8", "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json report = object(outcome);
  ASSERT_EQ(report["replays"].size(), 3u);
  const json record = file_json(trace);
  const double work = work_of(record);
  for (const json& replay : report["replays"]) {
    const double makespan = replay["makespan_seconds"], workers = replay["workers"];
    EXPECT_GE(makespan, work / workers * (1 - 1e-9));
    EXPECT_LE(replay["speedup"], workers * (1 + 1e-9));
    EXPECT_GT(replay["peak_bytes"], 0);
    EXPECT_LE(replay["peak_bytes"], replay["booked_peak_bytes"]);
    EXPECT_LE(replay["booked_peak_bytes"], record["bound_bytes"]);
  }
  EXPECT_EQ(report["replays"][0]["speedup"], 1);
  EXPECT_EQ(report["replays"][0]["peak_bytes"], object(solved)["peak_bytes"]);

  // Bounds of its own, as plan has them, and the answer no.
  const Outcome wide = run({"plan", "--replay", trace, "--workers", "8", "--memory",
                            "min,x2,none", "--processor-time", "--json"});
  ASSERT_EQ(wide.status, 0) << wide.err;
  ASSERT_EQ(object(wide)["replays"].size(), 3u);
  EXPECT_TRUE(object(wide)["replays"][1]["bound_bytes"].is_number_integer());
  EXPECT_TRUE(object(wide)["replays"][2]["bound_bytes"].is_null());
  const Outcome refused = run({"plan", "--replay", trace, "--memory", "1KiB", "--json"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_EQ(object(refused)["feasible"], false);
}

// Of several bounds each has its answer.
TEST(PlanReplay, AnswersBoundsBesideOneThatIsTooSmall) {
  const TemporaryDirectory directory;
  const std::string trace = directory.path() + "/run.json";
  expect_solved(solve_alone({"--grid", "20x20x20", "--trace", trace}));
  const Outcome some = run(
      {"plan", "--replay", trace, "--workers", "1,2", "--memory", "1KiB,min", "--json"});
  ASSERT_EQ(some.status, 0) << some.err;
  const json rows = object(some)["replays"];
  ASSERT_EQ(rows.size(), 4u);
  for (const int i : {0, 1}) {
    EXPECT_EQ(rows[i]["feasible"], false);
    EXPECT_EQ(rows[i]["least_bytes"], object(some)["least_bytes"]);
    EXPECT_EQ(rows[i + 2]["feasible"], true);
    EXPECT_EQ(rows[i + 2]["workers"], i + 1);
  }
  EXPECT_GT(rows[3]["speedup"], 1);
  const Outcome table =
      run({"plan", "--replay", trace, "--workers", "2", "--memory", "1KiB,min"});
  EXPECT_NE(table.out.find("-  needs a larger bound"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("speed-up"), std::string::npos) << table.out;
}

// Whatever order of the tree and mapping the run had.
TEST(PlanReplay, RunsRecordsOfEveryOrder) {
  const TemporaryDirectory directory;
  const std::string trace = directory.path() + "/run.json";
  for (const char* order : {"liu", "postorder", "parallel", "heaviest-first"}) {
    expect_solved(solve_alone({"--grid", "12x12x12", "--memory", "min", "--order", order,
                               "--mapping", "proportional", "--trace", trace}));
    const Outcome outcome =
        run({"plan", "--replay", trace, "--workers", "2", "--memory", "min", "--json"});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    const json report = object(outcome);
    EXPECT_GE(report["replays"][0]["peak_bytes"], 0);
    EXPECT_LE(report["replays"][0]["peak_bytes"], report["least_bytes"]) << order;
  }
}

TEST(PlanReplay, RefusesWhatIsNoRecord) {
  const TemporaryFile words("words");
  expect_plan_refused({"plan", "--replay", words.path()},
                      {words.path(), ":1: syntax error"});
  const TemporaryFile other(R"({"format": "espalier run", "version": 9})");
  expect_plan_refused({"plan", "--replay", other.path()}, {other.path(), "version: 9"});
  const TemporaryFile order(
      R"({"format": "espalier run", "version": 1, "input": "", "operation": "spd",
          "order": "up", "mapping": "memory-aware", "workers": 1, "seconds": 0,
          "overhead_seconds": 0, "bound_bytes": null, "nodes": [], "tasks": []})");
  expect_plan_refused({"plan", "--replay", order.path()},
                      {order.path(), "order: \"up\""});
  expect_plan_refused({"plan", "--replay", order.path(), "--grid", "3x3"}, {"--replay"});
  expect_plan_refused({"plan", "--grid", "3x3", "--processor-time"}, {"--replay"});
}

TEST(SolveTrace, IsRefusedWhereWhatTasksWaitForIsNotKnown) {
  expect_refused({"--grid", "5x5", "--memory", "min", "--out-of-core", "/tmp", "--trace",
                  "run.json"},
                 {"--trace", "--out-of-core"});
  expect_refused({"--grid", "5x5", "--trace", "/no/such/directory/run.json"},
                 {"--trace", "/no/such/directory"});
}

}  // namespace TEST_SOURCE
}  // namespace espalier::cli_test
