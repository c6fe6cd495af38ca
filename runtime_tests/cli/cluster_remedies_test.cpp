// Refusals by processes that know each other already, and the commands at their end: one
// of them says both, and what is pasted starts as many processes.

#include <gtest/gtest.h>

#include <cstdlib>

#include "cli/cluster_processes.h"
#include "cli/remedies.h"

namespace espalier::cli_test {
namespace TEST_SOURCE {

class ClusterRemedies : public testing::TestWithParam<Refusal> {};
TEST_P(ClusterRemedies, AreCommandsThatWork) { expect_remedy_of_job(GetParam()); }

const Refusal kSolve[] = {
    {"bound", {"solve", "--grid", "12x12", "--memory", "1MiB"}, 1, 2},
    {"not_definite", {"solve", "{indefinite}", "--kind", "spd"}, 1, 2},
    {"kind", {"solve", "{unsymmetric}", "--kind", "symmetric"}, 2, 3},
    {"rhs_of_another_order", {"solve", "{spd}", "--rhs", "{three}"}, 2, 2},
    {"rhs_nowhere", {"solve", "{spd}", "--rhs", "/nowhere/b.mtx"}, 2, 2},
    {"out_nowhere", {"solve", "{spd}", "--out", "/nowhere/x.mtx"}, 2, 2},
    {"out_of_core_nowhere",
     {"solve", "{spd}", "--out-of-core", "{new}", "--memory", "min"},
     2,
     2},
    {"save_is_a_directory", {"solve", "{spd}", "--save", "{directory}"}, 2, 2},
    {"workers", {"solve", "{spd}", "--workers", "100000"}, 2, 2},
    {"low_rank", {"solve", "--grid", "9x9", "--low-rank", "1e-8"}, 2, 2},
};
INSTANTIATE_TEST_SUITE_P(OfSolve, ClusterRemedies, testing::ValuesIn(kSolve),
                         [](const auto& each) { return each.param.name; });

const Refusal kAdjoint[] = {
    {"three_processes",
     {"adjoint", "shallow-water", "--grid", "16x16", "--steps", "9"},
     2,
     3},
    {"bound",
     {"adjoint", "shallow-water", "--grid", "16x16", "--steps", "9", "--memory", "1MiB"},
     1,
     2},
    {"steps", {"adjoint", "shallow-water", "--grid", "16x16", "--steps", "0"}, 2, 2},
};
INSTANTIATE_TEST_SUITE_P(OfAdjoint, ClusterRemedies, testing::ValuesIn(kAdjoint),
                         [](const auto& each) { return each.param.name; });

// They all answered, so that JSON was several objects.
TEST(Launched, CommandsForOneProcessAnswerOnce) {
  const Outcome outcome = run(on(2, {"checkpoint", "--length", "9", "--slots", "2"}));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const std::size_t first = outcome.out.find("steps to reverse");
  EXPECT_NE(first, std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.out.find("steps to reverse", first + 1), std::string::npos);
  EXPECT_EQ(run(on(2, {"plan", "/nowhere/a.tree"})).status, 2);
}

// What is exported here reaches the refused processes, and not those of the command that
// works.
TEST(ClusterRemedies, TakeBadSettingsFromTheEnvironment) {
  setenv("ESPALIER_CLUSTER_TIMEOUT", "soon", 1);
  expect_remedy_of_job({"timeout", {"solve", "--grid", "9x9"}, 2, 2});
  unsetenv("ESPALIER_CLUSTER_TIMEOUT");
}

}  // namespace TEST_SOURCE
}  // namespace espalier::cli_test
