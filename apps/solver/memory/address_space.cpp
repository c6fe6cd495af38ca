#include "solver/memory/address_space.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "espalier/machine/mapped_limits.h"
#include "espalier/machine/process_memory.h"

namespace espalier::solver {
namespace {

// OpenBLAS's buffer of a thread on x86-64; other libraries take less.
constexpr Bytes kBlasBuffer = Bytes{128} << 20;
// Operands of the warm-up, guard pages, and what StarPU keeps for a worker.
constexpr Bytes kBesideBlas = Bytes{8} << 20;
// What the heap gives from what it has mapped, or refuses by an exception.
constexpr Bytes kOfTheHeap = Bytes{1} << 20;
// StarPU's own threads and tables, and heap for what comes before the fronts.
constexpr Bytes kRuntime = Bytes{32} << 20;

Bytes used_of(const MappedLimit& limit) {
  return status_field(process_status(), limit.field).value_or(0);
}

// Those that this process may run on, as OpenBLAS counts them.
Bytes cores_here() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return CPU_COUNT(&allowed);
  return sysconf(_SC_NPROCESSORS_ONLN);  // more than there is room for in the set
}

// Whether the system maps so much, which is then given back untouched: where it does,
// nobody needs to read what is mapped.
bool can_be_mapped(Bytes bytes) {
  if (bytes <= 0) return true;
  const auto size = static_cast<std::size_t>(bytes);
  void* const at = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return false;
  munmap(at, size);
  return true;
}

Bytes stack_of_a_thread() {
  pthread_attr_t attributes;
  std::size_t bytes = std::size_t{8} << 20;
  if (pthread_getattr_default_np(&attributes) == 0) {
    pthread_attr_getstacksize(&attributes, &bytes);
    pthread_attr_destroy(&attributes);
  }
  return static_cast<Bytes>(bytes);
}

}  // namespace

Bytes runtime_address_space(std::int32_t workers) {
  // OpenBLAS's own threads, one a further core, take a buffer some time after loading:
  // whether VmSize has it already is not known.
  const Bytes of_blas = checked_mul(cores_here() - 1, kBlasBuffer);
  const Bytes of_a_worker = kBlasBuffer + stack_of_a_thread() + kBesideBlas;
  return checked_add(kRuntime + of_blas, checked_mul(workers, of_a_worker));
}

bool has_address_limit() { return !mapped_limits().empty(); }

std::optional<Bytes> address_space_left() {
  std::optional<Bytes> least;
  for (const MappedLimit& limit : mapped_limits()) {
    const Bytes left = std::max<Bytes>(0, limit.limit - used_of(limit));
    least = std::min(least.value_or(left), left);
  }
  return least;
}

void check_address_space(Bytes bytes, const std::function<std::string()>& what) {
  if (bytes < kOfTheHeap) return;
  for (const MappedLimit& limit : mapped_limits()) {
    if (can_be_mapped(bytes)) continue;
    const Bytes used = used_of(limit);
    if (bytes <= limit.limit - used) continue;
    throw MemoryLimit(fmt::format("the limit of {} ({}) is {}, of which {} are taken: {}",
                                  limit.counts, limit.name, format_size(limit.limit),
                                  format_size(used), what()));
  }
}

}  // namespace espalier::solver
