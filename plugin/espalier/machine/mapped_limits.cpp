#include "espalier/machine/mapped_limits.h"

#include <sys/resource.h>

#include <algorithm>
#include <limits>

namespace espalier {

std::vector<MappedLimit> mapped_limits() {
  struct Kind {
    int resource;
    const char *field, *counts, *name;
  };
  std::vector<MappedLimit> found;
  for (const Kind& kind : {Kind{RLIMIT_AS, "VmSize", "address space", "ulimit -v"},
                           Kind{RLIMIT_DATA, "VmData", "data", "ulimit -d"}}) {
    rlimit set{};
    if (getrlimit(kind.resource, &set) != 0 || set.rlim_cur == RLIM_INFINITY) continue;
    const auto limit = static_cast<Bytes>(
        std::min<rlim_t>(set.rlim_cur, std::numeric_limits<Bytes>::max()));
    found.push_back({limit, kind.field, kind.counts, kind.name});
  }
  return found;
}

}  // namespace espalier
