#include "solver/memory/pages_on_demand.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

namespace espalier::solver {
namespace TEST_SOURCE {

constexpr Bytes kUnit = PageChoice::kHugePage, kPage = 4096;

TEST(PagesOnDemand, BringsWholeUnitsAndNoOthers) {
  MemoryMeter meter;
  PageBuffer buffer = PageBuffer::reserve(5 * kUnit + kPage, &meter, nullptr);
  PagesOnDemand pages(buffer);
  pages.need(kUnit, kUnit);
  EXPECT_EQ(meter.now(), 0);
  pages.need(kUnit + 1, 2 * kUnit);
  EXPECT_EQ(meter.now(), kUnit);
  pages.need(kUnit, 3 * kUnit + 1);
  EXPECT_EQ(meter.now(), 3 * kUnit);
  pages.need({buffer.data() + 5 * kUnit, 8});
  EXPECT_EQ(meter.now(), 3 * kUnit + kPage);
  pages.need(0, buffer.size());
  EXPECT_EQ(meter.now(), buffer.size());
  EXPECT_TRUE(std::all_of(buffer.data(), buffer.data() + buffer.size(),
                          [](std::byte each) { return each == std::byte{0}; }));
}

TEST(PagesOnDemand, LeavesPlacesElsewhereAlone) {
  MemoryMeter meter;
  PageBuffer buffer = PageBuffer::reserve(kUnit, &meter, nullptr);
  PageBuffer none;
  const PageBuffer other(kUnit);
  PagesOnDemand pages(buffer), empty(none);
  pages.need({other.data(), 100});
  pages.need({buffer.data() + buffer.size(), 1});
  empty.need({buffer.data(), 100});
  EXPECT_EQ(meter.now(), 0);
}

// Threads that need overlapping places find memory, each unit brought once.
TEST(PagesOnDemand, ServesThreadsSideBySide) {
  constexpr int kThreads = 4, kPlaces = 400;
  const Bytes bytes = 9 * kUnit + 3 * kPage, place = bytes / kPlaces;
  for (const bool renewed : {false, true}) {
    MemoryMeter meter, before;
    PagePool pool(4 * bytes);
    PageBuffer buffer = PageBuffer::reserve(bytes, renewed ? &before : &meter, &pool);
    if (renewed) {
      buffer.fill(0, 4 * kUnit);
      buffer = PageBuffer::renew(std::move(buffer), &meter);
    }
    PagesOnDemand pages(buffer);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        for (Bytes k = t; k < kPlaces; k += kThreads) {
          std::byte* const data = buffer.data() + k * place;
          const auto size = static_cast<std::size_t>(place);
          pages.need({data, size});
          std::fill_n(data, size, static_cast<std::byte>(k));
        }
      });
    for (std::thread& each : threads) each.join();
    for (Bytes k = 0; k < kPlaces; ++k)
      EXPECT_EQ(std::count(buffer.data() + k * place, buffer.data() + (k + 1) * place,
                           static_cast<std::byte>(k)),
                place);
    pages.need(0, bytes);
    EXPECT_EQ(buffer.resident(), buffer.size());
    EXPECT_EQ(meter.now(), buffer.resident());
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
