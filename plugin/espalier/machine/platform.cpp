#include "espalier/machine/platform.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "espalier/machine/memory_limits.h"
#include "espalier/model/error.h"

#ifdef ESPALIER_WITH_HWLOC
#include <hwloc.h>

#include <memory>
#endif

namespace espalier {
namespace {

constexpr Bytes kNoLimit = std::numeric_limits<Bytes>::max();

// MemAvailable of /proc/meminfo.
Bytes available_to_all() {
  std::ifstream in("/proc/meminfo");
  std::string key, unit;
  Bytes kibibytes = 0;
  while (in >> key >> kibibytes) {
    if (key == "MemAvailable:") return kibibytes * 1024;
    std::getline(in, unit);
  }
  return kNoLimit;
}

void add_memory(Platform& platform) {
  const auto pages = static_cast<Bytes>(sysconf(_SC_PHYS_PAGES));
  const Bytes installed = pages * static_cast<Bytes>(sysconf(_SC_PAGESIZE));
  platform.memory_size = installed;
  platform.available_memory = available_to_all();
  for (const MemoryLeft& group : control_group_memory()) {
    platform.memory_size = std::min(platform.memory_size, group.limit);
    platform.available_memory = std::min(platform.available_memory, group.left);
  }
  platform.available_memory = std::min(platform.available_memory, platform.memory_size);
}

#ifdef ESPALIER_WITH_HWLOC

using Topology = std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)>;

Topology load_topology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) throw Error("hwloc cannot be initialised");
  Topology topology(raw, &hwloc_topology_destroy);
  if (hwloc_topology_load(raw) != 0) throw Error("hwloc cannot see the machine");
  return topology;
}

// Cores with a hardware thread in `set`, by number.
std::vector<std::int32_t> cores_in(hwloc_topology_t topology, hwloc_const_cpuset_t set) {
  std::vector<std::int32_t> cores;
  hwloc_obj_t core = nullptr;
  while ((core = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_CORE, core)) != nullptr) {
    if (hwloc_bitmap_intersects(core->cpuset, set)) {
      cores.push_back(static_cast<std::int32_t>(core->logical_index));
    }
  }
  return cores;
}

void add_topology(Platform& platform) {
  const Topology loaded = load_topology();
  const hwloc_topology_t topology = loaded.get();
  const unsigned version = hwloc_get_api_version();
  platform.source = fmt::format("hwloc {}.{}", version >> 16, (version >> 8) & 0xff);
  platform.hardware_threads =
      std::max(1, hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU));
  platform.cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
  if (platform.cores < 1) platform.cores = platform.hardware_threads;  // not reported
  hwloc_obj_t node = nullptr;
  while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) !=
         nullptr) {
    platform.numa_nodes.push_back(
        {cores_in(topology, node->cpuset),
         static_cast<Bytes>(node->attr->numanode.local_memory)});
  }
  for (const auto type : {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE,
                          HWLOC_OBJ_L4CACHE, HWLOC_OBJ_L5CACHE}) {
    hwloc_obj_t cache = nullptr;
    while ((cache = hwloc_get_next_obj_by_type(topology, type, cache)) != nullptr) {
      platform.caches.push_back({static_cast<std::int32_t>(cache->attr->cache.depth),
                                 static_cast<Bytes>(cache->attr->cache.size),
                                 cores_in(topology, cache->cpuset)});
    }
  }
}

#else

void add_topology(Platform& platform) {
  platform.source = "the operating system";
  platform.cores = own_cores();
  platform.hardware_threads = platform.cores;
}

#endif

std::string core_list(const std::vector<std::int32_t>& cores) {
  if (cores.empty()) return "no cores";
  if (cores.size() == 1) return fmt::format("core {}", cores.front());
  if (cores.back() - cores.front() + 1 == static_cast<std::int32_t>(cores.size())) {
    return fmt::format("cores {}-{}", cores.front(), cores.back());
  }
  return fmt::format("{} cores from {} to {}", cores.size(), cores.front(), cores.back());
}

}  // namespace

Platform this_machine() {
  Platform platform;
  add_memory(platform);
  add_topology(platform);
  if (platform.numa_nodes.empty()) {
    std::vector<std::int32_t> cores(static_cast<std::size_t>(platform.cores));
    std::iota(cores.begin(), cores.end(), 0);
    platform.numa_nodes.push_back({std::move(cores), platform.memory_size});
  }
  return platform;
}

std::int32_t own_cores() {
  return std::max(1, static_cast<std::int32_t>(std::thread::hardware_concurrency()));
}

CoreShare core_share() {
  CoreShare share;
  share.own = own_cores();
  share.host =
      std::max(share.own, static_cast<std::int32_t>(sysconf(_SC_NPROCESSORS_ONLN)));
  return share;
}

bool is_crowded(CoreShare cores, std::int32_t processes, std::int32_t threads) {
  const std::int64_t sharing = cores.own < cores.host ? 1 : processes;
  return sharing * threads > cores.own;
}

std::string describe(const Platform& platform) {
  std::string text = fmt::format(
      "{} cores, {} hardware threads (from {})\nmemory {}, {} available\n",
      platform.cores, platform.hardware_threads, platform.source,
      format_size(platform.memory_size), format_size(platform.available_memory));
  for (std::size_t i = 0; i < platform.numa_nodes.size(); ++i) {
    const NumaNode& node = platform.numa_nodes[i];
    text += fmt::format("NUMA node {}: {}, {}\n", i, format_size(node.memory_size),
                        core_list(node.cores));
  }
  // Equal caches in one line.
  std::map<std::pair<std::int32_t, Bytes>, std::pair<std::size_t, std::size_t>> kinds;
  for (const Cache& cache : platform.caches) {
    auto& [count, cores] = kinds[{cache.level, cache.size}];
    ++count;
    cores = std::max(cores, cache.cores.size());
  }
  for (const auto& [kind, found] : kinds) {
    text += fmt::format("L{} cache: {} of {}, {} {} each\n", kind.first, found.first,
                        format_size(kind.second), found.second,
                        found.second == 1 ? "core" : "cores");
  }
  return text;
}

}  // namespace espalier
