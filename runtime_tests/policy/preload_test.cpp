// An unmodified StarPU program that loads the policy by name: under LD_PRELOAD with
// StarPU 1.3, through STARPU_SCHED_LIB from 1.4 on.

#include <gtest/gtest.h>

#include <string>

#include "policy/loaded_program.h"

namespace espalier::policy {
namespace TEST_SOURCE {

// Standard output and error of the program with these variables set.
std::string run(const std::string& variables, const char* program) {
  const Ended ended = run_program(variables, program);
  return ended.status == 0 ? ended.output : ended.output + "(failed)";
}

TEST(Preload, GivesAnUnmodifiedProgramThePolicy) {
  const std::string output = run(kFound + "STARPU_SCHED=espalier", PLAIN_PROGRAM);
  EXPECT_NE(output.find("policy espalier, tasks 4 3 2 1 0\n"), std::string::npos)
      << output;
}

TEST(Preload, ChangesNothingUnlessAskedTo) {
  const std::string output = run(kFound + "STARPU_SCHED=eager", PLAIN_PROGRAM);
  EXPECT_NE(output.find("policy eager, tasks 0 1 2 3 4\n"), std::string::npos) << output;
}

TEST(Preload, ShowsInTheListOfPolicies) {
  const std::string output = run(kFound + "STARPU_SCHED=help", PLAIN_PROGRAM);
  EXPECT_NE(output.find("espalier "), std::string::npos) << output;
  EXPECT_EQ(run("STARPU_SCHED=help", PLAIN_PROGRAM).find("espalier "), std::string::npos);
}

TEST(Preload, HarmsNoProgramWithoutStarPU) {
  EXPECT_EQ(run("LD_PRELOAD=" ESPALIER_LIBRARY, "/bin/echo hello"), "hello\n");
}

}  // namespace TEST_SOURCE
}  // namespace espalier::policy
