// A program that is interrupted or terminated while it orders a matrix ends by that
// signal, though METIS catches SIGTERM; one that writes a file leaves nothing of it.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include "cli/program.h"

namespace espalier::cli_test {
namespace TEST_SOURCE {

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
  for (int round = 0; round < 10 && !testing::Test::HasFatalFailure(); ++round)
    end_while_it_orders(SIGTERM);
}

// Whether the process has written a part of a file that lies in the folder.
bool writes_into(int process, const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code gone;
  for (const auto& open :
       fs::directory_iterator(fmt::format("/proc/{}/fd", process), gone)) {
    const fs::path file = fs::read_symlink(open.path(), gone);
    if (!file.string().starts_with(folder + "/")) continue;
    std::error_code none;
    if (fs::file_size(open.path(), none) > 0 && !none) return true;
  }
  return false;
}

class SignalsWhileWriting : public testing::TestWithParam<int> {};

TEST_P(SignalsWhileWriting, LeaveTheOlderFileAndNothingElse) {
  if (run({"info", "--json"}).out.find("\"starpu\": true") == std::string::npos)
    GTEST_SKIP() << "needs the solver";
  const TemporaryDirectory results;
  const std::string file = results.path() + "/factor";
  std::ofstream(file) << "older";
  const auto outcome = run_disturbed(
      {"solve", "--grid", "30x30x30", "--save", file}, [&results](int process) {
        return writes_into(process, results.path()) && kill(process, GetParam()) == 0;
      });
  ASSERT_TRUE(outcome.has_value()) << "it was over before it was seen to write";
  EXPECT_EQ(outcome->signal, GetParam()) << outcome->err;
  EXPECT_EQ(results.names(), std::vector<std::string>{"factor"});
  std::string text;
  std::ifstream(file) >> text;
  EXPECT_EQ(text, "older");
}

INSTANTIATE_TEST_SUITE_P(Signals, SignalsWhileWriting,
                         testing::Values(SIGTERM, SIGINT, SIGHUP, SIGKILL),
                         [](const auto& signal) {
                           return fmt::format("Signal{}", signal.param);
                         });

}  // namespace TEST_SOURCE
}  // namespace espalier::cli_test
