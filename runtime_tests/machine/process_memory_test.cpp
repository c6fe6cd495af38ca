#include "espalier/machine/process_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

namespace espalier {
namespace TEST_SOURCE {

constexpr Bytes kMiB = Bytes{1} << 20;

TEST(ProcessMemory, IsReadFromTheSystemsText) {
  const ProcessMemory memory = parse_process_memory(
      "Name:\ta\nVmPeak:\t  9000 kB\nVmHWM:\t  2000 kB\nVmRSS:\t  1500 kB\n");
  EXPECT_EQ(memory.vm_hwm, 2000 * 1024);
  EXPECT_EQ(memory.vm_rss, 1500 * 1024);
  for (const char* text :
       {"", "\nVmHWM:", "\nVmHWM:\t kB\nVmRSS:\t-\n", "\nxVmRSS:\t1 kB"}) {
    EXPECT_EQ(parse_process_memory(text).vm_hwm, std::nullopt) << text;
    EXPECT_EQ(parse_process_memory(text).vm_rss, std::nullopt) << text;
  }
}

TEST(ProcessMemory, ReadsTheFieldThatIsAskedFor) {
  const char* text = "VmPeak:\t9000 kB\nxVmSize:\t7 kB\nVmSize:\t  8000 kB\n";
  EXPECT_EQ(status_field(text, "VmPeak"), 9000 * 1024);
  EXPECT_EQ(status_field(text, "VmSize"), 8000 * 1024);
  EXPECT_EQ(status_field(text, "VmData"), std::nullopt);
  EXPECT_EQ(status_field(text, "Vm"), std::nullopt);
  EXPECT_TRUE(status_field(process_status(), "VmRSS").has_value());
}

TEST(ProcessMemory, SeesWhatThisProcessTouches) {
  const Bytes before = process_memory().vm_rss.value();
  const std::vector<char> touched(64 * kMiB, 1);
  EXPECT_GE(process_memory().vm_rss.value(), before + 60 * kMiB);
  EXPECT_GE(process_memory().vm_hwm.value(), before + 60 * kMiB);
  EXPECT_EQ(touched.back(), 1);
}

// Where counts that the system adds up late may stand still.
TEST(ProcessMemory, CountsEveryPage) {
  const auto page = static_cast<Bytes>(sysconf(_SC_PAGESIZE));
  (void)counted_rss();
  for (const Bytes pages : {7, 20, 31}) {
    const Bytes before = counted_rss().value();
    void* const mapped = mmap(nullptr, pages * page, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(mapped, MAP_FAILED);
    std::fill_n(static_cast<char*>(mapped), pages * page, char{1});
    const Bytes with = counted_rss().value();
    munmap(mapped, pages * page);
    const Bytes without = counted_rss().value();
    EXPECT_EQ(with - without, pages * page);
    EXPECT_LE(without, before + 16 * page);  // code that is met for the first time
  }
}

TEST(ProcessMemory, SystemsOfManyProcessorsCountLater) {
  EXPECT_EQ(rss_error(2, 4096), 256 * 1024);
  EXPECT_EQ(rss_error(16, 4096), 2 * kMiB);
  EXPECT_EQ(rss_error(64, 4096), 32 * kMiB);
}

}  // namespace TEST_SOURCE
}  // namespace espalier
