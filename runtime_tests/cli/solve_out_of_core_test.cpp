// espalier solve with a directory for what does not fit in the bound.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/program.h"
#include "cli/solving.h"

namespace espalier::cli_test {
namespace TEST_SOURCE {

using nlohmann::json;

constexpr const char* kGrid = "24x24x24";

std::int64_t bytes(const json& report, const char* key) {
  EXPECT_TRUE(report.contains(key)) << key << " in " << report;
  return report.value(key, std::int64_t{0});
}

struct Case {
  const char* kind;
  const char* precision;
};

class OutOfCore : public ::testing::TestWithParam<Case> {
 protected:
  // Solves for A times ones, keeping the solution in `x`.
  Outcome run_with(const std::vector<std::string>& more) {
    const TemporaryFile out("");
    std::vector<std::string> words = {"--grid",      kGrid,
                                      "--kind",      GetParam().kind,
                                      "--precision", GetParam().precision,
                                      "--out",       out.path()};
    words.insert(words.end(), more.begin(), more.end());
    Outcome outcome = solve(words);
    x = array_values(out.text());
    return outcome;
  }

  std::vector<double> x;
  TemporaryDirectory directory;
};

TEST_P(OutOfCore, TheLeastIsLowerAndTheAnswerTheSame) {
  const Outcome in_core = run_with({"--memory", "min"});
  expect_solved(in_core);
  const std::vector<double> expected = x;

  const Outcome outcome =
      run_with({"--memory", "min", "--out-of-core", directory.path()});
  expect_solved(outcome);
  const json report = object(outcome);
  EXPECT_EQ(bytes(report, "bound_bytes"), bytes(report, "out_of_core_least_bytes"));
  EXPECT_LT(bytes(report, "out_of_core_least_bytes"), bytes(report, "least_bytes"));
  EXPECT_LE(bytes(report, "peak_rss_bytes"), bytes(report, "bound_bytes"));
  // Of the fronts: the process has a runtime only out of core, with so few equations.
  EXPECT_LT(bytes(report, "peak_bytes"), bytes(object(in_core), "peak_bytes"));
  EXPECT_EQ(report["bound_kept"], true);
  EXPECT_GT(bytes(report, "bytes_written"), 0);
  EXPECT_GE(bytes(report, "bytes_read"), bytes(report, "bytes_written"));
  EXPECT_GE(report["io_seconds"], 0.0);
  ASSERT_EQ(x.size(), expected.size());
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x[i], expected[i], 1e-11) << i;
  EXPECT_EQ(directory.names(), std::vector<std::string>{});
}

// In one order: near the least `auto` may take another one.
TEST_P(OutOfCore, MoreMemoryMeansFewerBytesInTheFile) {
  const auto run_with = [this](const std::string& bound) {
    return OutOfCore::run_with(
        {"--memory", bound, "--out-of-core", directory.path(), "--ordering", "amd"});
  };
  const Outcome refused = run_with("1MiB");
  EXPECT_EQ(refused.status, 1) << refused.err;
  const json answer = object(refused);
  EXPECT_EQ(answer["feasible"], false);
  const std::int64_t least = bytes(answer, "least_bytes"),
                     out_of_core = bytes(answer, "out_of_core_least_bytes");
  expect_says(refused, std::to_string(least));
  expect_says(refused, std::to_string(out_of_core));
  ASSERT_LT(out_of_core, least);

  std::int64_t before = std::int64_t{1} << 62;
  for (const int half : {0, 1, 2}) {
    const std::int64_t bound = out_of_core + half * (least - out_of_core) / 2;
    SCOPED_TRACE(bound);
    const Outcome kept = run_with(std::to_string(bound));
    expect_solved(kept);
    EXPECT_LE(bytes(object(kept), "peak_rss_bytes"), bound);
    const std::int64_t written = bytes(object(kept), "bytes_written");
    EXPECT_LT(written, before);
    before = written;
  }
}

INSTANTIATE_TEST_SUITE_P(
    EveryKind, OutOfCore,
    ::testing::Values(Case{"spd", "double"}, Case{"symmetric", "double"},
                      Case{"general", "double"}, Case{"general", "single"}),
    [](const auto& each) {
      return fmt::format("{}_{}", each.param.kind, each.param.precision);
    });

TEST(OutOfCoreFactor, IsOfTheLeastInCore) {
  const TemporaryDirectory directory;
  // 29/32, which has no rounding.
  const Outcome outcome =
      solve({"--grid", kGrid, "--memory", "x0.90625", "--out-of-core", directory.path()});
  expect_solved(outcome);
  const json report = object(outcome);
  const std::int64_t least = bytes(report, "least_bytes");
  EXPECT_EQ(bytes(report, "bound_bytes"), (29 * least + 31) / 32);
}

TEST(OutOfCoreFailure, LeavesTheOldSolutionAndNoFile) {
  const TemporaryDirectory directory, results;
  const std::string out = results.path() + "/x.mtx";
  expect_solved(solve({"--grid", "6", "--out", out}));
  EXPECT_EQ(results.names(), std::vector<std::string>{"x.mtx"});
  const auto size = std::filesystem::file_size(out);

  const Outcome full = run({"solve", "--grid", kGrid, "--workers", "2", "--memory", "min",
                            "--out-of-core", directory.path(), "--out", out},
                           std::int64_t{64} << 10);
  EXPECT_EQ(full.status, 2) << full.err;
  expect_says(full, directory.path());
  EXPECT_EQ(directory.names(), std::vector<std::string>{});
  EXPECT_EQ(results.names(), std::vector<std::string>{"x.mtx"});
  EXPECT_EQ(std::filesystem::file_size(out), size);
}

// Size of the file that the process has open in the directory; 0: none yet.
std::int64_t open_bytes(int process, const std::string& directory) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path table = fmt::format("/proc/{}/fd", process);
  for (fs::directory_iterator at(table, error), end; !error && at != end;
       at.increment(error)) {
    const std::string target = fs::read_symlink(at->path(), error).string();
    struct stat file {};
    if (!error && target.starts_with(directory) && stat(at->path().c_str(), &file) == 0)
      return file.st_size;
    error.clear();
  }
  return 0;
}

// Once the space is reserved, no write beyond its first 64 KiB can succeed any more. On a
// busy machine the run may be over before that is seen.
TEST(OutOfCoreFailure, WhileFactorisingEndsWithStatus3) {
  const TemporaryDirectory directory, results;
  const std::vector<std::string> words = {"solve",
                                          "--grid",
                                          "32x32x32",
                                          "--workers",
                                          "2",
                                          "--memory",
                                          "min",
                                          "--out-of-core",
                                          directory.path(),
                                          "--out",
                                          results.path() + "/x.mtx"};
  std::optional<Outcome> outcome;
  for (int attempt = 0; attempt < 20 && !outcome; ++attempt) {
    outcome = run_disturbed(words, [&](int process) {
      if (open_bytes(process, directory.path()) == 0) return false;
      const rlimit little{64 << 10, RLIM_INFINITY};
      return prlimit(process, RLIMIT_FSIZE, &little, nullptr) == 0;
    });
    if (outcome && outcome->status == 0) outcome.reset();
  }
  ASSERT_TRUE(outcome.has_value()) << "every run was over before it was disturbed";
  EXPECT_EQ(outcome->status, 3) << outcome->signal << outcome->err;
  EXPECT_EQ(outcome->out, "");
  expect_says(*outcome, directory.path() + ": cannot write ");
  expect_says(*outcome, "of the spill file: File too large");
  EXPECT_EQ(directory.names(), std::vector<std::string>{});
  EXPECT_EQ(results.names(), std::vector<std::string>{});
}

TEST(SolveOutput, IsWholeOrNotThere) {
  const TemporaryDirectory results;
  const std::string out = results.path() + "/x.mtx";
  // 13 824 numbers do not fit in 64 KiB.
  const Outcome full =
      run({"solve", "--grid", kGrid, "--workers", "2", "--out", out}, 64 << 10);
  EXPECT_EQ(full.status, 3) << full.err;
  expect_says(full, out);
  EXPECT_EQ(results.names(), std::vector<std::string>{});
}

}  // namespace TEST_SOURCE
}  // namespace espalier::cli_test
