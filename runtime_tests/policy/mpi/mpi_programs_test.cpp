// StarPU-MPI programs that know nothing of the policy, each process inside a bound
// (mpi_ring_program.c, mpi_tasks_program.cpp).

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "policy/loaded_program.h"

namespace espalier::policy {
namespace TEST_SOURCE {

constexpr std::int64_t kKiB = 1024;

struct MpiRun {
  int processes = 2, workers = 1;
  std::int64_t bound = 0;  // bytes; 0: none
};

// What each process prints and reports.
struct MpiEnded : Ended {
  std::vector<nlohmann::json> reports;
  std::map<int, std::string> lines;  // that begin with "rank R"

  [[nodiscard]] std::int64_t number_after(int rank, const std::string& word) const {
    const auto line = lines.find(rank);
    if (line == lines.end()) return -1;
    const std::size_t at = line->second.find(word);
    return at == std::string::npos ? -1
                                   : std::stoll(line->second.substr(at + word.size()));
  }
  [[nodiscard]] std::string sums() const {
    std::string text;
    for (const auto& [rank, line] : lines) text += line.substr(0, line.find(", alloc"));
    return text;
  }
  [[nodiscard]] std::int64_t least() const {
    std::int64_t most = 1;
    for (const nlohmann::json& report : reports)
      most = std::max(most, report["least_bytes"].get<std::int64_t>());
    return most;
  }
};

MpiEnded run_mpi(const MpiRun& run, const std::string& program,
                 const std::string& policy = kBothLoaded + "STARPU_SCHED=espalier ") {
  std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
  std::replace(name.begin(), name.end(), '/', '.');
  const std::string report =
      testing::TempDir() + name + "." + std::to_string(getpid()) + ".%r.json";
  const auto file = [&](int rank) {
    std::string path = report;
    return path.replace(path.find("%r"), 2, std::to_string(rank));
  };
  for (int rank = 0; rank < run.processes; ++rank) std::remove(file(rank).c_str());
  std::string variables = policy + "STARPU_NCPU=" + std::to_string(run.workers) +
                          " ESPALIER_REPORT=" + report;
  if (run.bound > 0) variables += " ESPALIER_MEMORY=" + std::to_string(run.bound);
  MpiEnded ended{
      run_program("", std::string(MPI_RUN) + " " + std::to_string(run.processes) +
                          " env " + variables + " " + program),
      {},
      {}};
  std::istringstream output(ended.output);
  for (std::string line; std::getline(output, line);)
    if (line.starts_with("rank ")) ended.lines[std::stoi(line.substr(5))] = line;
  for (int rank = 0; rank < run.processes; ++rank) {
    ended.reports.push_back(read_report(file(rank)));
    std::remove(file(rank).c_str());
  }
  return ended;
}

void expect_inside(const MpiRun& run, const MpiEnded& ended) {
  ASSERT_EQ(ended.status, 0) << ended.output;
  ASSERT_EQ(ended.lines.size(), static_cast<std::size_t>(run.processes)) << ended.output;
  for (const nlohmann::json& report : ended.reports) {
    ASSERT_FALSE(report.is_discarded()) << ended.output;
    EXPECT_EQ(report["bound_kept"], true) << report;
    EXPECT_LE(report["booked_peak_bytes"], run.bound) << report;
    EXPECT_LE(report["allocated_peak_bytes"], run.bound) << report;
    EXPECT_EQ(report["unsafe_admissions"], 0) << report;
    EXPECT_TRUE(report["outside"].empty()) << report;
    EXPECT_GT(report["received_bytes"], 0) << report;
  }
}

const std::string kTasks = std::string(TASKS_PROGRAM) + " ";

// Received bytes are the most of what is allocated here: each process sends 240 MiB.
TEST(MpiRing, StaysResidentInsideTheBound) {
  const MpiRun run{.processes = 2, .workers = 1, .bound = 16 * 1024 * kKiB};
  const MpiEnded ended = run_mpi(run, RING_PROGRAM " espalier 4194304");
  expect_inside(run, ended);
  for (int rank = 0; rank < run.processes; ++rank)
    // With what StarPU, MPI and their threads need for themselves.
    EXPECT_LE(ended.number_after(rank, "grew by ") * kKiB, run.bound + 12 * 1024 * kKiB);
}

// The same tag is under way in both directions here, and all processes wait for room.
TEST(MpiRing, EndsInTheLeastBound) {
  for (const int processes : {2, 3}) {
    const MpiRun run{.processes = processes, .workers = 1, .bound = 2048 * kKiB};
    const MpiEnded ended = run_mpi(run, RING_PROGRAM " espalier");
    expect_inside(run, ended);
    EXPECT_EQ(ended.least(), run.bound);
    // What StarPU-MPI's thread frees is free at once; seldom a thread that was stopped in
    // between comes too late. There are 60 rounds.
    for (const nlohmann::json& report : ended.reports)
      EXPECT_LE(report["late_frees"], 20) << report;
  }
}

TEST(MpiRing, HasASummaryOfAllProcesses) {
  const MpiRun run{.processes = 3, .workers = 1, .bound = 8192 * kKiB};
  const MpiEnded ended = run_mpi(run, RING_PROGRAM " espalier");
  const std::string first =
      "espalier: the memory bound of 8.0 MiB a process was kept in all 3 processes";
  const std::size_t at = ended.output.find(first);
  ASSERT_NE(at, std::string::npos) << ended.output;
  EXPECT_EQ(ended.output.find(first, at + 1), std::string::npos) << ended.output;
  EXPECT_NE(ended.output.find("     2      "), std::string::npos) << ended.output;
}

class MpiCholesky : public testing::TestWithParam<MpiRun> {};

TEST_P(MpiCholesky, HasTheResultsOfLwsInsideTheBound) {
  const MpiRun run = GetParam();
  const MpiEnded plain = run_mpi({.processes = run.processes, .workers = 1},
                                 kTasks + "cholesky 10", "STARPU_SCHED=lws ");
  ASSERT_EQ(plain.status, 0) << plain.output;
  const MpiEnded ended = run_mpi(run, kTasks + "cholesky 10");
  expect_inside(run, ended);
  EXPECT_EQ(ended.sums(), plain.sums());
  for (int rank = 0; rank < run.processes; ++rank) {
    EXPECT_LE(ended.number_after(rank, "allocated "), run.bound);
    EXPECT_GT(plain.number_after(rank, "allocated "), run.bound);
  }
}

// Tiles of 72 KiB: a process has to have two at a time, or one where it has a row's.
INSTANTIATE_TEST_SUITE_P(
    Runs, MpiCholesky,
    testing::Values(MpiRun{.processes = 2, .workers = 1, .bound = 72 * kKiB},
                    MpiRun{.processes = 3, .workers = 2, .bound = 144 * kKiB},
                    MpiRun{.processes = 4, .workers = 1, .bound = 288 * kKiB}));

class MpiRandom : public testing::TestWithParam<MpiRun> {};

// First with plenty, which tells the least bound, then with that.
TEST_P(MpiRandom, ProgramsEndInTheLeastBoundWithRightResults) {
  MpiRun run = GetParam();
  const auto seed = 100 * run.processes + 10 * run.workers;
  const std::string program = kTasks + "random " + std::to_string(seed) + " 6";
  run.bound = 1 << 30;
  const MpiEnded plenty = run_mpi(run, program);
  expect_inside(run, plenty);
  run.bound = plenty.least();
  const MpiEnded ended = run_mpi(run, program);
  expect_inside(run, ended);
  EXPECT_EQ(ended.least(), run.bound);
  EXPECT_EQ(ended.sums(), plenty.sums());
  for (int rank = 0; rank < run.processes; ++rank)
    EXPECT_LE(ended.number_after(rank, "allocated "), run.bound);
}

INSTANTIATE_TEST_SUITE_P(Runs, MpiRandom,
                         testing::Values(MpiRun{.processes = 2, .workers = 1},
                                         MpiRun{.processes = 2, .workers = 2},
                                         MpiRun{.processes = 3, .workers = 1},
                                         MpiRun{.processes = 3, .workers = 2}));

// The copies of what was reduced are there until it has been sent for the last time.
TEST(MpiReductions, EndInTheLeastBound) {
  constexpr int kProcesses = 2, kRounds = 4;
  MpiRun run{.processes = kProcesses, .workers = 1, .bound = 1 << 30};
  const std::string program = kTasks + "reduces " + std::to_string(kRounds);
  const MpiEnded plenty = run_mpi(run, program);
  expect_inside(run, plenty);
  const nlohmann::json& owner = plenty.reports.back();
  EXPECT_EQ(owner["least_bytes"], 4 * 64 * kKiB) << owner;
  run.bound = plenty.least();
  const MpiEnded ended = run_mpi(run, program);
  expect_inside(run, ended);
  EXPECT_EQ(ended.sums(), plenty.sums());
}

// A wait must not end before the message has.
TEST(MpiWaits, AreForMessagesThatComeLate) {
  constexpr int kMessages = 5;
  const MpiEnded ended = run_mpi({.processes = 3, .workers = 1, .bound = 2048 * kKiB},
                                 kTasks + "waits " + std::to_string(kMessages));
  ASSERT_EQ(ended.status, 0) << ended.output;
  for (const int rank : {0, 1})
    EXPECT_EQ(ended.number_after(rank, "sum "), kMessages * (kMessages + 1) / 2);
}

TEST(MpiFailure, AProcessThatDiesEndsTheJob) {
  const MpiEnded ended =
      run_mpi({.processes = 3, .workers = 1, .bound = 2048 * kKiB}, kTasks + "dies 7");
  EXPECT_NE(ended.status, 0) << ended.output;
  EXPECT_TRUE(ended.lines.empty()) << ended.output;
}

TEST(MpiFailure, ABoundThatCannotBeKeptEndsTheJobWithAMessage) {
  const MpiEnded ended =
      run_mpi({.processes = 2, .workers = 1, .bound = 400 * kKiB}, kTasks + "random 7 1");
  EXPECT_NE(ended.status, 0) << ended.output;
  EXPECT_NE(ended.output.find("cannot be kept"), std::string::npos) << ended.output;
}

}  // namespace TEST_SOURCE
}  // namespace espalier::policy
