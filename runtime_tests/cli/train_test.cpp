// espalier train: steps inside bounds.

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "cli/program.h"
#include "cli/solving.h"

namespace espalier::cli_test {
namespace {

using Arguments = std::vector<std::string>;
using nlohmann::json;

Arguments with(Arguments arguments, const Arguments& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

const Arguments kPerceptron = {"train",   "--mlp", "64x256x128x10", "--batch", "64",
                               "--steps", "3",     "--threads",     "1",       "--json"};

json answer(const Outcome& outcome) {
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  const json object = cli_test::object(outcome);
  if (object["planned"] == true) {
    EXPECT_EQ(object["arena_peak_bytes"], object["planned_bytes"]);
  }
  if (object.contains("bound_bytes")) {
    EXPECT_LE(object["peak_rss_bytes"], object["bound_bytes"]);
  }
  return object;
}

TEST(Train, LosesTheSameInEveryMemory) {
  const json alone = answer(run(with(kPerceptron, {"--unplanned"})));
  for (const Arguments& more : std::vector<Arguments>{
           {"--memory", "none"}, {"--memory", "min"}, {"--workers", "2"}}) {
    SCOPED_TRACE(testing::PrintToString(more));
    EXPECT_EQ(answer(run(with(kPerceptron, more)))["losses"], alone["losses"]);
  }
}

TEST(Train, ATransformerRunsInItsLeast) {
  const json ran = answer(
      run({"train", "--transformer", "layers=1,width=32,heads=2,sequence=8,vocabulary=20",
           "--training", "adam", "--batch", "2", "--steps", "2", "--memory", "min",
           "--threads", "1", "--json"}));
  EXPECT_EQ(ran["losses"].size(), 2U);
}

TEST(Train, RefusesABoundBelowTheLeastAndNamesIt) {
  const Outcome outcome = run(with(kPerceptron, {"--memory", "1MiB"}));
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  const json object = cli_test::object(outcome);
  EXPECT_EQ(object["feasible"], false);
  EXPECT_GT(object["least_bytes"], 1 << 20);
}

TEST(Train, TakesItsSamplesFromAFile) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/samples";
  {
    std::ofstream out(path, std::ios::binary);
    for (int sample = 0; sample < 5; ++sample) {
      const float x[] = {static_cast<float>(sample), 1, -1};
      const std::int64_t label = sample % 2;
      out.write(reinterpret_cast<const char*>(x), sizeof x);
      out.write(reinterpret_cast<const char*>(&label), sizeof label);
    }
  }
  const Arguments train = {"train", "--mlp",  "3x8x2",     "--batch", "4",      "--steps",
                           "2",     "--json", "--threads", "1",       "--data", path};
  EXPECT_EQ(answer(run(train))["losses"].size(), 2U);
  std::ofstream(path, std::ios::app) << "x";
  const Outcome cut = run(train);
  EXPECT_EQ(cut.status, 2);
  EXPECT_NE(cut.err.find("whole number of samples"), std::string::npos) << cut.err;
}

TEST(Train, SaysWhatItCannotDo) {
  for (const auto& [arguments, text] : std::vector<std::pair<Arguments, std::string>>{
           {{"train"}, "is required"},
           {{"train", "--mlp", "3"}, "at least two"},
           {{"train", "--mlp", "3x2", "--steps", "0"}, "--steps 0"},
           {{"train", "--mlp", "3x2", "--unplanned", "--memory", "min"},
            "--unplanned"}}) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.status, 2) << testing::PrintToString(arguments);
    EXPECT_NE(outcome.err.find(text), std::string::npos) << outcome.err;
  }
}

}  // namespace
}  // namespace espalier::cli_test
