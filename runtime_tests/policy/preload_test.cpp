// An unmodified StarPU program that loads the policy by name: under LD_PRELOAD with
// StarPU 1.3, through STARPU_SCHED_LIB from 1.4 on.

#include <gtest/gtest.h>
#include <starpu_config.h>

#include <array>
#include <cstdio>
#include <string>

namespace {

// Standard output and error of the program with these variables set.
std::string run(const std::string& variables, const char* program) {
  // Sanitizers want to be loaded first; that is not what is tested here.
  const std::string command =
      "env ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 " + variables + " " +
      program + " 2>&1";
  std::string output;
  std::FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return "popen failed";
  std::array<char, 4096> buffer;
  while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr)
    output += buffer.data();
  if (pclose(pipe) != 0) output += "(failed)";
  return output;
}

#if STARPU_MAJOR_VERSION == 1 && STARPU_MINOR_VERSION == 3
const std::string kLoad = "LD_PRELOAD=" ESPALIER_LIBRARY " ";
#else
const std::string kLoad = "STARPU_SCHED_LIB=" ESPALIER_LIBRARY " ";
#endif

TEST(Preload, GivesAnUnmodifiedProgramThePolicy) {
  const std::string output = run(kLoad + "STARPU_SCHED=espalier", PLAIN_PROGRAM);
  EXPECT_NE(output.find("policy espalier, tasks 4 3 2 1 0\n"), std::string::npos)
      << output;
}

TEST(Preload, ChangesNothingUnlessAskedTo) {
  const std::string output = run(kLoad + "STARPU_SCHED=eager", PLAIN_PROGRAM);
  EXPECT_NE(output.find("policy eager, tasks 0 1 2 3 4\n"), std::string::npos) << output;
}

TEST(Preload, ShowsInTheListOfPolicies) {
  const std::string output = run(kLoad + "STARPU_SCHED=help", PLAIN_PROGRAM);
  EXPECT_NE(output.find("espalier "), std::string::npos) << output;
  EXPECT_EQ(run("STARPU_SCHED=help", PLAIN_PROGRAM).find("espalier "), std::string::npos);
}

TEST(Preload, HarmsNoProgramWithoutStarPU) {
  EXPECT_EQ(run("LD_PRELOAD=" ESPALIER_LIBRARY, "/bin/echo hello"), "hello\n");
}

}  // namespace
