#include "espalier/model/printable.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "espalier/model/error.h"

namespace espalier {
namespace TEST_SOURCE {

TEST(Printable, LeavesPlainTextAsItIs) {
  EXPECT_EQ(printable(""), "");
  EXPECT_EQ(printable(" size '4 MiB'  is… größer als 𝄞 "),
            " size '4 MiB'  is… größer als 𝄞 ");
}

TEST(Printable, ShowsControlCharactersAndBrokenUtf8AsNumbers) {
  EXPECT_EQ(printable("a\tb\x1b[2J\x7f"), "a\\x09b\\x1b[2J\\x7f");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("1\xf1"
                      "1"),
            "1\\xf11");
  EXPECT_EQ(printable("\xc3"), "\\xc3");
  // U+009B begins what terminals obey, as an escape and a bracket do; U+00A0 is a blank.
  EXPECT_EQ(printable("\xc2\x9b[2J \xc2\x80 \xc2\x9f \xc2\xa0"),
            "\\xc2\\x9b[2J \\xc2\\x80 \\xc2\\x9f \xc2\xa0");
  // An overlong slash, a surrogate, beyond U+10FFFF.
  EXPECT_EQ(printable("\xc0\xaf \xed\xa0\x80 \xf4\x90\x80\x80"),
            "\\xc0\\xaf \\xed\\xa0\\x80 \\xf4\\x90\\x80\\x80");
}

TEST(Printable, KeepsLineEndsWhereAsked) {
  EXPECT_EQ(printable("a\nb"), "a\\x0ab");
  EXPECT_EQ(printable("a\nb", true), "a\nb");
}

TEST(Printable, CutsLongWordsAndKeepsPaths) {
  EXPECT_EQ(printable("size '" + std::string(400, '1') + " is"),
            "size '" + std::string(59, '1') + "…(401 bytes) is");
  EXPECT_EQ(printable(std::string(160, '1')), std::string(160, '1'));
  const std::string path = "/tmp/" + std::string(1000, 'x');
  EXPECT_EQ(printable(path), path);
}

TEST(Printable, IsPrintableAndShortWhateverTheBytes) {
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    std::string text(random() % 40, ' ');
    for (char& each : text) each = static_cast<char>(random() % 256);
    const std::string shown = printable(text);
    EXPECT_EQ(printable(shown), shown) << i;
    EXPECT_LE(shown.size(), 4 * text.size());
  }
}

TEST(FileError, IsPrintable) {
  EXPECT_STREQ(FileError("a b.mtx", 7, "malformed column '\xea'").what(),
               "a b.mtx:7: malformed column '\\xea'");
}

}  // namespace TEST_SOURCE
}  // namespace espalier
