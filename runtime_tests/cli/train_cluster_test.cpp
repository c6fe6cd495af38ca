// espalier train on several processes: the losses of one, each process inside its bound.
// The cases of one subject: over 300 lines.

#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <tuple>
#include <vector>

#include "cli/arguments.h"
#include "cli/cluster_processes.h"
#include "cli/onnx_bytes.h"
#include "cli/program.h"
#include "cli/remedies.h"
#include "cli/solving.h"

namespace espalier::cli_test {
namespace TEST_SOURCE {

using nlohmann::json;

const Arguments kPerceptron = {
    "train",      "--mlp", "64x256x256x128x10", "--batch", "64",
    "--steps",    "3",     "--threads",         "1",       "--json",
    "--training", "adam",  "--workers",         "1"};
const Arguments kTransformer = {"train",
                                "--transformer",
                                "layers=4,width=32,heads=2,sequence=16,vocabulary=64",
                                "--batch",
                                "8",
                                "--steps",
                                "3",
                                "--threads",
                                "1",
                                "--json",
                                "--training",
                                "adam",
                                "--workers",
                                "1"};

json answer(const Outcome& outcome) {
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const json object = cli_test::object(outcome);
  EXPECT_EQ(object["process_arena_peak_bytes"], object["process_planned_bytes"]);
  if (!object.contains("process_bound_bytes")) return object;
  EXPECT_TRUE(object.value("bound_kept", false));
  for (std::size_t p = 0; p < object["process_bound_bytes"].size(); ++p)
    EXPECT_LE(object["process_peak_rss_bytes"][p], object["process_bound_bytes"][p]);
  return object;
}

// One after the other within a part in a million, or the same bits.
void expect_losses(const json& object, const json& alone, bool bitwise) {
  if (bitwise) {
    EXPECT_EQ(object["losses"], alone["losses"]);
    return;
  }
  ASSERT_EQ(object["losses"].size(), alone["losses"].size());
  for (std::size_t i = 0; i < alone["losses"].size(); ++i) {
    const double expected = alone["losses"][i];
    EXPECT_NEAR(object["losses"][i], expected, 1e-6 * std::abs(expected)) << i;
  }
}

TEST(TrainOnCluster, PipelinesLoseWhatOneProcessLosesInTheirLeast) {
  const json alone = answer(run(on(1, kPerceptron, {"--micro-batches", "4"})));
  for (const auto& [processes, schedule] : std::vector<std::pair<int, std::string>>{
           {2, "1f1b"}, {2, "zb-h1"}, {4, "1f1b"}, {4, "zb-h1"}}) {
    SCOPED_TRACE(schedule);
    const json ran = answer(
        run(on(processes, kPerceptron,
               {"--micro-batches", "4", "--schedule", schedule, "--memory", "min"})));
    EXPECT_EQ(ran["process_bound_bytes"], ran["process_least_bytes"]);
    EXPECT_EQ(ran["processes"], processes);
    expect_losses(ran, alone, true);
  }
}

TEST(TrainOnCluster, SearchedSchedulesLoseTheSameInTheirBounds) {
  const json alone = answer(run(on(1, kPerceptron, {"--micro-batches", "4"})));
  for (const std::string schedule : {"search", "search:2"})
    for (const std::string memory : {"min", "x1.1", "none"}) {
      SCOPED_TRACE(schedule + " " + memory);
      const json ran = answer(
          run(on(2, kPerceptron,
                 {"--micro-batches", "4", "--schedule", schedule, "--memory", memory})));
      EXPECT_EQ(ran["schedule"], schedule);
      EXPECT_GE(ran["schedule_gap"], 0.0);
      expect_losses(ran, alone, true);
    }
}

TEST(TrainOnCluster, ATransformerOfFourBlocksLosesTheSame) {
  const json alone = answer(run(on(1, kTransformer, {"--micro-batches", "4"})));
  for (const auto& [processes, more] : std::vector<std::pair<int, Arguments>>{
           {2, {"--micro-batches", "4", "--schedule", "zb-h1"}},
           {4, {"--micro-batches", "4"}},
           {4, {"--micro-batches", "2", "--pipeline", "2", "--zero", "2"}},
           {2, {"--micro-batches", "4", "--tensor-parallel", "2", "--memory", "min"}},
           {4, {"--micro-batches", "4", "--tensor-parallel", "2", "--pipeline", "2"}}}) {
    SCOPED_TRACE(testing::PrintToString(more));
    expect_losses(answer(run(on(processes, kTransformer, more))), alone, false);
  }
}

TEST(TrainOnCluster, RanksDivideWhatZeroSaysInTheirLeast) {
  const json alone = answer(run(on(1, kPerceptron, {"--micro-batches", "4"})));
  const std::int64_t parameters = alone["process_parameter_bytes"][0];
  for (int zero = 0; zero <= 3; ++zero) {
    SCOPED_TRACE(zero);
    const json ran = answer(run(on(2, kPerceptron,
                                   {"--micro-batches", "2", "--pipeline", "1", "--zero",
                                    std::to_string(zero), "--memory", "min"})));
    expect_losses(ran, alone, zero >= 2);
    // All of its parameters have an even number of elements.
    const auto divided = [&](int from, std::int64_t bytes) {
      const std::int64_t each = zero >= from ? bytes / 2 : bytes;
      return json{each, each};
    };
    EXPECT_EQ(ran["process_parameter_bytes"], divided(3, parameters));
    EXPECT_EQ(ran["process_state_bytes"], divided(1, 2 * parameters));
    EXPECT_EQ(ran["process_gradient_bytes"], divided(2, parameters));
  }
}

TEST(TrainOnCluster, RanksKeepWhatTrainPlanSays) {
  const json plan = cli_test::object(
      run(on(1, {"train-plan", "zero", "--transformer", kTransformer[2], "--optimiser",
                 "adam", "--precision", "single", "--ranks", "2", "--json"})));
  for (const int zero : {2, 3}) {
    SCOPED_TRACE(zero);
    const json ran = answer(run(on(2, kTransformer,
                                   {"--micro-batches", "2", "--pipeline", "1", "--zero",
                                    std::to_string(zero), "--memory", "min"})));
    const json& stage = plan["stages"][static_cast<std::size_t>(zero)];
    for (const int rank : {0, 1})
      for (const std::string what : {"parameter", "gradient", "state"})
        EXPECT_EQ(ran["process_" + what + "_bytes"][rank], stage[what + "_bytes"])
            << what;
  }
}

// 64x256 and 256x128 are divided by columns, 256x256 and 128x10 by rows.
TEST(TrainOnCluster, TensorGroupsLoseTheSameInTheirLeast) {
  const json alone = answer(run(on(1, kPerceptron, {"--micro-batches", "4"})));
  for (const int processes : {2, 4}) {
    SCOPED_TRACE(processes);
    const json ran = answer(run(on(processes, kPerceptron,
                                   {"--micro-batches", processes == 2 ? "4" : "2",
                                    "--tensor-parallel", "2", "--memory", "min"})));
    EXPECT_EQ(ran["process_bound_bytes"], ran["process_least_bytes"]);
    EXPECT_EQ(ran["tensor"], 2);
    EXPECT_EQ(ran["data"], processes / 2);
    EXPECT_EQ(ran["divided_layers"], 4);
    expect_losses(ran, alone, false);
    const std::int64_t elements =
        64 * 128 + 128 + 128 * 256 + 256 + 256 * 64 + 64 + 64 * 10 + 10;
    for (int p = 0; p < processes; ++p) {
      EXPECT_EQ(ran["process_parameter_bytes"][p], 4 * elements);
      EXPECT_EQ(ran["process_gradient_bytes"][p], 4 * elements);
      EXPECT_EQ(ran["process_state_bytes"][p], 8 * elements);
    }
  }
}

// The transfer is fitted: the schedule that ran is predicted to take what it took, unless
// even without one that is longer.
TEST(TrainOnCluster, MeasuredStagesPredictTheirOwnStep) {
  const TemporaryDirectory directory;
  const std::string stages = directory.path() + "/stages.json";
  const json ran =
      answer(run(on(2, kPerceptron, {"--micro-batches", "4", "--stages-out", stages})));
  const json plan =
      cli_test::object(run(on(1, {"train-plan", "pipeline", stages, "--schedule", "1f1b",
                                  "--micro-batches", "4", "--json"})));
  const double step = ran["fastest_step_seconds"];
  const double predicted = plan["chosen"]["step_seconds"];
  const json file = json::parse(std::ifstream(stages));
  EXPECT_GT(predicted, plan["chosen"]["makespan_seconds"]);
  EXPECT_GE(predicted, step - 1e-6);
  if (file["transfer"] != "0ns") {
    EXPECT_LE(predicted, step + 1e-6);
  }
  EXPECT_EQ(run(on(2, kPerceptron,
                   {"--micro-batches", "4", "--pipeline", "1", "--stages-out", stages}))
                .status,
            2);
}

// Each process has a file of its own: what they say counts, not what they are called.
TEST(TrainOnCluster, PlansWithTheSameTimesOnAllProcesses) {
  const TemporaryDirectory directory;
  const auto job = [&](const std::string& second) {
    Arguments both;
    for (const std::string& forward : {std::string("2ms"), second}) {
      const std::string file = directory.path() + "/" + std::to_string(both.size());
      std::ofstream(file) << "forward,backward,weight,until_weight\n"
                          << forward << ",2ms,1ms,1\n1ms,1ms,1ms,1\n";
      if (!both.empty()) both.push_back(":");
      const Arguments own =
          on(1, kPerceptron,
             {"--micro-batches", "4", "--schedule", "search", "--stage-times", file});
      both.insert(both.end(), own.begin(), own.end());
    }
    return run(both);
  };
  EXPECT_EQ(job("2ms").status, 0);
  const Outcome differs = job("3ms");
  EXPECT_NE(differs.status, 0);
  EXPECT_NE(differs.err.find("stage-times"), std::string::npos) << differs.err;
}

// x[2, 4] -> MatMul with 4 x `width` -> Relu -> MatMul with `width` x 3.
std::string two_layers(const std::string& width, const std::string& name) {
  return onnx_bytes({.nodes = {{"MatMul", name, {"x", "v"}, {"p"}},
                               {"Relu", "second", {"p"}, {"q"}},
                               {"MatMul", "third", {"q", "w"}, {"y"}}},
                     .inputs = {{"x", {"2", "4"}}},
                     .weights = {{"v", {"4", width}}, {"w", {width, "3"}}},
                     .outputs = {{"y", {"2", "3"}}}});
}

// Each process in a directory of its own, with what it finds there as m.onnx and m.bin;
// empty: no file.
struct OwnFiles {
  std::string model, data;
};
Outcome train_in(const std::vector<OwnFiles>& own, const Arguments& more) {
  const TemporaryDirectory directory;
  Arguments all;
  for (const OwnFiles& files : own) {
    const std::string folder = directory.path() + "/" + std::to_string(all.size());
    std::filesystem::create_directory(folder);
    if (!files.model.empty())
      std::ofstream(folder + "/m.onnx", std::ios::binary) << files.model;
    if (!files.data.empty())
      std::ofstream(folder + "/m.bin", std::ios::binary) << files.data;
    if (!all.empty()) all.push_back(":");
    Arguments process = {"--wdir", folder};
    const Arguments command = on(1,
                                 {"train", "m.onnx", "--steps", "2", "--threads", "1",
                                  "--workers", "1", "--rate", "1e-3"},
                                 more);
    process.insert(process.end(), command.begin(), command.end());
    all.insert(all.end(), process.begin(), process.end());
  }
  return run(all);
}

TEST(TrainOnCluster, RefusesOtherModelsUnderTheSameName) {
  const std::string model = two_layers("6", "first");
  const OwnFiles same{model, {}};
  const Outcome good = train_in({same, same}, {"--pipeline", "2"});
  if (good.err.find("built without ONNX") != std::string::npos)
    GTEST_SKIP() << "needs ONNX";
  EXPECT_EQ(good.status, 0) << good.err;
  std::string other_weight = model;
  const std::size_t weights = model.find(std::string(8, '\0'));
  ASSERT_NE(weights, std::string::npos);
  other_weight[weights] = 1;
  for (const std::string& other : {two_layers("7", "first"), other_weight})
    for (const std::string stages : {"1", "2"}) {
      const Outcome differs = train_in({same, {other, {}}}, {"--pipeline", stages});
      EXPECT_EQ(differs.status, 2);
      expect_says(differs, "m.onnx of rank 1 has other contents than that of rank 0");
    }
  const Outcome missing = train_in({same, {}}, {"--pipeline", "1"});
  EXPECT_EQ(missing.status, 2);
  expect_says(missing, "m.onnx: cannot be read: No such file");
}

TEST(TrainOnCluster, RefusesOtherSamplesUnderTheSameName) {
  const std::string model = two_layers("6", "first");
  const std::string sample(2 * (4 * 4 + 8), '\0');  // labels: 64 bits a row
  const OwnFiles same{model, sample};
  const Arguments reads = {"--pipeline", "1", "--data", "m.bin"};
  const Outcome good = train_in({same, same}, reads);
  if (good.err.find("built without ONNX") != std::string::npos)
    GTEST_SKIP() << "needs ONNX";
  EXPECT_EQ(good.status, 0) << good.err;
  std::string other = sample;
  other.back() = 1;
  for (const std::string& data : {other, sample + sample}) {
    const Outcome differs = train_in({same, same, {model, data}}, reads);
    EXPECT_EQ(differs.status, 2);
    expect_says(differs, "m.bin of rank 2 has other contents than that of rank 0");
  }
  const Outcome missing = train_in({same, {model, {}}}, reads);
  EXPECT_EQ(missing.status, 2);
  expect_says(missing, "m.bin: cannot be read: No such file");
}

// What does not fit runs forwards again, on the process that lacks memory.
TEST(TrainOnCluster, ForwardsRunAgainWhereMemoryIsScarce) {
  const Arguments wide = {"train",
                          "--mlp",
                          "64x64x64x64x64x64x64x10",
                          "--batch",
                          "65536",
                          "--steps",
                          "2",
                          "--threads",
                          "1",
                          "--json",
                          "--micro-batches",
                          "4",
                          "--workers",
                          "1"};
  const json free = answer(run(on(2, wide)));
  const std::int64_t least = free["process_least_bytes"][0];
  const std::int64_t arena = free["process_planned_bytes"][0];
  const json scarce =
      answer(run(on(2, wide, {"--memory", std::to_string(least - arena / 8)})));
  EXPECT_EQ(scarce["losses"], free["losses"]);
  EXPECT_GT(scarce["recomputed"][0], 0.0);
  const Outcome outcome = run(on(2, wide, {"--memory", std::to_string(arena / 8)}));
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(cli_test::object(outcome)["feasible"], false);
}

TEST(TrainOnCluster, AKilledProcessEndsTheJobWithOneMessage) {
  for (const auto& [killed, tensor] : {std::pair(1, "1"), {0, "1"}, {1, "2"}}) {
    int other = 0;
    const auto outcome = run_disturbed(
        on(2, {"train", "--mlp", "1536x1536x1536x1536x1536", "--batch", "16", "--steps",
               "100000", "--micro-batches", "2", "--threads", "1", "--workers", "1",
               "--tensor-parallel", tensor}),
        [&](int mpirun) {
          other = process_of(mpirun, 1 - killed);
          const int process = process_of(mpirun, killed);
          // It trains: the arena is there, parameters and gradients of 36 MiB.
          if (other == 0 || process == 0 || resident_kib(process) < 70'000) return false;
          return kill(process, SIGKILL) == 0;
        });
    ASSERT_TRUE(outcome.has_value());
    expect_ended_by_kill(*outcome, other);
  }
}

TEST(TrainOnCluster, SaysOnceWhatIsWrong) {
  for (const auto& [processes, more, words] :
       std::vector<std::tuple<int, Arguments, std::string>>{
           {2, {"--batch", "7"}, "--batch 7: 2 micro-batches"},
           {3, {"--pipeline", "2"}, "--pipeline 2: the stages do not divide"},
           {2, {"--memory", "4MiB"}, "4.0 MiB"},
           {2, {"--unplanned"}, "--unplanned"},
           {3, {"--tensor-parallel", "2"}, "--tensor-parallel 2: it does not divide 3"},
           {3,
            {"--tensor-parallel", "3", "--batch", "33"},
            "--tensor-parallel 3: none of 3 linear"},
           {2, {"--rate", "1e5", "--steps", "20"}, "a smaller --rate may help"}}) {
    SCOPED_TRACE(words);
    const Outcome outcome =
        run(on(processes,
               {"train", "--mlp", "8x16x16x4", "--workers", "1", "--threads", "1",
                "--micro-batches", processes == 3 ? "3" : "2"},
               more));
    EXPECT_NE(outcome.status, 0);
    const std::size_t first = outcome.err.find(words);
    ASSERT_NE(first, std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.err.find(words, first + 1), std::string::npos) << outcome.err;
  }
}

// What the schedule asks of the micro-batches, and they of the batch, is said at once.
TEST(TrainOnCluster, RefusalsNameCountsThatGoTogether) {
  expect_remedy_of_job({"interleaved",
                        {"train", "--mlp", "8x8x8x8x8", "--schedule", "interleaved",
                         "--micro-batches", "3", "--steps", "1"},
                        2,
                        2});
  expect_remedy_of_job(
      {"batch_of_ranks",
       {"train", "--mlp", "8x8", "--batch", "3", "--pipeline", "1", "--steps", "1"},
       2,
       2});
  const Outcome refused =
      run(on(2, {"train", "--mlp", "8x8"}, {"--batch", "3", "--pipeline", "1"}));
  EXPECT_NE(refused.err.find("--batch 3: 2 ranks with 1 micro-batch each do not"),
            std::string::npos)
      << refused.err;
}

}  // namespace TEST_SOURCE
}  // namespace espalier::cli_test
