#include "espalier/io/tree_io.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <sstream>

#include "espalier/model/error.h"
#include "support/error_message.h"
#include "support/random_tree.h"
#include "support/tree_shapes.h"

namespace espalier {
namespace TEST_SOURCE {

TreeFile read(const std::string& text) {
  std::istringstream in(text);
  return read_tree(in, "t");
}

std::string error_of(const std::string& text) {
  return support::error_message<FileError>([&] { return read(text); });
}

TEST(ReadTree, ReadsLinesInAnyOrder) {
  const TreeFile file = read(
      "# a tree\n\n"
      "7 900 4096 0 1.5e6   # a leaf\n"
      "\t900  -1 128 64 2e6 512\r\n"
      "0 900 1 2 3");
  EXPECT_EQ(file.ids, (std::vector<std::int64_t>{7, 900, 0}));
  EXPECT_EQ(support::describe(file.tree),
            "0 1 4096 0 1500000 0\n1 -1 128 64 2000000 512\n2 1 1 2 3 0\n");
}

TEST(ReadTree, TakesAnyDistinctIds) {
  const TreeFile file =
      read("9223372036854775807 -1 1 1 1\n5 9223372036854775807 1 1 1\n80 5 1 1 1\n");
  EXPECT_EQ(file.tree.parent(task_id(2)), task_id(1));
  EXPECT_EQ(file.tree.parent(task_id(1)), task_id(0));
}

TEST(ReadTree, NamesTheLineOfEveryFault) {
  const std::string good = "1 -1 1 1 1\n";
  EXPECT_EQ(error_of(good + "2 1 1 1\n"), "t:2: 4 fields, expected 5 or 6");
  EXPECT_EQ(error_of(good + "2 1 1"), "t:2: 3 fields, expected 5 or 6");
  EXPECT_EQ(error_of(good + "2 1 1 1 1 1 1\n"), "t:2: more than 6 fields");
  EXPECT_EQ(error_of(good + "x 1 1 1 1\n"), "t:2: id 'x' is not an integer");
  EXPECT_EQ(error_of(good + "2 1 1.5 1 1\n"), "t:2: output size '1.5' is not an integer");
  EXPECT_EQ(error_of(good + "2 1 1 1 fast\n"), "t:2: work 'fast' is not a number");
  EXPECT_EQ(error_of(good + "-2 1 1 1 1\n"), "t:2: id '-2' is negative");
  EXPECT_EQ(error_of(good + "2 -2 1 1 1\n"), "t:2: parent '-2' is below -1");
  EXPECT_EQ(error_of(good + "2 1 -1 1 1\n"), "t:2: output size '-1' is negative");
  EXPECT_EQ(
      error_of(good + "2 1 1 -1 1\n"),
      "t:2: execution size -1 of task 2 is below 0: no more than its inputs or than "
      "what it leaves can share memory");
  EXPECT_EQ(error_of(good + "2 1 1 1 -1\n"), "t:2: work '-1' is negative");
  EXPECT_EQ(error_of(good + "2 1 1 1 nan\n"), "t:2: work 'nan' is not a finite number");
  EXPECT_EQ(error_of(good + "2 1 1 1 1 -1\n"), "t:2: retained size '-1' is negative");
  EXPECT_EQ(error_of(good + "2 1 9223372036854775808 1 1\n"),
            "t:2: output size '9223372036854775808' is out of range");
  EXPECT_EQ(error_of(good + "2 1 1 1 1e999\n"), "t:2: work '1e999' is out of range");
  EXPECT_EQ(error_of(good + "2 1 9223372036854775807 1 1\n"),
            "t:2: the sum of all sizes leaves the 64-bit range");
  EXPECT_EQ(error_of("1 -1 1 1 6e249\n2 1 1 1 6e249\n"),
            "t:2: the sum of all work is above 1e+250");
}

TEST(ReadTree, SkipsAByteOrderMark) {
  EXPECT_EQ(read("\xEF\xBB\xBF"
                 "7 -1 1 2 3\n")
                .ids,
            std::vector<std::int64_t>{7});
  EXPECT_EQ(error_of("\xEF\xBB\xBF"), "t: holds no task");
}

TEST(ReadTree, NamesTheLineOfEveryBrokenLink) {
  EXPECT_EQ(error_of("1 -1 1 1 1\n\n1 -1 1 1 1\n"),
            "t:3: id 1 is that of line 1 already");
  EXPECT_EQ(error_of("1000 -1 1 1 1\n# c\n1000 -1 1 1 1\n"),
            "t:3: id 1000 is that of line 1 already");
  EXPECT_EQ(error_of("1 -1 1 1 1\n2 3 1 1 1\n"),
            "t:2: parent 3 of task 2 is not in the file");
  EXPECT_EQ(error_of("1 -1 1 1 1\n2 999 1 1 1\n"),
            "t:2: parent 999 of task 2 is not in the file");
  EXPECT_EQ(error_of("1 -1 1 1 1\n5 6 1 1 1\n6 5 1 1 1\n"),
            "t:2: task 5 is its own ancestor");
}

TEST(ReadTree, RefusesFilesWithoutTasksAndFilesThatAreNotThere) {
  EXPECT_EQ(error_of(""), "t: holds no task");
  EXPECT_EQ(error_of("# nothing\n\n"), "t: holds no task");
  EXPECT_THROW((void)read_tree("/nonexistent/tree"), FileError);
  EXPECT_THROW((void)read_tree("/"), FileError);
}

TEST(ReadTree, RefusesLinesWithoutEnd) {
  EXPECT_EQ(error_of("1 -1 1 1 1\n" + std::string(5'000'000, '7')),
            "t:2: the line is longer than 65536 bytes");
  EXPECT_EQ(error_of("1 -1 1 1 1\n#" + std::string(65'535, '7') + "\n2 0 0 0 0"),
            "t:3: parent 0 of task 2 is not in the file");
}

TEST(WriteTree, GivesBackWhatWasRead) {
  std::mt19937 random(47);
  for (int instance = 0; instance < 300; ++instance) {
    const TaskTree tree = support::varied_tree(random, instance, 30);
    std::ostringstream out;
    write_tree(out, tree);
    EXPECT_EQ(support::describe(read(out.str()).tree), support::describe(tree));
  }
}

TEST(WriteTree, KeepsIdsAndExactWorks) {
  const TreeFile file = read("30 20 1 2 0.1\n20 -1 1 2 1e200\n");
  std::ostringstream out;
  write_tree(out, file.tree, file.ids);
  EXPECT_EQ(out.str(),
            "# id parent output_size execution_size work\n30 20 1 2 0.1\n"
            "20 -1 1 2 1e+200\n");
}

TEST(WriteTree, ReadsBackFilesOfManyBlocks) {
  const TaskTree tree(support::recursive_random(200'000));
  std::ostringstream out;
  write_tree(out, tree);
  EXPECT_EQ(support::describe(read(out.str()).tree), support::describe(tree));
}

TEST(WriteTree, RefusesAPathThatCannotBeWritten) {
  EXPECT_THROW(write_tree("/nonexistent/tree", TaskTree()), FileError);
  const TaskTree tree(support::star(1000));
  EXPECT_THROW(write_tree("/dev/full", tree), FileError);
}

TEST(WriteOrder, WritesOneIdALine) {
  const std::string path = testing::TempDir() + "espalier_order";
  write_order(path, std::vector<TaskId>{task_id(1), task_id(0)},
              std::vector<std::int64_t>{30, 20});
  std::FILE* file = std::fopen(path.c_str(), "r");
  ASSERT_NE(file, nullptr);
  char text[16] = {};
  EXPECT_EQ(std::fread(text, 1, sizeof text, file), 6);
  EXPECT_STREQ(text, "20\n30\n");
  std::fclose(file);
  std::remove(path.c_str());
}

}  // namespace TEST_SOURCE
}  // namespace espalier
