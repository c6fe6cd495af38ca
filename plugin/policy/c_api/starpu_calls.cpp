// Functions of StarPU that the library stands in for where it is preloaded or linked
// before StarPU. Those that have to do with messages are in starpu_mpi_calls.cpp.

#include <starpu.h>

#include "policy/mpi/starpu_mpi_calls.h"
#include "policy/starpu/allocation.h"
#include "policy/starpu/exports.h"

extern "C" {

// Blocks come from this library's hooks, which StarPU does not tell.
ESPALIER_API void starpu_malloc_set_align(size_t alignment) {
  ESPALIER_NEXT(starpu_malloc_set_align);
  next_one(alignment);
  espalier::policy::align_blocks(alignment);
}

}  // extern "C"
