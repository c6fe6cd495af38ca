#include "cli/job/cores.h"

#include <cstdlib>
#include <initializer_list>
#include <string_view>

#ifdef ESPALIER_WITH_HWLOC
#include <hwloc.h>
#include <unistd.h>

#include <memory>
#endif

namespace espalier::cli {

using solver::MpiCommunicator;

namespace {

bool any_is_set(std::initializer_list<const char*> variables) {
  for (const char* const variable : variables)
    if (std::getenv(variable) != nullptr) return true;
  return false;
}

void leave_threads_unbound() {
  if (!any_is_set({"STARPU_WORKERS_NOBIND", "STARPU_WORKERS_GETBIND",
                   "STARPU_WORKERS_CPUID", "STARPU_WORKERS_COREID"}))
    setenv("STARPU_WORKERS_NOBIND", "1", 0);
  if (!any_is_set({"STARPU_MPI_THREAD_CPUID", "STARPU_MPI_THREAD_COREID"}))
    setenv("STARPU_MPI_NOBIND", "1", 0);
}

#ifdef ESPALIER_WITH_HWLOC

// What mpirun of Open MPI 4 hands on of its options.
std::string_view variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

constexpr const char* kBindingPolicy = "OMPI_MCA_hwloc_base_binding_policy";
constexpr const char* kMappingPolicy = "OMPI_MCA_rmaps_base_mapping_policy";

bool user_wants_no_binding() { return variable(kBindingPolicy).starts_with("none"); }

bool bound_without_the_user() {
  return !variable("OMPI_MCA_orte_bound_at_launch").empty() &&
         variable(kBindingPolicy).empty() &&
         variable(kMappingPolicy).find("PE=") == std::string_view::npos;
}

struct DestroyBitmap {
  void operator()(hwloc_bitmap_t set) const { hwloc_bitmap_free(set); }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, DestroyBitmap>;

struct DestroyTopology {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, DestroyTopology>;

Topology this_machine() {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return nullptr;
  Topology machine(topology);
  return hwloc_topology_load(topology) == 0 ? std::move(machine) : nullptr;
}

std::vector<hwloc_obj_t> cores_in(hwloc_topology_t machine, hwloc_const_bitmap_t set) {
  std::vector<hwloc_obj_t> cores;
  for (hwloc_obj_t next = nullptr; (next = hwloc_get_next_obj_covering_cpuset_by_type(
                                        machine, set, HWLOC_OBJ_CORE, next));)
    cores.push_back(next);
  return cores;
}

// Processing units, as hwloc writes them. Empty: not known.
std::string usable(hwloc_topology_t machine) {
  const Bitmap set(hwloc_bitmap_alloc());
  if (hwloc_get_cpubind(machine, set.get(), HWLOC_CPUBIND_PROCESS) != 0) return "";
  if (cores_in(machine, set.get()).size() == 1 && bound_without_the_user())
    hwloc_get_proc_cpubind(machine, getppid(), set.get(), 0);
  char* text = nullptr;
  if (hwloc_bitmap_list_asprintf(&text, set.get()) < 0) return "";
  const std::unique_ptr<char, decltype(&std::free)> owner(text, std::free);
  return text;
}

Bitmap parse(const std::string& text) {
  Bitmap set(hwloc_bitmap_alloc());
  hwloc_bitmap_list_sscanf(set.get(), text.c_str());
  return set;
}

// Which of the processes on this host with the same cores this is, of how many; none when
// others have some of them.
struct Place {
  std::int32_t index = 0, count = 0;
};
Place place_of(std::size_t rank, std::span<const std::string> hosts,
               std::span<const std::string> cores) {
  const Bitmap own = parse(cores[rank]);
  Place place;
  for (std::size_t other = 0; other < hosts.size(); ++other) {
    if (hosts[other] != hosts[rank]) continue;
    if (cores[other] == cores[rank]) {
      if (other < rank) ++place.index;
      ++place.count;
    } else if (hwloc_bitmap_intersects(parse(cores[other]).get(), own.get()) != 0) {
      return {};
    }
  }
  return place;
}

void bind_to_part(hwloc_topology_t machine, const std::string& cores, Place place) {
  const Bitmap all = parse(cores);
  const std::vector<hwloc_obj_t> core = cores_in(machine, all.get());
  const auto count = static_cast<std::int32_t>(core.size());
  if (place.count < 1 || place.count > count) return;
  const CorePart part = part_of_cores(count, place.index, place.count);
  const Bitmap own(hwloc_bitmap_alloc());
  for (std::int32_t i = part.first; i < part.first + part.count; ++i)
    hwloc_bitmap_or(own.get(), own.get(), core[static_cast<std::size_t>(i)]->cpuset);
  hwloc_bitmap_and(own.get(), own.get(), all.get());
  // All threads of the process; without effect where the system does not allow it.
  hwloc_set_cpubind(machine, own.get(), HWLOC_CPUBIND_PROCESS);
}

void bind_to_share(MpiCommunicator& processes, std::span<const std::string> hosts) {
  const Topology machine = this_machine();
  const std::vector<std::string> cores =
      processes.gather_all(machine == nullptr ? "" : usable(machine.get()));
  const auto rank = static_cast<std::size_t>(processes.rank());
  if (!user_wants_no_binding() && !cores[rank].empty())
    bind_to_part(machine.get(), cores[rank], place_of(rank, hosts, cores));
}

#else
void bind_to_share(MpiCommunicator&, std::span<const std::string>) {}
#endif

}  // namespace

CorePart part_of_cores(std::int32_t cores, std::int32_t i, std::int32_t n) {
  const auto start = [&](std::int64_t part) {
    return static_cast<std::int32_t>(part * cores / n);
  };
  return {start(i), start(i + 1) - start(i)};
}

void share_cores(MpiCommunicator& processes, std::span<const std::string> hosts) {
  bind_to_share(processes, hosts);
  leave_threads_unbound();
}

}  // namespace espalier::cli
