// espalier solve where the order that `auto` takes first needs more than another one.

#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/program.h"
#include "cli/solving.h"

namespace espalier::cli_test {
namespace TEST_SOURCE {

using nlohmann::json;

json solved(std::vector<std::string> more) {
  std::vector<std::string> all = {"--grid", "400x400", "--kind", "spd"};
  all.insert(all.end(), more.begin(), more.end());
  const Outcome outcome = solve(all);
  expect_solved(outcome);
  return object(outcome);
}

std::int64_t least_of(const std::string& ordering) {
  return solved({"--memory", "min", "--ordering", ordering})["least_bytes"];
}

// Half way: below what the first needs, which is 2 MiB less than its printed least.
TEST(SolveOrders, FitABoundThatTheFirstOneDoesNot) {
  const json alone = solved({});
  ASSERT_EQ(alone["ordering_taken"], "amd");
  EXPECT_FALSE(alone.contains("ordering_least"));
  const std::int64_t amd = least_of("amd"), all = least_of("auto");
  ASSERT_LT(all, amd - (std::int64_t{5} << 20));
  const std::string between = std::to_string((amd + all) / 2);
  const json report = solved({"--memory", between});
  EXPECT_TRUE(report["bound_kept"]);
  EXPECT_NE(report["ordering_taken"], "amd");
  EXPECT_EQ(report["ordering"], "auto");
  EXPECT_EQ(report["ordering_least"].get<std::string>().find("amd "), 0);
  EXPECT_EQ(solve({"--grid", "400x400", "--kind", "spd", "--ordering", "amd", "--memory",
                   between})
                .status,
            1);
  const json plenty = solved({"--memory", "1GiB"});
  EXPECT_EQ(plenty["ordering_taken"], "amd");
  EXPECT_FALSE(plenty.contains("ordering_least"));
}

TEST(SolveOrders, AreExplainedToTheByte) {
  const json report = solved({"--memory", "min", "--explain"});
  EXPECT_TRUE(report["bound_kept"]);
  EXPECT_EQ(report["explain"][0]["bytes"], report["least_bytes"]);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::cli_test
