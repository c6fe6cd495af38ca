#pragma once

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "policy/living.h"

namespace espalier::policy {

/// Environment variables from construction to destruction.
class Variables {
 public:
  using Values = std::map<std::string, std::string>;

  explicit Variables(Values values) : values_(std::move(values)) {
    for (const auto& [name, value] : values_) setenv(name.c_str(), value.c_str(), 1);
  }
  ~Variables() {
    for (const auto& [name, value] : values_) unsetenv(name.c_str());
  }
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;

 private:
  const Values values_;
};

inline nlohmann::json read_json(const std::string& path) {
  std::ifstream file(path);
  return nlohmann::json::parse(file, nullptr, false);
}

/// Where the report of the running test goes.
inline std::string report_file() {
  const testing::TestInfo* const test =
      testing::UnitTest::GetInstance()->current_test_info();
  return testing::TempDir() + test->test_suite_name() + "." + test->name() + ".json";
}

/// Runs `program` in StarPU under a bound, in its own thread. @return the report
template <class Program>
nlohmann::json run_bounded(const std::string& bound, Program program, int workers = 2,
                           const std::string& on_overflow = "abort") {
  const Variables variables(Variables::Values{{"ESPALIER_MEMORY", bound},
                                              {"ESPALIER_REPORT", report_file()},
                                              {"ESPALIER_ON_OVERFLOW", on_overflow}});
  std::remove(report_file().c_str());
  {
    const StarPuRun starpu(workers);
    EXPECT_TRUE(starpu.ok());
    program();
    EXPECT_EQ(starpu_task_wait_for_all(), 0);
  }
  nlohmann::json report = read_json(report_file());
  EXPECT_FALSE(report.is_discarded()) << "no report";
  return report;
}

/// How many of these the report says were outside the bound.
inline std::int64_t outside(const nlohmann::json& report, const std::string& what) {
  for (const auto& item : report["outside"])
    if (item["what"] == what) return item["count"];
  return 0;
}

/// Within the bound, by what was booked and by what was measured, and everything was
/// accounted for and proved.
inline void expect_kept(const nlohmann::json& report) {
  EXPECT_EQ(report["bound_kept"], true) << report;
  EXPECT_LE(report["booked_peak_bytes"], report["bound_bytes"]) << report;
  EXPECT_LE(report["allocated_peak_bytes"], report["booked_peak_bytes"]) << report;
  EXPECT_EQ(report["overruns"], 0) << report;
  EXPECT_EQ(report["unsafe_admissions"], 0) << report;
  EXPECT_TRUE(report["outside"].empty()) << report;
}

/// Eight chains of 3 MiB: write, read, release. All are submitted before any runs.
class Pressure {
 public:
  static constexpr int kChains = 8;

  void submit_paused(unsigned context = 0) {
    starpu_pause();
    submit_all(context);
    starpu_resume();
  }
  void submit_all(unsigned context = 0) {
    for (int i = 0; i < kChains; ++i) {
      const starpu_data_handle_t handle = temporary(3 * kMiB);
      ASSERT_EQ(submit(write_, nullptr, {handle}, context), 0);
      ASSERT_EQ(submit(read_, &sum_, {handle}, context), 0);
      starpu_data_unregister_submit(handle);
    }
  }
  [[nodiscard]] int sum() const { return sum_; }

 private:
  starpu_codelet write_ = writing_codelet(), read_ = reading_codelet();
  std::atomic<int> sum_ = 0;
};

}  // namespace espalier::policy
