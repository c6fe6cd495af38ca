// espalier adjoint on two processes: the second lends its memory for states.

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <tuple>
#include <vector>

#include "cli/arguments.h"
#include "cli/cluster_processes.h"
#include "cli/program.h"
#include "cli/solving.h"

namespace espalier::cli_test {
namespace TEST_SOURCE {

using nlohmann::json;

const Arguments kWater = {"adjoint", "shallow-water", "--grid",    "160x120", "--steps",
                          "24",      "--json",        "--workers", "1"};
const Arguments kIce = {"adjoint", "ice-sheet", "--grid",    "16x12", "--steps",
                        "12",      "--json",    "--workers", "1"};

json answer(const Outcome& outcome) {
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const json object = cli_test::object(outcome);
  EXPECT_EQ(object["executed_steps"], object["planned_steps"]);
  EXPECT_EQ(object["backward_steps"], object["steps"]);
  if (!object.contains("bound_bytes")) return object;
  EXPECT_TRUE(object.value("bound_kept", false));
  for (const auto& peak : object["process_peak_rss_bytes"])
    EXPECT_LE(peak.get<std::int64_t>(), object["bound_bytes"].get<std::int64_t>());
  return object;
}

TEST(AdjointOnCluster, GradientIsThatOfOneProcessInsideEveryBound) {
  const json alone = answer(run(on(1, kWater)));
  std::int64_t most_sent = 0;
  for (const Arguments& more : std::vector<Arguments>{
           {"--memory", "min"},
           {"--memory", "min", "--remote-slots", "2"},
           {"--memory", "x1.1", "--remote-write", "0.01", "--remote-read", "0.01"},
           {"--memory", "min", "--remote-slots", "0"},
           {"--slots", "0", "--remote-slots", "3"},
           {"--slots", "2", "--remote-slots", "4", "--bands", "5"}}) {
    SCOPED_TRACE(testing::PrintToString(more));
    const json lent = answer(run(on(2, kWater, more)));
    EXPECT_EQ(lent["gradient_checksum"], alone["gradient_checksum"]);
    EXPECT_EQ(lent["process_peak_rss_bytes"].size(), 2U);
    most_sent = std::max<std::int64_t>(most_sent, lent["remote_stores"]);
    if (more.back() == "3") {
      EXPECT_EQ(lent["slots"], 0);
      EXPECT_EQ(lent["remote_slots"], 3);
      EXPECT_GT(lent["remote_restores"], lent["remote_stores"]);
    }
  }
  EXPECT_GT(most_sent, 5);
}

// What the second process lends saves steps inside one bound.
TEST(AdjointOnCluster, LentSlotsSaveSteps) {
  const json few = answer(run(on(2, kIce, {"--slots", "1", "--remote-slots", "0"})));
  const json many = answer(run(on(2, kIce, {"--slots", "1", "--remote-slots", "4"})));
  EXPECT_EQ(few["gradient_checksum"], many["gradient_checksum"]);
  EXPECT_LT(many["executed_steps"], few["executed_steps"]);
}

// Whether the process has taken more memory than program and runtime do: it lends.
bool lends(int process) { return resident_kib(process) > 150'000; }

// Open MPI says that a process was killed, the program at most that it was ended for it.
TEST(AdjointOnCluster, AKilledProcessEndsTheJobWithOneMessage) {
  for (const int killed : {1, 0}) {
    int other = 0;
    const auto outcome = run_disturbed(
        on(2, {"adjoint", "shallow-water", "--grid", "512x512", "--steps", "100000",
               "--slots", "1", "--remote-slots", "24", "--workers", "1"}),
        [&](int mpirun) {
          other = process_of(mpirun, 1 - killed);
          const int process = process_of(mpirun, killed), lender = process_of(mpirun, 1);
          if (other == 0 || process == 0 || !lends(lender)) return false;
          return kill(process, SIGKILL) == 0;
        });
    ASSERT_TRUE(outcome.has_value());
    expect_ended_by_kill(*outcome, other);
    EXPECT_EQ(outcome->out, "");
  }
}

TEST(AdjointOnCluster, SaysOnceWhatIsWrong) {
  for (const auto& [processes, more, words] :
       std::vector<std::tuple<int, Arguments, std::string>>{
           {2, {"--memory", "4MiB"}, "4.0 MiB"},
           {2, {"--out-of-core", "/tmp"}, "--out-of-core: not on several processes"},
           {2, {"--out-of-core", "/nowhere"}, "--out-of-core: not on several processes"},
           {2, {"--steps", "0"}, "--steps: '0' is not"},
           {3, {}, "adjoint on 3 processes"},
           {1, {"--remote-slots", "3"}, "--remote-slots: needs a second process"}}) {
    SCOPED_TRACE(words);
    const Outcome outcome = run(on(processes, {"adjoint", "shallow-water"}, more));
    EXPECT_NE(outcome.status, 0);
    EXPECT_EQ(outcome.out, "");
    const std::size_t first = outcome.err.find(words);
    ASSERT_NE(first, std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.err.find(words, first + 1), std::string::npos) << outcome.err;
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::cli_test
