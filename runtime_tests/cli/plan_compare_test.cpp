// What plan --compare answers: a table, JSON and a picture.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "cli/json_answer.h"
#include "cli/program.h"

namespace espalier::cli_test {
namespace TEST_SOURCE {

using nlohmann::json;

// Two subtrees of peak 10 and work 5 under a root of work 1.
constexpr const char* kTwoLeaves =
    "1 -1 1 0 1\n"
    "2  1 1 9 5\n"
    "3  1 1 9 5\n";

json comparison(const Outcome& outcome) {
  return answer_of(outcome).value("comparison", json::array());
}

const json& run_of(const json& entry, const std::string& strategy) {
  for (const json& run : entry.at("runs")) {
    if (run.at("strategy") == strategy) return run;
  }
  ADD_FAILURE() << "no " << strategy;
  return entry;
}

TEST(PlanCompare, AnswersAHandCheckedExample) {
  const TemporaryFile tree(kTwoLeaves);
  const json entries = comparison(run({"plan", tree.path(), "--compare", "--workers",
                                       "1,2", "--memory", "x1,20B", "--json"}));
  ASSERT_EQ(entries.size(), 4);
  const json& tight = entries[2];
  EXPECT_EQ(tight["workers"], 2);
  EXPECT_EQ(tight["memory"], "x1");
  EXPECT_EQ(tight["tasks"], "sequential");
  EXPECT_EQ(tight["bound_bytes"], 11);
  EXPECT_EQ(tight["critical_path_flops"], 6.0);
  const json booking = run_of(tight, "memory booking");
  EXPECT_EQ(booking["makespan_flops"], 11.0);
  EXPECT_EQ(booking["peak_bytes"], 11);
  EXPECT_EQ(booking["bound_kept"], true);
  const json unbounded = run_of(tight, "proportional");
  EXPECT_EQ(unbounded["makespan_flops"], 6.0);
  EXPECT_EQ(unbounded["peak_bytes"], 20);
  EXPECT_EQ(unbounded["bound_kept"], false);
  EXPECT_EQ(run_of(entries[3], "memory booking")["makespan_flops"], 6.0);
  EXPECT_EQ(run_of(entries[0], "memory booking")["makespan_flops"], 11.0);
}

TEST(PlanCompare, TheTableNamesEveryStrategyAndMarksWhatBreaksTheBound) {
  const TemporaryFile tree(kTwoLeaves);
  const Outcome outcome =
      run({"plan", tree.path(), "--compare", "--workers", "2", "--memory", "x1,x2"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  for (const char* text :
       {"all-to-all", "memory-aware  ", "memory-aware, groups", "memory-aware, needs",
        "activation", "memory booking", "proportional", "lower bound", "2 workers",
        "one worker a task"}) {
    EXPECT_NE(outcome.out.find(text), std::string::npos) << text << '\n' << outcome.out;
  }
  // The area bound is (2 x 5 x 10 + 3) / 11 = 9.364; without a bound the run takes 6.
  EXPECT_NE(outcome.out.find("0.641!"), std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.out.find("moldable"), std::string::npos);
}

TEST(PlanCompare, MoldableTasksAreComparedBesideSequentialOnes) {
  const TemporaryFile tree("1 -1 4 0 8\n");
  const json entries =
      comparison(run({"plan", tree.path(), "--compare", "--workers", "4", "--memory",
                      "min", "--task-workers", "2", "--json"}));
  ASSERT_EQ(entries.size(), 2);
  EXPECT_EQ(entries[1]["tasks"], "moldable");
  EXPECT_EQ(run_of(entries[0], "memory booking")["makespan_flops"], 8.0);
  EXPECT_EQ(run_of(entries[1], "memory booking")["makespan_flops"], 4.0);

  const json grid = comparison(
      run({"plan", "--grid", "24x24x24", "--compare", "--workers", "4,16", "--json"}));
  std::set<std::string> kinds;
  for (const json& entry : grid) kinds.insert(entry.at("tasks"));
  EXPECT_EQ(kinds, (std::set<std::string>{"moldable", "sequential"}));
  EXPECT_EQ(grid.size(), 2 * 2 * 5);
  for (const json& entry : grid) {
    for (const json& one : entry.at("runs")) {
      if (one.at("strategy") == "proportional" || one.at("feasible") == false) continue;
      EXPECT_EQ(one.at("bound_kept"), true) << one;
      EXPECT_GE(one.at("makespan_ratio"), 1 - 1e-12) << one;
    }
  }
}

TEST(PlanCompare, ABoundThatIsTooSmallIsMarkedAndAloneTheAnswerNo) {
  const TemporaryFile tree(kTwoLeaves);
  const json entries = comparison(run({"plan", tree.path(), "--compare", "--workers", "2",
                                       "--memory", "10B,11B", "--json"}));
  ASSERT_EQ(entries.size(), 2);
  for (const json& one : entries[0].at("runs")) EXPECT_EQ(one.at("feasible"), false);
  for (const json& one : entries[1].at("runs")) EXPECT_EQ(one.at("feasible"), true);
  const Outcome no = run({"plan", tree.path(), "--compare", "--memory", "9B,10B"});
  EXPECT_EQ(no.status, 1);
  EXPECT_EQ(no.out, "");
  EXPECT_NE(no.err.find("11 bytes"), std::string::npos) << no.err;
}

TEST(PlanCompare, DrawsAPanelForEachNumberOfWorkers) {
  const TemporaryFile tree(kTwoLeaves), picture("");
  const Outcome outcome = run({"plan", tree.path(), "--compare", "--workers", "2,3,4",
                               "--task-workers", "2", "--picture", picture.path()});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const std::string svg = picture.text();
  EXPECT_TRUE(svg.starts_with("<svg "));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  for (const char* text : {"2 workers, one worker a task", "4 workers, moldable tasks",
                           "memory booking", ">×1<", ">×3<"}) {
    EXPECT_NE(svg.find(text), std::string::npos) << text;
  }
  for (const char* number : {"nan", "inf"})
    EXPECT_EQ(svg.find(number), std::string::npos);
  const Outcome lost =
      run({"plan", tree.path(), "--compare", "--picture", "/no/such/dir"});
  EXPECT_EQ(lost.status, 2);
  EXPECT_NE(lost.err.find("/no/such/dir"), std::string::npos) << lost.err;
}

TEST(PlanCompare, AcceptsTreesWithoutSizesOrWork) {
  const TemporaryFile tree("1 -1 0 0 0\n2 1 0 0 0\n"), picture("");
  EXPECT_EQ(run({"plan", tree.path(), "--compare", "--picture", picture.path()}).status,
            0);
  EXPECT_EQ(picture.text().find("nan"), std::string::npos);
}

TEST(PlanCompare, RefusesWhatDoesNotGoTogether) {
  const TemporaryFile tree(kTwoLeaves);
  const auto refused = [&tree](std::vector<std::string> options, const char* word) {
    options.insert(options.begin(), {"plan", tree.path()});
    const Outcome outcome = run(options);
    EXPECT_EQ(outcome.status, 2) << word;
    EXPECT_NE(outcome.err.find(word), std::string::npos) << outcome.err;
  };
  refused({"--workers", "2,4"}, "--workers");
  refused({"--memory", "x1,x2"}, "--memory");
  refused({"--picture", "a.svg"}, "--compare");
  refused({"--compare", "--rate", "5"}, "--rate");
  refused({"--compare", "--mapping", "proportional"}, "--mapping");
  refused({"--compare", "--workers", "2,"}, "--workers");
  refused({"--compare", "--memory", "x1,,x2"}, "--memory");
  const Outcome grid = run({"plan", "--grid", "4x4", "--task-workers", "2"});
  EXPECT_EQ(grid.status, 2);
  EXPECT_NE(grid.err.find("--task-workers"), std::string::npos) << grid.err;
}

}  // namespace TEST_SOURCE
}  // namespace espalier::cli_test
