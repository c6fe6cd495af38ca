// espalier adjoint: gradients inside bounds.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include "cli/arguments.h"
#include "cli/json_answer.h"
#include "cli/program.h"
#include "cli/solving.h"

namespace espalier::cli_test {
namespace TEST_SOURCE {

using nlohmann::json;

// Some megabytes of states beside the megabytes that StarPU takes.
const Arguments kWater = {"adjoint", "shallow-water", "--grid", "160x120", "--steps",
                          "24",      "--json"};
const Arguments kIce = {"adjoint", "ice-sheet", "--grid", "16x12",
                        "--steps", "12",        "--json"};

json answer(const Outcome& outcome) {
  const json object = answer_of(outcome);
  EXPECT_EQ(object["executed_steps"], object["planned_steps"]);
  EXPECT_EQ(object["backward_steps"], object["steps"]);
  if (object.contains("bound_bytes")) {
    EXPECT_LE(object["peak_rss_bytes"], object["bound_bytes"]);
  }
  return object;
}

TEST(Adjoint, GradientIsThatOfStoreAllInsideEveryBound) {
  const TemporaryDirectory directory;
  const json all = answer(run(kWater));
  EXPECT_EQ(all["executed_steps"], 23);
  const std::string out_of_core = directory.path();
  std::int64_t fewest_slots = 1000, most_slots = 0;
  for (const Arguments& more : std::vector<Arguments>{
           {"--memory", "min"},
           {"--memory", "x1.1"},
           {"--memory", "x1.3", "--workers", "1", "--bands", "5"},
           {"--memory", "x1.5", "--bands", "1"},
           {"--memory", "min", "--out-of-core", out_of_core},
           {"--memory", "x1.1", "--out-of-core", out_of_core},
           {"--memory", "x1.2", "--out-of-core", out_of_core, "--disk-slots", "4"},
           {"--slots", "3"},
           {"--slots", "0", "--out-of-core", out_of_core},
           {"--slots", "2", "--out-of-core", out_of_core, "--disk-write", "3"}}) {
    SCOPED_TRACE(testing::PrintToString(more));
    const json part = answer(run(with(kWater, more)));
    EXPECT_EQ(part["gradient_checksum"], all["gradient_checksum"]);
    EXPECT_EQ(part["misfit"], all["misfit"]);
    fewest_slots = std::min<std::int64_t>(fewest_slots, part["slots"]);
    most_slots = std::max<std::int64_t>(most_slots, part["slots"]);
    EXPECT_TRUE(directory.names().empty());
  }
  EXPECT_EQ(fewest_slots, 0);
  EXPECT_GT(most_slots, 5);
}

TEST(Adjoint, IceSheetPlansForWhatEachStepCosts) {
  const json all = answer(run(kIce));
  for (const Arguments& more :
       std::vector<Arguments>{{"--slots", "1"}, {"--slots", "3"}, {"--memory", "min"}}) {
    SCOPED_TRACE(testing::PrintToString(more));
    const json part = answer(run(with(kIce, more)));
    EXPECT_EQ(part["gradient_checksum"], all["gradient_checksum"]);
    EXPECT_EQ(part["sounding_steps"], 12);
  }
}

TEST(Adjoint, ABoundBelowTheLeastIsRefusedWithWhatWouldDo) {
  const Outcome outcome = run(with(kWater, {"--memory", "4MiB"}));
  EXPECT_EQ(outcome.status, 1);
  const json refused = object(outcome);
  EXPECT_EQ(refused["feasible"], false);
  EXPECT_GT(refused["least_bytes"], refused["out_of_core_least_bytes"]);
  expect_says(outcome, "with --out-of-core DIR");
  EXPECT_EQ(messages(outcome), 1) << outcome.err;
  // What was printed as the least does.
  const std::string least = refused["least_bytes"].dump() + "B";
  const json done = answer(run(with(kWater, {"--memory", least})));
  EXPECT_GE(done["slots"], 1);
}

// Tables of two rows take some 100 bytes a step, which are more than is left here.
TEST(Adjoint, TheLeastOutOfCoreLeavesTablesOut) {
  const TemporaryDirectory directory;
  const Arguments many = {"adjoint", "shallow-water", "--grid",
                          "3x3",     "--json",        "--steps"};
  const json done = answer(
      run(with(many, {"30000", "--memory", "min", "--out-of-core", directory.path()})));
  EXPECT_EQ(done["bound_kept"], true);
  EXPECT_EQ(done["proved"], "best found");
}

TEST(Adjoint, AFullDiskIsFoundBeforeTheFirstStep) {
  const TemporaryDirectory directory;
  const Outcome outcome =
      run(with(kWater, {"--slots", "1", "--out-of-core", directory.path()}), 100000);
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.out, "");
  expect_says(outcome, "cannot reserve");
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_TRUE(directory.names().empty());
}

// Whether the process has the directory's unnamed file open: it is at work then.
bool works(int process) {
  std::error_code ignored;
  const std::filesystem::path files = "/proc/" + std::to_string(process) + "/fd";
  for (const auto& each : std::filesystem::directory_iterator(files, ignored)) {
    const std::string target = std::filesystem::read_symlink(each, ignored).string();
    if (target.ends_with("(deleted)") && target.find("espalier") != std::string::npos)
      return true;
  }
  return false;
}

void end_at_work(int signal, const std::string& words) {
  const TemporaryDirectory directory;
  const auto outcome = run_disturbed(
      {"adjoint", "shallow-water", "--grid", "64x64", "--steps", "100000", "--slots", "2",
       "--out-of-core", directory.path(), "--disk-slots", "5"},
      [signal](int process) { return works(process) && kill(process, signal) == 0; });
  ASSERT_TRUE(outcome.has_value()) << "it was over before it was seen to work";
  EXPECT_EQ(outcome->signal, signal) << outcome->err;
  EXPECT_EQ(outcome->out, "");
  EXPECT_NE(outcome->err.find(words), std::string::npos) << outcome->err;
  EXPECT_EQ(std::count(outcome->err.begin(), outcome->err.end(), '\n'), 1)
      << outcome->err;
  EXPECT_TRUE(directory.names().empty());
}

TEST(Adjoint, AnInterruptSaysHowFarItWasAndLeavesNothing) {
  end_at_work(SIGINT, "interrupted after");
}

TEST(Adjoint, TerminationSaysHowFarItWasAndLeavesNothing) {
  end_at_work(SIGTERM, "espalier: adjoint shallow-water: terminated ");
}

// Whether the process has workers of StarPU, which would handle SIGINT if it could.
bool has_workers(int process) {
  std::error_code ignored;
  const std::filesystem::path tasks = "/proc/" + std::to_string(process) + "/task";
  for (const auto& each : std::filesystem::directory_iterator(tasks, ignored)) {
    std::string name;
    if (std::ifstream(each.path() / "comm") >> name && name == "CPU") return true;
  }
  return false;
}

TEST(Signals, InterruptTheProgramWhileStarpuRuns) {
  const auto outcome = run_disturbed({"solve", "--grid", "45x45x45"}, [](int process) {
    return has_workers(process) && kill(process, SIGINT) == 0;
  });
  ASSERT_TRUE(outcome.has_value()) << "it was over before it was seen to work";
  EXPECT_EQ(outcome->signal, SIGINT) << outcome->err;
  EXPECT_EQ(outcome->err, "");
}

// Status 2, nothing on standard output, one line that holds all of `words`.
void expect_bad_input(const Arguments& arguments, const std::vector<std::string>& words) {
  const Outcome outcome = run(arguments);
  EXPECT_EQ(outcome.status, 2) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(messages(outcome), 1) << outcome.err;
  for (const std::string& each : words) expect_says(outcome, each);
}

TEST(Adjoint, RefusesWhatCannotBe) {
  const Arguments water = {"adjoint", "shallow-water"};
  expect_bad_input(with(water, {"--steps", "0"}), {"--steps: '0'"});
  expect_bad_input(with(water, {"--grid", "2x80"}), {"--grid 2x80"});
  expect_bad_input(with(water, {"--slots", "0"}), {"--slots 0", "--out-of-core"});
  expect_bad_input(with(water, {"--disk-slots", "3"}),
                   {"--disk-slots: needs --out-of-core DIR"});
  expect_bad_input(with(water, {"--disk-write", "2", "--disk-read=2"}),
                   {"--disk-write, --disk-read: needs --out-of-core DIR"});
  const Arguments both = {"--disk-write", "2", "--remote-read", "2", "--steps", "2"};
  expect_bad_input(with(water, both), {"--disk-write", "shallow-water --steps 2"});
  expect_bad_input(with(water, {"--remote-read", "2"}), {"needs a second process"});
  for (const char* const wrong : {"-1", "nan", "2000000"})
    expect_bad_input(
        with(water, {"--out-of-core", "/tmp", "--disk-read", wrong}),
        {fmt::format("--disk-read: '{}' is not a number from 0 to 1000000", wrong)});
  expect_bad_input(with(water, {"--out-of-core", "/nowhere"}),
                   {"--out-of-core /nowhere"});
  expect_bad_input(with(water, {"--memory", "lots"}), {"--memory"});
  expect_bad_input(with(water, {"--grid", "30x30", "--bands", "31"}),
                   {"--bands 31: from 1 to the 30 rows"});
  expect_bad_input({"adjoint"}, {"ubcommand"});
}

}  // namespace TEST_SOURCE
}  // namespace espalier::cli_test
