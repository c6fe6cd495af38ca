// Programs that need more memory than they get, with a disk; and what StarPU's
// allocations have to look like where there are disks.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "policy/loaded_program.h"

namespace espalier::policy {
namespace TEST_SOURCE {

constexpr std::int64_t kMiB = 1 << 20;

// A program under a bound in a directory of its own.
class WithADisk : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = testing::TempDir() + "espalier-disk-XXXXXX";
    ASSERT_NE(mkdtemp(directory_.data()), nullptr);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  Ended run(const std::string& bound, const std::string& program,
            const std::string& on_overflow = "disk") {
    std::filesystem::create_directory(directory_ + "/spill");
    return run_program(
        kTwoWorkers + kBothLoaded + "STARPU_SCHED=espalier ESPALIER_MEMORY=" + bound +
            " ESPALIER_ON_OVERFLOW=" + on_overflow + " ESPALIER_SPILL_DIR=" + directory_ +
            "/spill ESPALIER_REPORT=" + report_path(),
        program);
  }
  [[nodiscard]] std::string report_path() const { return directory_ + "/report.json"; }
  [[nodiscard]] bool nothing_left() const {
    return std::filesystem::is_empty(directory_ + "/spill");
  }

  std::string directory_;
};

struct Pattern {
  const char *name, *arguments;
};

class DiskPattern : public WithADisk, public testing::WithParamInterface<Pattern> {};

TEST_P(DiskPattern, EndsUnderHalfOfItsLeastWithTheRightResult) {
  const Ended ended =
      run("3MiB", std::string(PATTERNS_PROGRAM) + " " + GetParam().arguments);
  EXPECT_EQ(ended.status, 0) << ended.output;
  EXPECT_NE(ended.output.find("all right"), std::string::npos) << ended.output;
  const auto report = read_report(report_path());
  ASSERT_FALSE(report.is_discarded()) << ended.output;
  EXPECT_GE(report["least_bytes"], 6 * kMiB) << report;
  EXPECT_EQ(report["bound_kept"], true) << report;
  EXPECT_LE(report["allocated_peak_bytes"], 3 * kMiB) << report;
  EXPECT_GE(report["spill"]["written_bytes"], 3 * kMiB) << report;
  EXPECT_GE(report["spill"]["read_bytes"], 3 * kMiB) << report;
  const std::string place = report["spill"]["directory"];
  EXPECT_EQ(place.find(directory_ + "/spill/"), 0) << place;
  EXPECT_TRUE(nothing_left());
}

INSTANTIATE_TEST_SUITE_P(Disk, DiskPattern,
                         testing::Values(Pattern{"Cholesky", "cholesky 128 10"},
                                         Pattern{"Lu", "lu 128 8"},
                                         Pattern{"Qr", "qr 128 7"},
                                         Pattern{"Training", "training 256 25"}),
                         [](const auto& instance) { return instance.param.name; });

// Requests that StarPU makes when it is idle, and has left when it ends, abort it: one of
// a hundred runs of a pattern on a busy machine (docs/decisions/0240).
TEST_F(WithADisk, NothingIsWrittenAheadOfNeed) {
  const Ended ended = run("3MiB", "env");
  for (const char* setting :
       {"STARPU_MINIMUM_CLEAN_BUFFERS=0\n", "STARPU_TARGET_CLEAN_BUFFERS=0\n"})
    EXPECT_NE(ended.output.find(setting), std::string::npos) << ended.output;
  EXPECT_EQ(run("3MiB", "env", "warn").output.find("CLEAN_BUFFERS"), std::string::npos);
}

// The disk is there and not needed: released data are seen to be free, also those that no
// task worked on any more, of which StarPU 1.4 tells nobody.
// StarPU aborts when such data are invalidated, and it has a disk.
TEST_F(WithADisk, DataThatAreNotUsedForAWhileMayBeInvalidated) {
  const Ended ended = run("3MiB", std::string(WONT_USE_PROGRAM) + " 8 20");
  EXPECT_EQ(ended.status, 0) << ended.output;
  EXPECT_NE(ended.output.find("done"), std::string::npos) << ended.output;
  EXPECT_TRUE(nothing_left());
}

TEST_F(WithADisk, ReleasesOfIdleDataAreSeen) {
  for (const std::string how : {"invalidate", "unregister"}) {
    const Ended ended = run("4MiB", std::string(RELEASES_PROGRAM) + " 20 " + how);
    EXPECT_EQ(ended.status, 0) << ended.output;
    const auto report = read_report(report_path());
    ASSERT_FALSE(report.is_discarded()) << ended.output;
    EXPECT_EQ(report["least_bytes"], kMiB) << how << report;
    EXPECT_EQ(report["spill"]["written_bytes"], 0) << how << report;
    EXPECT_EQ(ended.output.find("spilling"), std::string::npos) << ended.output;
  }
}

TEST_F(WithADisk, IdleDataThatStayAreSeenToBeReleased) {
  const Ended ended = run("2MiB", std::string(RELEASES_PROGRAM) + " 20 unregister stay");
  EXPECT_EQ(ended.status, 0) << ended.output;
  EXPECT_EQ(read_report(report_path())["least_bytes"], kMiB);
}

TEST_F(WithADisk, DataThatMustStayEndTheProgramWithAMessage) {
  const Ended ended = run("4MiB", std::string(RELEASES_PROGRAM) + " 8 keep stay");
  EXPECT_EQ(ended.status, 128 + SIGABRT) << ended.output;
  EXPECT_NE(ended.output.find("4.0 MiB are held by data that the program keeps in memory "
                              "(starpu_data_set_ooc_flag)"),
            std::string::npos)
      << ended.output;
  EXPECT_TRUE(nothing_left());
  EXPECT_EQ(run("4MiB", std::string(RELEASES_PROGRAM) + " 8 keep").status, 0);
}

// StarPU evicts nothing that the program has acquired, and looks for memory for ever.
TEST_F(WithADisk, MemoryThatStarPULooksForInVainEndsTheProgramWithAMessage) {
  const Ended ended = run("4MiB", RELEASES_PROGRAM " 4 hold");
  EXPECT_EQ(ended.status, 128 + SIGABRT) << ended.output;
  EXPECT_NE(ended.output.find("StarPU has found no memory for the data of"),
            std::string::npos)
      << ended.output;
  EXPECT_TRUE(nothing_left());
}

// StarPU joins pieces in no task that a policy sees, and they lie beside the whole.
TEST_F(WithADisk, PiecesThatFindNoMemoryToComeTogetherEndIt) {
  const Ended ended = run("9MiB", PIECES_PROGRAM " 8 1");
  EXPECT_EQ(ended.status, 128 + SIGABRT) << ended.output;
  EXPECT_NE(ended.output.find("pieces that come together"), std::string::npos)
      << ended.output;
  EXPECT_TRUE(nothing_left());
  EXPECT_EQ(run("20MiB", PIECES_PROGRAM " 8 1").status, 0);
}

// StarPU reduces in tasks that it submits after all others, and evicts no copies: of the
// datum and of two workers' copies there is always room.
TEST_F(WithADisk, ReductionsEndInTheirLeast) {
  for (const std::string bound : {"3MiB", "4MiB", "8MiB"}) {
    const Ended ended = run(bound, REDUCTIONS_PROGRAM " 16 read");
    EXPECT_EQ(ended.status, 0) << bound << ended.output;
    const auto report = read_report(report_path());
    ASSERT_FALSE(report.is_discarded()) << ended.output;
    EXPECT_EQ(report["bound_kept"], true) << bound << report;
    EXPECT_EQ(report["least_bytes"], 3 * kMiB) << bound << report;
    EXPECT_TRUE(nothing_left());
  }
}

// StarPU counts in MiB.
TEST_F(WithADisk, ABoundBetweenTwoMebibytesIsRoundedDown) {
  const Ended ended = run("3700KiB", std::string(PATTERNS_PROGRAM) + " cholesky 900 4");
  EXPECT_EQ(ended.status, 0) << ended.output;
  EXPECT_NE(ended.output.find("all right"), std::string::npos) << ended.output;
}

TEST_F(WithADisk, ABoundBelowAMebibyteIsRefusedAtTheStart) {
  const Ended ended = run("900KiB", RELEASES_PROGRAM " 8 keep");
  EXPECT_EQ(ended.status, 2) << ended.output;
  EXPECT_NE(ended.output.find("at least 1 MiB"), std::string::npos) << ended.output;
  EXPECT_TRUE(nothing_left());
}

TEST_F(WithADisk, ADirectoryThatIsNotThereIsRefusedAtTheStart) {
  const Ended ended = run_program(kTwoWorkers + kBothLoaded +
                                      "STARPU_SCHED=espalier ESPALIER_MEMORY=4MiB "
                                      "ESPALIER_ON_OVERFLOW=disk "
                                      "ESPALIER_SPILL_DIR=/nowhere/at/all",
                                  RELEASES_PROGRAM " 8 keep");
  EXPECT_EQ(ended.status, 2) << ended.output;
  EXPECT_NE(ended.output.find("/nowhere/at/all"), std::string::npos) << ended.output;
}

// What was said to be needed so far is not all: with "warn" the program learns it.
TEST_F(WithADisk, WithWarningsTheReportSaysWhatWouldHaveSufficed) {
  const Ended ended = run("2MiB", std::string(RELEASES_PROGRAM) + " 40 keep", "warn");
  EXPECT_EQ(ended.status, 0) << ended.output;
  const auto report = read_report(report_path());
  ASSERT_FALSE(report.is_discarded()) << ended.output;
  EXPECT_EQ(report["least_bytes"], 40 * kMiB);
  EXPECT_EQ(report["over_bound_bytes"], 38 * kMiB);
  EXPECT_TRUE(report["spill"].is_null());
  EXPECT_EQ(run("40MiB", std::string(RELEASES_PROGRAM) + " 40 keep", "abort").status, 0);
}

TEST_F(WithADisk, BlocksAreAlignedAsTheProgramAsks) {
  for (const std::string what : {"align ", "disk "}) {
    const Ended ended =
        run("16MiB", MEMORY_PLACE_PROGRAM " " + what + directory_, "abort");
    EXPECT_EQ(ended.status, 0) << what << ended.output;
    EXPECT_NE(ended.output.find("blocks aligned"), std::string::npos) << ended.output;
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::policy
