// Functions of StarPU that the library stands in for where it is preloaded or linked
// before StarPU. Those that have to do with messages are in starpu_mpi_calls.cpp.

#include <starpu.h>

#include "policy/mpi/starpu_mpi_calls.h"
#include "policy/starpu/allocation.h"
#include "policy/starpu/exports.h"
#include "policy/starpu/spill.h"

extern "C" {

// Blocks come from this library's hooks, which StarPU does not tell.
ESPALIER_API void starpu_malloc_set_align(size_t alignment) {
  ESPALIER_NEXT(starpu_malloc_set_align);
  next_one(alignment);
  espalier::policy::align_blocks(alignment);
}

// StarPU follows this hint by copying the datum to the disks after it has been released,
// when another task may write, invalidate or free it, and then aborts (1.3 and 1.4).
ESPALIER_API void starpu_data_wont_use(starpu_data_handle_t handle) {
  ESPALIER_NEXT(starpu_data_wont_use);
  if (!espalier::policy::spills()) next_one(handle);
}

}  // extern "C"
