// Streams, limits and names that are not as usual change no answer.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "cli/program.h"
#include "support/sanitized.h"

namespace espalier::cli_test {
namespace TEST_SOURCE {

constexpr std::string_view kTree = "0 -1 1 1 1\n1 0 2 0 5\n2 0 3 4 6\n";

// BLAS, which no planner needs, asked for memory for ever.
TEST(LittleAddressSpace, LetsPlannersEnd) {
  if (support::kSanitized) GTEST_SKIP() << "sanitizers map more than any limit";
  const TemporaryFile tree{std::string(kTree)};
  const Outcome outcome = run({"plan", tree.path()}, {}, std::int64_t{160} << 20);
  EXPECT_EQ(outcome.status, 0) << outcome.signal << outcome.err;
}

}  // namespace TEST_SOURCE
}  // namespace espalier::cli_test
