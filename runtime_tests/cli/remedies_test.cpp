// The commands at the end of refusals, where StarPU is not needed.

#include <gtest/gtest.h>

#include "cli/program.h"
#include "cli/remedies.h"

namespace espalier::cli_test {
namespace {

class Remedies : public testing::TestWithParam<Refusal> {};
TEST_P(Remedies, AreCommandsThatWork) { expect_remedy(GetParam()); }

const Refusal kPlan[] = {
    {"bound", {"plan", "{tree}", "--memory", "3"}, 1},
    {"bound_by_equals", {"plan", "--memory=3", "{tree}", "--json"}, 1},
    {"bound_of_postorder",
     {"plan", "{tree}", "--memory", "x0.5", "--order", "postorder"},
     1},
    {"bound_of_a_grid", {"plan", "--grid", "20x20", "--memory", "1KiB"}, 1},
    {"bound_out_of_core", {"plan", "{tree}", "--out-of-core", "--memory", "2"}, 1},
    {"bounds_to_compare", {"plan", "{tree}", "--compare", "--memory", "1,2"}, 1},
    {"bound_a_process",
     {"plan", "--grid", "9x9x9", "--processes", "2", "--memory-per-process", "1KiB"},
     1},
    {"no_source", {"plan"}},
    {"two_sources", {"plan", "{tree}", "--grid", "5x5"}},
    {"grid", {"plan", "--grid", "5by5"}},
    {"workers_list", {"plan", "{tree}", "--workers", "2,3"}},
    {"memory_list", {"plan", "{tree}", "--memory", "x1,x2"}},
    {"no_workers", {"plan", "{tree}", "--workers", "0"}},
    {"bad_memory", {"plan", "{tree}", "--memory", "lots"}},
    {"bad_order", {"plan", "{tree}", "--order", "lui"}},
    {"bad_mapping", {"plan", "{tree}", "--mapping", "proportionate"}},
    {"rate", {"plan", "{tree}", "--rate", "-1"}},
    {"rate_of_letters", {"plan", "{tree}", "--rate", "fast"}},
    {"excluded", {"plan", "{tree}", "--compare", "--rate", "1e9"}},
    {"excluded_out_of_core", {"plan", "{tree}", "--out-of-core", "--order", "liu"}},
    {"needs_a_flag", {"plan", "{tree}", "--picture", "{new}"}},
    {"needs_a_value", {"plan", "{tree}", "--memory-per-process", "1GiB"}},
    {"all_to_all",
     {"plan", "--grid", "9x9", "--processes", "2", "--mapping", "all-to-all"}},
    {"processes_with_schedule",
     {"plan", "--grid", "9x9", "--processes", "2,4", "--schedule", "{new}"}},
    {"task_workers", {"plan", "--grid", "9x9", "--task-workers", "4"}},
    {"kind", {"plan", "{unsymmetric}", "--kind", "spd"}},
    {"value_missing", {"plan", "{tree}", "--workers"}},
    {"several_mistakes",
     {"plan", "{tree}", "--wokers", "2", "--order", "x", "--compare", "--rate", "1"}},
};
INSTANTIATE_TEST_SUITE_P(OfPlan, Remedies, testing::ValuesIn(kPlan),
                         [](const auto& each) { return each.param.name; });

const Refusal kOthers[] = {
    {"misspelt_command", {"paln", "--grid", "5x5"}},
    {"misspelt_option", {"plan", "--gird", "5x5"}},
    {"misspelt_option_by_equals", {"plan", "--gird=5x5"}},
    {"no_command", {}},
    {"order_bound", {"order", "{graph}", "--memory", "3"}, 1},
    {"order_timeout", {"order", "{graph}", "--timeout", "-2"}},
    {"order_workers", {"order", "{graph}", "--workers", "none"}},
    {"order_dimensions", {"order", "{graph}", "--dim", "batch=8", "--free-weights"}},
    {"layout_capacity", {"layout", "{buffers}", "--capacity", "5"}, 1},
    {"layout_bad_capacity", {"layout", "{buffers}", "--capacity", "small"}},
    {"layout_alignment", {"layout", "{buffers}", "--alignment", "0"}},
    {"layout_timeout", {"layout", "{buffers}", "--timeout", "soon"}},
    {"layout_steps", {"layout", "{buffers}", "--steps", "-1"}},
    {"checkpoint_slots", {"checkpoint", "--length", "9", "--slots", "0"}, 1},
    {"checkpoint_levels",
     {"checkpoint", "--length", "9", "--levels", "ram:0,disk:0:w=5ms:r=4ms"},
     1},
    {"checkpoint_bound", {"checkpoint", "{chain}", "--memory", "9"}, 1},
    {"checkpoint_bad_bound", {"checkpoint", "{chain}", "--memory", "all"}},
    {"checkpoint_alone", {"checkpoint"}},
    {"checkpoint_no_slots", {"checkpoint", "--length", "9"}},
    {"checkpoint_slots_and_levels",
     {"checkpoint", "--length", "9", "--slots", "3", "--levels", "ram:3"}},
    {"checkpoint_chain_and_length", {"checkpoint", "{chain}", "--length", "9"}},
    {"checkpoint_memory_without_chain",
     {"checkpoint", "--length", "9", "--slots", "3", "--memory", "min"}},
    {"checkpoint_step_times",
     {"checkpoint", "--step-times", "{times}", "--length", "3", "--slots", "2"}},
    {"checkpoint_online_read_once",
     {"checkpoint", "--length", "9", "--levels", "ram:3,disk:3:w=1:r=1", "--online",
      "--read-once"}},
    {"checkpoint_curve_with_schedule",
     {"checkpoint", "{chain}", "--memory", "curve", "--schedule", "{new}"}},
    {"checkpoint_length", {"checkpoint", "--length", "0", "--slots", "3"}},
};
INSTANTIATE_TEST_SUITE_P(OfOthers, Remedies, testing::ValuesIn(kOthers),
                         [](const auto& each) { return each.param.name; });

TEST(NoRemedy, IsGivenWhereNothingIsKnownToWork) {
  const TemporaryFile tree("0 -1 1 1 one\n");
  for (const auto& words : {std::vector<std::string>{"plan", "/nowhere/tree.txt"},
                            std::vector<std::string>{"plan", tree.path()},
                            std::vector<std::string>{"order", "/nowhere/graph.json"}}) {
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.status, 2);
    EXPECT_EQ(messages(outcome), 1) << outcome.err;
    EXPECT_EQ(outcome.err.find("\n  "), std::string::npos) << outcome.err;
  }
}

}  // namespace
}  // namespace espalier::cli_test
