// Streams, limits and names that are not as usual change no answer.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "cli/program.h"
#include "support/sanitized.h"

namespace espalier::cli_test {
namespace TEST_SOURCE {

constexpr std::string_view kTree = "0 -1 1 1 1\n1 0 2 0 5\n2 0 3 4 6\n";

// Exit status of a line of a POSIX shell; -1: a signal.
int shell(const std::string& line) {
  const int status = std::system(line.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool has_starpu() {
  return run({"info", "--json"}).out.find("\"starpu\": true") != std::string::npos;
}

TEST(StandardError, ThatCannotBeWrittenChangesNoAnswer) {
  const TemporaryFile tree{std::string(kTree)}, out{""};
  for (const char* no : {"2>&-", "2>/dev/full"}) {
    const std::string line = fmt::format("{} plan {} --memory 5B --json >{} {}",
                                         ESPALIER_PROGRAM, tree.path(), out.path(), no);
    EXPECT_EQ(shell(line), 1) << line;
    EXPECT_NE(out.text().find("\"feasible\": false"), std::string::npos) << out.text();
  }
}

// They wrote what they print into it.
TEST(StandardStreams, ThatAreClosedGiveNoFileTheirNumber) {
  const TemporaryFile tree{std::string(kTree)};
  const TemporaryDirectory results;
  const std::string file = results.path() + "/schedule";
  const std::string line =
      fmt::format("{} plan {} --schedule {}", ESPALIER_PROGRAM, tree.path(), file);
  ASSERT_EQ(shell(line + " >/dev/null"), 0);
  const std::string expected = text_of(file);
  struct Closed {
    const char* redirections;
    int status;
  };
  for (const auto& [redirections, status] : {Closed{">/dev/null <&-", 0},
                                             {">/dev/null 2>&-", 0},
                                             {">/dev/null <&- 2>&-", 0},
                                             {">&-", 3},
                                             {"<&- >&- 2>&-", 3}}) {
    std::filesystem::remove(file);
    EXPECT_EQ(shell(fmt::format("{} {}", line, redirections)), status) << redirections;
    const bool whole = !std::filesystem::exists(file) || text_of(file) == expected;
    EXPECT_TRUE(whole) << redirections << text_of(file);
  }
}

// Threads had no more, and what the kernels and the files keep on it went beyond.
TEST(LittleStack, IsEnough) {
  if (support::kSanitized) GTEST_SKIP() << "sanitizers need more stack";
  const TemporaryFile tree{std::string(kTree)}, page{""};
  const std::string limited =
      fmt::format("(ulimit -s 64; {} {{}} >/dev/null)", ESPALIER_PROGRAM);
  const std::string plan = fmt::format("plan {} --report {}", tree.path(), page.path());
  EXPECT_EQ(shell(fmt::format(fmt::runtime(limited), plan)), 0);
  if (!has_starpu()) return;
  for (const char* workers : {"1", "2"}) {
    const std::string solve = fmt::format("solve --grid 20x20x20 --workers {}", workers);
    EXPECT_EQ(shell(fmt::format(fmt::runtime(limited), solve)), 0) << workers;
  }
}

// StarPU made a directory for what it measures there, or aborted the program.
TEST(Home, ThatCannotBeWrittenIsNotNeeded) {
  if (!has_starpu()) GTEST_SKIP() << "needs the solver";
  const TemporaryDirectory folder;
  for (const char* home : {"/dev/null", "/proc"}) {
    const std::string line = fmt::format(
        "env -u XDG_CACHE_HOME -u STARPU_HOME -u STARPU_PERF_MODEL_DIR "
        "HOME={} TMPDIR={} {} solve --grid 20x20x20 --memory min "
        "--out-of-core {} >/dev/null",
        home, folder.path(), ESPALIER_PROGRAM, folder.path());
    EXPECT_EQ(shell(line), 0) << home;
    EXPECT_TRUE(folder.names().empty());
  }
}

// StarPU aborted the program; libgomp ended it with status 1, which is an answer.
TEST(FewThreads, AreSaidToBeTooFew) {
  if (geteuid() != 0) GTEST_SKIP() << "needs a user without other processes: root's word";
  if (!has_starpu()) GTEST_SKIP() << "needs the solver";
  for (const int limit : {3, 4, 5, 6}) {
    for (const char* command : {"adjoint ice-sheet --steps 3 --workers 2",
                                "train --mlp 4x4x2 --batch 4 --steps 2 --threads 2"}) {
      const TemporaryFile err{""};
      chmod(err.path().c_str(), 0666);
      const int status =
          shell(fmt::format("HOME=/tmp setpriv --reuid 54321 --clear-groups sh -c "
                            "'ulimit -p {} 2>/dev/null "
                            "|| ulimit -u {}; exec {} {}' >/dev/null 2>{}",
                            limit, limit, ESPALIER_PROGRAM, command, err.path()));
      EXPECT_TRUE(status == 0 || status == 3) << limit << command << err.text();
      EXPECT_EQ(status == 3, err.text().starts_with("espalier: the system "))
          << err.text();
    }
  }
}

TEST(OutOfCore, RefusesADirectoryThatHoldsNoFiles) {
  if (!has_starpu()) GTEST_SKIP() << "needs the solver";
  const Outcome outcome = run(
      {"solve", "--grid", "5x5x5", "--memory", "min", "--out-of-core", "/proc/self/fd"});
  EXPECT_EQ(outcome.status, 2) << outcome.signal;
  EXPECT_NE(outcome.err.find("--out-of-core /proc/self/fd: cannot make a temporary file"),
            std::string::npos)
      << outcome.err;
}

// BLAS, which no planner needs, asked for memory for ever.
TEST(LittleAddressSpace, LetsPlannersEnd) {
  if (support::kSanitized) GTEST_SKIP() << "sanitizers map more than any limit";
  const TemporaryFile tree{std::string(kTree)};
  const Outcome outcome = run({"plan", tree.path()}, {}, std::int64_t{160} << 20);
  EXPECT_EQ(outcome.status, 0) << outcome.signal << outcome.err;
}

// An input that does not end is refused where it is no text of the format, in little
// memory: it was read to the end of that.
void expect_unreadable(const std::vector<std::string>& words, std::string_view reason) {
  const Outcome outcome = run(words, {}, std::int64_t{1} << 30);
  EXPECT_EQ(outcome.status, 2) << outcome.signal;
  EXPECT_NE(outcome.err.find(reason), std::string::npos) << outcome.err;
}

TEST(Inputs, WithoutEndAreRefused) {
  if (support::kSanitized) GTEST_SKIP() << "sanitizers map more than any limit";
  expect_unreadable({"shard", "/dev/zero"}, "/dev/zero:1: syntax error");
  expect_unreadable({"plan", "--replay", "/dev/zero"}, "/dev/zero:1: syntax error");
  for (const char* command : {"plan", "layout", "checkpoint"})
    expect_unreadable({command, "/dev/zero"}, "/dev/zero:1: ");
  expect_unreadable({"train-plan", "pipeline", "/dev/zero"},
                    "/dev/zero:1: the line is longer than 4194304 bytes");
}

TEST(Inputs, ThatAreDirectoriesAreSaidToBe) {
  const TemporaryDirectory directory;
  const std::string json = directory.path() + "/d.json";
  std::filesystem::create_directory(json);
  const std::string reason = "cannot be read: Is a directory";
  expect_unreadable({"checkpoint", json}, reason);
  expect_unreadable({"order", json}, reason);
  expect_unreadable({"plan", "--replay", json}, reason);
  expect_unreadable({"train-plan", "pipeline", json}, reason);
}

TEST(NamesOfFiles, ReachNoTerminalAsControlCharacters) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/a\x1b[31m\n\xc2\x9b\xff%d\\.tree";
  std::ofstream(path) << kTree;
  for (const char* memory : {"min", "5B"}) {
    const Outcome outcome = run({"plan", path, "--memory", memory});
    for (const char c : outcome.out + outcome.err)
      EXPECT_TRUE(c == '\n' || std::iscntrl(static_cast<unsigned char>(c)) == 0);
    const std::string all = outcome.out + outcome.err;
    EXPECT_EQ(all.find("\xc2\x9b"), std::string::npos);
    EXPECT_EQ(all.find('\xff'), std::string::npos);
  }
}

// Which tells the same file to a shell.
TEST(NamesOfFiles, StandInTheCommandThatWorks) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/a\x1b[31m\n\xff'%d\\.tree";
  std::ofstream(path) << kTree;
  const Outcome refused = run({"plan", path, "--memory", "5B"});
  EXPECT_EQ(refused.status, 1);
  const std::size_t line = refused.err.find("\n  ");
  ASSERT_NE(line, std::string::npos) << refused.err;
  const std::string command = refused.err.substr(line + 3);
  const std::string folder = std::filesystem::path(ESPALIER_PROGRAM).parent_path();
  EXPECT_EQ(shell(fmt::format("PATH={}:$PATH; {} >/dev/null", folder,
                              command.substr(0, command.size() - 1))),
            0)
      << command;
}

}  // namespace TEST_SOURCE
}  // namespace espalier::cli_test
