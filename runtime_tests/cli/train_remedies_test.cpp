// The commands at the end of refusals of train.

#include <gtest/gtest.h>

#include "cli/remedies.h"

namespace espalier::cli_test {
namespace TEST_SOURCE {

class TrainRemedies : public testing::TestWithParam<Refusal> {};
TEST_P(TrainRemedies, AreCommandsThatWork) { expect_remedy(GetParam()); }

const Refusal kTrain[] = {
    {"no_network", {"train", "--steps", "2"}},
    {"two_networks",
     {"train", "--mlp", "4x4x2", "--transformer", "tiny", "--steps", "1"}},
    {"steps", {"train", "--mlp", "4x4x2", "--steps", "0"}},
    {"rate", {"train", "--mlp", "4x4x2", "--steps", "2", "--rate", "-1"}},
    {"threads", {"train", "--mlp", "4x4x2", "--steps", "2", "--threads", "0"}},
    {"unplanned",
     {"train", "--mlp", "4x4x2", "--steps", "2", "--unplanned", "--memory", "min"}},
    {"bound", {"train", "--mlp", "64x64x10", "--steps", "2", "--memory", "1MiB"}, 1},
    {"factor_out_of_range",
     {"train", "--mlp", "4x4x2", "--steps", "2", "--memory", "x1e30"}},
    {"widths", {"train", "--mlp", "4x0x2", "--steps", "1"}},
    {"layers", {"train", "--transformer", "layers=0", "--steps", "1"}},
    {"no_such_transformer", {"train", "--transformer", "huge", "--steps", "1"}},
    {"scheduler", {"train", "--mlp", "4x4x2", "--steps", "2", "--scheduler", "nobody"}},
    {"workers", {"train", "--mlp", "4x4x2", "--steps", "2", "--workers", "100000"}},
    {"data_nowhere", {"train", "--mlp", "4x4x2", "--steps", "2", "--data", "/nowhere"}},
    {"data_of_another_size",
     {"train", "--mlp", "4x4x2", "--steps", "2", "--data", "{tree}"}},
    {"network_twice", {"train", "--mlp", "4x4x2", "--mlp", "4x5x2", "--steps", "2"}},
    {"empty_rate", {"train", "--mlp", "4x4x2", "--steps", "2", "--rate", ""}},
    {"batch",
     {"train", "--mlp", "4x4x2", "--steps", "2", "--batch", "3", "--micro-batches", "2"}},
    {"times_for_a_named_schedule",
     {"train", "--mlp", "4x4x2", "--steps", "2", "--stage-times", "{stages}"}},
    {"times_of_other_stages",
     {"train", "--mlp", "4x4x2", "--steps", "2", "--schedule", "search", "--stage-times",
      "{stages}"}},
    {"times_nowhere",
     {"train", "--mlp", "4x4x2", "--steps", "2", "--schedule", "search", "--stage-times",
      "/nowhere"}},
    {"times_that_are_none",
     {"train", "--mlp", "4x4x2", "--steps", "2", "--schedule", "search", "--stage-times",
      "{tree}"}},
};
INSTANTIATE_TEST_SUITE_P(OfTrain, TrainRemedies, testing::ValuesIn(kTrain),
                         [](const auto& each) { return each.param.name; });

}  // namespace TEST_SOURCE
}  // namespace espalier::cli_test
