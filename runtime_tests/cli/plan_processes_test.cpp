// What plan --processes answers.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/json_answer.h"
#include "cli/program.h"

namespace espalier::cli_test {
namespace TEST_SOURCE {

using nlohmann::json;

// Two leaves of 4 MiB under a root that leaves nothing.
constexpr const char* kTwoLeaves =
    "1 -1 0       0 1e6\n"
    "2  1 4194304 0 1e6\n"
    "3  1 4194304 0 1e6\n";

// Chains of tiny fronts end below what a process has, as they do in solve.
TEST(PlanProcesses, PlansTheTreeOfSoManyProcesses) {
  const auto tasks = [](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"plan", "--grid", "120x120",   "--ordering",
                                      "amd",  "--json", "--workers", "1"};
    words.insert(words.end(), more.begin(), more.end());
    return answer_of(run(words)).value("tasks", 0);
  };
  const int alone = tasks({});
  EXPECT_EQ(tasks({"--processes", "1"}), alone);
  EXPECT_GT(tasks({"--processes", "4"}), alone);
}

TEST(PlanProcesses, SaysWhatEachProcessNeeds) {
  const TemporaryFile tree(kTwoLeaves);
  const json plan = answer_of(run({"plan", tree.path(), "--processes", "2", "--workers",
                                   "1", "--memory-per-process", "none", "--json"}));
  EXPECT_EQ(plan["feasible"], true);
  EXPECT_EQ(plan["processes"], 2);
  EXPECT_EQ(plan["workers"], 1);
  EXPECT_EQ(plan["sequential_least_bytes"], 8388608);
  EXPECT_EQ(plan["predicted_peaks_bytes"].size(), 2);
  EXPECT_GE(plan["predicted_peak_bytes"], 4194304);
  EXPECT_GE(plan["least_bytes"], plan["lower_bound_bytes"]);
  EXPECT_GT(plan["volume_bytes"], 0);
  EXPECT_GT(plan["messages"], 0);
  EXPECT_GE(plan["makespan_seconds"], plan["lower_bound_seconds"]);
}

// 9.0e18 bytes in all fit in 64 bits, but not with the buffers of a task that is cut.
TEST(PlanProcesses, NamesFileAndTaskWhereSizesLeaveTheRange) {
  const TemporaryFile tree(
      "10 -1 4000000000000000000 0 1 0\n"
      "11 10 4000000000000000000 0 1 0\n"
      "12 10 1000000000000000000 0 1 0\n");
  const Outcome refused = run({"plan", tree.path(), "--processes", "3"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.err.find(tree.path() + ": task 10: "), std::string::npos)
      << refused.err;
  EXPECT_NE(refused.err.find("leaves the 64-bit range"), std::string::npos);
}

TEST(PlanProcesses, FitsInItsOwnLeastAndNotInLess) {
  const TemporaryFile tree(kTwoLeaves);
  const std::vector<std::string> ask = {"plan", tree.path(), "--processes", "2",
                                        "--memory-per-process"};
  const auto with = [&ask](const std::string& memory) {
    std::vector<std::string> arguments = ask;
    arguments.insert(arguments.end(), {memory, "--json"});
    return run(arguments);
  };
  const json plan = answer_of(with("min"));
  const auto least = plan["least_bytes"].get<std::int64_t>();
  EXPECT_EQ(plan["bound_bytes"], least);
  EXPECT_EQ(answer_of(with(std::to_string(least)))["bound_bytes"], least);
  const Outcome less = with(std::to_string(least - 1));
  EXPECT_EQ(less.status, 1);
  const json refused = json::parse(less.out, nullptr, false);
  EXPECT_EQ(refused["feasible"], false);
  EXPECT_EQ(refused["least_bytes"], least);
  EXPECT_NE(less.err.find("suffices"), std::string::npos) << less.err;
}

// A bound may be met by a mapping that the search for the least passes over.
TEST(PlanProcesses, NamesNoLeastAboveABoundThatIsMet) {
  const TemporaryFile tree("0 -1 3 4 1 0\n1 0 6 0 6 3\n2 1 9 0 8 2\n3 0 0 0 9 3\n");
  const json plan = answer_of(run({"plan", tree.path(), "--processes", "3", "--workers",
                                   "2", "--memory-per-process", "20", "--json"}));
  EXPECT_EQ(plan["bound_bytes"], 20);
  EXPECT_LE(plan["least_bytes"], 20);
}

TEST(PlanProcesses, PrintsTheMemoryScalabilityOfAGrid) {
  const json table =
      answer_of(run({"plan", "--grid", "12x12x12", "--processes", "1,2,4", "--json"}));
  const json rows = table["memory_scalability"];
  ASSERT_EQ(rows.size(), 3);
  EXPECT_EQ(rows[0]["least_ratio"], 1.0);
  EXPECT_EQ(rows[0]["least_bytes"], table["sequential_least_bytes"]);
  EXPECT_LE(rows[2]["least_bytes"], rows[1]["least_bytes"]);
  for (const json& row : rows) {
    EXPECT_GE(row["least_bytes"], row["lower_bound_bytes"]);
  }
  const Outcome text = run({"plan", "--grid", "12x12x12", "--processes", "1,2,4"});
  EXPECT_EQ(text.status, 0);
  EXPECT_NE(text.out.find("proportional"), std::string::npos);
}

TEST(PlanProcesses, WritesGroupsInWitnessOrder) {
  const TemporaryFile tree(kTwoLeaves);
  const TemporaryFile schedule("");
  (void)answer_of(run({"plan", tree.path(), "--processes", "2", "--schedule",
                       schedule.path(), "--memory-per-process", "none", "--json"}));
  const std::string text = schedule.text();
  EXPECT_EQ(text.find("# id first_process processes; witness order\n"), 0) << text;
  EXPECT_NE(text.find("\n1 0 2\n"), std::string::npos) << text;
}

TEST(PlanProcesses, RefusesWhatItCannotRead) {
  const TemporaryFile tree(kTwoLeaves);
  const auto status = [&tree](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"plan", tree.path()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = run(arguments);
    EXPECT_NE(outcome.err, "");
    return outcome.status;
  };
  for (const std::vector<std::string>& bad : std::vector<std::vector<std::string>>{
           {"--processes", "0"},
           {"--processes", "2,,4"},
           {"--processes", "x"},
           {"--memory-per-process", "1GiB"},
           {"--processes", "2", "--network", "2us"},
           {"--processes", "2", "--network", "2,10GB/s"},
           {"--processes", "2", "--network", "2us,0B/s"},
           {"--processes", "2", "--memory", "1GiB"},
           {"--processes", "2", "--mapping", "all-to-all"},
           {"--processes", "2,4", "--memory-per-process", "1GiB"},
           {"--processes", "2", "--compare"}}) {
    EXPECT_EQ(status(bad), 2) << bad.back();
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::cli_test
