// What plan --out-of-core answers: bytes written and read by each method, and the plan.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "cli/json_answer.h"
#include "cli/program.h"

namespace espalier::cli_test {
namespace TEST_SOURCE {

using nlohmann::json;

// Two chains; a task needs the larger of inputs and output. Ids 10 … 15.
constexpr const char* kTwoChains =
    "10 -1 1 -1 1\n"
    "11 10 2 -1 1\n"
    "12 11 1 -1 1\n"
    "13 12 6  0 1\n"
    "14 10 3 -3 1\n"
    "15 14 7  0 1\n";

TEST(PlanOutOfCore, AnswersAHandCheckedExample) {
  const TemporaryFile tree(kTwoChains), schedule("");
  const json plan = answer_of(run({"plan", tree.path(), "--out-of-core", "--memory", "7B",
                                   "--schedule", schedule.path(), "--json"}));
  EXPECT_EQ(plan["least_bytes"], 7);
  EXPECT_EQ(plan["least_in_core_bytes"], 8);
  EXPECT_EQ(plan["postorder_min_io_written_bytes"], 2);
  EXPECT_EQ(plan["liu_written_bytes"], 1);
  EXPECT_EQ(plan["written_lower_bound_bytes"], 1);
  EXPECT_EQ(plan["method"], "Liu's order");
  EXPECT_EQ(plan["written_bytes"], 1);
  EXPECT_EQ(plan["read_bytes"], 1);
  EXPECT_EQ(plan["evictions"], 1);
  EXPECT_EQ(plan["peak_bytes"], 7);
  EXPECT_EQ(schedule.text(),
            "# run ID; write ID BYTES output|retained; read ID BYTES; in this order\n"
            "run 13\nrun 12\nwrite 12 1 output\nrun 15\nrun 14\nread 12 1\nrun 11\n"
            "run 10\n");
}

TEST(PlanOutOfCore, TakesTheLargestTaskAsTheLeast) {
  const TemporaryFile tree(kTwoChains);
  EXPECT_EQ(
      answer_of(run({"plan", tree.path(), "--out-of-core", "--json"}))["bound_bytes"], 7);
  const json all =
      answer_of(run({"plan", tree.path(), "--out-of-core", "--memory", "x1", "--json"}));
  EXPECT_EQ(all["bound_bytes"], 8);
  EXPECT_EQ(all["written_bytes"], 0);
}

TEST(PlanOutOfCore, RefusesABoundBelowTheLargestTask) {
  const TemporaryFile tree(kTwoChains);
  const Outcome refused =
      run({"plan", tree.path(), "--out-of-core", "--memory", "6B", "--json"});
  EXPECT_EQ(refused.status, 1);
  const json plan = json::parse(refused.out);
  EXPECT_EQ(plan["feasible"], false);
  EXPECT_EQ(plan["least_bytes"], 7);
}

TEST(PlanOutOfCore, IsForOneWorkerAndOneBound) {
  const TemporaryFile tree(kTwoChains);
  for (const std::vector<std::string>& more :
       std::vector<std::vector<std::string>>{{"--workers", "2"},
                                             {"--compare"},
                                             {"--mapping", "all-to-all"},
                                             {"--memory", "7B,8B"}}) {
    std::vector<std::string> arguments = {"plan", tree.path(), "--out-of-core"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    EXPECT_EQ(run(arguments).status, 2) << more.front();
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::cli_test
