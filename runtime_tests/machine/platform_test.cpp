#include "espalier/machine/platform.h"

#include <gtest/gtest.h>

#include <set>

namespace espalier {
namespace TEST_SOURCE {

TEST(Platform, IsConsistent) {
  const Platform machine = this_machine();
  EXPECT_GE(machine.cores, 1);
  EXPECT_GE(machine.hardware_threads, machine.cores);
  EXPECT_GT(machine.memory_size, 0);
  EXPECT_GT(machine.available_memory, 0);
  EXPECT_LE(machine.available_memory, machine.memory_size);
  std::set<std::int32_t> cores;
  for (const NumaNode& node : machine.numa_nodes) {
    cores.insert(node.cores.begin(), node.cores.end());
  }
  EXPECT_EQ(cores.size(), static_cast<std::size_t>(machine.cores));
  EXPECT_EQ(*cores.begin(), 0);
  EXPECT_EQ(*cores.rbegin(), machine.cores - 1);
  for (const Cache& cache : machine.caches) {
    EXPECT_GT(cache.size, 0);
    EXPECT_FALSE(cache.cores.empty());
  }
}

TEST(Platform, KnowsItsShareOfTheHostsCores) {
  const CoreShare cores = core_share();
  EXPECT_EQ(cores.own, own_cores());
  EXPECT_GE(cores.own, 1);
  EXPECT_GE(cores.host, cores.own);
}

TEST(Platform, IsCrowdedByMoreThreadsThanCores) {
  // Two processes with a worker and a thread for messages each, on four cores and on two.
  EXPECT_FALSE(is_crowded({.own = 4, .host = 4}, 2, 2));
  EXPECT_TRUE(is_crowded({.own = 2, .host = 2}, 2, 2));
  // Of four cores, each has two to itself.
  EXPECT_FALSE(is_crowded({.own = 2, .host = 4}, 2, 2));
  EXPECT_TRUE(is_crowded({.own = 1, .host = 4}, 4, 2));
  EXPECT_TRUE(is_crowded({.own = 64, .host = 64}, 1 << 30, 1 << 10));
}

TEST(Platform, IsDescribedForPeople) {
  Platform machine;
  machine.cores = 4;
  machine.hardware_threads = 8;
  machine.memory_size = Bytes{8} << 30;
  machine.available_memory = Bytes{3} << 30;
  machine.source = "a test";
  machine.numa_nodes = {{{0, 1}, Bytes{4} << 30}, {{2, 3}, Bytes{4} << 30}};
  machine.caches = {{1, 32768, {0}}, {1, 32768, {1}}, {3, Bytes{16} << 20, {0, 1, 2, 3}}};
  EXPECT_EQ(describe(machine),
            "4 cores, 8 hardware threads (from a test)\n"
            "memory 8.0 GiB, 3.0 GiB available\n"
            "NUMA node 0: 4.0 GiB, cores 0-1\n"
            "NUMA node 1: 4.0 GiB, cores 2-3\n"
            "L1 cache: 2 of 32.0 KiB, 1 core each\n"
            "L3 cache: 1 of 16.0 MiB, 4 cores each\n");
}

}  // namespace TEST_SOURCE
}  // namespace espalier
