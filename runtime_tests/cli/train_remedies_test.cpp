// The commands at the end of refusals of train.

#include <gtest/gtest.h>

#include "cli/remedies.h"

namespace espalier::cli_test {
namespace {

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
    {"batch",
     {"train", "--mlp", "4x4x2", "--steps", "2", "--batch", "3", "--micro-batches", "2"}},
};
INSTANTIATE_TEST_SUITE_P(OfTrain, TrainRemedies, testing::ValuesIn(kTrain),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace espalier::cli_test
