// Streams, limits and names that are not as usual change no answer.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

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

TEST(StandardError, ThatCannotBeWrittenChangesNoAnswer) {
  const TemporaryFile tree{std::string(kTree)}, out{""};
  for (const char* no : {"2>&-", "2>/dev/full"}) {
    const std::string line = fmt::format("{} plan {} --memory 5B --json >{} {}",
                                         ESPALIER_PROGRAM, tree.path(), out.path(), no);
    EXPECT_EQ(shell(line), 1) << line;
    EXPECT_NE(out.text().find("\"feasible\": false"), std::string::npos) << out.text();
  }
}

// BLAS, which no planner needs, asked for memory for ever.
TEST(LittleAddressSpace, LetsPlannersEnd) {
  if (support::kSanitized) GTEST_SKIP() << "sanitizers map more than any limit";
  const TemporaryFile tree{std::string(kTree)};
  const Outcome outcome = run({"plan", tree.path()}, {}, std::int64_t{160} << 20);
  EXPECT_EQ(outcome.status, 0) << outcome.signal << outcome.err;
}

}  // namespace TEST_SOURCE
}  // namespace espalier::cli_test
