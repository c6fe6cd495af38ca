// espalier train: steps inside bounds.

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <string>
#include <utility>

#include "cli/arguments.h"
#include "cli/json_answer.h"
#include "cli/onnx_bytes.h"
#include "cli/program.h"
#include "cli/solving.h"

namespace espalier::cli_test {
namespace TEST_SOURCE {

using nlohmann::json;

const Arguments kPerceptron = {"train",   "--mlp", "64x256x128x10", "--batch", "64",
                               "--steps", "3",     "--threads",     "1",       "--json"};

json answer(const Outcome& outcome) {
  const json object = answer_of(outcome);
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

// What no schedule needs less than is below what runs, whatever was asked for.
TEST(Train, ARefusalKnowsThatOperatorsMayRunAgain) {
  const auto with_memory = [](const std::string& memory) {
    return run({"train", "--transformer",
                "layers=6,width=64,heads=4,sequence=64,vocabulary=300", "--batch", "8",
                "--steps", "1", "--threads", "1", "--json", "--memory", memory});
  };
  const Outcome refused = with_memory("1");
  EXPECT_EQ(refused.status, 1) << refused.err;
  const json no = cli_test::object(refused);
  const json plain = answer(with_memory("min"));
  EXPECT_LT(no["least_bytes"], plain["bound_bytes"]);
  EXPECT_LT(no["lower_bound_bytes"], no["least_bytes"]);
  // Not the same to the byte in another run: what is resident differs by some pages.
  const std::int64_t bound = no["least_bytes"].get<std::int64_t>() + (1 << 20);
  const json ran = answer(with_memory(std::to_string(bound)));
  EXPECT_EQ(ran["bound_kept"], true);
  EXPECT_GT(ran["recomputed_operators"], 0);
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
           {{"train", "--mlp", "3x2", "--steps", "0"}, "--steps: '0'"},
           {{"train", "--mlp", "3x2", "--unplanned", "--memory", "min"},
            "--unplanned"}}) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.status, 2) << testing::PrintToString(arguments);
    EXPECT_NE(outcome.err.find(text), std::string::npos) << outcome.err;
  }
}

// x[2, 4] -> MatMul with w -> p -> an operator `odd` -> y.
OnnxModel odd_model(const std::string& type) {
  return {.nodes = {{"MatMul", "first", {"x", "w"}, {"p"}}, {type, "odd", {"p"}, {"y"}}},
          .inputs = {{"x", {"2", "4"}}},
          .weights = {{"w", {"4", "3"}}},
          .outputs = {{"y", {"2", "3"}}}};
}

Outcome train(const OnnxModel& model, const Arguments& more = {}) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/m.onnx";
  std::ofstream(path, std::ios::binary) << onnx_bytes(model);
  return run(
      with({"train", path, "--steps", "2", "--threads", "1", "--rate", "1e-3"}, more));
}

// A second of processor time, of which all but the steps takes a tenth.
bool trains(int process) {
  std::ifstream stat("/proc/" + std::to_string(process) + "/stat");
  std::string field;
  std::int64_t ticks = 0;
  for (int i = 1; i <= 14 && stat >> field; ++i)
    if (i == 14) ticks = std::stoll(field);
  return ticks >= sysconf(_SC_CLK_TCK);
}

TEST(Train, AnInterruptSaysHowFarItWas) {
  for (const char* parts : {"1", "2"}) {
    SCOPED_TRACE(parts);
    const auto outcome = run_disturbed(
        {"train", "--mlp", "8x8x4", "--steps", "1000000000", "--threads", "1", "--json",
         "--micro-batches", parts},
        [](int process) { return trains(process) && kill(process, SIGINT) == 0; });
    ASSERT_TRUE(outcome.has_value());
    EXPECT_EQ(outcome->signal, SIGINT) << outcome->err;
    EXPECT_NE(outcome->err.find("train mlp 8x8x4: interrupted after"), std::string::npos)
        << outcome->err;
  }
}

TEST(Train, ScalarsAreTrainedWhereTheyAreNamedAndElseSaidNotToBe) {
  OnnxModel model = odd_model("Mul");
  model.nodes[1].inputs = {"p", "gain"};
  model.weights.push_back({"gain", {}});
  const Outcome alone = train(model);
  if (alone.err.find("built without ONNX") != std::string::npos)
    GTEST_SKIP() << "needs ONNX";
  EXPECT_EQ(alone.status, 0) << alone.err;
  EXPECT_NE(alone.err.find("not trained: 'gain'"), std::string::npos) << alone.err;
  for (const char* parts : {"1", "2"})
    EXPECT_EQ(object(train(model, {"--json", "--batch", "2", "--micro-batches",
                                   parts}))["not_trained"],
              json::array({"gain"}));
  for (const auto& [option, parameters] :
       {std::pair{"--trained", 13}, std::pair{"--frozen", 12}}) {
    const Outcome named = train(model, {option, "gain", "--json"});
    EXPECT_EQ(named.err.find("not trained"), std::string::npos) << named.err;
    EXPECT_EQ(answer(named)["parameters"], parameters);
    EXPECT_EQ(answer(named)["not_trained"], json::array());
  }
  const Outcome wrong = train(model, {"--trained", "gains"});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_NE(wrong.err.find("m.onnx: the model has no tensor 'gains'"), std::string::npos)
      << wrong.err;
  EXPECT_EQ(run({"train", "--mlp", "3x2", "--frozen", "w"}).status, 2);
  EXPECT_EQ(run({"train", "--mlp", "3x2", "--dim", "n=2"}).status, 2);
  EXPECT_EQ(run({"train", "--mlp", "3x2", "--free-weights"}).status, 2);
}

// The first two inputs of a record are what nobody reads, and what is read second.
TEST(Train, RecordsHaveAllInputsInTheOrderOfTheModel) {
  const OnnxModel model = {
      .nodes = {{"MatMul", "first", {"x", "w"}, {"p"}},
                {"Sub", "last", {"p", "z"}, {"y"}}},
      .inputs = {{"unused", {"2", "5"}}, {"z", {"2", "3"}}, {"x", {"2", "4"}}},
      .weights = {{"w", {"4", "3"}}},
      .outputs = {{"y", {"2", "3"}}}};
  const TemporaryDirectory directory;
  const std::string file = directory.path() + "/m.onnx",
                    data = directory.path() + "/data";
  std::ofstream(file, std::ios::binary) << onnx_bytes(model);
  {
    std::ofstream out(data, std::ios::binary);
    for (int sample = 0; sample < 2; ++sample) {
      const float record[] = {1e30F, 1e30F, 1e30F, 1e30F, 1e30F, 0, 0, -20, 0, 0, 0, 0};
      const std::int64_t label = 2;
      out.write(reinterpret_cast<const char*>(record), sizeof record);
      out.write(reinterpret_cast<const char*>(&label), sizeof label);
    }
  }
  const Outcome outcome =
      run({"train", file, "--steps", "1", "--threads", "1", "--json", "--data", data});
  if (outcome.err.find("built without ONNX") != std::string::npos)
    GTEST_SKIP() << "needs ONNX";
  // Scores 0, 0, 20: the loss is log(1 + 2 e^-20).
  EXPECT_LT(answer(outcome)["losses"][0].get<double>(), 1e-6);
}

TEST(Train, NamesWhatIsWrongWithAModel) {
  const Outcome good = train(odd_model("Relu"));
  if (good.err.find("built without ONNX") != std::string::npos)
    GTEST_SKIP() << "needs ONNX";
  EXPECT_EQ(good.status, 0) << good.err;

  OnnxModel unknown = odd_model("Frobnicate"), shapeless = unknown;
  unknown.others = {{"p", {"2", "3"}}};
  shapeless.nodes.push_back({"Relu", "last", {"y"}, {"z"}});
  shapeless.outputs = {{"z", {"2", "3"}}};
  OnnxModel cycle = odd_model("Relu");
  cycle.nodes[0] = {"Add", "first", {"x", "y"}, {"p"}};
  cycle.inputs = {{"x", {"2", "3"}}};
  cycle.others = {{"p", {"2", "3"}}};
  OnnxModel open = odd_model("Relu");
  open.inputs = {{"x", {"n", "4"}}};
  open.outputs = {{"y", {"n", "3"}}};
  OnnxModel wrong = odd_model("Relu");
  wrong.weights = {{"w", {"5", "3"}}};
  OnnxModel nan = odd_model("Log");
  for (const auto& [model, parts] :
       std::vector<std::pair<OnnxModel, std::vector<std::string>>>{
           {unknown, {"'odd' (Frobnicate)", "tensor 'p'"}},
           {shapeless, {"'odd' (Frobnicate)", "'y'", "shape is not known"}},
           {cycle, {"'first' (Add)", "tensor 'y'", "'odd' (Relu)", "cycle"}},
           {open, {"input 'x'", "dimension 0, 'n'", "--dim n=N"}},
           {wrong, {"'first' (MatMul)", "'p'"}},
           {nan, {"'odd' (Log)", "inf into tensor 'y'", "nan into tensor 'loss'"}}}) {
    const Outcome outcome = train(model);
    EXPECT_EQ(outcome.status, 2) << parts.front() << outcome.out;
    for (const std::string& part : parts)
      EXPECT_NE(outcome.err.find(part), std::string::npos) << part << '\n' << outcome.err;
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::cli_test
