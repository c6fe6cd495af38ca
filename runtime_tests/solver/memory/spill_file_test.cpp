// The cases of one subject, which share their instances: over 300 lines.

#include "solver/memory/spill_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "espalier/model/error.h"
#include "support/file_size_limit.h"
#include "support/temporary_directory.h"

namespace espalier::solver {
namespace TEST_SOURCE {

namespace fs = std::filesystem;
using Block = std::vector<std::byte>;

using support::FileSizeLimit;
using support::TemporaryDirectory;

Block random_block(std::mt19937& random, std::size_t bytes) {
  Block block(bytes);
  for (std::byte& each : block) each = static_cast<std::byte>(random());
  return block;
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

void expect_in(const std::string& words, const std::string& text) {
  EXPECT_NE(text.find(words), std::string::npos) << "'" << words << "' in: " << text;
}

TEST(SpillFile, GivesBackWhatWasWritten) {
  const TemporaryDirectory directory;
  SpillFile file(directory.path(), 100);
  const Block data = {std::byte{1}, std::byte{2}, std::byte{3}};
  int calls = 0;
  file.write(40, data, [&] { ++calls; });
  file.wait();
  EXPECT_EQ(calls, 1);
  Block back(5, std::byte{9});
  file.read(39, back);
  EXPECT_EQ(back, (Block{std::byte{0}, std::byte{1}, std::byte{2}, std::byte{3},
                         std::byte{0}}));
  EXPECT_EQ(file.counters().bytes_written, 3);
  EXPECT_EQ(file.counters().bytes_read, 5);
  EXPECT_FALSE(file.failed());
}

TEST(SpillFile, LeavesNothingInTheDirectoryEvenWhileOpen) {
  const TemporaryDirectory directory;
  SpillFile file(directory.path(), 1 << 20);
  const Block data(1 << 20);
  file.write(0, data, {});
  file.wait();
  EXPECT_TRUE(fs::is_empty(directory.path()));
}

TEST(SpillFile, OutlivesItsDirectory) {
  const TemporaryDirectory directory;
  std::mt19937 random(1);
  SpillFile file(directory.path(), 5000);
  fs::remove(directory.path());
  const Block data = random_block(random, 5000);
  file.write(0, data, {});
  file.wait();
  Block back(5000);
  file.read(0, back);
  EXPECT_EQ(back, data);
}

TEST(SpillFile, TakesNoBytesAtAll) {
  const TemporaryDirectory directory;
  SpillFile file(directory.path(), 0);
  file.wait();
  bool called = false;
  file.write(0, {}, [&] { called = true; });
  file.wait();
  EXPECT_TRUE(called);
  file.read(0, {});
}

TEST(SpillFile, ReservesItsSpaceBeforehand) {
  const TemporaryDirectory directory;
  constexpr Bytes kBytes = 32 << 20;
  const SpillFile file(directory.path(), kBytes);
  if (!file.reserved()) GTEST_SKIP() << "the file system cannot reserve";
  // The only open file without a name of this size is the object's.
  Bytes allocated = 0;
  for (int descriptor = 0; descriptor < 256; ++descriptor) {
    struct stat status {};
    if (fstat(descriptor, &status) == 0 && status.st_nlink == 0 &&
        status.st_size == kBytes)
      allocated = status.st_blocks * 512;
  }
  EXPECT_GE(allocated, kBytes);
}

// Each thread writes its own blocks, of zero bytes to several chunks, at random places
// of its own share, and reads each back as soon as its callback has run.
TEST(SpillFile, KeepsTheBytesOfManyThreads) {
  constexpr int kThreads = 8, kBlocks = 40;
  constexpr Bytes kShare = 3 << 20;
  const TemporaryDirectory directory;
  SpillFile file(directory.path(), kThreads * kShare);
  std::atomic<int> calls = 0, wrong = 0;
  std::atomic<Bytes> bytes = 0;
  const auto work = [&](int me) {
    std::mt19937 random(me);
    for (int k = 0; k < kBlocks; ++k) {
      const Bytes size = random() % (k % 8 == 0 ? kShare : 5000);
      const Bytes offset = me * kShare + random() % (kShare - size);
      const Block data = random_block(random, size);
      std::atomic<bool> done = false;
      file.write(offset, data, [&] {
        ++calls;
        done = true;
        done.notify_one();
      });
      done.wait(false);
      bytes += size;
      Block back(size);
      file.read(offset, back);
      if (back != data) ++wrong;
    }
  };
  std::vector<std::thread> threads;
  for (int me = 0; me < kThreads; ++me) threads.emplace_back(work, me);
  for (std::thread& each : threads) each.join();
  file.wait();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(calls, kThreads * kBlocks);
  EXPECT_EQ(file.counters().bytes_written, bytes);
  EXPECT_EQ(file.counters().bytes_read, bytes);
  EXPECT_GT(file.counters().write_seconds, 0);
  EXPECT_GT(file.counters().read_seconds, 0);
}

TEST(SpillFile, WritesInTheOrderOfTheCalls) {
  const TemporaryDirectory directory;
  SpillFile file(directory.path(), 8);
  std::vector<Block> data;
  for (int k = 0; k < 500; ++k) data.emplace_back(8, static_cast<std::byte>(k));
  for (const Block& each : data) file.write(0, each, {});
  file.wait();
  Block back(8);
  file.read(0, back);
  EXPECT_EQ(back, data.back());
}

TEST(SpillFile, FetchesWhatWasQueuedBefore) {
  const TemporaryDirectory directory;
  SpillFile file(directory.path(), 4096);
  std::vector<std::byte> first(4096, std::byte{1}), second(4096, std::byte{2});
  std::vector<std::byte> got(4096), later(4096);
  int done = 0;  // of the file's one thread
  file.write(0, first, [&] { EXPECT_EQ(++done, 1); });
  file.fetch(0, got, [&] { EXPECT_EQ(++done, 2); });
  file.write(0, second, [&] { EXPECT_EQ(++done, 3); });
  file.fetch(0, later, [&] { EXPECT_EQ(++done, 4); });
  file.wait();
  EXPECT_EQ(got, first);
  EXPECT_EQ(later, second);
  EXPECT_EQ(file.counters().bytes_read, 8192);
}

TEST(SpillFile, LetsACallbackWriteOn) {
  const TemporaryDirectory directory;
  SpillFile file(directory.path(), 10);
  const Block data = {std::byte{7}};
  int left = 10;
  std::function<void()> next = [&] {
    if (left-- > 0) file.write(left, data, next);
  };
  next();
  file.wait();
  Block back(10);
  file.read(0, back);
  EXPECT_EQ(back, Block(10, std::byte{7}));
}

TEST(SpillFile, RunsTheCallbacksOfWritesThatItLeavesOut) {
  const TemporaryDirectory directory;
  const Block data(1 << 20);
  int calls = 0;
  {
    SpillFile file(directory.path(), 1 << 20);
    for (int k = 0; k < 100; ++k) file.write(0, data, [&] { ++calls; });
  }
  EXPECT_EQ(calls, 100);
}

TEST(SpillFile, NamesADirectoryThatCannotBeUsed) {
  EXPECT_THROW(SpillFile("/nowhere/at all", 1), InvalidInput);
  expect_in("/nowhere/at all: cannot make a temporary file: No such file",
            message_of([] { SpillFile("/nowhere/at all", 1); }));
  expect_in("/dev/null: cannot make a temporary file: Not a directory",
            message_of([] { SpillFile("/dev/null", 1); }));
  EXPECT_THROW(SpillFile("", 1), InvalidInput);
  EXPECT_THROW(SpillFile(testing::TempDir(), -1), InvalidInput);
  const TemporaryDirectory directory;
  fs::permissions(directory.path(), fs::perms::owner_read | fs::perms::owner_exec);
  if (geteuid() != 0) {
    expect_in("Permission denied", message_of([&] { SpillFile(directory.path(), 1); }));
  }
}

TEST(SpillFile, RefusesMoreThanTheLimitOfFileSizeBeforehand) {
  const TemporaryDirectory directory;
  const FileSizeLimit limit(1 << 20);
  const SpillFile fits(directory.path(), 1 << 20);
  EXPECT_THROW(SpillFile(directory.path(), (1 << 20) + 1), FileError);
  const auto message = message_of([&] { SpillFile(directory.path(), (1 << 20) + 1); });
  expect_in(directory.path() + ": cannot reserve 1.0 MiB", message);
  expect_in("1048576 bytes", message);
}

TEST(SpillFile, RefusesMoreThanAnyDiskHolds) {
  const TemporaryDirectory directory;
  EXPECT_THROW(SpillFile(directory.path(), Bytes{1} << 60), FileError);
  EXPECT_THROW(SpillFile(directory.path(), std::numeric_limits<Bytes>::max()), FileError);
}

TEST(SpillFile, FindsAFullDiskBeforeAnyWork) {
  const TemporaryDirectory directory;
  if (mount("tmpfs", directory.path().c_str(), "tmpfs", 0, "size=1m") != 0)
    GTEST_SKIP() << "cannot mount a small file system here";
  EXPECT_THROW(SpillFile(directory.path(), 2 << 20), FileError);
  const auto message = message_of([&] { SpillFile(directory.path(), 2 << 20); });
  expect_in(directory.path() + ": cannot reserve 2.0 MiB: No space left", message);
  expect_in("1048576 bytes are free", message);
  {
    const SpillFile first(directory.path(), 700 << 10);
    EXPECT_THROW(SpillFile(directory.path(), 700 << 10), FileError);
  }
  EXPECT_NO_THROW(SpillFile(directory.path(), 700 << 10)) << "given back at the end";
  EXPECT_EQ(umount2(directory.path().c_str(), MNT_DETACH), 0);
}

TEST(SpillFile, KeepsTheFirstFailureAndStillRunsEveryCallback) {
  const TemporaryDirectory directory;
  SpillFile file(directory.path(), 8 << 20);
  std::mt19937 random(3);
  const Block data = random_block(random, 2 << 20);
  std::atomic<int> calls = 0;
  {
    const FileSizeLimit limit(5 << 20);  // in the middle of the third write
    file.write(0, data, [&] { ++calls; });
    file.write(2 << 20, data, [&] { ++calls; });
    file.wait();
    file.write(4 << 20, data, [&] { ++calls; });
    EXPECT_THROW(file.wait(), Error);
  }
  EXPECT_TRUE(file.failed());
  EXPECT_EQ(calls, 3);
  const std::string expected =
      directory.path() +
      ": cannot write 1048576 bytes at offset 5242880 of the spill file: File too large";
  EXPECT_EQ(message_of([&] { file.wait(); }), expected);
  EXPECT_EQ(message_of([&] { file.write(0, data, [&] { ++calls; }); }), expected);
  Block back(10);
  EXPECT_EQ(message_of([&] { file.read(0, back); }), expected);
  EXPECT_EQ(calls, 3) << "a write that was refused has no callback";
  EXPECT_EQ(file.counters().bytes_written, 5 << 20);
}

TEST(SpillFile, WakesThoseWhoWaitForWritesBehindAFailure) {
  const TemporaryDirectory directory;
  SpillFile file(directory.path(), 8 << 20);
  const Block data(1 << 20);
  std::atomic<int> accepted = 0, calls = 0;
  {
    const FileSizeLimit limit(1 << 20);
    std::vector<std::thread> threads;
    for (int me = 0; me < 4; ++me)
      threads.emplace_back([&, me] {
        try {
          for (int k = 0; k < 50; ++k) {
            file.write((me + k) % 8 << 20, data, [&] { ++calls; });
            ++accepted;
          }
        } catch (const Error&) {
        }
      });
    for (std::thread& each : threads) each.join();
    EXPECT_THROW(file.wait(), Error);
  }
  EXPECT_EQ(calls, accepted);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
