// espalier checkpoint: its forms, what it writes and what it refuses.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace espalier::cli_test {
namespace TEST_SOURCE {

using nlohmann::json;

json answer(std::vector<std::string> arguments, int status = 0) {
  arguments.insert(arguments.begin(), "checkpoint");
  arguments.push_back("--json");
  const Outcome outcome = run(arguments);
  EXPECT_EQ(outcome.status, status) << outcome.err;
  return json::parse(outcome.out, nullptr, false);
}

constexpr const char* kChain =
    "# x xbar f b ftmp btmp\n"
    "1 2 1s 2s\n1 2 1s 2s\r\n\n1 1 1s 2s 0 0 # the last\n";

TEST(Checkpoint, OneLevelCountsAdvances) {
  const json report = answer({"--length", "1000000", "--slots", "20"});
  EXPECT_EQ(report["steps"], 1'000'000);
  EXPECT_EQ(report["advances"], 6'815'960);
  EXPECT_EQ(report["cost_seconds"], 6'815'960.0);
  EXPECT_EQ(report["lower_bound_seconds"], report["cost_seconds"]);
  EXPECT_EQ(report["proved"], true);
  ASSERT_EQ(report["levels"].size(), 1U);
  EXPECT_EQ(report["levels"][0]["slots"], 20);
  EXPECT_EQ(report["levels"][0]["reads"], 999'999);
  EXPECT_EQ(answer({"--length", "1000000000", "--slots", "50"})["advances"],
            7'699'325'912);
}

TEST(Checkpoint, LevelsTakeTimes) {
  const json report = answer({"--length", "6", "--levels", "ram:1,disk:9:w=1ms:r=500us",
                              "--step", "2ms", "--backward", "4ms"});
  double cost = 0.024 + 0.002 * report["advances"].get<double>();
  cost += 0.001 * report["levels"][1]["writes"].get<double>() +
          0.0005 * report["levels"][1]["reads"].get<double>();
  EXPECT_NEAR(report["cost_seconds"], cost, 1e-12);
  EXPECT_EQ(report["levels"][1]["name"], "disk");
  EXPECT_EQ(report["proved"], true);
  EXPECT_EQ(
      answer({"--length", "1", "--slots", "1", "--backward", "9ns"})["cost_seconds"],
      9e-9);
}

TEST(Checkpoint, OnlineNeedsADiskForAllPeriods) {
  const std::vector<std::string> question = {"--length", "30", "--online",
                                             "--step",   "1",  "--levels"};
  const auto with = [&](const std::string& levels) {
    std::vector<std::string> arguments = question;
    arguments.push_back(levels);
    return arguments;
  };
  const json no = answer(with("ram:3,disk:1:w=5:r=5"), 1);
  EXPECT_EQ(no["reason"], "none_found");
  EXPECT_EQ(no["slots"], 1);
  EXPECT_EQ(no["least_slots"], 3);
  answer(with("ram:3,disk:2:w=5:r=5"), 1);
  EXPECT_EQ(answer(with("ram:3,disk:3:w=5:r=5"))["levels"][1]["slots"], 3);
}

TEST(Checkpoint, OnlineBesideADiskNeedsStepsThatTakeTime) {
  const Outcome outcome = run(
      {"checkpoint", "--length", "5", "--online", "--levels", "a:1,b:9", "--step", "0s"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("steps that take time, all the same"), std::string::npos);
}

TEST(Checkpoint, OnlineHasTheOptimumAsItsBound) {
  const json report = answer({"--length", "900", "--slots", "3", "--online"});
  EXPECT_EQ(report["proved"], false);
  EXPECT_GT(report["cost_seconds"], report["lower_bound_seconds"]);
  EXPECT_LT(report["cost_seconds"].get<double>(),
            1.07 * report["lower_bound_seconds"].get<double>());
}

TEST(Checkpoint, StatesOfTheLastLevelReadOnce) {
  const std::vector<std::string> question = {"--length", "400", "--levels",
                                             "ram:2,disk:9:w=1s:r=1s"};
  std::vector<std::string> once = question;
  once.emplace_back("--read-once");
  const json best = answer(question), report = answer(once);
  EXPECT_EQ(report["levels"][1]["reads"], report["levels"][1]["writes"]);
  EXPECT_GT(best["levels"][1]["reads"], best["levels"][1]["writes"]);
  EXPECT_EQ(report["lower_bound_seconds"], best["cost_seconds"]);
  EXPECT_GT(report["cost_seconds"], best["cost_seconds"]);
  EXPECT_EQ(report["proof"],
            "optimal among schedules that read each state of the last level once");
}

TEST(Checkpoint, StepsOfUnequalCost) {
  // Beside x_0 the state x_2 is stored: the long step runs once, the first one twice.
  const TemporaryFile times("1s # the first\n\n  10s\n1\n1s\n");
  const json report = answer({"--step-times", times.path(), "--slots", "2"});
  EXPECT_EQ(report["steps"], 4);
  EXPECT_EQ(report["cost_seconds"], 13.0);
  EXPECT_EQ(report["proved"], true);
  EXPECT_EQ(answer({"--step-times", times.path(), "--slots", "9", "--backward",
                    "1s"})["cost_seconds"],
            16.0);
}

TEST(Checkpoint, ChainsWithSizes) {
  const TemporaryFile chain(kChain);
  const json least = answer({chain.path(), "--memory", "min"});
  EXPECT_EQ(least["bound_bytes"], least["least_bytes"]);
  EXPECT_LE(least["peak_bytes"], least["bound_bytes"]);
  const json curve = answer({chain.path(), "--memory", "curve"});
  EXPECT_EQ(curve["curve"][0]["bytes"], least["least_bytes"]);
  EXPECT_EQ(curve["curve"][0]["cost_seconds"], least["cost_seconds"]);
  EXPECT_EQ(curve["curve"].back()["cost_seconds"], 9.0);
  const json all = answer({chain.path(), "--memory", "1KiB"});
  EXPECT_EQ(all["cost_seconds"], 9.0);
  EXPECT_EQ(all["proved"], true);
  const json no = answer({chain.path(), "--memory", "1"}, 1);
  EXPECT_EQ(no["feasible"], false);
  EXPECT_EQ(no["least_bytes"], least["least_bytes"]);
}

TEST(Checkpoint, TooFewSlotsNamesTheLeast) {
  const Outcome outcome = run({"checkpoint", "--length", "9", "--slots", "0"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.err,
            "espalier: 0 slots are too few to reverse the chain; 1 suffices\n"
            "  espalier checkpoint --length 9 --slots 1\n");
  const json no = answer({"--length", "9", "--slots", "0"}, 1);
  EXPECT_EQ(no["reason"], "impossible");
  EXPECT_EQ(no["slots"], 0);
  EXPECT_EQ(no["least_slots"], 1);
  EXPECT_EQ(answer({"--length", "1", "--slots", "0"})["advances"], 0);
}

TEST(Checkpoint, WritesTheScheduleAndAPage) {
  const TemporaryDirectory directory;
  const std::string file = directory.path() + "/s.txt",
                    page = directory.path() + "/p.html";
  answer({"--length", "40", "--levels", "ram:2,disk:3:w=1s:r=1s", "--schedule", file,
          "--report", page});
  const std::string text = text_of(file);
  EXPECT_TRUE(text.starts_with(
      "# steps 40\n# level ram 2\n# level disk 3\n# action first last level slot\n"
      "Forward 0 "))
      << text;
  EXPECT_TRUE(text.ends_with("Reverse 0 1 -1 0\nEndReverse 0 0 -1 0\n"));
  EXPECT_NE(text_of(page).find("\"kind\":\"checkpoint\""), std::string::npos);
}

TEST(Checkpoint, AFullDiskLeavesNoScheduleBehind) {
  const TemporaryDirectory directory;
  const Outcome outcome = run({"checkpoint", "--length", "300000", "--slots", "9",
                               "--schedule", directory.path() + "/s.txt"},
                              100'000);
  EXPECT_NE(outcome.status, 0);
  EXPECT_NE(outcome.err.find("s.txt"), std::string::npos) << outcome.err;
  EXPECT_TRUE(directory.names().empty());
}

TEST(Checkpoint, AFullDiskLeavesAnOlderScheduleAsItIs) {
  const TemporaryDirectory directory;
  const std::string file = directory.path() + "/s.txt";
  std::ofstream(file) << "older";
  const Outcome outcome = run(
      {"checkpoint", "--length", "300000", "--slots", "9", "--schedule", file}, 100'000);
  EXPECT_NE(outcome.status, 0);
  std::string text;
  std::ifstream(file) >> text;
  EXPECT_EQ(text, "older");
}

TEST(Checkpoint, RefusesAPageOfTooManyStepsBeforeAnyWork) {
  const TemporaryDirectory directory;
  const std::string schedule = directory.path() + "/s.txt";
  const Outcome outcome =
      run({"checkpoint", "--length", "5000001", "--slots", "5000001", "--schedule",
           schedule, "--report", directory.path() + "/p.html"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("5000001 steps are too many to draw"), std::string::npos);
  EXPECT_FALSE(std::ifstream(schedule));
}

TEST(Checkpoint, RefusesBadUsage) {
  const TemporaryFile chain(kChain), empty("# nothing\n"), few("1 2 3s\n"),
      word("1s\nsoon\n"), small("# x\n1 2 1s 1s\n9 1 1s 1s\n1 1 1s 1s\n"),
      last("1 1 1s 1s\n1 2 1s 1s # the last\n\noutput 3\n"),
      large("1 1 1s 1s\n1 1 4611686018s 1s\n");
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{}, "a CHAIN or --length is needed"},
      {{"--length", "5"}, "either --slots or --levels"},
      {{"--length", "0", "--slots", "3"}, "'0' is not a whole number from 1 to"},
      {{"--length", "5", "--slots", "3", "--levels", "ram:1"}, "either --slots"},
      {{"--length", "5", "--slots", "3", "--read-once"}, "--read-once: needs --levels"},
      {{"--length", "5", "--levels", "a:1,b:1", "--read-once", "--online"}, "together"},
      {{"--length", "5", "--slots", "3", "--step-times", "f"}, "takes the place of"},
      {{"--step-times", empty.path()}, "--step-times needs either --slots or --levels"},
      {{"--step-times", empty.path(), "--slots", "1"}, "holds no step"},
      {{"--step-times", few.path(), "--slots", "1"}, ":1: 3 fields"},
      {{"--step-times", word.path(), "--slots", "1"}, ":2: 'soon' is not a time"},
      {{"--length", "5", "--levels", "ram"}, "'ram' is not a level"},
      {{"--length", "5", "--levels", "ram:x"}, "'x' is not a number of slots"},
      {{"--length", "5", "--levels", "ram:1:q=2"}, "'q=2' is neither"},
      {{"--length", "5", "--levels", "ram:1:w=1ms:w=2ms"}, "w= is given twice"},
      {{"--length", "5", "--levels", "ram:1:w=2x"}, "'2x' is not a time"},
      {{"--length", "5", "--levels", "a:1,a:2"}, "two levels 'a'"},
      {{"--length", "5", "--slots", "2", "--step", "-1ms"}, "'-1ms' is not a time"},
      {{"--length", "5", "--slots", "2", "--memory", "1GB"},
       "--memory: only for a CHAIN"},
      {{chain.path(), "--online", "--length", "5"},
       "--length, --online: a CHAIN has its own steps and costs\n"},
      {{chain.path(), "--memory", "much"}, "--memory: 'much' is not a size"},
      {{empty.path()}, "holds no stage"},
      {{few.path()}, ":1: 3 fields"},
      {{small.path()}, ":2: stage 0 saves 2 bytes, less than its output of 9"},
      {{last.path()}, ":2: stage 1 saves 2 bytes, less than its output of 3"},
      {{large.path()}, ": stage 1: 4611686019000000000 * 2 leaves the 64-bit range"},
      {{"/nonexistent/chain"}, "/nonexistent/chain"}};
  for (const auto& [arguments, message] : cases) {
    std::vector<std::string> all = arguments;
    all.insert(all.begin(), "checkpoint");
    const Outcome outcome = run(all);
    EXPECT_EQ(outcome.status, 2) << message;
    EXPECT_NE(outcome.err.find(message), std::string::npos)
        << message << ": " << outcome.err;
    EXPECT_EQ(messages(outcome), 1) << outcome.err;
  }
}

#ifdef ESPALIER_PYTHON
// The example that gives a schedule as the classes of another package.
TEST(Checkpoint, TheExampleReaderReplaysTheSchedule) {
  const TemporaryDirectory directory;
  const std::string file = directory.path() + "/s.txt";
  for (const char* levels : {"ram:3", "ram:2,disk:4:w=2s:r=1s"}) {
    const json report =
        answer({"--length", "60", "--levels", levels, "--schedule", file});
    const std::string command = fmt::format("{} {} {} > {}/out", ESPALIER_PYTHON,
                                            ESPALIER_EXAMPLE, file, directory.path());
    ASSERT_EQ(std::system(command.c_str()), 0) << levels;
    std::int64_t forwards = 0;
    std::ifstream(directory.path() + "/out") >> forwards;
    EXPECT_EQ(forwards, report["advances"]) << levels;
  }
}

// Of a schedule that no driver could carry out the line is named.
TEST(Checkpoint, TheExampleRefusesBrokenSchedules) {
  const std::string start = "# steps 3\n# level ram 1\nForward 0 2 0 0\n",
                    turn = "EndForward 2 2 -1 0\nReverse 2 3 -1 0\n",
                    rest =
                        "Copy 0 0 0 0\nForward 0 1 -1 0\nReverse 1 2 -1 0\n"
                        "Move 0 0 0 0\nReverse 0 1 -1 0\nEndReverse 0 0 -1 0\n";
  const TemporaryDirectory directory;
  const auto said = [&](const std::string& text) {
    const std::string file = directory.path() + "/s", out = directory.path() + "/out";
    std::ofstream(file) << text;
    const std::string command =
        fmt::format("{} {} {} > {} 2>&1", ESPALIER_PYTHON, ESPALIER_EXAMPLE, file, out);
    const bool done = std::system(command.c_str()) == 0;
    std::string line;
    std::ifstream in(out);
    std::getline(in, line);
    return done ? line : line.substr(std::min(line.size(), file.size()));
  };
  EXPECT_EQ(said(start + turn + rest), "3");
  EXPECT_EQ(said("# steps 3\n# level ram 0\nForward 0 2 0 0\n"),
            ":3: there is no slot 0 of level 0");
  EXPECT_EQ(said(start + "Forward 2 3 0 0\n"), ":4: slot 0 of level 0 holds x_0 still");
  EXPECT_EQ(said(start + turn + "Copy 1 1 0 0\n"),
            ":6: slot 0 of level 0 does not hold x_1");
  EXPECT_EQ(said(start + turn + "Copy 0 1 0 0\n"),
            ":6: one state has two numbers: 0 and 1");
  EXPECT_EQ(said(start + "Reverse 2 3 -1 0\n"),
            ":4: EndForward comes once, before the first Reverse");
  EXPECT_EQ(said(start + "Revers 2 3 -1 0\n"),
            ":4: expected an action, first, last, level and slot");
  EXPECT_EQ(said(start + turn), ":5: the schedule has no end");
  EXPECT_EQ(said("Forward 0 2 0 0\n"), ":1: there is no slot 0 of level 0");
}
#endif

}  // namespace TEST_SOURCE
}  // namespace espalier::cli_test
