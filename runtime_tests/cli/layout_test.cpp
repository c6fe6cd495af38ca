// espalier layout: answers, files and refusals.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "cli/interrupt_search.h"
#include "cli/json_answer.h"
#include "cli/program.h"

namespace espalier::cli_test {
namespace TEST_SOURCE {

using nlohmann::json;

// Load 9, optimum 10.
constexpr const char* kAboveItsLoad =
    "id,lower,upper,size\na,0,1,3\nb,0,2,4\nc,1,3,2\nd,2,3,2\ne,1,4,1\nf,2,4,2\n"
    "g,4,5,3\nh,0,6,2\ni,3,6,4\nj,5,6,3\n";

TEST(Layout, ProvesTheLeastCapacityAndWritesOffsets) {
  const TemporaryFile file(kAboveItsLoad);
  const TemporaryDirectory directory;
  const std::string out = directory.path() + "/offsets.csv";
  const Outcome outcome = run({"layout", file.path(), "--json", "--out", out});
  const json report = answer_of(outcome);
  EXPECT_EQ(report["buffers"], 10);
  EXPECT_EQ(report["load_bytes"], 9);
  EXPECT_EQ(report["capacity_bytes"], 10);
  EXPECT_EQ(report["lower_bound_bytes"], 10);
  EXPECT_EQ(report["proved"], true);
  EXPECT_TRUE(report["seconds"].is_number());
  const std::string text = text_of(out);
  EXPECT_EQ(text.substr(0, text.find('\n')), "id,lower,upper,size,offset");
  // What was written is read again, and laid out the same.
  EXPECT_EQ(run({"layout", out}).status, 0);
}

TEST(Layout, TellsImpossibleFromNotFound) {
  const TemporaryFile file(kAboveItsLoad);
  const Outcome proved = run({"layout", file.path(), "--capacity", "9", "--json"});
  EXPECT_EQ(proved.status, 1);
  EXPECT_EQ(proved.err,
            "espalier: a capacity of 9 B (9 bytes) is too small: no layout needs less "
            "than 10 B (10 bytes); 10 B (10 bytes) suffices\n  espalier layout " +
                file.path() + " --capacity 10 --json\n");
  EXPECT_EQ(json::parse(proved.out)["reason"], "impossible");
  const Outcome open =
      run({"layout", file.path(), "--capacity", "9", "--timeout", "0s", "--json"});
  EXPECT_EQ(open.status, 1);
  EXPECT_EQ(json::parse(open.out)["reason"], "none_found");
  EXPECT_EQ(run({"layout", file.path(), "--capacity", "10"}).status, 0);
}

// As in the other commands: a part of the lower bound, not so many per cent.
TEST(Layout, SaysHowFarItMayBeOff) {
  const TemporaryFile file(kAboveItsLoad);
  const json open = answer_of(run({"layout", file.path(), "--timeout", "0s", "--json"}));
  ASSERT_FALSE(open["proved"]);
  const double least = open["lower_bound_bytes"];
  EXPECT_DOUBLE_EQ(open["gap"], (open["capacity_bytes"].get<double>() - least) / least);
  EXPECT_EQ(answer_of(run({"layout", file.path(), "--json"}))["gap"], 0.0);
}

TEST(Layout, AlignsAndDrawsAPage) {
  const TemporaryFile file("id,lower,upper,size\n1,0,2,65\n2,1,3,1\n");
  const TemporaryDirectory directory;
  const std::string page = directory.path() + "/p.html";
  const Outcome outcome =
      run({"layout", file.path(), "--alignment", "64", "--json", "--report", page});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(json::parse(outcome.out)["capacity_bytes"], 192);
  EXPECT_NE(text_of(page).find("\"kind\":\"layout\""), std::string::npos);
}

// A thousand buffers whose optimum no search finds in minutes.
std::string hard_buffers() {
  std::mt19937 random(5);
  std::string text = "id,lower,upper,size\n";
  for (int id = 0; id < 1000; ++id) {
    const auto lower = random() % 300;
    text += fmt::format("{},{},{},{}\n", id, lower, lower + 1 + random() % 100,
                        1 + random() % 999);
  }
  return text;
}

TEST(Layout, GivesTheBestSoFarWhenInterrupted) {
  const TemporaryFile file(hard_buffers());
  const TemporaryDirectory directory;
  const std::string out = directory.path() + "/offsets.csv";
  const auto outcome =
      run_disturbed({"layout", file.path(), "--timeout", "100", "--json", "--out", out},
                    interrupt_search);
  ASSERT_TRUE(outcome.has_value()) << "it was over before it was seen to search";
  ASSERT_EQ(outcome->status, 0) << outcome->err << outcome->signal;
  const json report = json::parse(outcome->out);
  EXPECT_EQ(report["interrupted"], true);
  EXPECT_EQ(report["stopped"], false);
  EXPECT_EQ(report["proved"], false);
  EXPECT_GT(report["capacity_bytes"], report["lower_bound_bytes"]);
  EXPECT_LT(report["seconds"], 60.0);
  const std::string written = text_of(out);
  EXPECT_EQ(std::ranges::count(written, '\n'), 1001);
}

TEST(Layout, NamesTheFileWhereAnAlignedSizeLeavesTheRange) {
  const TemporaryFile file("id,lower,upper,size\na,0,1,9223372036854775807\n");
  const Outcome outcome = run({"layout", file.path(), "--alignment", "64"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.err.find("espalier: " + file.path() + ":2: "), 0U) << outcome.err;
}

TEST(Layout, RefusesWhatItCannotRead) {
  const TemporaryFile file("id,lower,upper,size\na,5,5,1\n");
  const Outcome outcome = run({"layout", file.path()});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.err, "espalier: " + file.path() +
                             ":2: buffer 'a': the lifetime [5, 5) is empty\n");
  EXPECT_EQ(run({"layout", file.path() + ".none"}).status, 2);
  EXPECT_EQ(run({"layout", file.path(), "--alignment", "0"}).status, 2);
  EXPECT_EQ(run({"layout", file.path(), "--timeout", "soon"}).status, 2);
  for (const char* seed : {"-1", "1.5", "18446744073709551616", "x"}) {
    const Outcome refused = run({"layout", file.path(), "--seed", seed});
    EXPECT_EQ(refused.status, 2);
    EXPECT_NE(refused.err.find(std::string("--seed: '") + seed + "' is not a whole"),
              std::string::npos)
        << refused.err;
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::cli_test
