// What the environment asks for: settings, reports, the throttle; and what becomes of a
// program that needs more than the bound.
//
// The cases of one subject, which share their instances: over 300 lines.

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <csignal>
#include <thread>
#include <vector>

#include "policy/bounded_run.h"

namespace espalier::policy {
namespace TEST_SOURCE {

class RunStops : public testing::Test {
 protected:
  // The process is started anew: the one that runs the tests has had threads.
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(RunStops, ForASettingThatItCannotRead) {
  struct Case {
    const char *variable, *value;
  };
  for (const auto& [variable, value] :
       {Case{"ESPALIER_MEMORY", "abc"}, Case{"ESPALIER_MEMORY", "0"},
        Case{"ESPALIER_ON_OVERFLOW", "maybe"}, Case{"ESPALIER_WINDOW", "many"},
        Case{"ESPALIER_TRACE", "-"}}) {
    EXPECT_EXIT(
        {
          setenv(variable, value, 1);
          const StarPuRun starpu(2);
          std::_Exit(0);
        },
        testing::ExitedWithCode(2),
        std::string("espalier: ") + variable + "='" + value + "'");
  }
}

TEST_F(RunStops, BeforeTheRunForAReportThatCannotBeWritten) {
  for (const char* const variable : {"ESPALIER_REPORT", "ESPALIER_TRACE"})
    EXPECT_EXIT(
        {
          setenv(variable, "/nowhere/at/all.json", 1);
          const StarPuRun starpu(2);
          std::_Exit(0);
        },
        testing::ExitedWithCode(2), "/nowhere/at/all.json");
}

TEST_F(RunStops, AtOnceForATaskThatIsLargerThanTheBound) {
  std::remove(report_file().c_str());
  EXPECT_EXIT(
      run_bounded("8MiB",
                  [] {
                    static starpu_codelet write = writing_codelet();
                    write.name = "large";
                    starpu_pause();
                    submit(write, nullptr, {temporary(9 * kMiB)});
                    std::_Exit(0);
                  }),
      testing::KilledBySignal(SIGABRT),
      "bound of 8.0 MiB .ESPALIER_MEMORY. cannot be kept: task \"large\" works on "
      "9.0 MiB at once. At least that much is needed, with a disk, too. "
      "ESPALIER_ON_OVERFLOW=warn goes on over the bound, and with ESPALIER_REPORT=- says "
      "at the end what would have sufficed\\.");
  const auto report = read_json(report_file());
  ASSERT_FALSE(report.is_discarded());
  EXPECT_EQ(report["bound_bytes"], 8 * kMiB);
  EXPECT_EQ(report["least_bytes"], 9 * kMiB);
}

TEST_F(RunStops, WhenDataAreNeverReleased) {
  std::remove(report_file().c_str());
  EXPECT_EXIT(
      run_bounded("8MiB",
                  [] {
                    static starpu_codelet write = writing_codelet();
                    for (int i = 0; i < 4; ++i)
                      submit(write, nullptr, {temporary(3 * kMiB)});
                  }),
      testing::KilledBySignal(SIGABRT),
      "cannot be kept: task .* needs 3.0 MiB more, and 6.0 MiB are held by data "
      "that nothing submitted so far frees. What has been submitted so far needs "
      "12.0 MiB; the whole program needs that at least, and perhaps more. "
      "ESPALIER_ON_OVERFLOW=warn goes on over the bound, and with ESPALIER_REPORT=- says "
      "at the end what would have sufficed; =disk spills");
  const auto report = read_json(report_file());
  ASSERT_FALSE(report.is_discarded());
  EXPECT_EQ(report["bound_kept"], true) << report;
  EXPECT_EQ(report["least_bytes"], 12 * kMiB);
  EXPECT_EQ(report["tasks"], 2);
}

// The reader of what has been written waits for a task that comes later.
TEST_F(RunStops, WhenTheOrderOfSubmissionWouldFitAndIsNotFollowed) {
  EXPECT_EXIT(run_bounded("4MiB",
                          [] {
                            static starpu_codelet write = writing_codelet(),
                                                  read = reading_codelet();
                            const starpu_data_handle_t first = temporary(3 * kMiB);
                            starpu_tag_declare_deps(2, 1, 1);
                            submit(write, nullptr, {first});
                            std::atomic<int> sum = 0;
                            starpu_task* const reader = make_task(read, &sum);
                            reader->handles[0] = first;
                            reader->use_tag = 1;
                            reader->tag_id = 2;
                            EXPECT_EQ(starpu_task_submit(reader), 0);
                            starpu_data_unregister_submit(first);
                            starpu_task* const later = make_task(write, nullptr);
                            later->handles[0] = temporary(3 * kMiB);
                            later->use_tag = 1;
                            later->tag_id = 1;
                            EXPECT_EQ(starpu_task_submit(later), 0);
                            starpu_task_wait_for_all();
                          }),
              testing::KilledBySignal(SIGABRT),
              "3.0 MiB are held by data that tasks before it are to work on, which wait "
              "for later ones or for the program .tags, dependencies, what it has "
              "acquired.. The order of submission, which they do not follow, needs "
              "3.0 MiB so far");
}

// StarPU does not tell when the copy ends: it must not be taken for a task that runs.
TEST_F(RunStops, WhenDataAreNeverReleasedAndStarPUHasCopiedSome) {
  EXPECT_EXIT(run_bounded("8MiB",
                          [] {
                            static starpu_codelet write = writing_codelet();
                            const starpu_data_handle_t from = temporary(3 * kMiB),
                                                       to = temporary(3 * kMiB);
                            submit(write, nullptr, {from});
                            starpu_data_cpy(to, from, 1, nullptr, nullptr);
                            submit(write, nullptr, {temporary(3 * kMiB)});
                          }),
              testing::KilledBySignal(SIGABRT),
              "needs 3.0 MiB more, and 6.0 MiB are held");
}

TEST(Run, GoesOnOverTheBoundWhenAskedToAndSaysSoOnce) {
  testing::internal::CaptureStderr();
  const auto report = run_bounded(
      "8MiB",
      [] {
        static starpu_codelet write = writing_codelet();
        std::array<starpu_data_handle_t, 6> handles;
        for (auto& handle : handles) {
          handle = temporary(3 * kMiB);
          ASSERT_EQ(submit(write, nullptr, {handle}), 0);
        }
        const starpu_data_handle_t large = temporary(9 * kMiB);
        ASSERT_EQ(submit(write, nullptr, {large}), 0);
        ASSERT_EQ(starpu_task_wait_for_all(), 0);
        for (const auto handle : handles) starpu_data_unregister(handle);
        starpu_data_unregister(large);
      },
      2, "warn");
  const std::string text = testing::internal::GetCapturedStderr();
  const std::size_t first = text.find("going on over the bound");
  EXPECT_NE(first, std::string::npos) << text;
  EXPECT_EQ(text.find("going on over the bound", first + 1), std::string::npos) << text;
  EXPECT_EQ(report["bound_kept"], false) << report;
  EXPECT_EQ(report["over_bound_bytes"], (6 * 3 + 9 - 8) * kMiB);
  EXPECT_EQ(report["least_bytes"], (6 * 3 + 9) * kMiB);
}

TEST(Run, WritesItsReportForPeople) {
  testing::internal::CaptureStderr();
  {
    const Variables variables(
        Variables::Values{{"ESPALIER_MEMORY", "8MiB"}, {"ESPALIER_REPORT", "-"}});
    const StarPuRun starpu(2);
    Pressure chains;
    chains.submit_paused();
    ASSERT_EQ(starpu_task_wait_for_all(), 0);
  }
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("espalier: the memory bound of 8.0 MiB was kept\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("16 run, 16 submitted that need memory"), std::string::npos)
      << text;
}

TEST(Run, ReportsEachStartOfStarPUAnew) {
  for (int start = 1; start <= 3; ++start) {
    Pressure chains;
    const auto report = run_bounded("8MiB", [&] {
      for (int i = 0; i < start; ++i) chains.submit_all();
    });
    expect_kept(report);
    EXPECT_EQ(report["tasks"], start * 2 * Pressure::kChains);
  }
}

TEST(Run, ReportsWithoutABound) {
  const Variables variables(Variables::Values{{"ESPALIER_REPORT", report_file()}});
  {
    const StarPuRun starpu(2);
    Pressure chains;
    chains.submit_all();
    ASSERT_EQ(starpu_task_wait_for_all(), 0);
  }
  const auto report = read_json(report_file());
  EXPECT_EQ(report["tasks"], 2 * Pressure::kChains);
  EXPECT_TRUE(report["bound_kept"].is_null());
  EXPECT_EQ(report["gated_tasks"], 2 * Pressure::kChains);
  EXPECT_EQ(report["held_tasks"], 0);
  EXPECT_EQ(report["least_bytes"], 3 * kMiB) << "the user learns what to set";
  EXPECT_GE(report["allocated_peak_bytes"], 3 * kMiB);
  EXPECT_EQ(report["workers"], 2);
}

// A matrix of the application's, its tiles, and a little that StarPU allocates.
TEST(Run, ReportsDataInTheMemoryOfTheApplication) {
  constexpr unsigned kSide = 256;
  std::vector<double> matrix(kSide * kSide);
  const auto program = [&](bool with_temporary) {
    static starpu_codelet update = reading_codelet();
    static std::atomic<int> sum;
    starpu_data_handle_t handle;
    starpu_matrix_data_register(&handle, STARPU_MAIN_RAM,
                                reinterpret_cast<std::uintptr_t>(matrix.data()), kSide,
                                kSide, kSide, sizeof(double));
    starpu_data_filter rows{}, columns{};
    rows.filter_func = starpu_matrix_filter_block;
    columns.filter_func = starpu_matrix_filter_vertical_block;
    rows.nchildren = columns.nchildren = 4;
    ASSERT_EQ(submit(update, &sum, {handle}), 0);
    ASSERT_EQ(starpu_task_wait_for_all(), 0);
    starpu_data_map_filters(handle, 2, &rows, &columns);
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 4; ++j)
        ASSERT_EQ(submit(update, &sum, {starpu_data_get_sub_data(handle, 2, i, j)}), 0);
    ASSERT_EQ(starpu_task_wait_for_all(), 0);
    starpu_data_unpartition(handle, STARPU_MAIN_RAM);
    starpu_data_unregister(handle);
    if (!with_temporary) return;
    Pressure chains;
    chains.submit_all();
    ASSERT_EQ(starpu_task_wait_for_all(), 0);
  };
  auto report = run_bounded("8MiB", [&] { program(true); });
  EXPECT_EQ(report["application_bytes"], kSide * kSide * sizeof(double)) << report;
  EXPECT_EQ(report["bound_kept"], true);
  report = run_bounded("8MiB", [&] { program(false); });
  EXPECT_EQ(report["application_bytes"], kSide * kSide * sizeof(double)) << report;
  EXPECT_EQ(report["booked_peak_bytes"], 0) << "nothing was counted";
}

TEST(Run, TracesTasksAndMemory) {
  const std::string path = testing::TempDir() + "run_trace.json";
  const Variables variables(
      Variables::Values{{"ESPALIER_MEMORY", "8MiB"}, {"ESPALIER_TRACE", path}});
  {
    const StarPuRun starpu(2);
    Pressure chains;
    chains.submit_paused();
    ASSERT_EQ(starpu_task_wait_for_all(), 0);
  }
  const auto trace = read_json(path);
  ASSERT_TRUE(trace.contains("traceEvents")) << trace;
  int tasks = 0, counters = 0, held = 0;
  for (const auto& event : trace["traceEvents"]) {
    tasks += event["ph"] == "X" ? 1 : 0;
    held += event["ph"] == "X" && event.contains("args") &&
                    event["args"].value("held_us", 0.0) > 0
                ? 1
                : 0;
    counters += event["ph"] == "C" ? 1 : 0;
  }
  EXPECT_EQ(tasks, 2 * Pressure::kChains);
  EXPECT_GT(counters, 0);
  EXPECT_GT(held, 0) << "two chains fit at a time";
  EXPECT_LT(held, 2 * Pressure::kChains);
}

// Of 20 000 tasks, submitted as fast as can be, a few hundred are there at a time. (When
// the machine lets neither worker run for a moment, submission goes on.)
TEST(Run, KeepsAWindowOfTasks) {
  const Variables variables(Variables::Values{{"ESPALIER_WINDOW", "100"}});
  const StarPuRun starpu(2);
  static std::atomic<int> runs;
  runs = 0;
  starpu_codelet codelet = cpu_codelet([](void**, void*) { ++runs; });
  int most = 0;
  for (int i = 0; i < 20'000; ++i) {
    ASSERT_EQ(starpu_task_submit(make_task(codelet, nullptr)), 0);
    most = std::max(most, starpu_task_nsubmitted());
  }
  ASSERT_EQ(starpu_task_wait_for_all(), 0);
  EXPECT_EQ(runs, 20'000);
  EXPECT_LT(most, 10'000);
}

// None of them can run before the last one has been submitted.
TEST(Run, DoesNotWaitForTasksThatWaitForTheProgram) {
  const Variables variables(Variables::Values{{"ESPALIER_WINDOW", "10"}});
  const StarPuRun starpu(2);
  static std::atomic<int> runs;
  runs = 0;
  starpu_codelet codelet = cpu_codelet([](void**, void*) { ++runs; });
  starpu_task* const last = make_task(codelet, nullptr);
  last->destroy = last->detach = 0;
  starpu_task* before[] = {last};
  for (int i = 0; i < 1000; ++i) {
    starpu_task* const task = make_task(codelet, nullptr);
    starpu_task_declare_deps_array(task, 1, before);
    ASSERT_EQ(starpu_task_submit(task), 0);
  }
  EXPECT_EQ(runs, 0);
  ASSERT_EQ(starpu_task_submit(last), 0);
  ASSERT_EQ(starpu_task_wait(last), 0);
  ASSERT_EQ(starpu_task_wait_for_all(), 0);
  EXPECT_EQ(runs, 1001);
  starpu_task_destroy(last);
}

TEST(Run, DoesNotWaitForPausedWorkers) {
  const Variables variables(Variables::Values{{"ESPALIER_WINDOW", "10"}});
  const StarPuRun starpu(2);
  static std::atomic<int> runs;
  runs = 0;
  starpu_codelet codelet = cpu_codelet([](void**, void*) { ++runs; });
  starpu_pause();
  for (int i = 0; i < 1000; ++i)
    ASSERT_EQ(starpu_task_submit(make_task(codelet, nullptr)), 0);
  // A worker that was on its way to the next task runs that one.
  EXPECT_LE(runs, 2);
  starpu_resume();
  ASSERT_EQ(starpu_task_wait_for_all(), 0);
  EXPECT_EQ(runs, 1000);
}

// One MiB is held by what the first of two commuting tasks waits for. StarPU gives their
// datum to the second, which then cannot wait: in order 4 MiB suffice, so 5 are needed.
TEST(Run, ATaskThatHasOvertakenOthersIsSaidToNeedMore) {
  static starpu_codelet write = writing_codelet();
  static starpu_codelet slow = on_variable(
      [](void**, void*) { std::this_thread::sleep_for(std::chrono::milliseconds(300)); },
      STARPU_W);
  static starpu_codelet first = cpu_codelet([](void**, void*) {}), second = first;
  constexpr auto kCommute =
      static_cast<starpu_data_access_mode>(STARPU_RW | STARPU_COMMUTE);
  first.nbuffers = 3;
  first.modes[0] = STARPU_R;
  first.modes[1] = kCommute;
  first.modes[2] = STARPU_W;
  second.nbuffers = 2;
  second.modes[0] = kCommute;
  second.modes[1] = STARPU_W;
  const auto report = run_bounded(
      "4MiB",
      [&] {
        const auto shared = temporary(kMiB), awaited = temporary(kMiB);
        const auto small = temporary(kMiB), large = temporary(3 * kMiB);
        ASSERT_EQ(submit(write, nullptr, {shared}), 0);
        ASSERT_EQ(submit(slow, nullptr, {awaited}), 0);
        ASSERT_EQ(submit(first, nullptr, {awaited, shared, small}), 0);
        starpu_data_unregister_submit(awaited);
        starpu_data_unregister_submit(small);
        ASSERT_EQ(submit(second, nullptr, {shared, large}), 0);
        starpu_data_unregister_submit(large);
        starpu_data_unregister_submit(shared);
        ASSERT_EQ(starpu_task_wait_for_all(), 0);
      },
      2, "warn");
  EXPECT_EQ(report["bound_kept"], false) << report;
  EXPECT_EQ(report["booked_peak_bytes"], 5 * kMiB) << report;
  EXPECT_EQ(report["least_bytes"], 5 * kMiB) << report;
}

}  // namespace TEST_SOURCE
}  // namespace espalier::policy
