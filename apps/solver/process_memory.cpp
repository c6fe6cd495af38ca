#include "solver/process_memory.h"

#include <malloc.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "espalier/model/error.h"

namespace espalier::solver {
namespace {

Bytes status_field(const char* field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    long long kibibytes = 0;
    const std::string format = std::string(field) + ": %lld kB";
    if (std::sscanf(line.c_str(), format.c_str(), &kibibytes) == 1)
      return checked_mul(kibibytes, 1024);
  }
  throw Error(std::string("cannot read ") + field + " from /proc/self/status");
}

}  // namespace

Bytes resident_bytes() { return status_field("VmRSS"); }
Bytes peak_resident_bytes() { return status_field("VmHWM"); }

bool reset_peak_resident() {
  std::ofstream clear("/proc/self/clear_refs");
  clear << "5" << std::flush;
  return static_cast<bool>(clear);
}

void keep_heap_small() {
  // A fixed threshold: by default it grows with what is freed, up to 32 MiB.
  mallopt(M_MMAP_THRESHOLD, 128 * 1024);
  mallopt(M_TRIM_THRESHOLD, 256 * 1024);
  mallopt(M_ARENA_MAX, 1);
}

void trim_heap() { malloc_trim(0); }

}  // namespace espalier::solver
