// espalier train-plan: its forms, what it writes and what it refuses.
// The cases of one subject, which share their instances: over 300 lines.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "cli/arguments.h"
#include "cli/program.h"
#include "report/html.h"

namespace espalier::cli_test {
namespace TEST_SOURCE {

using nlohmann::json;

json answer(Arguments arguments, int status = 0) {
  arguments.insert(arguments.begin(), "train-plan");
  arguments.push_back("--json");
  const Outcome outcome = run(arguments);
  EXPECT_EQ(outcome.status, status) << outcome.err;
  return json::parse(outcome.out, nullptr, false);
}

void refused(Arguments arguments, const std::string& message) {
  arguments.insert(arguments.begin(), "train-plan");
  const Outcome outcome = run(arguments);
  EXPECT_EQ(outcome.status, 2) << message;
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find(message), std::string::npos) << outcome.err;
}

TEST(TrainPlanPipeline, NamedSchedulesWaitAsTheFormulasSay) {
  const json report = answer({"pipeline", "--stages", "4", "--micro-batches", "8"});
  std::set<std::string> names;
  for (const json& schedule : report["schedules"]) {
    const std::string name = schedule["schedule"];
    names.insert(name);
    const double idle = schedule["makespan_seconds"].get<double>() - 24;
    if (name == "gpipe" || name == "1f1b") {
      EXPECT_DOUBLE_EQ(idle, 9) << name;
    }
    if (name == "interleaved:2") {
      EXPECT_DOUBLE_EQ(idle, 4.5);
    }
    if (name == "zb-h1") {
      EXPECT_DOUBLE_EQ(idle, 3);
    }
    if (name == "zb-v") {
      EXPECT_DOUBLE_EQ(idle, 1.5);
    }
    if (name == "1f1b" || name == "zb-h1" || name == "zb-v") {
      EXPECT_EQ(schedule["peak_micro_batches"], 4) << name;
    }
    EXPECT_GE(schedule["makespan_seconds"], schedule["lower_bound_seconds"]);
    EXPECT_EQ(schedule["devices"].size(), 4U);
  }
  EXPECT_EQ(names.size(), 8U);
  EXPECT_DOUBLE_EQ(report["chosen"]["makespan_seconds"], 25.5);
}

TEST(TrainPlanPipeline, KeepsABoundOfEachDevice) {
  const json report =
      answer({"pipeline", "--stages", "4", "--micro-batches", "8", "--memory", "3"});
  EXPECT_EQ(report["bound_micro_batches"], 3);
  EXPECT_LE(report["chosen"]["peak_micro_batches"], 3);
  for (const json& schedule : report["schedules"])
    EXPECT_EQ(schedule["fits"], schedule["peak_micro_batches"] <= 3);
  const json none = answer({"pipeline", "--stages", "4", "--micro-batches", "8",
                            "--memory", "3", "--schedule", "1f1b"},
                           1);
  EXPECT_EQ(none["feasible"], false);
  EXPECT_EQ(none["reason"], "none_found");
  EXPECT_EQ(answer({"pipeline", "--stages", "2", "--persistent", "1GiB", "--until-weight",
                    "2MiB", "--memory", "1GiB"},
                   1)["least_bytes"],
            (1 << 30) + (2 << 20));
}

constexpr const char* kStages =
    "forward,backward,weight,until_weight,persistent\n"
    "2ms,2ms,1.5ms,256MiB,3GiB\n"
    "\n"
    "3ms, 3ms ,2ms,200MiB,2GiB\r\n";

TEST(TrainPlanPipeline, ReadsStagesFromCsvAndFromJson) {
  const TemporaryFile csv(kStages);
  const TemporaryFile object(R"({"stages": [
      {"forward": "2ms", "backward": 0.002, "weight": "1.5ms",
       "until_weight": "256MiB", "persistent": 3221225472},
      {"forward": "3ms", "backward": "3ms", "weight": "2ms",
       "until_weight": "200MiB", "persistent": "2GiB"}]})");
  json first = answer({"pipeline", csv.path(), "--schedule", "1f1b"});
  json second = answer({"pipeline", object.path(), "--schedule", "1f1b"});
  EXPECT_EQ(first["stages"], 2);
  EXPECT_EQ(first["chosen"]["devices"][0]["peak_bytes"],
            (std::int64_t{3} << 30) + (512 << 20));
  first.erase("input");
  second.erase("input");
  EXPECT_EQ(first, second);
}

TEST(TrainPlanPipeline, WritesMomentsOperationsAndAPage) {
  const TemporaryFile stages(kStages), timeline(""), operations(""), page("");
  const json report =
      answer({"pipeline", stages.path(), "--micro-batches", "3", "--schedule", "zb-h1",
              "--timeline", timeline.path(), "--operations", operations.path(),
              "--report", page.path()});
  std::istringstream moments(timeline.text());
  std::string line;
  std::getline(moments, line);
  EXPECT_EQ(line, "device,nanoseconds,bytes");
  std::int64_t most = 0;
  while (std::getline(moments, line))
    if (line.starts_with("0,"))
      most = std::max<std::int64_t>(most, std::stoll(line.substr(line.rfind(',') + 1)));
  EXPECT_EQ(most, report["chosen"]["devices"][0]["peak_bytes"]);
  const std::string text = operations.text();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1 + 2 * 3 * 3);
  const json data = json::parse(report::embedded_data(page.text()), nullptr, false);
  EXPECT_EQ(data["kind"], "pipeline");
  EXPECT_EQ(data["figures"]["makespan"], report["chosen"]["makespan_seconds"]);
  EXPECT_EQ(data["lanes"][0].size(), 5U * 9);
  EXPECT_EQ(data["held"]["devices"].size(), 2U);
}

TEST(TrainPlanPipeline, MomentsOfCountedMicroBatchesAreInMicroBatches) {
  const TemporaryFile timeline("");
  const json report = answer({"pipeline", "--stages", "2", "--micro-batches", "3",
                              "--schedule", "gpipe", "--timeline", timeline.path()});
  std::istringstream moments(timeline.text());
  std::string line;
  std::getline(moments, line);
  EXPECT_EQ(line, "device,nanoseconds,micro_batches");
  double most = 0;
  while (std::getline(moments, line))
    most = std::max(most, std::stod(line.substr(line.rfind(',') + 1)));
  EXPECT_EQ(most, report["chosen"]["peak_micro_batches"]);
}

TEST(TrainPlanPipeline, CutsAChainAndRecomputesInsideItsParts) {
  // docs/manual/checkpointing.md's chains; the worked example: 24 bytes, 4 devices -> 7.
  std::string text;
  for (int i = 0; i < 8; ++i) text += "1 2 1s 2s\n";
  const TemporaryFile chain(text + "output 1\n");
  const Arguments question = {"pipeline", "--chain",  chain.path(), "--weights",
                              "2",        "--stages", "4"};
  const auto with = [&](const std::string& memory, int status = 0) {
    Arguments arguments = question;
    arguments.insert(arguments.end(), {"--memory", memory});
    return answer(arguments, status);
  };
  const auto longest = [](const json& report) {
    double most = 0;
    for (const json& part : report["cut"])
      most = std::max(most, part["cost_seconds"].get<double>());
    return most;
  };
  EXPECT_EQ(longest(with("20")), 9);
  EXPECT_EQ(longest(with("24")), 7);
  EXPECT_EQ(longest(with("32")), 6);
  EXPECT_LE(with("24")["chosen"]["peak_bytes"], 24);
  EXPECT_EQ(with("16", 1)["least_bytes"], 18);
  EXPECT_EQ(with("min")["bound_bytes"], 18);
}

TEST(TrainPlanPipeline, SaysWhatIsWrong) {
  refused({"pipeline", "--stages", "2", "--until-weight", "1,4611686018427387904",
           "--until-backward", "4611686018427387904"},
          "stage 1: 4611686018427387904 + 4611686018427387904 leaves the 64-bit range");
  refused({"pipeline"}, "--stages");
  refused({"pipeline", "--stages", "4", "--forward", "1s,2s"}, "2 values for 4 stages");
  refused({"pipeline", "--stages", "4", "--forward", "fast"}, "'fast' is not a time");
  refused({"pipeline", "--stages", "4", "--schedule", "zb"}, "'zb' is none of");
  refused(
      {"pipeline", "--stages", "3", "--micro-batches", "4", "--schedule", "interleaved"},
      "interleaved");
  refused({"pipeline", "--stages", "0"}, "--stages");
  refused({"pipeline", "--stages", "2", "--seed", "-1"},
          "--seed: '-1' is not a whole number from 0");
  refused({"pipeline", "--stages", "2", "--weights", "1"},
          "--weights: only for a --chain");
  refused({"pipeline", "/nowhere.csv"}, "/nowhere.csv");
  const TemporaryFile unknown("forward,backward,colour\n1,1,1\n");
  refused({"pipeline", unknown.path()}, ":1: 'colour' is none of forward");
  const TemporaryFile missing("forward,weight\n1,1\n");
  refused({"pipeline", missing.path()}, ":1: 'backward' is missing");
  const TemporaryFile fields("forward,backward\n1s,1s\n1s\n");
  refused({"pipeline", fields.path()}, ":3: 1 fields, the header has 2");
  const TemporaryFile value("forward,backward\n1s,-1s\n");
  refused({"pipeline", value.path()}, ":2: backward: '-1s' is not a time");
  const TemporaryFile empty("forward,backward\n");
  refused({"pipeline", empty.path()}, "holds no stage");
  const TemporaryFile object(R"({"stages": [{"forward": 1}]})");
  refused({"pipeline", object.path()}, "stage 0: 'backward' is missing");
  const TemporaryFile broken(R"({"stages": [)");
  refused({"pipeline", broken.path()}, broken.path());
  refused({"pipeline", unknown.path(), "--stages", "2"},
          "--stages: a file of stages has its own");
  refused({"pipeline", unknown.path(), "--forward", "2ms", "--persistent", "1MiB"},
          "--forward, --persistent: a file of stages has its own\n");
  refused({"pipeline", "--chain", "c", "--stages", "2", "--weight", "2ms"},
          "--weight: a chain has its own times and sizes");
}

TEST(TrainPlanPipeline, RefusesInTheUnitThatWasGiven) {
  const Outcome no = run({"train-plan", "pipeline", "--stages", "4", "--memory", "0"});
  EXPECT_EQ(no.status, 1);
  EXPECT_NE(no.err.find("a bound of 0 micro-batches is too small: no schedule needs less "
                        "than 1 micro-batch; 1 micro-batch would do\n"),
            std::string::npos)
      << no.err;
  const json counted = answer({"pipeline", "--stages", "4", "--memory", "0"}, 1);
  EXPECT_EQ(counted["reason"], "impossible");
  EXPECT_EQ(counted["least_micro_batches"], 1);
  EXPECT_FALSE(counted.contains("least_bytes"));
  const json sized = answer(
      {"pipeline", "--stages", "2", "--until-backward", "1KiB", "--memory", "5"}, 1);
  EXPECT_EQ(sized["least_bytes"], 1024);
}

// What a refusal names suffices for the schedule that was asked for.
TEST(TrainPlanPipeline, RefusesANamedScheduleWithWhatItNeeds) {
  const TemporaryFile stages(
      "forward,backward,weight,until_backward,until_weight,persistent\n"
      "1ns,1ns,1ns,1,1,4\n1ns,1ns,1ns,1,1,4\n");
  for (const char* schedule : {"gpipe", "zb-h1", "zb-v", "interleaved:2", "search"}) {
    Arguments question = {"pipeline",   stages.path(), "--micro-batches", "2",
                          "--schedule", schedule,      "--memory",        "5"};
    const json impossible = answer(question, 1);
    EXPECT_EQ(impossible["reason"], "impossible");
    EXPECT_EQ(impossible["lower_bound_bytes"], 6);
    const auto least = impossible["least_bytes"].get<std::int64_t>();
    EXPECT_GE(least, 6);
    question.back() = std::to_string(least);
    EXPECT_LE(answer(question)["chosen"]["peak_bytes"], least) << schedule;
    if (least == 6) continue;
    question.back() = std::to_string(least - 1);
    EXPECT_EQ(answer(question, 1)["lower_bound_bytes"], 6) << schedule;
  }
}

TEST(TrainPlanPipeline, CountsPartsOfMicroBatches) {
  const Arguments half = {"pipeline",        "--stages", "4",
                          "--micro-batches", "8",        "--schedule",
                          "search:2",        "--memory", "3.5"};
  const json report = answer(half);
  EXPECT_EQ(report["bound_micro_batches"], 3.5);
  EXPECT_LE(report["chosen"]["peak_micro_batches"], 3.5);
  EXPECT_EQ(
      answer({"pipeline", "--stages", "2", "--micro-batches", "2", "--memory", "0.5"},
             1)["bound_micro_batches"],
      0.5);
  refused({"pipeline", "--stages", "2", "--memory", "4MiB"},
          "--memory 4MiB: stages without sizes are counted in micro-batches");
}

TEST(TrainPlanPipeline, ATimeThatIsOverLeavesOneScheduleThatFits) {
  const auto planned = [](Arguments more) {
    Arguments arguments = {"pipeline", "--stages",  "6", "--micro-batches",
                           "12",       "--timeout", "0"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return answer(arguments);
  };
  const json open = planned({});
  EXPECT_EQ(open["chosen"]["schedule"], "gpipe");
  EXPECT_EQ(open["schedules"].size(), 1u);
  EXPECT_EQ(open["left_out"].size(), 7u);
  // No named schedule fits: the search gives its first one.
  const json bound = planned({"--memory", "2"});
  EXPECT_EQ(bound["chosen"]["schedule"], "search");
  EXPECT_LE(bound["chosen"]["peak_micro_batches"], 2);
  EXPECT_EQ(bound["left_out"], json::array({"search:2"}));
}

TEST(TrainPlanZero, KeepsWhatTheFormulasSay) {
  // Widths of which 8 ranks divide every unit.
  const json report =
      answer({"zero", "--transformer",
              "layers=4,width=64,heads=4,vocabulary=512,sequence=64", "--ranks", "8"});
  const std::int64_t all = report["parameters"];
  EXPECT_EQ(all, 4 * (12 * 64 * 64 + 13 * 64) + (512 + 64 + 2) * 64);
  const auto bytes = [&](int k) {
    return report["stages"][k]["persistent_bytes"].get<std::int64_t>();
  };
  EXPECT_EQ(bytes(0), 16 * all);
  EXPECT_EQ(bytes(1), 4 * all + 12 * all / 8);
  EXPECT_EQ(bytes(2), 2 * all + 14 * all / 8);
  EXPECT_EQ(bytes(3), 16 * all / 8);
  for (const json& stage : report["stages"]) {
    EXPECT_EQ(stage["persistent_bytes"], stage["formula_bytes"]);
    EXPECT_EQ(stage["peak_bytes"].get<std::int64_t>(),
              stage["persistent_bytes"].get<std::int64_t>() +
                  stage["transient_bytes"].get<std::int64_t>());
    EXPECT_GE(stage["layout_bytes"], stage["transient_bytes"]);
  }
  // All-reduce, or reduce-scatter and all-gather: 2 (n-1)/n elements; stage 3: three.
  EXPECT_EQ(report["stages"][0]["sent_bytes"], 2 * 2 * all * 7 / 8);
  EXPECT_EQ(report["stages"][2]["sent_bytes"], 2 * 2 * all * 7 / 8);
  EXPECT_EQ(report["stages"][3]["sent_bytes"], 3 * 2 * all * 7 / 8);
  EXPECT_EQ(report["stages"][0]["gathered_bytes"], 0);
  EXPECT_GT(report["stages"][3]["gathered_bytes"], 0);
}

TEST(TrainPlan, SharesATransformerAmongProcesses) {
  const TemporaryFile page("");
  const json report =
      answer({"--transformer", "gpt2-xl", "--processes", "8", "--batch", "16",
              "--memory-per-process", "16GiB", "--report", page.path()});
  EXPECT_EQ(report["parameters"], 1'557'611'200);
  const json& best = report["plans"][0];
  EXPECT_EQ(
      best["data"].get<int>() * best["pipeline"].get<int>() * best["tensor"].get<int>(),
      8);
  for (const json& plan : report["plans"]) {
    EXPECT_GE(plan["step_seconds"], best["step_seconds"]);
    EXPECT_LE(plan["peak_bytes"], report["bound_bytes"]);
    std::int64_t next = 0;
    for (const json& stage : plan["stages"]) {
      EXPECT_EQ(stage["first_layer"], next);
      next = stage["last_layer"].get<std::int64_t>() + 1;
    }
    EXPECT_EQ(next, 50);
  }
  EXPECT_GE(best["step_seconds"], report["lower_bound_seconds"]);
  EXPECT_GT(report["rejected_counts"]["tensor"], 0);  // 25 heads
  EXPECT_GT(report["rejected_counts"]["memory"], 0);
  EXPECT_EQ(report["considered"].get<std::size_t>(),
            report["fitting"].get<std::size_t>() + report["rejected"].size());
  const json data = json::parse(report::embedded_data(page.text()), nullptr, false);
  EXPECT_EQ(data["kind"], "pipeline");
  EXPECT_EQ(data["tables"].size(), 2U);
}

TEST(TrainPlan, SaysWhatWouldDoWhereNothingFits) {
  const Arguments question = {"--transformer", "gpt2", "--processes",         "1",
                              "--batch",       "1",    "--memory-per-process"};
  const auto with = [&](const std::string& memory, int status) {
    Arguments arguments = question;
    arguments.push_back(memory);
    return answer(arguments, status);
  };
  const json none = with("1GiB", 1);
  EXPECT_EQ(none["feasible"], false);
  EXPECT_EQ(none["reason"], "none_found");
  const std::int64_t least = none["rejected"][0]["least_bytes"];
  EXPECT_EQ(none["least_bytes"], least);
  EXPECT_EQ(with(std::to_string(least), 0)["plans"][0]["peak_bytes"], least);
  with(std::to_string(least - 1), 1);
  EXPECT_EQ(answer({"--transformer", "tiny", "--processes", "1024", "--batch", "1",
                    "--memory-per-process", "1GiB"},
                   1)["reason"],
            "impossible");
}

// A small transformer, 8 processes, and a batch.
json small_plan(const std::string& layers, const std::string& batch, std::int64_t memory,
                int status) {
  return answer({"--transformer", layers + ",sequence=16,vocabulary=7", "--processes",
                 "8", "--batch", batch, "--memory-per-process", std::to_string(memory)},
                status);
}

TEST(TrainPlan, WhatWouldDoHoldsTheLayoutsToo) {
  const std::string layers = "layers=8,width=12,heads=4";
  const std::int64_t peak = 44736;  // of the plan that needs least; its layout needs more
  for (const std::int64_t bound : {std::int64_t{1}, peak}) {
    const json none = small_plan(layers, "6", bound, 1);
    EXPECT_EQ(none["plans"], json::array());
    const std::int64_t least = none["least_bytes"];
    EXPECT_GT(least, peak);
    small_plan(layers, "6", least, 0);
  }
}

TEST(TrainPlan, IsNotSlowerWhereTheLayoutOfAFasterPlanDoesNotFit) {
  const std::string layers = "layers=13,width=6,heads=2";
  const std::int64_t peak = 26720;  // of a plan whose layout needs 26912
  const json less = small_plan(layers, "12", peak - 1, 0);
  const json more = small_plan(layers, "12", peak, 0);
  EXPECT_LE(more["plans"][0]["step_seconds"], less["plans"][0]["step_seconds"]);
  for (const json& stage : more["plans"][0]["stages"])
    EXPECT_LE(stage["layout_bytes"], peak);
}

TEST(TrainPlan, RefusesABatchOfManyMicroBatchesAtOnce) {
  const json none = small_plan("layers=8,width=12,heads=4", "1048576", 1, 1);
  EXPECT_GT(none["least_bytes"], 0);
}

TEST(TrainPlan, SaysWhatIsWrong) {
  refused({}, "a MODEL or --transformer is needed");
  refused({"--transformer", "gpt9", "--processes", "1"}, "--transformer: ");
  refused({"--transformer", "gpt2"}, "--processes is needed");
  refused({"--transformer", "gpt2", "--processes", "2"}, "--batch is needed");
  refused({"--transformer", "gpt2", "--processes", "2", "--batch", "4"},
          "--memory-per-process is needed");
  refused({"--transformer", "gpt2", "--zero", "4"},
          "--zero: '4' is not a whole number from 0 to 3");
  refused({"--transformer", "gpt2", "--network", "fast"}, "--network");
  refused({"--transformer", "gpt2", "--node", "8"}, "is not a node");
  refused({"--transformer", "gpt2", "--rate", "-1"}, "'-1' is not a number of flops");
}

}  // namespace TEST_SOURCE
}  // namespace espalier::cli_test
