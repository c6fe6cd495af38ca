// Help, bad usage and bad input of every subcommand.

#include <gtest/gtest.h>

#include <algorithm>

#include "cli/program.h"

namespace espalier::cli_test {
namespace TEST_SOURCE {

using ::testing::TestWithParam;
using ::testing::Values;

// Status 2, nothing on standard output, one line on standard error that holds `word`.
void expect_refused(const std::vector<std::string>& arguments, const std::string& word) {
  const Outcome outcome = run(arguments);
  EXPECT_EQ(outcome.status, 2) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find(word), std::string::npos) << outcome.err;
  EXPECT_EQ(messages(outcome), 1) << outcome.err;
}

class EverySubcommand : public TestWithParam<const char*> {};

TEST_P(EverySubcommand, HasHelp) {
  const Outcome outcome = run({GetParam(), "--help"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_NE(outcome.out.find(GetParam()), std::string::npos);
  EXPECT_EQ(outcome.err, "");
}

INSTANTIATE_TEST_SUITE_P(Cli, EverySubcommand,
                         Values("solve", "plan", "order", "checkpoint", "adjoint",
                                "info"));

TEST(Usage, HelpNamesTheSubcommands) {
  const Outcome outcome = run({"--help"});
  EXPECT_EQ(outcome.status, 0);
  for (const char* name : {"solve", "plan", "order", "checkpoint", "adjoint", "info"}) {
    EXPECT_NE(outcome.out.find(name), std::string::npos) << name;
  }
}

TEST(Usage, VersionIsOneLine) {
  const Outcome outcome = run({"--version"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.out.substr(0, 9), "espalier ");
  EXPECT_EQ(outcome.out.find('\n'), outcome.out.size() - 1);
}

TEST(Usage, HelpThatCannotBeWrittenIsAFailure) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--help"}, {"plan", "--help"}, {"--version"}}) {
    EXPECT_EQ(run(arguments).status, 0);
    EXPECT_EQ(run(arguments, 0).status, 3) << arguments.front();
  }
}

TEST(Usage, ASubcommandIsRequired) { expect_refused({}, "subcommand"); }

TEST(Usage, UnknownSubcommandIsRefused) { expect_refused({"prune"}, "prune"); }

TEST(Usage, UnknownOptionIsRefused) {
  expect_refused({"plan", "--bogus"}, "--bogus");
  expect_refused({"info", "--bogus"}, "--bogus");
}

TEST(Usage, BadOptionValuesAreNamed) {
  expect_refused({"plan", "--grid", "2x2", "--order", "random"}, "random");
  expect_refused({"plan", "--grid", "2x2", "--mapping", "round"}, "round");
  expect_refused({"plan", "--grid", "2x2", "--memory", "8 potatoes"}, "8 potatoes");
  expect_refused({"plan", "--grid", "2x2", "--memory", "x0"}, "x0");
  expect_refused({"plan", "--grid", "2x2", "--memory", "xinf"}, "xinf");
  expect_refused({"plan", "--grid", "2x0"}, "2x0");
}

TEST(Usage, ZeroWorkersAreRefused) {
  expect_refused({"plan", "--grid", "2x2", "--workers", "0"}, "--workers");
  expect_refused({"plan", "--grid", "2x2", "--workers", "-3"}, "--workers");
  expect_refused({"plan", "--grid", "2x2", "--workers", "two"}, "--workers");
  expect_refused({"plan", "--grid", "2x2", "--workers", "4294967297"}, "--workers");
}

// 0 would be the value of a number without digits.
TEST(Usage, AnEmptyValueIsCalledSo) {
  expect_refused({"plan", "--grid", "2x2", "--workers", ""}, "--workers: an empty value");
  expect_refused({"plan", "--grid", "2x2", "--memory", ""}, "--memory: an empty value");
  expect_refused({"checkpoint", "--length", "", "--slots", "3"},
                 "--length: an empty value");
}

// The value of "--schedule=" is not the word behind it.
TEST(Usage, NothingBehindAnEqualsSignIsAnEmptyValue) {
  const TemporaryFile tree("1 -1 4 0 1\n");
  expect_refused({"plan", tree.path(), "--schedule=", "--json"},
                 "--schedule: an empty value");
  expect_refused({"plan", "--memory=", "8MiB", "--grid=2x2"}, "--memory: an empty value");
}

TEST(Usage, WholeNumbersAreNamedWithTheirRange) {
  const std::string length = "is not a whole number from 1 to 4611686018427387904";
  for (const char* wrong : {"0", "1.5", "1e18", "two", "0x10", "4611686018427387905"})
    expect_refused({"checkpoint", "--length", wrong, "--slots", "3"},
                   std::string("--length: '") + wrong + "' " + length);
  // 2^63 is not read as 2^63 - 1.
  expect_refused({"checkpoint", "--length", "5", "--slots", "9223372036854775808"},
                 "'9223372036854775808' is not a whole number from 0 to");
  expect_refused({"layout", "none.csv", "--steps", "1.5"},
                 "--steps: '1.5' is not a whole");
  expect_refused({"order", "none.json", "--workers", "many"}, "--workers: 'many'");
  expect_refused({"solve", "--grid", "2x2", "--repeat", "1.5"}, "from 1 to 1000000");
}

// CLI11 reads 010 as eight.
TEST(Usage, WholeNumbersAreDecimal) {
  const Outcome outcome = run({"checkpoint", "--length", "010", "--slots", "3"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("10 steps"), std::string::npos) << outcome.out;
}

TEST(Usage, NumbersAreNamedWithTheirRange) {
  expect_refused({"solve", "--grid", "2x2", "--low-rank", "small"},
                 "--low-rank: 'small' is not a number from 0 on and below 1");
  expect_refused({"solve", "--grid", "2x2", "--pivot-threshold", "half"},
                 "--pivot-threshold: 'half' is not a number above 0 and up to 1");
}

TEST(Usage, AnUnknownModelOfAdjointIsNamed) {
  expect_refused({"adjoint", "lake"}, "lake");
  expect_refused({"adjoint"}, "shallow-water or ice-sheet");
}

TEST(Usage, HelpNamesTheValueAuto) {
  for (const char* name : {"solve", "plan", "order"})
    EXPECT_NE(run({name, "--help"}).out.find("xFACTOR|auto|none"), std::string::npos)
        << name;
}

TEST(Usage, PlanTakesOneInput) {
  expect_refused({"plan"}, "--grid");
  expect_refused({"plan", "a.tree", "--grid", "2x2"}, "--grid");
}

TEST(BadInput, MissingFileIsNamed) {
  expect_refused({"plan", "/no/such/file"}, "/no/such/file");
}

TEST(BadInput, ADirectoryIsNotATree) { expect_refused({"plan", "/"}, "/"); }

TEST(BadInput, MalformedTreeIsBlamedOnItsLine) {
  const TemporaryFile tree("0 -1 1 1 1\n1 0 2 -5 1\n");
  expect_refused({"plan", tree.path()}, tree.path() + ":2:");
}

TEST(BadInput, MalformedMatrixIsBlamedOnItsLine) {
  const TemporaryFile matrix(
      "%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n3 1 1.0\n");
  expect_refused({"plan", matrix.path()}, matrix.path() + ":3:");
}

TEST(BadInput, SizesBeyond64BitsAreRefused) {
  const TemporaryFile tree("0 -1 9223372036854775807 1 1\n");
  expect_refused({"plan", tree.path()}, tree.path());
}

TEST(BadInput, ScheduleThatCannotBeWrittenIsNamed) {
  expect_refused({"plan", "--grid", "2x2", "--schedule", "/no/such/place"},
                 "/no/such/place");
}

}  // namespace TEST_SOURCE
}  // namespace espalier::cli_test
