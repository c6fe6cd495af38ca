// What plan and info answer, as text and as JSON.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>

#include "cli/json_answer.h"
#include "cli/program.h"

namespace espalier::cli_test {
namespace TEST_SOURCE {

using nlohmann::json;

// The tree of espalier/model/task_tree.h: 7 bytes suffice, in the order b, a, root.
constexpr const char* kTree =
    "10 -1 1 1 1  # root\n"
    "20 10 2 0 1\n"
    "30 10 3 4 1\n";

TEST(Plan, LeastBoundOfTheDrawnTreeIs7) {
  const TemporaryFile tree(kTree);
  const Outcome outcome = run({"plan", tree.path(), "--workers", "2", "--json"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  const json report = object(outcome);
  EXPECT_EQ(report["feasible"], true);
  EXPECT_EQ(report["tasks"], 3);
  EXPECT_EQ(report["workers"], 2);
  EXPECT_EQ(report["least_bytes"], 7);
  EXPECT_EQ(report["postorder_bytes"], 7);
  EXPECT_EQ(report["bound_bytes"], 7);
  EXPECT_EQ(report["peak_bytes"], 7);
  EXPECT_EQ(report["makespan_flops"], 3.0);  // 7 + 2 bytes for both leaves do not fit
}

TEST(Plan, WithoutABoundTheLeavesRunTogether) {
  const TemporaryFile tree(kTree);
  const Outcome outcome =
      run({"plan", tree.path(), "--workers", "2", "--memory", "none", "--json"});
  const json report = object(outcome);
  EXPECT_EQ(report["peak_bytes"], 9);
  EXPECT_EQ(report["makespan_flops"], 2.0);
  EXPECT_EQ(report["makespan_ratio"], 1.0);
}

TEST(Plan, AFactorMultipliesTheLeastBound) {
  const TemporaryFile tree(kTree);
  const Outcome outcome = run({"plan", tree.path(), "--memory", "x1.5", "--json"});
  EXPECT_EQ(object(outcome)["bound_bytes"], 11);  // 10.5 rounded up
}

TEST(Plan, TooSmallABoundIsTheAnswerNo) {
  const TemporaryFile tree(kTree);
  const Outcome text = run({"plan", tree.path(), "--memory", "6"});
  EXPECT_EQ(text.status, 1);
  EXPECT_EQ(text.out, "");
  EXPECT_NE(text.err.find("7 bytes"), std::string::npos) << text.err;

  const Outcome with_json = run({"plan", tree.path(), "--memory", "6", "--json"});
  EXPECT_EQ(with_json.status, 1);
  const json report = object(with_json);
  EXPECT_EQ(report["feasible"], false);
  EXPECT_EQ(report["reason"], "impossible");
  EXPECT_EQ(report["bound_bytes"], 6);
  EXPECT_EQ(report["least_bytes"], 7);
  EXPECT_EQ(report["lower_bound_bytes"], 7);
}

TEST(Plan, TextNamesTheFigures) {
  const TemporaryFile tree(kTree);
  const Outcome outcome = run({"plan", tree.path(), "--workers", "2"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.err, "");
  for (const char* word : {"tasks", "least that suffices", "best postorder", "bound",
                           "makespan", "lower bound"}) {
    EXPECT_NE(outcome.out.find(word), std::string::npos) << word << '\n' << outcome.out;
  }
}

TEST(Plan, ScheduleListsEachTaskOnceByItsId) {
  const TemporaryFile tree(kTree);
  const TemporaryFile schedule("");
  const Outcome outcome =
      run({"plan", tree.path(), "--workers", "2", "--schedule", schedule.path()});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  std::istringstream lines(schedule.text());
  std::string line;
  std::vector<std::string> ids;
  while (std::getline(lines, line)) {
    if (!line.starts_with('#')) ids.push_back(line.substr(0, line.find(' ')));
  }
  EXPECT_EQ(ids, (std::vector<std::string>{"30", "20", "10"}));
}

TEST(Plan, TheParallelOrderIsTheDefaultAndNeverSlowerThanLiu) {
  std::string text;  // a binary tree of 127 tasks, sizes and work by number
  for (int i = 1; i < 128; ++i) {
    text += std::to_string(i) + ' ' + (i == 1 ? "-1" : std::to_string(i / 2)) + ' ' +
            std::to_string(1 + i * 7 % 13) + ' ' + std::to_string(i * 5 % 11) + ' ' +
            std::to_string(1 + i * 3 % 17) + '\n';
  }
  const TemporaryFile tree(text);
  const auto with = [&tree](std::vector<std::string> more) {
    more.insert(more.begin(),
                {"plan", tree.path(), "--workers", "8", "--memory", "x1.25", "--json"});
    return object(run(more));
  };
  const json found = with({}), liu = with({"--order", "liu"});
  EXPECT_EQ(found["order"], "parallel");
  EXPECT_LE(found["makespan_flops"], liu["makespan_flops"]);
  EXPECT_LE(found["witness_bytes"], found["bound_bytes"]);
  EXPECT_EQ(liu["witness_bytes"], liu["least_bytes"]);
  EXPECT_EQ(found["least_bytes"], liu["least_bytes"]);
}

TEST(Plan, RateGivesTimesInSeconds) {
  const TemporaryFile tree(kTree);
  const json plain = object(run({"plan", tree.path(), "--json"}));
  EXPECT_FALSE(plain.contains("makespan_seconds"));
  const json timed = object(run({"plan", tree.path(), "--rate", "2", "--json"}));
  EXPECT_EQ(timed["makespan_seconds"], timed["makespan_flops"].get<double>() / 2);
  EXPECT_EQ(timed["lower_bound_seconds"], timed["lower_bound_flops"].get<double>() / 2);
  EXPECT_EQ(run({"plan", tree.path(), "--rate", "0"}).status, 2);
}

// What one run of the program says of a text that comes through a pipe.
json report_through_a_pipe(const std::string& text) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/pipe";
  EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(path) << text; });
  const Outcome outcome = run({"plan", path, "--json"});
  writer.join();
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  return json::parse(outcome.out);
}

TEST(Plan, ReadsTreesAndMatricesThroughAPipe) {
  std::string tree;
  for (int i = 0; i < 3000; ++i) tree += fmt::format("{} -1 1 1 1\n", i);
  EXPECT_EQ(report_through_a_pipe(tree)["tasks"], 3000);
  EXPECT_EQ(report_through_a_pipe("%%MatrixMarket matrix coordinate real symmetric\n"
                                  "2 2 2\n1 1 4\n2 2 4\n")["size"],
            2);
}

TEST(Plan, ReadsCompressedTrees) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/a.tree";
  std::ofstream(path) << "7 -1 1 2 3\n";
  ASSERT_EQ(std::system(("gzip " + path).c_str()), 0);
  const Outcome outcome = run({"plan", path + ".gz", "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(json::parse(outcome.out)["least_bytes"], 3);
  const std::string whole = text_of(path + ".gz");
  std::ofstream(path + ".gz") << whole.substr(0, whole.size() - 9);
  const Outcome cut = run({"plan", path + ".gz"});
  EXPECT_EQ(cut.status, 2);
  EXPECT_NE(cut.err.find("cut off"), std::string::npos) << cut.err;
}

TEST(Plan, PlansAGrid) {
  const Outcome outcome = run({"plan", "--grid", "12x12", "--workers", "4", "--json"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const json report = object(outcome);
  EXPECT_GT(report["tasks"], 0);
  EXPECT_LE(report["peak_bytes"], report["bound_bytes"]);
  EXPECT_GE(report["makespan_ratio"], 1.0);
}

TEST(Info, JsonHasTheMachineAndTheRuntime) {
  const Outcome outcome = run({"info", "--json"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const json report = object(outcome);
  EXPECT_GE(report["cores"], 1);
  EXPECT_GT(report["memory_bytes"], 0);
  for (const char* key : {"version", "starpu", "orderings", "blas"}) {
    EXPECT_TRUE(report.contains(key)) << key;
  }
  EXPECT_NE(report["orderings"].get<std::string>().find("auto"), std::string::npos);
  if (report["starpu"] == true) {
    EXPECT_EQ(report["kinds"], "spd, symmetric, general");
    EXPECT_EQ(report["precisions"], "double, single");
    EXPECT_NE(report["load"].get<std::string>().find("STARPU_SCHED=espalier"),
              std::string::npos);
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::cli_test
