#include "solver/memory/page_buffer.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "espalier/model/error.h"

namespace espalier::solver {
namespace TEST_SOURCE {

const Bytes kPage = sysconf(_SC_PAGESIZE);

TEST(PageBuffer, TakesWholePages) {
  EXPECT_EQ(PageBuffer::footprint(0), 0);
  EXPECT_EQ(PageBuffer::footprint(1), kPage);
  EXPECT_EQ(PageBuffer::footprint(kPage), kPage);
  EXPECT_EQ(PageBuffer::footprint(kPage + 1), 2 * kPage);
  EXPECT_EQ(PageBuffer(kPage + 1).size(), 2 * kPage);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(PageBuffer(1).data()) %
                static_cast<std::uintptr_t>(kPage),
            0u);
}

TEST(PageBuffer, IsZeroedAndWritable) {
  for (int round = 0; round < 3; ++round) {
    PageBuffer buffer((Bytes{3} << 20) + 5);
    EXPECT_TRUE(std::all_of(buffer.data(), buffer.data() + buffer.size(),
                            [](std::byte b) { return b == std::byte{0}; }));
    std::fill_n(buffer.data(), buffer.size(), std::byte{0xff});
  }
}

// Of the heap: what is freed comes again, with what was written there.
TEST(PageBuffer, IsZeroedWhereItIsSmall) {
  MemoryMeter meter;
  for (int round = 0; round < 10; ++round)
    for (const Bytes bytes : {kPage, 3 * kPage, PageBuffer::kSmall}) {
      PageBuffer buffer(bytes, &meter), moved;
      EXPECT_TRUE(std::all_of(buffer.data(), buffer.data() + bytes,
                              [](std::byte b) { return b == std::byte{0}; }));
      std::fill_n(buffer.data(), bytes, std::byte{0xff});
      buffer.drain(0, bytes);  // nothing goes before all goes
      EXPECT_EQ(meter.now(), bytes);
      EXPECT_EQ(buffer.resident(), bytes);
      moved = std::move(buffer);
      EXPECT_EQ(moved.data()[bytes - 1], std::byte{0xff});
    }
  EXPECT_EQ(meter.now(), 0);
}

// Read first and written then, as sums are: of a page that is not there the system maps
// its zeros, and copies them at the write.
TEST(PageBuffer, IsResidentFromTheStartWhereItIsSmall) {
  const auto faults = [] {
    rusage usage{};
    EXPECT_EQ(getrusage(RUSAGE_THREAD, &usage), 0);
    return usage.ru_minflt;
  };
  for (const Bytes bytes : {32 * kPage, PageBuffer::kSmall}) {
    std::vector<PageBuffer> fresh;
    for (int k = 0; k < 8; ++k) fresh.emplace_back(bytes);
    // Where pages are not there reading maps one of zeros, which is copied at the write;
    // and what a sanitizer keeps of them comes now.
    for (const PageBuffer& buffer : fresh)
      for (const auto& entry : std::span(buffer.as<double>(), bytes / sizeof(double)))
        ASSERT_EQ(entry, 0);
    const auto before = faults();
    for (const PageBuffer& buffer : fresh)
      for (auto& entry : std::span(buffer.as<double>(), bytes / sizeof(double)))
        entry += 1;
    EXPECT_LE(faults() - before, 8);
  }
}

TEST(PageBuffer, MayBeOfAnyContent) {
  for (const Bytes bytes :
       {Bytes{0}, Bytes{1}, PageBuffer::kSmall, PageBuffer::kSmall + 1}) {
    const PageBuffer buffer = PageBuffer::unset(bytes);
    EXPECT_EQ(buffer.size(), PageBuffer::footprint(bytes));
    EXPECT_EQ(buffer.resident(), buffer.size());
    std::fill_n(buffer.data(), buffer.size(), std::byte{7});
    EXPECT_EQ(std::count(buffer.data(), buffer.data() + buffer.size(), std::byte{7}),
              buffer.size());
  }
}

TEST(PageBuffer, KnowsWhatIsResident) {
  PageBuffer buffer = PageBuffer::reserve(5 * kPage, nullptr, nullptr);
  EXPECT_EQ(buffer.resident(), 0);
  buffer.fill(kPage, 4 * kPage);
  EXPECT_EQ(buffer.resident(), 3 * kPage);
  buffer.drain(kPage, 2 * kPage);
  EXPECT_EQ(buffer.resident(), 2 * kPage);
  PageBuffer large(PageBuffer::kSmall + 1);
  EXPECT_EQ(large.resident(), PageBuffer::kSmall + kPage);
  large.drain(0, kPage);
  EXPECT_EQ(large.resident(), PageBuffer::kSmall);
}

TEST(PageBuffer, CanBeEmpty) {
  MemoryMeter meter;
  PageBuffer none, empty(0, &meter);
  EXPECT_EQ(none.data(), nullptr);
  EXPECT_EQ(empty.data(), nullptr);
  EXPECT_EQ(empty.size(), 0);
  empty.release();
  EXPECT_EQ(meter.peak(), 0);
}

TEST(PageBuffer, TellsItsMeter) {
  MemoryMeter meter;
  {
    PageBuffer a(1, &meter);
    EXPECT_EQ(meter.now(), kPage);
    PageBuffer b(2 * kPage, &meter);
    EXPECT_EQ(meter.now(), 3 * kPage);
    a.release();
    EXPECT_EQ(meter.now(), 2 * kPage);
    a.release();  // once more does nothing
    EXPECT_EQ(meter.now(), 2 * kPage);
    EXPECT_EQ(a.data(), nullptr);
    EXPECT_EQ(a.size(), 0);
  }
  EXPECT_EQ(meter.now(), 0);
  EXPECT_EQ(meter.peak(), 3 * kPage);
}

TEST(PageBuffer, Moves) {
  MemoryMeter meter;
  {
    PageBuffer a(1, &meter);
    std::byte* const data = a.data();
    PageBuffer b(std::move(a));
    EXPECT_EQ(b.data(), data);
    EXPECT_EQ(meter.now(), kPage);
    PageBuffer c(kPage + 1, &meter);
    c = std::move(b);
    EXPECT_EQ(c.data(), data);
    EXPECT_EQ(c.size(), kPage);
    EXPECT_EQ(meter.now(), 3 * kPage);
    c = PageBuffer();
    EXPECT_EQ(c.size(), 0);
    EXPECT_EQ(meter.now(), 2 * kPage);  // what b was exchanged for
  }
  EXPECT_EQ(meter.now(), 0);
  EXPECT_EQ(meter.peak(), 3 * kPage);
}

TEST(PageBuffer, MayOutliveAMeterThatItForgot) {
  PageBuffer buffer;
  {
    MemoryMeter meter;
    buffer = PageBuffer(1, &meter);
    buffer.forget_meter();
  }
  buffer.release();
  EXPECT_EQ(buffer.data(), nullptr);
}

TEST(PageBuffer, NamesTheSizeThatTheSystemRefuses) {
  MemoryMeter meter;
  const Bytes huge = Bytes{1} << 60;
  try {
    const PageBuffer buffer(huge, &meter);
    FAIL() << "an exbibyte was granted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(format_size(huge)), std::string::npos)
        << error.what();
  }
  EXPECT_EQ(meter.peak(), 0);
}

TEST(PageBuffer, DoesNotWrapNearTheEndOfTheRange) {
  constexpr Bytes kMost = std::numeric_limits<Bytes>::max();
  EXPECT_THROW((void)PageBuffer::footprint(kMost), OverflowError);
  EXPECT_THROW((void)PageBuffer::footprint(kMost - kPage + 2), OverflowError);
  EXPECT_EQ(PageBuffer::footprint(kMost - kPage + 1), kMost - kPage + 1);
  EXPECT_THROW(PageBuffer buffer(kMost), OverflowError);
  EXPECT_THROW(PageBuffer buffer(kMost - kPage + 1), Error);
}

TEST(MemoryMeter, CountsFromManyThreads) {
  MemoryMeter meter;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&meter] {
      for (int k = 0; k < 5000; ++k) {
        meter.add(3);
        meter.add(-3);
      }
    });
  threads.clear();
  EXPECT_EQ(meter.now(), 0);
  EXPECT_GE(meter.peak(), 3);
  EXPECT_LE(meter.peak(), 12);
}

TEST(PageBuffer, TakesTheMemoryOfAnotherOverAndZeroesIt) {
  const Bytes bytes = 3 * PageBuffer::kSmall;
  MemoryMeter first, second;
  PageBuffer whole(bytes, &first);
  std::memset(whole.data(), 7, static_cast<std::size_t>(bytes));
  std::byte* const data = whole.data();
  ASSERT_TRUE(whole.same_as(bytes - 1, false));
  EXPECT_FALSE(whole.same_as(bytes, true));
  EXPECT_FALSE(whole.same_as(bytes + 1, false));
  whole.forget_meter();
  PageBuffer again = PageBuffer::renew(std::move(whole), &second);
  EXPECT_EQ(again.data(), data);
  EXPECT_EQ(std::count(data, data + bytes, std::byte{0}), bytes);
  EXPECT_EQ(second.now(), bytes);
  again.drain(0, bytes / 2);
  EXPECT_FALSE(again.same_as(bytes, false));
}

// It counts as filled where it is filled, and what never is goes uncounted.
TEST(PageBuffer, FillsWhatItTookOverPartByPart) {
  const Bytes bytes = Bytes{1} << 20;
  MemoryMeter meter;
  PageBuffer former = PageBuffer::reserve(bytes, nullptr, nullptr);
  former.fill(0, bytes / 2);
  std::memset(former.data(), 7, static_cast<std::size_t>(bytes / 2));
  ASSERT_TRUE(former.same_as(bytes, true));
  PageBuffer buffer = PageBuffer::renew(std::move(former), &meter);
  EXPECT_EQ(meter.now(), 0);
  EXPECT_EQ(buffer.resident(), bytes / 2);
  buffer.fill(bytes / 4, bytes * 3 / 4);
  EXPECT_EQ(meter.now(), bytes / 2);
  EXPECT_EQ(buffer.resident(), bytes * 3 / 4);
  const std::byte* const filled = buffer.data() + bytes / 4;
  EXPECT_EQ(std::count(filled, filled + bytes / 2, std::byte{0}), bytes / 2);
  buffer.release();
  EXPECT_EQ(meter.now(), 0);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
