#pragma once

#include <time.h>

#include "espalier/model/units.h"

namespace espalier {

// Processor time so far, which other programs leave as it is.

[[nodiscard]] inline Seconds processor_time(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Of the calling thread.
[[nodiscard]] inline Seconds thread_seconds() {
  return processor_time(CLOCK_THREAD_CPUTIME_ID);
}
/// Of all threads of the process.
[[nodiscard]] inline Seconds process_seconds() {
  return processor_time(CLOCK_PROCESS_CPUTIME_ID);
}

}  // namespace espalier
