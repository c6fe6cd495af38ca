#include "solver/memory/process_account.h"

#include "solver/memory/process_memory.h"

namespace espalier::solver {

ProcessAccount measure_process(Bytes reserve) {
  trim_heap();
  const ResidentSet resident = resident_set();
  return {.peak_before = resident.peak, .baseline = resident.now, .reserve = reserve};
}

}  // namespace espalier::solver
