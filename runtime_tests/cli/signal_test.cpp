// A program that is interrupted or terminated while it orders a matrix ends by that
// signal, though METIS catches SIGTERM.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <string>

#include "cli/program.h"

namespace espalier::cli_test {
namespace {

// Whether the process has a handler for the signal: METIS has one of SIGTERM while it
// orders, and nothing else in the program does.
bool catches(int process, int signal) {
  std::ifstream status(fmt::format("/proc/{}/status", process));
  std::string key;
  while (status >> key) {
    if (key != "SigCgt:") continue;
    std::string mask;
    status >> mask;
    return (std::stoull(mask, nullptr, 16) >> (signal - 1) & 1) != 0;
  }
  return false;
}

void end_while_it_orders(int signal) {
  const Outcome info = run({"info", "--json"});
  if (info.out.find("metis") == std::string::npos) GTEST_SKIP() << "needs METIS";
  const TemporaryDirectory results;
  const auto outcome =
      run_disturbed({"plan", "--grid", "60x60x30", "--ordering", "metis", "--schedule",
                     results.path() + "/schedule"},
                    [signal](int process) {
                      return catches(process, SIGTERM) && kill(process, signal) == 0;
                    });
  ASSERT_TRUE(outcome.has_value()) << "it was over before it was seen to order";
  EXPECT_EQ(outcome->status, -1);
  EXPECT_EQ(outcome->signal, signal) << outcome->err;
  EXPECT_EQ(outcome->out, "");
  EXPECT_EQ(outcome->err, "");
  EXPECT_EQ(results.names(), std::vector<std::string>{});
}

TEST(Signals, InterruptTheProgramWhileItOrders) { end_while_it_orders(SIGINT); }

TEST(Signals, TerminateTheProgramWhileItOrders) {
  // Often: METIS's handler would be harmless most of the time.
  for (int round = 0; round < 20 && !testing::Test::HasFatalFailure(); ++round)
    end_while_it_orders(SIGTERM);
}

}  // namespace
}  // namespace espalier::cli_test
