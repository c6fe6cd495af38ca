// What the program does where the system gives less than it needs.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "cli/program.h"
#include "support/sanitized.h"

#define ESPALIER_SKIP_SANITIZED \
  if (support::kSanitized) GTEST_SKIP() << "sanitizers map more than any limit"

namespace espalier::cli_test {
namespace TEST_SOURCE {

constexpr std::int64_t kMebi = std::int64_t{1} << 20;

Outcome solve_in(std::int64_t mebibytes, std::vector<std::string> more = {}) {
  std::vector<std::string> words = {"solve", "--grid", "5x5x5", "--workers", "2"};
  words.insert(words.end(), more.begin(), more.end());
  return run(words, {}, mebibytes * kMebi);
}

// BLAS used to ask again for ever, and StarPU to abort.
TEST(AddressSpace, IsFoundOutBeforeAnythingStarts) {
  ESPALIER_SKIP_SANITIZED;
  const TemporaryDirectory results;
  const Outcome outcome = solve_in(300, {"--out", results.path() + "/x.mtx"});
  EXPECT_EQ(outcome.status, 3) << outcome.signal;
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find("ulimit -v) is 300.0 MiB"), std::string::npos)
      << outcome.err;
  EXPECT_NE(outcome.err.find("2 workers need"), std::string::npos) << outcome.err;
  EXPECT_EQ(results.names().size(), 0U);
  const Outcome one =
      run({"solve", "--grid", "20x20x20", "--workers", "1"}, {}, 200 * kMebi);
  EXPECT_NE(one.err.find("1 worker needs "), std::string::npos) << one.err;
}

TEST(AddressSpace, NeverEndsTheProgramByASignal) {
  ESPALIER_SKIP_SANITIZED;
  // Below the first the libraries cannot be loaded: the loader says so, with status 127.
  for (const int mebibytes : {40, 80, 120, 160, 200, 240, 360, 480, 560, 640}) {
    const Outcome outcome = solve_in(mebibytes);
    EXPECT_TRUE(outcome.status == 127 || outcome.status == 3 || outcome.status == 0)
        << mebibytes << ": " << outcome.status << " " << outcome.signal << outcome.err;
    if (outcome.status != 0) {
      EXPECT_NE(outcome.err, "") << mebibytes;
    }
  }
}

TEST(AddressSpace, IsEnoughWhereThereIsRoom) {
  ESPALIER_SKIP_SANITIZED;
  const Outcome outcome = solve_in(1000);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
}

TEST(Limits, ThatLeaveLessThanTheBoundAreNoted) {
  ESPALIER_SKIP_SANITIZED;
  const Outcome beyond = solve_in(1000, {"--memory", "2GiB"});
  EXPECT_EQ(beyond.status, 0) << beyond.err;
  EXPECT_NE(beyond.err.find("note: the bound 2.0 GiB is more than the "),
            std::string::npos)
      << beyond.err;
  EXPECT_NE(beyond.err.find("ulimit -v (1000.0 MiB)"), std::string::npos) << beyond.err;
  for (const char* below : {"100MiB", "auto", "min", "none"})
    EXPECT_EQ(solve_in(1000, {"--memory", below}).err, "") << below;
}

// A larger bound is no way out there.
TEST(Limits, ThatLeaveTooLittleForAutoAreNamed) {
  ESPALIER_SKIP_SANITIZED;
  ASSERT_EQ(setenv("SLURM_MEM_PER_NODE", "16", 1), 0);
  const Outcome outcome =
      run({"solve", "--grid", "20x20x20", "--memory", "auto", "--json"});
  unsetenv("SLURM_MEM_PER_NODE");
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_NE(outcome.err.find("SLURM_MEM_PER_NODE (16.0 MiB) leaves no more"),
            std::string::npos)
      << outcome.err;
  EXPECT_EQ(outcome.err.find("--memory "), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.out.find("\"bound_source\""), std::string::npos) << outcome.out;
}

// Of what may be mapped the rest is the bound, and the fronts map no more than they need.
TEST(AddressSpace, IsABoundForAuto) {
  ESPALIER_SKIP_SANITIZED;
  const Outcome small = solve_in(1000, {"--memory", "auto"});
  EXPECT_EQ(small.status, 0) << small.err;
  const Outcome larger =
      run({"solve", "--grid", "24x24x24", "--workers", "2", "--memory", "auto", "--json"},
          {}, 1000 * kMebi);
  EXPECT_EQ(larger.status, 0) << larger.err;
}

TEST(FileOptions, AreNotEmpty) {
  for (const char* option : {"--out", "--save", "--out-of-core", "--rhs", "--factor"}) {
    const Outcome outcome =
        run({"solve", "--grid", "5x5x5", "--memory", "min", option, ""});
    EXPECT_EQ(outcome.status, 2) << option;
    EXPECT_NE(outcome.err.find(option), std::string::npos) << outcome.err;
  }
  for (const char* option : {"--schedule", "--report", "--picture"}) {
    const Outcome outcome = run({"plan", "--grid", "5x5x5", option, ""});
    EXPECT_EQ(outcome.status, 2) << option;
    EXPECT_NE(outcome.err.find(option), std::string::npos) << outcome.err;
  }
}

TEST(FileOptions, KeepTheModeOfWhatIsReplaced) {
  const TemporaryDirectory results;
  const std::string out = results.path() + "/x.mtx", save = results.path() + "/factor";
  for (const std::string& file : {out, save}) {
    std::ofstream(file) << "older";
    ASSERT_EQ(chmod(file.c_str(), 0600), 0);
  }
  const Outcome outcome =
      run({"solve", "--grid", "5x5x5", "--workers", "1", "--out", out, "--save", save});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(results.names().size(), 2U);
  for (const std::string& file : {out, save}) {
    struct stat known {};
    ASSERT_EQ(stat(file.c_str(), &known), 0);
    EXPECT_EQ(known.st_mode & 07777, 0600U) << file;
    EXPECT_GT(known.st_size, 1000) << file;
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::cli_test
