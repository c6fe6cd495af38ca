// That results take no place of inputs and of one another, of the commands that plan.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "cli/program.h"

namespace espalier::cli_test {
namespace TEST_SOURCE {

constexpr const char* kTree = "0 -1 1 1 1\n1 0 2 1 1\n";
constexpr const char* kBuffers = "id,lower,upper,size\na,0,1,3\nb,0,2,4\n";
constexpr const char* kGraph =
    R"({"tensors": [{"name": "x", "size": 4}],
        "operators": [{"name": "f", "outputs": ["x"]}]})";

void expect_refused(const std::vector<std::string>& arguments, const std::string& input,
                    const std::string& text, const std::string& words) {
  const Outcome outcome = run(arguments);
  EXPECT_EQ(outcome.status, 2) << outcome.err;
  EXPECT_NE(outcome.err.find(words), std::string::npos) << outcome.err;
  EXPECT_EQ(text_of(input), text);
}

TEST(ResultsApart, LeaveInputsAsTheyAre) {
  struct Case {
    std::string command, text, option, place;
  };
  for (const Case& each : {Case{"plan", kTree, "--schedule", "FILE"},
                           Case{"plan", kTree, "--report", "FILE"},
                           Case{"layout", kBuffers, "--out", "BUFFERS"},
                           Case{"order", kGraph, "--save-graph", "GRAPH"},
                           Case{"order", kGraph, "--offsets", "GRAPH"},
                           Case{"checkpoint", "1 2 3\n", "--schedule", "CHAIN"},
                           Case{"shard", "{}", "--solution", "INSTANCE"}}) {
    const TemporaryDirectory directory;
    const std::string input = directory.path() + "/graph.json";
    const std::string link = directory.path() + "/link";
    std::filesystem::create_symlink("graph.json", link);
    std::filesystem::rename(TemporaryFile(each.text).path(), input);
    for (const std::string& result : {input, directory.path() + "/./graph.json", link})
      expect_refused(
          {each.command, input, each.option, result}, input, each.text,
          each.option + " " + result + ": is the file of " + each.place + "\n");
  }
}

TEST(ResultsApart, LeaveInputsOfOptionsAsTheyAre) {
  const TemporaryFile times("1\n2\n3\n");
  expect_refused({"checkpoint", "--length", "3", "--slots", "1", "--step-times",
                  times.path(), "--schedule", times.path()},
                 times.path(), "1\n2\n3\n", "is the file of --step-times");
}

TEST(ResultsApart, TakeNoPlaceOfOneAnother) {
  const TemporaryFile tree(kTree);
  const TemporaryDirectory directory;
  const std::string result = directory.path() + "/result";
  const Outcome outcome =
      run({"plan", tree.path(), "--schedule", result, "--report", result});
  EXPECT_EQ(outcome.status, 2) << outcome.err;
  EXPECT_NE(outcome.err.find("is the file of --"), std::string::npos) << outcome.err;
  EXPECT_TRUE(directory.names().empty());
  // What is suggested passes, and devices may be named twice.
  EXPECT_NE(outcome.err.find("\n  espalier plan " + tree.path() + " --"),
            std::string::npos)
      << outcome.err;
  EXPECT_EQ(run({"plan", tree.path(), "--schedule", "/dev/null", "--report", "/dev/null"})
                .status,
            0);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::cli_test
