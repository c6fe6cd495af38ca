#include "espalier/io/layout_csv.h"

#include <gtest/gtest.h>

#include <sstream>

#include "espalier/model/error.h"
#include "support/error_message.h"

namespace espalier {
namespace TEST_SOURCE {

LayoutFile from_text(const std::string& text) {
  std::istringstream in(text);
  return read_layout_csv(in, "b.csv");
}

std::string error_of(const std::string& text) {
  return support::error_message<FileError>([&] { return from_text(text); });
}

std::string written(const LayoutFile& file, const std::vector<Bytes>& offsets) {
  std::ostringstream out;
  write_layout_csv(out, file, offsets);
  return out.str();
}

TEST(LayoutCsv, GivesBackWhatItReadWithOffsets) {
  const LayoutFile file = from_text("id,lower,upper,size\nb1,0,3,4\nb2,-3,9,4\n");
  ASSERT_EQ(file.buffers.size(), 2U);
  EXPECT_EQ(file.buffers[buffer_id(1)], (Buffer{-3, 9, 4}));
  EXPECT_EQ(file.ids.name(1), "b2");
  EXPECT_EQ(written(file, {0, 4}),
            "id,lower,upper,size,offset\nb1,0,3,4,0\nb2,-3,9,4,4\n");
}

TEST(LayoutCsv, TakesColumnsInAnyOrderAndReplacesOffsets) {
  const LayoutFile file =
      from_text("\xEF\xBB\xBFsize,offset,hint,end,start,buffer\r\n\n4,7,-1,2,0,x\r\n");
  EXPECT_EQ(file.buffers[buffer_id(0)], (Buffer{0, 3, 4}));
  EXPECT_EQ(written(file, {5}), "size,hint,end,start,buffer,offset\n4,-1,2,0,x,5\n");
}

TEST(LayoutCsv, ReadsAFileWithoutBuffers) {
  const LayoutFile file = from_text("id,lower,upper,size\n");
  EXPECT_TRUE(file.buffers.empty());
  EXPECT_EQ(written(file, {}), "id,lower,upper,size,offset\n");
}

TEST(LayoutCsv, NamesFileLineAndValueOfWhatIsWrong) {
  const std::string header = "id,lower,upper,size\na,0,1,2\n";
  EXPECT_EQ(error_of(""), "b.csv: holds no header");
  EXPECT_EQ(error_of("id,lower,size\n"),
            "b.csv:1: the column 'upper' is missing from 'id,lower,size'");
  EXPECT_EQ(error_of("id,lower,upper,end,size\n"),
            "b.csv:1: the column 'upper' is there twice");
  EXPECT_EQ(error_of("id,lower,upper,size,gaps\n"),
            "b.csv:1: the column 'gaps' is not supported");
  EXPECT_EQ(error_of(header + "b,3,3,1\n"),
            "b.csv:3: buffer 'b': the lifetime [3, 3) is empty");
  EXPECT_EQ(error_of(header + "b,3,4,-1\n"),
            "b.csv:3: buffer 'b': the size -1 is negative");
  EXPECT_EQ(error_of(header + "a,3,4,1\n"), "b.csv:3: id 'a' is that of line 2 already");
  EXPECT_EQ(error_of(header + ",3,4,1\n"), "b.csv:3: the id is empty");
  EXPECT_EQ(error_of(header + "b,3,4\n"), "b.csv:3: 3 fields, the header has 4");
  EXPECT_EQ(error_of(header + "b,3,x,1\n"), "b.csv:3: upper 'x' is not an integer");
  EXPECT_EQ(error_of(header + "b,3,4,9223372036854775808\n"),
            "b.csv:3: size '9223372036854775808' is out of range");
  EXPECT_EQ(error_of(header + "b,3,4,9223372036854775807\n"),
            "b.csv:3: the sum of all sizes leaves the 64-bit range at "
            "9223372036854775807");
}

TEST(LayoutCsv, NamesTheLineWhereRoundedSizesLeaveTheRange) {
  std::istringstream in("id,lower,upper,size\na,0,2,1\n\nb,2,3,9223372036854775743\n");
  EXPECT_EQ(
      support::error_message<FileError>([&] { (void)read_layout_csv(in, "b.csv", 64); }),
      "b.csv:4: the sum of all sizes, rounded up to 64, leaves the 64-bit range at "
      "9223372036854775743");
}

}  // namespace TEST_SOURCE
}  // namespace espalier
