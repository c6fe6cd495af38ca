#include "espalier/io/pipeline_file.h"

#include <gtest/gtest.h>

#include <sstream>

#include "espalier/model/error.h"

namespace espalier {
namespace TEST_SOURCE {

PipelineFile read(const std::string& text) {
  std::istringstream in(text);
  return read_pipeline_file(in, "stages");
}

TEST(PipelineFile, IsReadAsItWasWritten) {
  PipelineFile file;
  file.stages = {{1, 22, 333, 4, 5, 6}, {7'000'000'000, 0, 0, 0, 0, 1LL << 40}};
  file.transfer = 12'345;
  file.once = 67;
  std::ostringstream out;
  write_pipeline_file(out, file);
  const PipelineFile back = read(out.str());
  EXPECT_EQ(back.transfer, file.transfer);
  EXPECT_EQ(back.once, file.once);
  ASSERT_EQ(back.stages.size(), 2U);
  EXPECT_EQ(back.stages[0].weight, 333);
  EXPECT_EQ(back.stages[0].until_weight, 5);
  EXPECT_EQ(back.stages[1].forward, 7'000'000'000);
  EXPECT_EQ(back.stages[1].persistent, 1LL << 40);
}

TEST(PipelineFile, WithoutTimesBesideStagesHasNone) {
  const PipelineFile file = read(R"({"stages": [{"forward": "1ms", "backward": 2}]})");
  EXPECT_EQ(file.transfer, 0);
  EXPECT_EQ(file.once, 0);
  EXPECT_EQ(file.stages.at(0).backward, 2'000'000'000);
}

TEST(PipelineFile, SaysWhatIsWrong) {
  for (const char* text :
       {R"({"stages": [{"forward": 1, "backward": 1}], "transfer": "soon"})",
        R"({"stages": [{"forward": 1, "backward": 1}], "twice": "1s"})",
        R"({"stages": [{"forward": 1, "backward": 1}], "once": 1})", R"({"once": "1s"})",
        R"({"stages": []})"})
    EXPECT_THROW((void)read(text), FileError) << text;
}

void expect_refused(const std::string& text, const std::string& message) {
  try {
    (void)read(text);
    ADD_FAILURE() << "not refused: " << message;
  } catch (const FileError& error) {
    EXPECT_EQ(error.what(), "stages" + message);
  }
}

// Of two values that do not agree none is the right one.
TEST(PipelineFile, RefusesMembersThatAreGivenTwice) {
  expect_refused(
      "{\"stages\": [{\"forward\": 1, \"backward\": 1},\n"
      "  {\"forward\": 1, \"backward\": 1,\n \"forward\": 2}]}",
      ":3: stages[1].forward is given twice");
  expect_refused(
      R"({"once": "1s", "stages": [{"forward": 1, "backward": 1}], "once": "2s"})",
      ":1: once is given twice");
}

TEST(PipelineFile, CountsLinesFromTheFirst) {
  expect_refused("\n\nforward,backward\n1,x\n",
                 ":4: backward: 'x' is not a time: expected a number and ns, us, ms or "
                 "s, as in 5ms");
  expect_refused("\n\n{\"stages\": [,]}",
                 ":3: syntax error while parsing value - unexpected ','; expected "
                 "'[', '{', or a literal");
}

}  // namespace TEST_SOURCE
}  // namespace espalier
