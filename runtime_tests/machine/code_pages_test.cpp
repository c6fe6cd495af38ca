#include "espalier/machine/code_pages.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "espalier/model/units.h"

namespace espalier {
namespace TEST_SOURCE {

std::string mapping(const std::string& head, const std::string& changed) {
  return head + "\nSize:                 64 kB\nRss:                  60 kB\n" +
         "Anonymous:            " + changed + "\nVmFlags: rd ex mr mw me\n";
}

std::string own_smaps() {
  std::ifstream file("/proc/self/smaps");
  return {std::istreambuf_iterator<char>(file), {}};
}

// Resident bytes of the mappings that the rule names.
Bytes resident_code() {
  Bytes sum = 0;
  for (const AddressRange& range : unchanged_code(own_smaps())) {
    std::ifstream file("/proc/self/smaps");
    std::string line;
    bool inside = false;
    while (std::getline(file, line)) {
      if (line.find('-') < line.find(' '))
        inside = std::stoull(line, nullptr, 16) == range.begin;
      if (inside && line.starts_with("Rss:")) sum += std::stoll(line.substr(4));
    }
  }
  return 1024 * sum;
}

TEST(CodePages, AreThoseOfFilesThatNobodyChanged) {
  const std::string smaps =
      mapping("1000-2000 r--p 00000000 fd:01 42 /bin/program", "0 kB") +
      mapping("2000-5000 r-xp 00001000 fd:01 42 /bin/program", "0 kB") +
      mapping("5000-6000 rw-p 00004000 fd:01 42 /bin/program", "4 kB") +
      mapping("7f0000-7f8000 r-xp 00000000 fd:01 43 /lib/with-a breakpoint.so", "4 kB") +
      mapping("7f8000-7fa000 r-xp 00000000 fd:01 44 /lib/libm.so.6", "0 kB") +
      mapping("7fa000-7fb000 r-xp 00000000 00:00 0", "0 kB") +
      mapping("7fc000-7fd000 r-xp 00000000 00:00 0 [vdso]", "0 kB") +
      mapping("7fd000-7fe000 rwxp 00000000 fd:01 45 /tmp/made", "0 kB");
  EXPECT_EQ(unchanged_code(smaps),
            (std::vector<AddressRange>{{0x2000, 0x5000}, {0x7f8000, 0x7fa000}}));
}

TEST(CodePages, OfNoTextAndOfHalfATextAreNone) {
  EXPECT_TRUE(unchanged_code("").empty());
  EXPECT_TRUE(unchanged_code("2000-5000 r-xp 0 fd:01 42 /bin/program").empty());
  EXPECT_TRUE(unchanged_code("2000 r-xp /\nAnonymous: 0 kB").empty());
  EXPECT_TRUE(unchanged_code("-x r-xp /\nAnonymous:").empty());
}

TEST(CodePages, AreFewerAfterwards) {
  const Bytes before = resident_code();
  if (before == 0) GTEST_SKIP() << "the system does not tell";
  release_code();
  EXPECT_LT(resident_code(), before);
}

}  // namespace TEST_SOURCE
}  // namespace espalier
