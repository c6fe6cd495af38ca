// The commands at the end of refusals, where StarPU is not needed.

#include <gtest/gtest.h>

#include "cli/arguments.h"
#include "cli/program.h"
#include "cli/remedies.h"

namespace espalier::cli_test {
namespace TEST_SOURCE {

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
    {"kind_of_a_tree", {"plan", "{tree}", "--kind", "spd"}},
    {"matrix_options_of_a_tree",
     {"plan", "--kind=general", "{tree}", "--ordering", "natural"}},
    {"kind", {"plan", "{unsymmetric}", "--kind", "spd"}},
    {"value_missing", {"plan", "{tree}", "--workers"}},
    {"empty_name", {"plan", ""}},
    {"empty_grid", {"plan", "{tree}", "--grid", ""}},
    {"factor_out_of_range", {"plan", "{tree}", "--memory", "x1e30"}},
    {"factor_out_of_range_a_process",
     {"plan", "--grid", "9x9", "--processes", "2", "--memory-per-process", "x1e30"}},
    {"workers_list_of_processes",
     {"plan", "--grid", "9x9", "--processes", "2", "--workers", "2,4"}},
    {"two_files", {"plan", "{tree}", "{tree}"}},
    {"option_twice", {"plan", "{tree}", "--order", "liu", "--order=postorder"}},
    {"no_such_option", {"plan", "--picturesque", "{new}", "{tree}"}},
    {"no_such_flag", {"plan", "--picturesque", "{tree}"}},
    {"replay_of_nothing", {"plan", "--replay"}},
    {"replay_and_file", {"plan", "--replay", "{record}", "{tree}"}},
    {"replay_and_grid", {"plan", "--replay", "{record}", "--grid", "5x5"}},
    {"replay_and_compare", {"plan", "--compare", "--replay", "{record}"}},
    {"replay_bound", {"plan", "--replay", "{record}", "--memory", "1"}, 1},
    {"processor_time_alone", {"plan", "--processor-time"}},
    {"processor_time_of_a_tree", {"plan", "{tree}", "--processor-time"}},
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
    {"order_flag_of_no_command",
     {"order", "--foo", "--transformer", "tiny", "--workers", "0"}},
    {"order_option_of_train",
     {"order", "--mlp", "4x4", "--transformer", "tiny", "--batch", "0"}},
    {"order_timeout", {"order", "{graph}", "--timeout", "-2"}},
    {"order_workers", {"order", "{graph}", "--workers", "none"}},
    {"order_nothing", {"order", "--timeout", "2"}},
    {"order_factor", {"order", "{graph}", "--memory", "x1e30"}},
    {"order_no_such_transformer", {"order", "--transformer", "layers=0"}},
    {"order_training_of_sizes", {"order", "{graph}", "--training", "adam"}},
    {"order_training_missing", {"order", "--transformer", "tiny", "--training"}},
    {"order_training_and_value",
     {"order", "--transformer", "tiny", "--training", "--optimiser", "adam"}},
    {"order_empty_batch", {"order", "{graph}", "--batch", ""}},
    {"order_two_sources", {"order", "{graph}", "--transformer", "tiny"}},
    {"order_workers_of_a_step",
     {"order", "--transformer", "tiny", "--layout", "--workers", "2"}},
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
    {"checkpoint_long",
     {"checkpoint", "--length", "9223372036854775807", "--slots", "3"}},
    {"checkpoint_bad_levels", {"checkpoint", "--length", "9", "--levels", "ram"}},
    {"checkpoint_level_twice",
     {"checkpoint", "--length", "9", "--levels", "ram:3,ram:4"}},
    {"checkpoint_empty_chain", {"checkpoint", ""}},
    {"checkpoint_empty_bound", {"checkpoint", "{chain}", "--memory", ""}},
    {"info_of_something", {"info", "here"}},
    {"info_option", {"info", "--all"}},
};
INSTANTIATE_TEST_SUITE_P(OfOthers, Remedies, testing::ValuesIn(kOthers),
                         [](const auto& each) { return each.param.name; });

// A question that has an answer, and what is wrong with it.
Arguments train_plan(const Arguments& wrong) {
  return with({"train-plan", "--transformer", "tiny", "--processes", "2", "--batch", "4",
               "--memory-per-process", "1GiB"},
              wrong);
}

const Refusal kTraining[] = {
    {"nothing", {"train-plan"}},
    {"transformer_alone", {"train-plan", "--transformer", "tiny"}},
    {"no_batch", {"train-plan", "--transformer", "tiny", "--processes", "2"}},
    {"no_bound",
     {"train-plan", "--transformer", "tiny", "--processes", "2", "--batch", "4"}},
    {"no_processes",
     {"train-plan", "--transformer", "tiny", "--batch", "3", "--memory-per-process",
      "1KiB"}},
    {"no_such_transformer", {"train-plan", "--transformer", "gpt9", "--processes", "2"}},
    {"bound",
     {"train-plan", "--transformer", "tiny", "--processes", "2", "--batch", "4",
      "--memory-per-process", "1KiB"},
     1},
    {"bound_json",
     {"train-plan", "--transformer", "tiny", "--processes", "4", "--batch", "8",
      "--memory-per-process", "20KiB", "--json"},
     1},
    {"batch_that_nobody_shares",
     {"train-plan", "--transformer", "tiny", "--processes", "97", "--batch", "5",
      "--memory-per-process", "1GiB"},
     1},
    {"bound_that_is_none",
     {"train-plan", "--transformer", "tiny", "--processes", "2", "--batch", "4",
      "--memory-per-process", "much"}},
    {"misspelt_beside_subcommands",
     {"train-plan", "--transfomer", "tiny", "--processes", "2", "--batch", "4",
      "--memory-per-process", "1GiB"}},
    {"pipeline_factor", {"train-plan", "pipeline", "--stages", "4", "--memory", "x1e30"}},
    {"zero_stage", train_plan({"--zero", "4"})},
    {"schedule", train_plan({"--schedule", "gpip"})},
    {"network", train_plan({"--network", "fast"})},
    {"node", train_plan({"--node", "8"})},
    {"rate", train_plan({"--rate", "-1"})},
    {"optimiser", {"train-plan", "zero", "--transformer", "tiny", "--optimiser", "adan"}},
    {"zero_nothing", {"train-plan", "zero"}},
    {"zero_no_such_transformer", {"train-plan", "zero", "--transformer", "gpt"}},
    {"zero_ranks", {"train-plan", "zero", "--transformer", "tiny", "--ranks", "0"}},
    {"pipeline_nothing", {"train-plan", "pipeline"}},
    {"pipeline_misspelt", {"train-plan", "pipline", "--stages", "2"}},
    {"pipeline_counted_bound",
     {"train-plan", "pipeline", "--stages", "4", "--memory", "0"},
     1},
    {"pipeline_named_bound",
     {"train-plan", "pipeline", "--stages", "4", "--memory", "3", "--schedule",
      "interleaved"},
     1},
    {"pipeline_sized_bound",
     {"train-plan", "pipeline", "--stages", "3", "--until-weight", "1MiB", "--memory",
      "1KiB", "--json"},
     1},
    {"pipeline_lists",
     {"train-plan", "pipeline", "--stages", "4", "--forward", "1s,2s", "--weight",
      "1s,2s,3s"}},
    {"pipeline_lists_alone",
     {"train-plan", "pipeline", "--forward", "1s,2s", "--weight", "1s,2s,3s"}},
    {"pipeline_time", {"train-plan", "pipeline", "--stages", "4", "--forward", "fast"}},
    {"pipeline_schedule",
     {"train-plan", "pipeline", "--stages", "4", "--schedule", "zb"}},
    {"pipeline_micro_batches",
     {"train-plan", "pipeline", "--stages", "4", "--micro-batches", "6", "--schedule",
      "interleaved"}},
    {"pipeline_stages", {"train-plan", "pipeline", "--stages", "0"}},
    {"pipeline_weights", {"train-plan", "pipeline", "--stages", "2", "--weights", "1"}},
    {"pipeline_file_and_options",
     {"train-plan", "pipeline", "{stages}", "--stages", "2", "--forward", "1s"}},
    {"pipeline_file_and_chain",
     {"train-plan", "pipeline", "{stages}", "--chain", "{chain}", "--stages", "2"}},
    {"chain_without_stages", {"train-plan", "pipeline", "--chain", "{chain}"}},
    {"chain_of_too_few",
     {"train-plan", "pipeline", "--chain", "{chain}", "--stages", "9"}},
    {"chain_weights",
     {"train-plan", "pipeline", "--chain", "{chain}", "--stages", "2", "--weights",
      "1,2"}},
    {"chain_times",
     {"train-plan", "pipeline", "--chain", "{chain}", "--stages", "2", "--forward",
      "1s"}},
    {"chain_schedule",
     {"train-plan", "pipeline", "--chain", "{chain}", "--stages", "2", "--schedule",
      "gpipe"}},
    {"chain_bound",
     {"train-plan", "pipeline", "--chain", "{chain}", "--stages", "2", "--memory", "3"},
     1},
    {"shard_nothing", {"shard"}},
    {"shard_both", {"shard", "{sharding}", "--transformer", "gpt2"}},
    {"shard_no_such_transformer", {"shard", "--transformer", "gpt", "--mesh", "4"}},
    {"shard_mesh", {"shard", "--transformer", "gpt2", "--mesh", "8by8"}},
    {"shard_training",
     {"shard", "--transformer", "gpt2", "--mesh", "2", "--training", "adan"}},
    {"shard_bound", {"shard", "{sharding}", "--memory", "3"}, 1},
    {"shard_bad_bound", {"shard", "{sharding}", "--memory", "little"}},
    {"shard_timeout", {"shard", "{sharding}", "--timeout", "-1"}},
    {"shard_transformer_bound",
     {"shard", "--transformer", "gpt2", "--mesh", "4", "--memory", "1MiB"},
     1},
};
INSTANTIATE_TEST_SUITE_P(OfTraining, Remedies, testing::ValuesIn(kTraining),
                         [](const auto& each) { return each.param.name; });

// Of options and values that are not known: what takes their place.
TEST(Remedy, IsWhatBeginsSoOrIsSpeltMostAlike) {
  struct Case {
    std::vector<std::string> words;
    std::string works;
  };
  const Case cases[] = {
      {{"plan", "--grid", "5x5", "--mem", "3GiB"}, "plan --grid 5x5 --memory 3GiB"},
      {{"plan", "--grid", "5x5", "--memroy=3GiB"}, "plan --grid 5x5 --memory=3GiB"},
      {{"plan", "--grid", "5x5", "--kind", "sym"}, "plan --grid 5x5 --kind symmetric"},
      {{"plan", "--grid", "5x5", "--ordering", "AMD"}, "plan --grid 5x5 --ordering amd"},
      {{"train-plan", "zero", "--transformer", "tiny", "--processes", "4"},
       "train-plan zero --transformer tiny"},
  };
  for (const Case& each : cases) {
    const Outcome outcome = run(each.words);
    EXPECT_EQ(outcome.status, 2);
    EXPECT_NE(outcome.err.find("espalier " + each.works + "\n"), std::string::npos)
        << outcome.err;
  }
}

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

}  // namespace TEST_SOURCE
}  // namespace espalier::cli_test
