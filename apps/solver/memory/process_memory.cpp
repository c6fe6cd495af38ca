#include "solver/memory/process_memory.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

#include "espalier/machine/process_memory.h"
#include "espalier/model/error.h"

namespace espalier::solver {
namespace {

Bytes told(std::optional<Bytes> bytes, const char* field) {
  if (bytes) return *bytes;
  throw Error(std::string("cannot read ") + field + " from /proc/self/status");
}

}  // namespace

Bytes resident_bytes() { return told(process_memory().vm_rss, "VmRSS"); }
Bytes peak_resident_bytes() { return told(process_memory().vm_hwm, "VmHWM"); }

Bytes baseline_bytes() {
  const std::optional<Bytes> counted = counted_rss();
  return counted ? *counted : resident_bytes();
}

Bytes counted_late() {
  static const Bytes late = std::max(
      Bytes{2} << 20, rss_error(sysconf(_SC_NPROCESSORS_CONF), sysconf(_SC_PAGESIZE)));
  return late;
}

Bytes heap_bytes() {
  const struct mallinfo2 heap = mallinfo2();
  return static_cast<Bytes>(heap.uordblks + heap.hblkhd);
}

bool reset_peak_resident() {
  std::ofstream clear("/proc/self/clear_refs");
  clear << "5" << std::flush;
  return static_cast<bool>(clear);
}

// A fixed threshold: by default it grows with what is freed, up to 32 MiB.
void keep_heap_small() {
  mallopt(M_MMAP_THRESHOLD, 128 * 1024);
  mallopt(M_TRIM_THRESHOLD, 256 * 1024);
  mallopt(M_ARENA_MAX, 1);
}

void keep_freed(Bytes most) {
  constexpr Bytes kLargestInHeap = Bytes{32} << 20;  // glibc takes no more
  const Bytes kept = std::min<Bytes>(most, std::numeric_limits<int>::max());
  mallopt(M_MMAP_THRESHOLD, static_cast<int>(std::min(kept, kLargestInHeap)));
  mallopt(M_TRIM_THRESHOLD, static_cast<int>(kept));
}

void trim_heap() { malloc_trim(0); }

}  // namespace espalier::solver
