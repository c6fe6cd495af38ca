#include "policy/core/settings.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>

#include "espalier/model/error.h"

namespace espalier::policy {
namespace TEST_SOURCE {

using Variables = std::map<std::string, std::string>;

Environment environment(Variables variables) {
  return [variables = std::move(variables)](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

Settings read(Variables variables) {
  return read_settings(environment(std::move(variables)));
}

// The message of the refusal, "" when there is none.
std::string refusal(Variables variables) {
  try {
    (void)read(std::move(variables));
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "";
}

TEST(Settings, AskForNothingByDefault) {
  for (const char* empty : {"unset", ""}) {
    Variables variables;
    for (const char* name : {"MEMORY", "ON_OVERFLOW", "SPILL_DIR", "WINDOW", "IDLE_SLEEP",
                             "REPORT", "TRACE"}) {
      if (*empty == '\0') variables["ESPALIER_" + std::string(name)] = "";
    }
    const Settings settings = read(variables);
    EXPECT_EQ(settings.memory, std::nullopt);
    EXPECT_EQ(settings.on_overflow, Overflow::kAbort);
    EXPECT_EQ(settings.spill_directory, "/tmp");
    EXPECT_FALSE(settings.window);
    EXPECT_FALSE(settings.idle_sleep);
    EXPECT_EQ(settings.report, "");
    EXPECT_EQ(settings.trace, "");
  }
}

TEST(Settings, RefuseOneFileForReportAndTrace) {
  EXPECT_NE(refusal({{"ESPALIER_REPORT", "run.json"}, {"ESPALIER_TRACE", "./run.json"}})
                .find("ESPALIER_TRACE='./run.json' is the file of ESPALIER_REPORT, too"),
            std::string::npos);
  for (const char* report : {"-", "", "run.txt", "/dev/null"})
    EXPECT_EQ(refusal({{"ESPALIER_REPORT", report},
                       {"ESPALIER_TRACE", *report == '/' ? report : "run.json"}}),
              "");
}

TEST(Settings, TakeEveryVariable) {
  const Settings settings = read({{"ESPALIER_MEMORY", "1.5 GiB"},
                                  {"ESPALIER_ON_OVERFLOW", "disk"},
                                  {"ESPALIER_SPILL_DIR", "/scratch/a b"},
                                  {"TMPDIR", "/elsewhere"},
                                  {"ESPALIER_WINDOW", "0"},
                                  {"ESPALIER_IDLE_SLEEP", "250"},
                                  {"ESPALIER_REPORT", "-"},
                                  {"ESPALIER_TRACE", "run.json"}});
  EXPECT_EQ(settings.memory, Bytes{3} << 29);
  EXPECT_EQ(settings.on_overflow, Overflow::kDisk);
  EXPECT_EQ(settings.spill_directory, "/scratch/a b");
  EXPECT_EQ(settings.window, 0U);
  EXPECT_EQ(settings.idle_sleep, std::chrono::microseconds(250));
  EXPECT_EQ(settings.report, "-");
  EXPECT_EQ(settings.trace, "run.json");
  EXPECT_EQ(read({{"TMPDIR", "/elsewhere"}}).spill_directory, "/elsewhere");
  EXPECT_EQ(read({{"ESPALIER_WINDOW", "18446744073709551615"}}).window, SIZE_MAX);
}

TEST(Settings, RefuseWhatTheyDoNotUnderstandByNameAndValue) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"ESPALIER_MEMORY", "0"},
      {"ESPALIER_MEMORY", "0.0 GiB"},
      {"ESPALIER_MEMORY", "12 apples"},
      {"ESPALIER_MEMORY", "-1"},
      {"ESPALIER_MEMORY", "9999999 TiB"},
      {"ESPALIER_MEMORY", " "},
      {"ESPALIER_ON_OVERFLOW", "Disk"},
      {"ESPALIER_WINDOW", "-1"},
      {"ESPALIER_WINDOW", "10k"},
      {"ESPALIER_WINDOW", "18446744073709551616"},
      {"ESPALIER_IDLE_SLEEP", "-1"},
      {"ESPALIER_IDLE_SLEEP", "1000001"},
      {"ESPALIER_IDLE_SLEEP", "50us"},
      {"ESPALIER_REPORT", "run%d.json"},
      {"ESPALIER_REPORT", "100%"},
      {"ESPALIER_TRACE", "%"},
      {"ESPALIER_TRACE", "-"}};
  for (const auto& [name, value] : wrong) {
    const std::string message = refusal({{name, value}});
    EXPECT_NE(message.find(name), std::string::npos) << name << '=' << value;
    EXPECT_NE(message.find("'" + value + "'"), std::string::npos) << message;
  }
}

TEST(Settings, NameFilesByProcessAndRank) {
  const std::string pid = std::to_string(getpid());
  const auto trace = [](std::string pattern, Variables variables) {
    variables["ESPALIER_TRACE"] = std::move(pattern);
    return read(variables).trace;
  };
  EXPECT_EQ(trace("a%p.json", {}), "a" + pid + ".json");
  EXPECT_EQ(trace("%r%%%p", {}), "0%" + pid);
  const Variables rank_3 = {{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "4"}};
  EXPECT_EQ(trace("%r.json", rank_3), "3.json");
  EXPECT_EQ(trace("a%p.json", rank_3), "a" + pid + ".json");
  EXPECT_EQ(trace("run.json", rank_3), "run.3.json");
  EXPECT_EQ(trace("run%%r", rank_3), "run%r.3");
  EXPECT_EQ(trace("/a.d/run", rank_3), "/a.d/run.3");
  EXPECT_EQ(trace("./.run", rank_3), "./.run.3");
  Variables report = rank_3;
  report["ESPALIER_REPORT"] = "-";
  EXPECT_EQ(read(report).report, "-");
}

TEST(Settings, KeepProcessesOfAJobFromOverwritingEachOther) {
  const auto trace = [](Variables variables) {
    variables["ESPALIER_TRACE"] = "t.json";
    return read(variables).trace;
  };
  EXPECT_EQ(trace({{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}}), "t.json") << "one process";
  EXPECT_EQ(trace({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}), "t.0.json");
  EXPECT_EQ(trace({{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "2"}}), "t.0.json");
  EXPECT_EQ(trace({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}}), "t.json")
      << "a batch script without srun";
  EXPECT_EQ(trace({{"PMIX_RANK", "0"}}), "t.json") << "the size is not known";
  EXPECT_EQ(trace({{"PMIX_RANK", "1"}}), "t.1.json");
}

TEST(IdleSleep, IsForCrowdedHostsUnlessTheUserSays) {
  using std::chrono::microseconds;
  const auto sleep = [](Variables variables, CoreShare cores) {
    return idle_sleep(environment(std::move(variables)), 2, cores);
  };
  const CoreShare two{.own = 2, .host = 2}, eight{.own = 8, .host = 8};
  EXPECT_EQ(sleep({}, two), microseconds(0));
  const Variables of_two = {{"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
  EXPECT_GT(sleep(of_two, two), microseconds(0));
  EXPECT_EQ(sleep(of_two, eight), microseconds(0));
  EXPECT_GT(sleep({{"MPI_LOCALNRANKS", "4"}}, eight), microseconds(0));
  const Variables srun = {{"PMIX_RANK", "0"}, {"SLURM_STEP_TASKS_PER_NODE", "4(x2),3"}};
  EXPECT_GT(sleep(srun, eight), microseconds(0));
  const Variables batch = {{"SLURM_STEP_TASKS_PER_NODE", "4"}};
  EXPECT_EQ(sleep(batch, eight), microseconds(0)) << "a batch script without srun";
  // Three threads on four cores that are this process's alone.
  EXPECT_EQ(sleep(of_two, {.own = 4, .host = 8}), microseconds(0));
  for (const char* chosen : {"0", "7"}) {
    Variables variables = of_two;
    variables["ESPALIER_IDLE_SLEEP"] = chosen;
    EXPECT_EQ(sleep(variables, two), microseconds(std::stoi(chosen)));
    EXPECT_EQ(sleep(variables, eight), microseconds(std::stoi(chosen)));
  }
}

TEST(MpiRank, ComesFromTheInnermostLauncher) {
  const auto rank = [](Variables variables) { return mpi_rank(environment(variables)); };
  EXPECT_EQ(rank({}), std::nullopt);
  EXPECT_EQ(rank({{"SLURM_PROCID", "5"}}), 5);
  EXPECT_EQ(rank({{"SLURM_PROCID", "5"}, {"PMI_RANK", "2"}}), 2);
  EXPECT_EQ(rank({{"PMI_RANK", "2"}, {"PMIX_RANK", "7"}}), 7);
  EXPECT_EQ(rank({{"PMIX_RANK", "7"}, {"OMPI_COMM_WORLD_RANK", "0"}}), 0);
  EXPECT_EQ(rank({{"PMI_RANK", "two"}, {"SLURM_PROCID", "5"}}), 5) << "not a number";
  EXPECT_EQ(rank({{"PMI_RANK", "-1"}}), std::nullopt);
}

TEST(CheckWritable, SaysNoBeforeARunAndDestroysNothing) {
  const std::string path =
      testing::TempDir() + "/check_writable_" + std::to_string(getpid());
  EXPECT_THROW(check_writable(path + "/none/file"), FileError);
  check_writable(path);
  EXPECT_FALSE(std::filesystem::exists(path));
  std::ofstream(path) << "kept";
  check_writable(path);
  EXPECT_EQ(std::filesystem::file_size(path), 4U);
  std::filesystem::remove(path);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::policy
