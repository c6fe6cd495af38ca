#pragma once

// What every file that hands tasks to StarPU needs.

#include <fmt/format.h>
#include <starpu.h>

#include <cstring>

#include "espalier/model/error.h"

namespace espalier::solver {

/// A codelet for CPU workers.
inline starpu_codelet make_codelet(void (*function)(void**, void*), const char* name,
                                   int buffers = 0) {
  starpu_codelet codelet;
  starpu_codelet_init(&codelet);
  codelet.cpu_funcs[0] = function;
  codelet.name = name;
  codelet.nbuffers = buffers;
  return codelet;
}

/// @throws Error for a status of starpu_task_submit() that is not 0
inline void check_submission(int status) {
  if (status != 0)
    throw Error(fmt::format("StarPU refuses a task: {}", std::strerror(-status)));
}

}  // namespace espalier::solver
