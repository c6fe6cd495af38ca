// Libraries that only some commands need are mapped by these alone.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "cli/program.h"

namespace espalier::cli_test {
namespace TEST_SOURCE {

namespace fs = std::filesystem;

// What a run of the program has mapped at any time, as far as looks every few
// milliseconds see.
std::set<std::string> mapped_by(const std::vector<std::string>& arguments) {
  std::set<std::string> libraries;
  const auto look = [&libraries](int process) {
    std::ifstream maps("/proc/" + std::to_string(process) + "/maps");
    for (std::string line; std::getline(maps, line);)
      if (const auto name = line.rfind('/'); name != std::string::npos)
        libraries.insert(line.substr(name + 1));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return false;
  };
  EXPECT_FALSE(run_disturbed(arguments, look)) << "looked at to its end";
  return libraries;
}

bool maps(const std::set<std::string>& libraries, const std::string& name) {
  const auto at = libraries.lower_bound(name);
  return at != libraries.end() && at->starts_with(name);
}

TEST(Modules, ASolveMapsNoLibraryOfNetworks) {
  const auto libraries = mapped_by({"solve", "--grid", "30x30x30", "--workers", "2"});
  EXPECT_TRUE(maps(libraries, "libstarpu-"));
  for (const char* library : {"libdnnl", "libonnx", "libprotobuf"})
    EXPECT_FALSE(maps(libraries, library)) << library;
}

TEST(Modules, TrainingMapsItsKernelsAndNoReaderOfModels) {
  const auto libraries =
      mapped_by({"train", "--mlp", "64x64x10", "--steps", "20", "--workers", "2"});
  EXPECT_TRUE(maps(libraries, "libdnnl"));
  EXPECT_FALSE(maps(libraries, "libonnx"));
}

bool has(const std::string& text, const std::string& word) {
  return text.find(word) != std::string::npos;
}

TEST(Modules, AMissingOneIsNamed) {
  const TemporaryDirectory folder;
  const std::string alone = folder.path() + "/espalier";
  fs::copy_file(ESPALIER_PROGRAM, alone);
  const std::string command = alone + " train --mlp 4x2 2>&1; echo status $?";
  FILE* const pipe = popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string text;
  for (int c = fgetc(pipe); c != EOF; c = fgetc(pipe)) text += static_cast<char>(c);
  pclose(pipe);
  EXPECT_TRUE(has(text, "Training steps need libespalier_dnnl.so")) << text;
  EXPECT_TRUE(has(text, "status 3")) << text;
}

}  // namespace TEST_SOURCE
}  // namespace espalier::cli_test
