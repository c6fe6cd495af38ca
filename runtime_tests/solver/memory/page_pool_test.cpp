// One pool, by hand, at its limit, over nodes and from many threads: over 300 lines.

#include "solver/memory/page_pool.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include "solver/memory/page_buffer.h"

namespace espalier::solver {
namespace TEST_SOURCE {

const Bytes kPage = sysconf(_SC_PAGESIZE);
constexpr Bytes kLarge = Bytes{1} << 20, kHuge = PageChoice::kHugePage;

SystemPages& only_huge() {
  static SystemPages pages{PageChoice(true)};
  return pages;
}
SystemPages& only_small() {
  static SystemPages pages{PageChoice(false)};
  return pages;
}

// Whatever pages cost on this machine.
struct SmallPagePool : PagePool {
  explicit SmallPagePool(Bytes limit, MemoryMeter* resident = nullptr)
      : PagePool(limit, resident, system_memory_nodes(), only_small()) {}
};

bool all_zero(const std::byte* data, Bytes bytes) {
  return std::all_of(data, data + bytes, [](std::byte b) { return b == std::byte{0}; });
}

TEST(PagePool, HandsOutAgainWhatItWasGiven) {
  SmallPagePool pool(10 * kLarge);
  std::byte* const first = pool.take(kLarge);
  std::memset(first, 0xff, kLarge);
  pool.give(first, kLarge);
  EXPECT_EQ(pool.kept(), kLarge);
  std::byte* const again = pool.take(kLarge / 2);
  EXPECT_EQ(pool.kept(), kLarge / 2);
  EXPECT_EQ(pool.reused(), kLarge / 2);
  EXPECT_TRUE(all_zero(again, kLarge / 2));
  pool.give(again, kLarge / 2);
}

TEST(PagePool, JoinsPiecesToALargerBuffer) {
  SmallPagePool pool(10 * kLarge);
  std::byte *const a = pool.take(kLarge), *const b = pool.take(kLarge);
  std::memset(a, 1, kLarge);
  std::memset(b, 2, kLarge);
  pool.give(a, kLarge);
  pool.give(b, kLarge);
  std::byte* const joined = pool.take(3 * kLarge);
  EXPECT_EQ(pool.reused(), 2 * kLarge);
  EXPECT_EQ(pool.kept(), 0);
  EXPECT_TRUE(all_zero(joined, 3 * kLarge));
  // Given back across the seams.
  pool.give(joined + kLarge / 2, kLarge);
  EXPECT_EQ(pool.kept(), kLarge);
  pool.give(joined, kLarge / 2);
  pool.give(joined + kLarge + kLarge / 2, kLarge + kLarge / 2);
  EXPECT_EQ(pool.kept(), 3 * kLarge);
}

TEST(PagePool, CutsSmallBuffersFromChunksThatGrowTogetherAgain) {
  SmallPagePool pool(32 * kHuge);  // a chunk is a huge page
  std::vector<std::byte*> buffers;
  for (int i = 0; i < 16; ++i) {
    buffers.push_back(pool.take(kHuge / 16));
    EXPECT_TRUE(all_zero(buffers.back(), kHuge / 16));
    std::memset(buffers.back(), 0xff, kHuge / 16);
  }
  EXPECT_EQ(pool.kept(), 0);  // one chunk, all of it in use
  std::mt19937 random(1);
  std::shuffle(buffers.begin(), buffers.end(), random);
  for (std::byte* const buffer : buffers) pool.give(buffer, kHuge / 16);
  EXPECT_EQ(pool.kept(), kHuge);
  std::byte* const whole = pool.take(kHuge);
  EXPECT_EQ(pool.kept(), 0);
  EXPECT_TRUE(all_zero(whole, kHuge));
  pool.give(whole, kHuge);
}

// Parts of one kind of pages, which cover it in order, and the huge ones whole huge
// pages.
TEST(SystemPages, GiveZerosWhateverTheirKind) {
  for (SystemPages* const pages :
       {&only_huge(), &only_small(), &SystemPages::of_process()})
    for (const PageContent content :
         {PageContent::kZeros, PageContent::kAny, PageContent::kUntouched}) {
      const Bytes bytes = 3 * kHuge + kPage;
      std::byte* const data = reserve_pages(bytes);
      std::byte* next = data + kPage;
      const auto parts = pages->take(next, bytes - kPage, content);
      for (const std::span<std::byte> part : parts) {
        EXPECT_EQ(part.data(), next);
        next += part.size();
      }
      EXPECT_EQ(next, data + bytes);
      if (pages == &only_huge()) {
        ASSERT_EQ(parts.size(), 3u);
        EXPECT_EQ(parts[1].size(), 2 * kHuge);
      } else if (pages == &only_small()) {
        EXPECT_EQ(parts.size(), 1u);
      }
      EXPECT_TRUE(all_zero(data + kPage, bytes - kPage));
      unmap_pages(data, bytes);
    }
}

// From the first byte on, so that what a buffer is filled with may be huge pages.
TEST(PagePool, ReservesLargeBuffersWhereAHugePageMayBegin) {
  for (const Bytes bytes : {kHuge, kHuge + kPage, 7 * kHuge - kPage}) {
    std::byte* const data = reserve_pages(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % kHuge, 0u);
    populate_pages(data, bytes);
    EXPECT_TRUE(all_zero(data, bytes));
    unmap_pages(data, bytes);
  }
}

// A buffer of a few huge pages has some of its own, what is left of the last one serves
// others, and all grow together again. What is larger takes no more than it needs.
TEST(PagePool, CutsBuffersFromSeveralHugePages) {
  PagePool pool(64 * kHuge, nullptr, system_memory_nodes(), only_huge());
  std::byte* const first = pool.take(2 * kHuge + kPage);
  EXPECT_EQ(pool.kept(), kHuge - kPage);
  std::byte* const second = pool.take(kHuge - kPage);
  EXPECT_EQ(pool.kept(), 0);
  EXPECT_EQ(second, first + 2 * kHuge + kPage);
  std::byte* const third = pool.take(9 * kHuge + kPage);
  EXPECT_EQ(pool.kept(), 0);
  pool.give(first, 2 * kHuge + kPage);
  pool.give(second, kHuge - kPage);
  EXPECT_EQ(pool.take(3 * kHuge), first);
  pool.give(first, 3 * kHuge);
  pool.give(third, 9 * kHuge + kPage);
}

TEST(PagePool, TakesNoHugePagesForLargerBuffersWhereTheyAreDearer) {
  SmallPagePool pool(64 * kHuge);
  std::byte* const data = pool.take(2 * kHuge + kPage);
  EXPECT_EQ(pool.kept(), 0);
  pool.give(data, 2 * kHuge + kPage);
}

// Of what is kept only whole huge pages are moved, as long as one is asked for: the rest
// is fresh.
TEST(PagePool, MovesHugePagesWhole) {
  PagePool pool(64 * kHuge, nullptr, system_memory_nodes(), only_huge());
  std::byte* const block = pool.take(10 * kHuge);
  std::memset(block, 1, static_cast<std::size_t>(10 * kHuge));
  pool.give(block + kHuge / 2, 3 * kHuge);  // two of them whole
  std::byte* const at = reserve_pages(5 * kHuge);
  const Bytes before = pool.reused();
  pool.take_at(at, 5 * kHuge);
  EXPECT_EQ(pool.reused() - before, 2 * kHuge);
  EXPECT_EQ(pool.kept(), kHuge);  // two halves
  EXPECT_TRUE(all_zero(at, 5 * kHuge));
  // Halves that hold no huge page do move, for less than one.
  std::byte* const less = reserve_pages(kHuge / 2);
  pool.take_at(less, kHuge / 2);
  EXPECT_EQ(pool.reused() - before, 2 * kHuge + kHuge / 2);
  // And a huge page is not cut for what the other half lacks.
  pool.give(block + 4 * kHuge, kHuge);
  std::byte* const fresh = reserve_pages(kHuge / 2 + kPage);
  pool.take_at(fresh, kHuge / 2 + kPage);
  EXPECT_EQ(pool.kept(), kHuge);
  for (const auto& [data, bytes] :
       {std::pair(at, 5 * kHuge), std::pair(less, kHuge / 2),
        std::pair(fresh, kHuge / 2 + kPage), std::pair(block, kHuge / 2),
        std::pair(block + 3 * kHuge + kHuge / 2, kHuge / 2),
        std::pair(block + 5 * kHuge, 5 * kHuge)})
    pool.give(data, bytes);
  EXPECT_EQ(pool.used(), 0);
}

// Of any content: counted at once, whether fresh, kept or moved, and then zeros or not.
TEST(PagePool, HandsOutWhatIsNotCleared) {
  constexpr auto kAny = PagePool::Content::kAny;
  constexpr auto kUntouched = PagePool::Content::kUntouched;
  MemoryMeter resident;
  PagePool pool(64 * kHuge, &resident, system_memory_nodes(), only_huge());
  for (const Bytes bytes : {3 * kPage, 2 * kHuge + kPage, 9 * kHuge + kPage}) {
    std::byte* const data = pool.take(bytes, kUntouched);
    EXPECT_EQ(resident.now(), pool.used() + pool.kept());
    EXPECT_EQ(pool.used(), bytes);
    std::memset(data, 7, static_cast<std::size_t>(bytes));
    pool.give(data, bytes);
    std::byte* const again = pool.take(bytes);
    EXPECT_TRUE(all_zero(again, bytes));
    std::memset(again, 7, static_cast<std::size_t>(bytes));
    pool.give(again, bytes);
    std::byte* const at = reserve_pages(bytes);
    pool.take_at(at, bytes, kAny);
    EXPECT_EQ(pool.used(), bytes);
    std::memset(at, 7, static_cast<std::size_t>(bytes));
    pool.give(at, bytes);
  }
  EXPECT_EQ(pool.used(), 0);
}

// Parts of a chunk, too; the rest of it serves on.
TEST(PagePool, MovesHugePagesOutOfChunks) {
  PagePool pool(64 * kHuge, nullptr, system_memory_nodes(), only_huge());
  std::byte* const chunk = pool.take(3 * kHuge);
  pool.give(chunk, 3 * kHuge);
  std::byte* const at = reserve_pages(2 * kHuge);
  const Bytes before = pool.reused();
  pool.take_at(at, 2 * kHuge);
  EXPECT_EQ(pool.reused() - before, 2 * kHuge);
  EXPECT_EQ(pool.kept(), kHuge);
  std::byte* const rest = pool.take(kHuge);
  EXPECT_EQ(pool.kept(), 0);
  EXPECT_TRUE(all_zero(rest, kHuge));
  pool.give(rest, kHuge);
  pool.give(at, 2 * kHuge);
  EXPECT_EQ(pool.kept(), 3 * kHuge);
}

// Up to the new limit everything is kept, and no huge page is cut for what is fresh.
TEST(PagePool, KeepsMoreWhereTheLimitIsRaised) {
  PagePool pool(16 * kHuge, nullptr, system_memory_nodes(), only_huge());
  pool.raise_limit(20 * kHuge);
  pool.raise_limit(2 * kHuge);  // no less than before
  std::byte* const block = pool.take(18 * kHuge);
  pool.give(block, 18 * kHuge);
  EXPECT_EQ(pool.kept(), 18 * kHuge);
  std::byte* const at = reserve_pages(3 * kHuge - kHuge / 4);
  pool.take_at(at, 3 * kHuge - kHuge / 4);
  EXPECT_EQ(pool.reused(), 2 * kHuge);
  EXPECT_EQ(pool.kept(), 16 * kHuge);
  pool.give(at, 3 * kHuge - kHuge / 4);
}

// At the limit whole huge pages leave, not the pieces around pages in use.
TEST(PagePool, GivesBackHugePagesWhole) {
  PagePool pool(16 * kHuge, nullptr, system_memory_nodes(), only_huge());
  std::byte* const block = pool.take(16 * kHuge);
  pool.give(block + kPage, kHuge / 4);
  pool.give(block + 4 * kHuge + kPage, 4 * kHuge);  // three of them whole
  EXPECT_EQ(pool.kept(), 4 * kHuge + kHuge / 4);
  pool.use_beside(kPage);
  EXPECT_EQ(pool.kept(), 3 * kHuge + kHuge / 4);
  pool.use_beside(2 * kHuge);
  EXPECT_EQ(pool.kept(), kHuge + kHuge / 4);
  pool.use_beside(kHuge);  // only parts are left, and the smallest is enough
  EXPECT_EQ(pool.kept(), kHuge + kHuge / 4 - kPage);
  pool.use_beside(-3 * kHuge - kPage);
  pool.give(block, kPage);
  pool.give(block + kPage + kHuge / 4, 4 * kHuge - kHuge / 4);
  pool.give(block + 8 * kHuge + kPage, 8 * kHuge - kPage);
  EXPECT_EQ(pool.used(), 0);
}

// As a block that its parent assembles, column by column.
TEST(PagePool, KeepsWhatComesBackPageByPage) {
  SmallPagePool pool(10 * kLarge);
  std::byte* const block = pool.take(kLarge);
  for (Bytes at = kLarge - kPage; at >= 0; at -= kPage) pool.give(block + at, kPage);
  EXPECT_EQ(pool.kept(), kLarge);
  std::byte* const moved = pool.take(2 * kLarge);
  EXPECT_EQ(pool.reused(), kLarge);
  EXPECT_TRUE(all_zero(moved, 2 * kLarge));
  pool.give(moved, 2 * kLarge);
}

// Every other page, and what does not grow together leaves the process.
TEST(PagePool, KeepsFewPiecesThatAreTooSmallToBeMoved) {
  SmallPagePool pool(64 * kLarge);
  std::byte* const block = pool.take(16 * kLarge);
  for (Bytes at = 0; at < 16 * kLarge; at += 2 * kPage) pool.give(block + at, kPage);
  EXPECT_EQ(pool.used(), 8 * kLarge);
  EXPECT_EQ(pool.kept(), kLarge);
  std::byte* const small = pool.take(kPage);
  EXPECT_EQ(pool.kept(), kLarge - kPage);
  EXPECT_EQ(pool.reused(), kPage);
  pool.give(small, kPage);
  for (Bytes at = kPage; at < 16 * kLarge; at += 2 * kPage) pool.give(block + at, kPage);
  EXPECT_LE(pool.kept(), kLarge + 64 * kPage);
}

// Two nodes, and a thread that is near one, then near the other.
TEST(PagePool, KeepsPagesForThreadsNearThem) {
  std::int32_t near = 0;
  PagePool pool(64 * kLarge, nullptr, {2, [&near] { return near; }}, only_small());
  std::byte* const large = pool.take(4 * kLarge);
  std::byte* const small = pool.take(kPage);  // of a chunk
  pool.give(large, 4 * kLarge);
  near = 1;
  pool.give(small, kPage);  // it goes back to the chunk, wherever the thread is
  EXPECT_EQ(pool.kept(), 4 * kLarge + kHuge);
  const Bytes before = pool.reused();
  std::byte* const far = pool.take(2 * kLarge);
  EXPECT_EQ(pool.reused(), before);
  std::byte* const far_small = pool.take(kPage);
  EXPECT_EQ(pool.kept(), 4 * kLarge + 2 * kHuge - kPage);  // with a chunk of its own
  pool.give(far_small, kPage);
  near = 0;
  std::byte* const again = pool.take(4 * kLarge);
  EXPECT_EQ(pool.reused(), before + kPage + 4 * kLarge);
  EXPECT_TRUE(all_zero(again, 4 * kLarge));
  pool.give(again, 4 * kLarge);
  pool.give(far, 2 * kLarge);
}

// What waits near another node makes room first.
TEST(PagePool, KeepsItsLimitOverAllNodes) {
  std::int32_t near = 0;
  PagePool pool(4 * kLarge, nullptr, {2, [&near] { return near; }}, only_small());
  std::byte* const first = pool.take(3 * kLarge);
  pool.give(first, 3 * kLarge);
  near = 1;
  std::byte* const far = pool.take(3 * kLarge);
  EXPECT_EQ(pool.kept(), kLarge);
  EXPECT_EQ(pool.reused(), 0);
  pool.give(far, 3 * kLarge);
  EXPECT_EQ(pool.kept(), 4 * kLarge);
  std::byte* const near_again = pool.take(4 * kLarge);  // of which 3 were there
  EXPECT_EQ(pool.reused(), 3 * kLarge);
  EXPECT_EQ(pool.most(), 4 * kLarge);
  pool.give(near_again, 4 * kLarge);
}

// Threads of four nodes at once: no page is in two buffers, and the limit holds.
TEST(PagePool, HandsOutPagesOnceOnFourNodes) {
  static thread_local std::int32_t near = 0;
  PagePool pool(48 * kLarge, nullptr, {4, [] { return near; }});
  const auto work = [&](std::int32_t number) {
    std::mt19937 random(number);
    std::vector<std::pair<std::byte*, Bytes>> mine;
    bool right = true;
    for (int step = 0; step < 60; ++step) {
      near = static_cast<std::int32_t>(random() % 4);
      if (mine.size() < 4 && random() % 2 == 0) {
        const Bytes bytes = kPage * (1 + static_cast<Bytes>(random() % 200));
        std::byte* const data = pool.take(bytes);
        right = right && all_zero(data, bytes);
        std::memset(data, number + 1, static_cast<std::size_t>(bytes));
        mine.emplace_back(data, bytes);
      } else if (!mine.empty()) {
        const auto [data, bytes] = mine.back();
        mine.pop_back();
        right = right && std::all_of(data, data + bytes, [number](std::byte b) {
                  return b == static_cast<std::byte>(number + 1);
                });
        pool.give(data, bytes);
      }
    }
    for (const auto& [data, bytes] : mine) pool.give(data, bytes);
    EXPECT_TRUE(right);
  };
  std::vector<std::thread> threads;
  for (std::int32_t number = 0; number < 3; ++number) threads.emplace_back(work, number);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pool.used(), 0);
  EXPECT_LE(pool.most(), 48 * kLarge);
}

TEST(MemoryNodes, AreCountedByTheListOfTheirNumbers) {
  const auto count = [](const char* text) {
    std::istringstream list(text);
    return memory_nodes_of(list);
  };
  EXPECT_EQ(count("0\n"), 1);
  EXPECT_EQ(count("0-1\n"), 2);
  EXPECT_EQ(count("0-1,4\n"), 5);
  EXPECT_EQ(count("0,2-3,8-11\n"), 12);
  EXPECT_EQ(count(""), 1);
  EXPECT_EQ(count("none\n"), 1);
  EXPECT_EQ(count("0-99999999\n"), 1);
  EXPECT_GE(system_memory_nodes().count, 1);
  EXPECT_GE(system_memory_nodes().near(), 0);
}

// A 64th of a limit that has no room for several huge pages.
TEST(PagePool, HasSmallerChunksWhereTheLimitIsSmall) {
  SmallPagePool pool(31 * kLarge);
  std::byte* const data = pool.take(kPage);
  EXPECT_EQ(pool.kept(), 448 * 1024 - kPage);
  pool.give(data, kPage);
}

TEST(PagePool, TakesNoChunkBeyondItsLimit) {
  SmallPagePool pool(64 * kLarge);
  std::byte* const first = pool.take(64 * kLarge - kLarge / 2);
  std::byte* const second = pool.take(kPage);  // a whole chunk would be too much
  EXPECT_EQ(pool.kept(), 0);
  pool.give(first, 64 * kLarge - kLarge / 2);
  pool.give(second, kPage);
}

TEST(PagePool, KeepsNothingBeyondItsLimit) {
  SmallPagePool pool(3 * kLarge);
  std::byte *const a = pool.take(2 * kLarge), *const b = pool.take(kLarge);
  pool.give(a, 2 * kLarge);
  EXPECT_EQ(pool.kept(), 2 * kLarge);
  pool.use_beside(kLarge);
  EXPECT_EQ(pool.kept(), kLarge);
  pool.use_beside(kLarge);
  EXPECT_EQ(pool.kept(), 0);
  pool.use_beside(-2 * kLarge);
  pool.give(b, kLarge);
  EXPECT_EQ(pool.kept(), kLarge);
  SmallPagePool none(0);
  none.give(none.take(kLarge), kLarge);
  EXPECT_EQ(none.kept(), 0);
}

TEST(PagePool, KeepsNoMoreThanItIsTold) {
  MemoryMeter resident;
  SmallPagePool pool(64 * kLarge, &resident);
  std::vector<std::byte*> small;
  std::byte* const large = pool.take(5 * kLarge);
  for (int i = 0; i < 48; ++i) small.push_back(pool.take(kLarge / 8));  // three chunks
  pool.give(large, 5 * kLarge);
  for (std::byte* const each : small) pool.give(each, kLarge / 8);
  EXPECT_EQ(pool.used(), 0);
  EXPECT_EQ(pool.kept(), 11 * kLarge);
  pool.keep_at_most(20 * kLarge);
  EXPECT_EQ(pool.kept(), 11 * kLarge);
  pool.keep_at_most(3 * kLarge);
  EXPECT_LE(pool.kept(), 3 * kLarge);
  EXPECT_GT(pool.kept(), 2 * kLarge);
  pool.keep_at_most(-kLarge);
  EXPECT_EQ(pool.kept(), 0);
  EXPECT_EQ(resident.now(), 0);
  std::byte* const again = pool.take(kLarge / 8);  // of a new chunk
  EXPECT_EQ(pool.kept(), kHuge - kLarge / 8);
  pool.give(again, kLarge / 8);
}

// What is in use and kept never exceeds the larger of the limit and what is in use, and
// nobody's bytes change under him.
TEST(PagePool, ServesRandomBuffersOfSeveralThreadsInsideItsLimit) {
  constexpr Bytes kLimit = 64 * kLarge;
  SmallPagePool pool(kLimit);
  const auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    std::vector<PageBuffer> buffers;
    std::vector<std::uint8_t> marks;
    for (int round = 0; round < 400; ++round) {
      if (buffers.size() < 4 || random() % 2 == 0) {
        const Bytes bytes = kPage * (1 + static_cast<Bytes>(random() % 200));
        buffers.emplace_back(bytes, nullptr, &pool);
        ASSERT_TRUE(all_zero(buffers.back().data(), bytes));
        marks.push_back(static_cast<std::uint8_t>(1 + random() % 255));
        std::memset(buffers.back().data(), marks.back(), bytes);
      } else {
        const std::size_t k = random() % buffers.size();
        const std::byte mark{marks[k]};
        ASSERT_TRUE(std::all_of(buffers[k].data(), buffers[k].data() + buffers[k].size(),
                                [&](std::byte b) { return b == mark; }));
        std::swap(buffers[k], buffers.back());
        std::swap(marks[k], marks.back());
        buffers.pop_back();
        marks.pop_back();
      }
      ASSERT_LE(pool.kept(), kLimit);
    }
  };
  std::thread other(work, 1);
  work(2);
  other.join();
}

TEST(PageBuffer, FillsAndDrainsPageByPage) {
  for (const bool pooled : {false, true}) {
    PagePool pool(Bytes{1} << 30);
    MemoryMeter meter;
    PageBuffer buffer =
        PageBuffer::reserve(100 * kPage, &meter, pooled ? &pool : nullptr);
    EXPECT_EQ(meter.now(), 0);
    buffer.fill(0, 10 * kPage + 1);
    EXPECT_EQ(meter.now(), 11 * kPage);
    buffer.fill(5 * kPage, 40 * kPage);  // the first pages have theirs
    EXPECT_EQ(meter.now(), 40 * kPage);
    std::memset(buffer.data(), 7, static_cast<std::size_t>(40 * kPage));
    buffer.drain(0, 10 * kPage + 1);  // a page that is used in part stays
    EXPECT_EQ(meter.now(), 30 * kPage);
    buffer.drain(0, 20 * kPage);
    EXPECT_EQ(meter.now(), 20 * kPage);
    EXPECT_EQ(buffer.data()[25 * kPage], std::byte{7});
    buffer.fill(0, 30 * kPage);  // what was drained does not come back
    EXPECT_EQ(meter.now(), 20 * kPage);
    buffer.release();
    EXPECT_EQ(meter.now(), 0);
  }
}

TEST(PageBuffer, OutlivesItsPool) {
  PageBuffer buffer;
  {
    PagePool pool(Bytes{1} << 30);
    { PageBuffer before(kLarge, nullptr, &pool); }
    buffer = PageBuffer(4 * kLarge, nullptr, &pool);
    buffer.forget_pool();
  }
  std::memset(buffer.data(), 1, static_cast<std::size_t>(buffer.size()));
  buffer.release();
}

// What is in use and what is kept, after each of many steps; what is still in use at the
// pool's end stays counted.
TEST(PagePool, TellsWhatIsResident) {
  std::mt19937 random(77);
  const auto draw = [&](Bytes last) {
    return std::uniform_int_distribution<Bytes>(0, last)(random);
  };
  MemoryMeter resident;
  std::vector<PageBuffer> buffers;
  Bytes used = 0;
  {
    SmallPagePool pool(24 * kLarge, &resident);
    for (int step = 0; step < 600; ++step) {
      if (buffers.size() < 12 && draw(1) == 0) {
        const Bytes bytes = draw(2) == 0 ? draw(4 * kLarge) : draw(kLarge / 8);
        buffers.push_back(draw(3) == 0 ? PageBuffer::reserve(bytes, nullptr, &pool)
                                       : PageBuffer(bytes, nullptr, &pool));
        buffers.back().fill(0, buffers.back().size());
        used += buffers.back().size();
      } else if (!buffers.empty()) {
        std::swap(buffers[static_cast<std::size_t>(draw(std::ssize(buffers) - 1))],
                  buffers.back());
        used -= buffers.back().size();
        buffers.pop_back();
      }
      pool.use_beside(step % 50 == 0 ? 6 * kLarge : step % 50 == 25 ? -6 * kLarge : 0);
      ASSERT_EQ(resident.now(), used + pool.kept()) << "step " << step;
    }
    for (PageBuffer& buffer : buffers) buffer.forget_pool();
  }
  EXPECT_EQ(resident.now(), used);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
