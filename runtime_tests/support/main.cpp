// The main function of every test program: GoogleTest's, with a temporary directory that
// belongs to this process alone. testing::TempDir() and TMPDIR name it, for what the test
// starts too; it is removed at the end.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace {

/// A new directory below TMPDIR (or /tmp) that the environment names until it is removed.
class OwnDirectory {
 public:
  OwnDirectory()
      : path_(
            (std::filesystem::temp_directory_path() / "espalier_test_XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr)
      throw std::runtime_error("no temporary directory " + path_);
    setenv("TMPDIR", path_.c_str(), 1);
    setenv("TEST_TMPDIR", path_.c_str(), 1);
  }
  ~OwnDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  OwnDirectory(const OwnDirectory&) = delete;
  OwnDirectory& operator=(const OwnDirectory&) = delete;

 private:
  std::string path_;
};

}  // namespace

int main(int argc, char** argv) {
  // A death test that starts the program again shares the directory of its test.
  const bool in_death_test =
      std::any_of(argv, argv + argc, [](std::string_view argument) {
        return argument.starts_with("--gtest_internal_run_death_test");
      });
  testing::InitGoogleTest(&argc, argv);
  if (in_death_test || testing::GTEST_FLAG(list_tests)) return RUN_ALL_TESTS();
  try {
    const OwnDirectory directory;
    return RUN_ALL_TESTS();
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
