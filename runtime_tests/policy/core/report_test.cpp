
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "policy/core/report.h"

namespace espalier::policy {
namespace TEST_SOURCE {

using nlohmann::json;

constexpr Bytes kMiB = 1024 * 1024;

RunReport example() {
  RunReport report;
  report.program = "chains";
  report.policy_version = "0.1.0";
  report.starpu_version = "1.3.10";
  report.mpi_rank = 3;
  report.bound = 256 * kMiB;
  report.booked_peak = 192 * kMiB;
  report.allocated_peak = 190 * kMiB;
  report.least_bytes = 64 * kMiB;
  report.vm_rss_at_start = 44 * kMiB;
  report.vm_hwm = 236 * kMiB;
  report.tasks = 32;
  report.gated_tasks = 16;
  report.held_tasks = 12;
  report.held_seconds = 24;
  report.workers = 4;
  report.elapsed_seconds = 10;
  report.busy_seconds = 38;
  report.idle_seconds = 2;
  return report;
}

std::string first_line(const RunReport& report) {
  const std::string text = to_text(report);
  return text.substr(0, text.find('\n'));
}

std::string file_text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(RunReport, SaysFirstWhetherTheBoundWasKept) {
  RunReport report = example();
  EXPECT_EQ(first_line(report), "espalier: the memory bound of 256.0 MiB was kept");
  report.outside.push_back({"scratch buffers", 2, 0});
  EXPECT_EQ(
      first_line(report),
      "espalier: the memory bound of 256.0 MiB was kept; not all was accounted for, "
      "see below");
  report.outside.clear();
  report.allocated_peak.reset();
  EXPECT_EQ(first_line(report),
            "espalier: the memory bound of 256.0 MiB was kept by what was booked; no "
            "measurement");
  report.bound.reset();
  EXPECT_EQ(first_line(report), "espalier: no memory bound was set (ESPALIER_MEMORY)");
  EXPECT_EQ(bound_kept(report), std::nullopt);
}

TEST(RunReport, HoldsTheBoundAgainstWhatWasBookedAndWhatWasMeasured) {
  RunReport report = example();
  EXPECT_EQ(bound_kept(report), true);
  report.allocated_peak = *report.bound;
  EXPECT_EQ(bound_kept(report), true) << "all of it may be used";
  report.allocated_peak = *report.bound + kMiB;
  EXPECT_EQ(bound_kept(report), false);
  EXPECT_EQ(first_line(report),
            "espalier: the memory bound of 256.0 MiB was NOT kept: exceeded by 1.0 MiB");
  report.over_bound_bytes = 2 * kMiB;
  EXPECT_EQ(first_line(report),
            "espalier: the memory bound of 256.0 MiB was NOT kept: exceeded by 2.0 MiB");
  report.allocated_peak.reset();
  EXPECT_EQ(bound_kept(report), false);
}

TEST(RunReport, IsReadableText) {
  EXPECT_EQ(to_text(example()),
            R"(espalier: the memory bound of 256.0 MiB was kept
  program               chains, rank 3
  versions              espalier 0.1.0, StarPU 1.3.10
  booked, at most       192.0 MiB
  allocated, at most    190.0 MiB
  would have sufficed   64.0 MiB
  resident in all       236.0 MiB at most (VmHWM), 44.0 MiB at the start
  tasks                 32 run, 16 submitted that need memory
  waited at the gate    12 tasks, 24.000 s in all, 2.000 s each
  workers               4, busy 38.000 s (95 %), idle 2.000 s
  elapsed               10.000 s
)");
}

TEST(RunReport, DoesNotCallItASuccessWhenNextToNothingWasCounted) {
  RunReport report = example();
  report.application_bytes = 162 * kMiB;
  report.application_data = 40;
  EXPECT_EQ(first_line(report), "espalier: the memory bound of 256.0 MiB was kept")
      << "the larger part was";
  report.booked_peak = report.allocated_peak.emplace(kMiB);
  EXPECT_EQ(
      first_line(report),
      "espalier: the memory bound of 256.0 MiB was kept for the smaller part of the "
      "data: 162.0 MiB more are in the application's own memory");
  EXPECT_NE(to_text(report).find("\n  not StarPU's          162.0 MiB in 40 data in the "
                                 "application's own memory\n"),
            std::string::npos)
      << to_text(report);
  report.booked_peak = report.allocated_peak.emplace(0);
  EXPECT_EQ(
      first_line(report),
      "espalier: the memory bound of 256.0 MiB bounds NOTHING here: StarPU allocated "
      "no data for tasks; 162.0 MiB are in the application's own memory");
}

TEST(RunReport, SaysThatAProgramWasStoppedBeforeItAllocatedAnything) {
  RunReport report = example();
  report.stopped = true;
  report.application_bytes = 0;
  report.booked_peak = report.allocated_peak.emplace(0);
  EXPECT_EQ(first_line(report),
            "espalier: the memory bound of 256.0 MiB was kept by stopping the program "
            "before StarPU allocated any data");
}

TEST(RunReport, SaysThatAStoppedProgramMayNeedMore) {
  RunReport report = example();
  report.stopped = true;
  EXPECT_NE(
      to_text(report).find("\n  needed so far         64.0 MiB, and perhaps more\n"),
      std::string::npos)
      << to_text(report);
}

TEST(RunReport, SaysWhatWasSpilledWhere) {
  RunReport report = example();
  report.spill = RunReport::Spill{"/tmp/x", 3 * kMiB, 2 * kMiB, 17, 18};
  EXPECT_NE(to_text(report).find(
                "\n  spilled               3.0 MiB written, 2.0 MiB read; in /tmp/x\n"),
            std::string::npos)
      << to_text(report);
}

TEST(RunReport, IsReadableTextOfARunWithoutAnything) {
  EXPECT_EQ(to_text({}), R"(espalier: no memory bound was set (ESPALIER_MEMORY)
  program               
  versions              espalier , StarPU 
  allocated, at most    not measured
  tasks                 0 run, 0 submitted that need memory
  waited at the gate    no task
  workers               0, busy 0.000 s (0 %), idle 0.000 s
  elapsed               0.000 s
)");
}

TEST(RunReport, ShowsTroubleInAtMost25LinesTheLargestFirst) {
  RunReport report = example();
  report.overruns = 1;
  report.overrun_bytes = 3 * kMiB;
  report.unsafe_admissions = 7;
  report.throttled_seconds = 1.5;
  report.received_messages = 1;
  report.received_bytes = 3 * kMiB;
  report.jobs = 2;
  for (int i = 0; i < 100; ++i) {
    report.outside.push_back({"things " + std::to_string(i), i + 1, i * kMiB});
  }
  const std::string text = to_text(report);
  for (const char* line :
       {"\n  more than was booked  1 time, by 3.0 MiB at most\n",
        "\n  let in unproved       7 tasks, not known to leave room for the rest\n",
        "\n  submission waited     1.500 s\n",
        "\n  received              1 message, 3.0 MiB\n", "\n  declared trees        2\n",
        "\n  not accounted for     100 things 99, 99.0 MiB\n",
        "\n                        95 things 94, 94.0 MiB\n",
        "\n                        and 94 kinds more\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "is not in\n" << text;
  }
  EXPECT_EQ(text.find("things 93,"), std::string::npos);
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 25);
}

TEST(RunReport, IsOneJsonObject) {
  RunReport report = example();
  report.overruns = 5;
  report.overrun_bytes = 6;
  report.over_bound_bytes = 7;
  report.unsafe_admissions = 8;
  report.throttled_seconds = 0.25;
  report.late_frees = 9;
  report.longest_gap_seconds = 0.75;
  report.received_messages = 11;
  report.received_bytes = 12;
  report.jobs = 9;
  report.application_bytes = 13;
  report.application_data = 14;
  report.spill = RunReport::Spill{"/tmp/x", 15, 16, 17, 18};
  report.outside.push_back({"scratch buffers", 2, 10});
  EXPECT_EQ(json::parse(to_json(report)), json::parse(R"({
    "program": "chains", "mpi_rank": 3,
    "espalier_version": "0.1.0", "starpu_version": "1.3.10",
    "bound_bytes": 268435456, "bound_kept": false, "stopped": false,
    "booked_peak_bytes": 201326592, "over_bound_bytes": 7,
    "allocated_peak_bytes": 199229440, "overruns": 5, "overrun_bytes": 6,
    "least_bytes": 67108864, "application_data": 14, "application_bytes": 13,
    "spill": {"directory": "/tmp/x", "written_bytes": 15, "read_bytes": 16,
              "writes": 17, "reads": 18},
    "baseline_rss_bytes": 46137344, "peak_rss_bytes": 247463936,
    "tasks": 32, "gated_tasks": 16, "held_tasks": 12, "held_seconds": 24.0,
    "unsafe_admissions": 8, "throttled_seconds": 0.25, "late_frees": 9, "longest_gap_seconds": 0.75,
    "received_messages": 11, "received_bytes": 12, "jobs": 9, "workers": 4,
    "busy_seconds": 38.0, "idle_seconds": 2.0, "elapsed_seconds": 10.0,
    "outside": [{"what": "scratch buffers", "count": 2, "bytes": 10}]})"));
}

TEST(RunReport, IsValidJsonWhateverTheProgramIsCalledAndNullWhereNotKnown) {
  RunReport report;
  report.program = "a\"\\\n\xff";
  report.booked_peak = (Bytes{1} << 62) + 1;
  const json parsed = json::parse(to_json(report));
  EXPECT_EQ(parsed["program"], "a\"\\\n\xEF\xBF\xBD");
  EXPECT_EQ(parsed["booked_peak_bytes"].get<Bytes>(), report.booked_peak);
  EXPECT_EQ(parsed["outside"], json::array());
  for (const char* key : {"mpi_rank", "bound_bytes", "bound_kept", "allocated_peak_bytes",
                          "baseline_rss_bytes", "peak_rss_bytes"}) {
    EXPECT_TRUE(parsed.at(key).is_null()) << key;
  }
}

TEST(WriteReport, GoesWhereItIsAsked) {
  const RunReport report = example();
  const std::string stem = testing::TempDir() + "/report_" + std::to_string(getpid());
  write_report(report, stem + ".json");
  EXPECT_EQ(file_text(stem + ".json"), to_json(report));
  std::ofstream(stem + ".txt") << std::string(10'000, 'x');
  write_report(report, stem + ".txt");
  EXPECT_EQ(file_text(stem + ".txt"), to_text(report)) << "what was there is replaced";
  std::filesystem::remove(stem + ".json");
  std::filesystem::remove(stem + ".txt");

  testing::internal::CaptureStderr();
  write_report(report, "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  testing::internal::CaptureStderr();
  write_report(report, "-");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), to_text(report));
}

TEST(WriteReport, IsNotLostWhenTheFileCannotBeWritten) {
  const RunReport report = example();
  testing::internal::CaptureStderr();
  write_report(report, "/nonexistent/report.json");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "espalier: the report: /nonexistent/report.json: cannot be written: No such "
            "file or directory\n" +
                to_text(report));
  testing::internal::CaptureStderr();
  write_report(report, "/dev/full");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "espalier: the report: /dev/full: cannot be written: No space left on "
            "device\n" +
                to_text(report));
}

}  // namespace TEST_SOURCE
}  // namespace espalier::policy
