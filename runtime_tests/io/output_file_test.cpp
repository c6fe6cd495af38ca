#include "espalier/io/output_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "espalier/io/text_file.h"
#include "espalier/model/error.h"

namespace espalier {
namespace TEST_SOURCE {

namespace fs = std::filesystem;
using Temporary = OutputFile::Temporary;

class OutputFiles : public testing::TestWithParam<Temporary> {
 protected:
  OutputFiles() {
    folder_ = testing::TempDir() + "espalier_output_XXXXXX";
    if (mkdtemp(folder_.data()) == nullptr) std::abort();
  }
  ~OutputFiles() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const {
    return folder_ + "/" + name;
  }
  [[nodiscard]] std::size_t names() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  static std::string text(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static mode_t mode(const std::string& file) {
    struct stat known {};
    EXPECT_EQ(stat(file.c_str(), &known), 0);
    return known.st_mode & 07777;
  }
  static void write(const std::string& file, const std::string& text) {
    OutputFile out(file, GetParam());
    out.write(text);
    out.commit();
  }

  std::string folder_;
};

TEST_P(OutputFiles, AppearWhenTheyAreWhole) {
  OutputFile file(path("a"), GetParam());
  file.write("two ");
  file.write("parts");
  EXPECT_FALSE(fs::exists(path("a")));
  EXPECT_EQ(names(), GetParam() == Temporary::kNamed ? 1U : 0U);
  file.write_at(0, std::as_bytes(std::span("TWO", 3)));
  EXPECT_EQ(file.written(), 9U);
  file.commit();
  EXPECT_EQ(text(path("a")), "TWO parts");
  EXPECT_EQ(names(), 1U);
}

TEST_P(OutputFiles, LeaveTheOlderOneAndNothingElseWhenTheyAreGivenUp) {
  std::ofstream(path("a")) << "older";
  {
    OutputFile file(path("a"), GetParam());
    file.write("newer");
  }
  EXPECT_EQ(text(path("a")), "older");
  EXPECT_EQ(names(), 1U);
  {
    OutputFile file(path("b"), GetParam());
    file.write("newer");
    remove_unfinished_files();
    EXPECT_EQ(names(), 1U);
  }
  EXPECT_EQ(names(), 1U);
}

TEST_P(OutputFiles, KeepTheModeOfWhatTheyReplace) {
  for (const mode_t mode_before : {0600, 0640, 0644, 0666}) {
    std::ofstream(path("a")) << "older";
    ASSERT_EQ(chmod(path("a").c_str(), mode_before), 0);
    write(path("a"), "newer");
    EXPECT_EQ(mode(path("a")), mode_before);
    EXPECT_EQ(text(path("a")), "newer");
    fs::remove(path("a"));
  }
  const mode_t umask_before = umask(027);
  write(path("new"), "x");
  umask(umask_before);
  EXPECT_EQ(mode(path("new")), 0640U);
}

TEST_P(OutputFiles, FollowLinksOfTheirOwnUser) {
  fs::create_directory(path("there"));
  std::ofstream(path("there/file")) << "older";
  ASSERT_EQ(chmod(path("there/file").c_str(), 0600), 0);
  fs::create_symlink("there/file", path("link"));
  fs::create_symlink("link", path("further"));
  write(path("further"), "newer");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_TRUE(fs::is_symlink(path("further")));
  EXPECT_EQ(text(path("there/file")), "newer");
  EXPECT_EQ(mode(path("there/file")), 0600U);
  fs::create_symlink("there/not yet", path("dangling"));
  write(path("dangling"), "made");
  EXPECT_EQ(text(path("there/not yet")), "made");
  fs::create_symlink("circle", path("circle"));
  EXPECT_THROW(OutputFile(path("circle"), GetParam()), FileError);
}

// As /tmp: whoever may write there can put a link under the name that is going to be
// written.
TEST_P(OutputFiles, DoNotFollowLinksOfOthersInADirectoryForAll) {
  if (geteuid() != 0) GTEST_SKIP() << "needs the right to make another user's link";
  std::ofstream(path("mine")) << "precious";
  fs::create_directory(path("all"));
  ASSERT_EQ(chmod(path("all").c_str(), 01777), 0);
  fs::create_symlink("../mine", path("all/link"));
  ASSERT_EQ(lchown(path("all/link").c_str(), 65534, 65534), 0);
  EXPECT_THROW(OutputFile(path("all/link"), GetParam()), FileError);
  EXPECT_EQ(text(path("mine")), "precious");
  ASSERT_EQ(chmod(path("all").c_str(), 0755), 0);
  write(path("all/link"), "newer");  // the directory is ours alone
  EXPECT_EQ(text(path("mine")), "newer");
}

TEST_P(OutputFiles, SayWhatCannotBeWritten) {
  EXPECT_THROW(OutputFile("", GetParam()), FileError);
  EXPECT_THROW(OutputFile(folder_, GetParam()), FileError);
  EXPECT_THROW(OutputFile(folder_ + "/", GetParam()), FileError);
  EXPECT_THROW(OutputFile(path("none/file"), GetParam()), FileError);
  EXPECT_THROW(check_output(path("none/file")), FileError);
  check_output(path("a"));
  EXPECT_FALSE(fs::exists(path("a")));
  OutputFile full("/dev/full", GetParam());
  EXPECT_THROW(full.write("x"), WriteError);
}

TEST_P(OutputFiles, WriteDevicesAsTheyAre) {
  write("/dev/null", "gone");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

INSTANTIATE_TEST_SUITE_P(Both, OutputFiles,
                         testing::Values(Temporary::kUnnamed, Temporary::kNamed),
                         [](const auto& each) {
                           return each.param == Temporary::kNamed ? "Named" : "Unnamed";
                         });

TEST(WriteFile, LeavesNothingWhenTheWriterThrows) {
  std::string folder = testing::TempDir() + "espalier_output_XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  EXPECT_THROW(write_file(folder + "/a",
                          [](std::ostream& out) {
                            out << std::string(200'000, 'x');
                            throw Error("enough");
                          }),
               Error);
  EXPECT_TRUE(fs::is_empty(folder));
  const std::string long_text(200'000, 'y');
  write_file(folder + "/a", [&](std::ostream& out) { out << 1 << long_text << 'z'; });
  std::ifstream in(folder + "/a", std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), '1' + long_text + 'z');
  fs::remove_all(folder);
}

}  // namespace TEST_SOURCE
}  // namespace espalier
