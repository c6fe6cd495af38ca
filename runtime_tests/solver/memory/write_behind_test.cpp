#include "solver/memory/write_behind.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "solver/memory/spill_file.h"

namespace espalier::solver {
namespace TEST_SOURCE {

using Block = std::vector<std::byte>;

constexpr Bytes kMiB = Bytes{1} << 20;

/// Bytes of a file that are in the page cache.
Bytes cached(int file) {
  struct stat status {};
  if (fstat(file, &status) != 0 || status.st_size == 0) return 0;
  const auto bytes = static_cast<std::size_t>(status.st_size);
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const map = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file, 0);
  if (map == MAP_FAILED) return -1;
  std::vector<unsigned char> there((bytes + page - 1) / page);
  const int failed = mincore(map, bytes, there.data());
  munmap(map, bytes);
  if (failed != 0) return -1;
  return static_cast<Bytes>(page) *
         std::ranges::count_if(there, [](unsigned char flags) { return flags & 1; });
}

/// An open file without a name, on a disk.
class TemporaryFile {
 public:
  TemporaryFile() : number(open(testing::TempDir().c_str(), O_TMPFILE | O_RDWR, 0600)) {}
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { close(number); }
  [[nodiscard]] bool cached_in_vain() const {  // the cache is not what holds it
    constexpr long kTmpfs = 0x01021994;
    struct statfs system {};
    return number >= 0 && fstatfs(number, &system) == 0 && system.f_type != kTmpfs;
  }
  const int number;
};

class WriteBehindOnDisk : public testing::Test {
 protected:
  void SetUp() override {
    if (!file_.cached_in_vain()) GTEST_SKIP() << "temporary files are in memory here";
  }
  void write(WriteBehind& behind, Bytes offset, const Block& data) const {
    ASSERT_EQ(pwrite(file_.number, data.data(), data.size(), offset), std::ssize(data));
    ASSERT_EQ(behind.wrote(offset, std::ssize(data)), 0);
  }
  TemporaryFile file_;
};

TEST_F(WriteBehindOnDisk, HasAWindowOfTheFileInTheCacheAndNothingInTheEnd) {
  const Block data(kMiB, std::byte{1});
  WriteBehind behind(file_.number);
  Bytes most = 0;
  for (Bytes k = 0; k < 48; ++k) {
    write(behind, k * kMiB, data);
    most = std::max(most, cached(file_.number));
  }
  EXPECT_GT(most, 0);
  EXPECT_LE(most, WriteBehind::kWindow + 2 * WriteBehind::kPiece);
  EXPECT_EQ(behind.sync(), 0);
  EXPECT_EQ(cached(file_.number), 0);
}

// 3000 bytes at places of their own, backwards: no two are neighbours, pages are shared.
TEST_F(WriteBehindOnDisk, CountsSmallPiecesToo) {
  const Block data(3000, std::byte{2});
  WriteBehind behind(file_.number);
  Bytes most = 0;
  for (Bytes k = 2000; k-- > 0;) {
    write(behind, 5000 * k, data);
    if (k % 100 == 0) most = std::max(most, cached(file_.number));
  }
  EXPECT_LE(most, 3 * kMiB);
  EXPECT_EQ(behind.sync(), 0);
  EXPECT_EQ(cached(file_.number), 0);
}

TEST_F(WriteBehindOnDisk, JoinsNeighbours) {
  const Block data(4096, std::byte{3});
  WriteBehind behind(file_.number);
  for (Bytes k = 0; k < 200; ++k) write(behind, 4096 * k, data);
  EXPECT_EQ(cached(file_.number), 200 * 4096) << "one piece: none was waited for";
  EXPECT_EQ(behind.sync(), 0);
  EXPECT_EQ(cached(file_.number), 0);
}

TEST(WriteBehind, DoesNothingWhereItCannot) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  WriteBehind behind(ends[1]);
  EXPECT_EQ(behind.wrote(0, 100), 0);
  EXPECT_EQ(behind.sync(), 0);
  EXPECT_EQ(behind.sync(), 0) << "nothing is left";
  close(ends[0]);
  close(ends[1]);
}

/// The one open file without a name of that size; -1: there is none.
int find_unnamed(Bytes bytes) {
  for (int descriptor = 0; descriptor < 256; ++descriptor) {
    struct stat status {};
    if (fstat(descriptor, &status) == 0 && status.st_nlink == 0 &&
        status.st_size == bytes)
      return descriptor;
  }
  return -1;
}

// What a file of 24 MiB leaves in the cache, after writing and after reading.
std::pair<Bytes, Bytes> cached_of(SpillFile::PageCache cache) {
  constexpr Bytes kBytes = 24 * kMiB + 4096;
  SpillFile file(testing::TempDir(), kBytes, cache);
  const int descriptor = find_unnamed(kBytes);
  Block data(static_cast<std::size_t>(kBytes));
  for (std::size_t k = 0; k < data.size(); ++k) data[k] = static_cast<std::byte>(k % 251);
  file.write(0, data, {});
  file.wait();
  const Bytes written = cached(descriptor);
  Block back(data.size());
  file.fetch(0, back, {});
  file.wait();
  EXPECT_EQ(back, data);
  back.assign(back.size(), std::byte{0});
  file.read(0, back);
  EXPECT_EQ(back, data);
  return {written, cached(descriptor)};
}

TEST_F(WriteBehindOnDisk, SpillFilesKeepOrDropTheirPageCache) {
  const auto [kept, kept_read] = cached_of(SpillFile::PageCache::kKept);
  EXPECT_GE(kept, 24 * kMiB);
  EXPECT_GE(kept_read, 24 * kMiB);
  const auto [dropped, dropped_read] = cached_of(SpillFile::PageCache::kDropped);
  EXPECT_EQ(dropped, 0);
  EXPECT_LE(dropped_read, WriteBehind::kWindow + 2 * WriteBehind::kPiece);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
